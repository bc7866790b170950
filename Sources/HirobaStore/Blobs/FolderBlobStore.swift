import CLinux
import Glibc
import HirobaCrypto
import HirobaThreads

/// Blobs as files: `blobs/ab/abcdef…`, and what is still on its way in `blobs/incoming`.
///
/// A blob is written under another name, synced, renamed, and its folder synced. So under its own name it is always whole,
/// and once `put` has returned a power cut does not take it. Nothing here blocks its caller's thread.
package final class FolderBlobStore: BlobStore {
    private let folder: String
    private let workers: WorkerPool
    /// Those whose own names are on disk for sure.
    private let syncedSubfolders = Lock<Set<String>>([])
    private var incoming: String { folder + "/incoming" }

    /// Bytes gathered before they are handed to a worker: each hand-over costs as much as writing some kilobytes.
    private static let pieceSize = 128 * 1024

    /// Opens the folder, makes it when missing, and removes what uploads that never ended have left. The folder belongs to
    /// this process alone, as the one of the database does.
    package static func open(_ folder: String) async throws -> FolderBlobStore {
        let workers = WorkerPool(name: "blobs", threads: 2, queue: 256)
        try await busyIfFull {
            try await workers.run {
                try makeFolder(folder)
                try makeFolder(folder + "/incoming")
                for name in try names(in: folder + "/incoming") { unlink(folder + "/incoming/" + name) }
            }
        }
        return FolderBlobStore(folder, workers)
    }

    private init(_ folder: String, _ workers: WorkerPool) {
        self.folder = folder
        self.workers = workers
    }

    // MARK: Writing

    package func put<Chunks: AsyncSequence & Sendable>(_ chunks: Chunks, limit: Int) async throws -> StoredBlob
    where Chunks.Element == [UInt8] {
        let id = BlobID.random()
        let upload = Upload(path: incoming + "/" + id.description)
        do {
            try await run { try upload.create() }
            var piece: [UInt8] = []
            var size = 0
            for try await chunk in chunks {
                size += chunk.count
                if size > limit { throw StoreError(.tooLarge, "more than \(limit) bytes") }
                piece += chunk
                if piece.count >= Self.pieceSize {
                    let full = piece
                    piece.removeAll(keepingCapacity: true)
                    try await run { try upload.append(full) }
                }
            }
            let rest = piece
            let sha256 = try await run { [self] in
                try upload.append(rest)
                let sha256 = try upload.finish()
                try makeSubfolder(id)
                guard rename(upload.path, path(id)) == 0 else { throw StoreError.file("rename", upload.path, errno) }
                try syncFolder(subfolder(id))
                return sha256
            }
            return StoredBlob(id: id, size: size, sha256: sha256)
        } catch {
            // Not through `run`, which may be full: a name is quickly removed.
            upload.abandon()
            unlink(path(id))
            throw error
        }
    }

    // MARK: Reading

    package func get(_ id: BlobID, range: Range<Int>?) async throws -> [UInt8] {
        try await run { [path = path(id)] in
            let descriptor = clinux_open(path, O_RDONLY | O_CLOEXEC, 0)
            guard descriptor >= 0 else { throw StoreError.file("open", path, errno) }
            defer { close(descriptor) }
            let size = try fileSize(descriptor, path)
            let wanted = (range ?? 0..<size).clamped(to: 0..<size)
            return try [UInt8](unsafeUninitializedCapacity: wanted.count) { buffer, filled in
                while filled < wanted.count {
                    let count = pread(
                        descriptor, buffer.baseAddress?.advanced(by: filled), wanted.count - filled,
                        off_t(wanted.lowerBound + filled))
                    if count < 0 && errno == EINTR { continue }
                    guard count > 0 else { throw StoreError.file("read", path, count < 0 ? errno : EIO) }
                    filled += count
                }
            }
        }
    }

    package func size(_ id: BlobID) async throws -> Int {
        try await run { [path = path(id)] in
            var status = stat()
            guard stat(path, &status) == 0 else { throw StoreError.file("look at", path, errno) }
            return Int(status.st_size)
        }
    }

    package func localPath(_ id: BlobID) -> String? { path(id) }

    package func delete(_ id: BlobID) async throws {
        try await run { [path = path(id), subfolder = subfolder(id)] in
            if unlink(path) == 0 {
                try syncFolder(subfolder)
            } else if errno != ENOENT {
                throw StoreError.file("delete", path, errno)
            }
        }
    }

    package func list() async throws -> [BlobID] {
        try await run { [folder] in
            try names(in: folder).filter { $0 != "incoming" }.flatMap { name in
                try names(in: folder + "/" + name).compactMap { BlobID($0) }
            }
        }
    }

    // MARK: Paths

    /// A thousand folders, so that none grows long: two letters of 32.
    private func subfolder(_ id: BlobID) -> String { folder + "/" + id.description.prefix(2) }

    /// Under the lock to its end: a second upload must not count on a folder whose name is not on disk yet. That holds for
    /// one that was there before we started, too.
    private func makeSubfolder(_ id: BlobID) throws(StoreError) {
        let path = subfolder(id)
        try syncedSubfolders.withLock { synced throws(StoreError) in
            if synced.contains(path) { return }
            try makeFolder(path)
            try syncFolder(folder)
            synced.insert(path)
        }
    }

    private func path(_ id: BlobID) -> String { subfolder(id) + "/" + id.description }

    private func run<Result: Sendable>(_ work: @Sendable () throws -> Result) async throws -> Result {
        try await busyIfFull { try await workers.run(work) }
    }
}

/// One file that is being written. Its methods are called one after the other, on whatever thread has time.
private final class Upload: @unchecked Sendable {
    // Unchecked because `put` awaits each call before it makes the next.
    let path: String
    private var descriptor: Int32 = -1
    private var hash: SHA256? = SHA256()

    init(path: String) { self.path = path }

    func create() throws(StoreError) {
        descriptor = clinux_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .file("make", path, errno) }
    }

    func append(_ bytes: [UInt8]) throws(StoreError) {
        hash?.update(bytes)
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes {
                write(descriptor, $0.baseAddress?.advanced(by: written), $0.count - written)
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw .file("write", path, errno) }
            written += count
        }
    }

    func finish() throws(StoreError) -> [UInt8] {
        guard fsync(descriptor) == 0 else { throw .file("sync", path, errno) }
        let status = close(descriptor)
        descriptor = -1
        guard status == 0 else { throw .file("close", path, errno) }
        guard let hash = hash.take() else { throw StoreError(.programming, "an upload was finished twice") }
        return hash.finalize()
    }

    func abandon() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
        unlink(path)
    }
}

private func busyIfFull<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
        return try await body()
    } catch is WorkerPool.Full {
        throw StoreError(.busy, "too many files are being read and written")
    }
}

private func fileSize(_ descriptor: Int32, _ path: String) throws(StoreError) -> Int {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .file("look at", path, errno) }
    return Int(status.st_size)
}

private func names(in folder: String) throws(StoreError) -> [String] {
    guard let opened = opendir(folder) else { throw .file("list", folder, errno) }
    defer { closedir(opened) }
    var names: [String] = []
    while let entry = readdir(opened) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        if !name.hasPrefix(".") { names.append(name) }
    }
    return names
}
