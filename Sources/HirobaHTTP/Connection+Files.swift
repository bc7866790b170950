import CLinux
import Glibc
import HirobaThreads

/// A file that is being sent. Closed with its last reference.
final class OpenFile: Sendable {
    let descriptor: CInt

    init(descriptor: CInt) { self.descriptor = descriptor }
    deinit { close(descriptor) }

    /// Opens a regular file of at least `size` bytes. Blocks as the disk does.
    static func open(_ path: String, size: Int, onlyIfCached: Bool) -> Result<OpenFile, OpenError> {
        let descriptor =
            onlyIfCached ? clinux_open_cached(path) : clinux_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0)
        guard descriptor >= 0 else { return .failure(errno == EAGAIN ? .notCached : .unusable) }
        let file = OpenFile(descriptor: descriptor)
        return clinux_regular_file_size(descriptor) >= size ? .success(file) : .failure(.unusable)
    }

    enum OpenError: Error {
        case notCached
        case unusable
    }

    /// Whether this part can be read without the disk. The kernel reads ahead, so both ends speak for the middle.
    func isCached(_ offset: Int, _ count: Int) -> Bool {
        clinux_is_cached(descriptor, Int64(offset)) != 0 && clinux_is_cached(descriptor, Int64(offset + count - 1)) != 0
    }

    /// A small part of a file, when neither opening nor reading it needs the disk; nil also when anything is wrong with it.
    static func readAtOnce(_ path: String, _ offset: Int, _ count: Int) -> [UInt8]? {
        let descriptor = clinux_open_cached(path)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = max(0, clinux_read_cached(descriptor, buffer.baseAddress, count, Int64(offset)))
        }
        return bytes.count == count ? bytes : nil
    }

    /// Reads a part. Blocks as the disk does.
    /// - Returns: fewer bytes than asked for only when the file has become shorter.
    func read(_ offset: Int, _ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = 0
            while filled < count, let base = buffer.baseAddress {
                let got = pread(descriptor, base + filled, count - filled, off_t(offset + filled))
                if got < 0, errno == EINTR { continue }
                guard got > 0 else { return }
                filled += got
            }
        }
    }
}

extension Connection {
    /// Opens a file without making the loop wait for the disk.
    func openFile(_ path: String, holding offset: Int, _ length: Int) async -> OpenFile? {
        let (size, isOverflow) = offset.addingReportingOverflow(length)
        guard offset >= 0, length >= 0, !isOverflow else { return nil }
        var result = OpenFile.open(path, size: size, onlyIfCached: true)
        if case .failure(.notCached) = result {
            result =
                (try? await server.files.run { OpenFile.open(path, size: size, onlyIfCached: false) })
                ?? .failure(.unusable)
        }
        guard case .success(let file) = result else {
            server.observe(.fault("the file \(path) cannot be sent"))
            return nil
        }
        return file
    }

    /// Sends part of a file in pieces small enough that others have their turn.
    func send(_ file: OpenFile, from start: Int, _ length: Int) async -> Bool {
        let end = start + length
        var offset = start
        var sinceYield = 0
        while offset < end {
            let count = min(end - offset, transport.tls == nil ? 256 * 1024 : 64 * 1024)
            let sent: Int?
            if transport.tls == nil {
                sent = await sendByKernel(file, offset, count)
            } else {
                let bytes = await read(file, offset, count)
                // A file that has become shorter ends the connection: the length was promised.
                sent = bytes.count == count && phase == .serving ? (await write(bytes) ? count : nil) : nil
            }
            guard let sent else {
                close()
                return false
            }
            offset += sent
            sinceYield += sent
            if sinceYield >= 1024 * 1024 {
                sinceYield = 0
                await Task.yield()
            }
        }
        return true
    }

    private func sendByKernel(_ file: OpenFile, _ offset: Int, _ count: Int) async -> Int? {
        // sendfile would wait for the disk on this thread, so what is cold is read once on another.
        if !file.isCached(offset, count) { _ = await read(file, offset, count) }
        while phase == .serving {
            while !pending.isEmpty { guard await waitUntilWritable() else { return nil } }
            switch transport.send(file: file.descriptor, offset: offset, count: count) {
            case .count(let sent): return sent
            case .again:
                canWrite = false
                guard await waitUntilWritable() else { return nil }
            case .end, .failed: return nil
            }
        }
        return nil
    }

    func read(_ file: OpenFile, _ offset: Int, _ count: Int) async -> [UInt8] {
        if file.isCached(offset, count) { return file.read(offset, count) }
        // With the pool's queue full this thread waits for the disk: slower for all, but nothing piles up.
        return (try? await server.files.run { file.read(offset, count) }) ?? file.read(offset, count)
    }
}
