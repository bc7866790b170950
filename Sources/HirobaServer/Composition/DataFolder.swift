import CLinux
import Glibc
import HirobaCore
import HirobaCrypto
import HirobaStore
import HirobaThreads

/// The folder of one installation, held by one process at a time.
package final class DataFolder: Sendable {
    /// Why the folder cannot be used; a sentence for people.
    package struct Refused: Error, Equatable, CustomStringConvertible {
        package var description: String
    }

    package let path: String
    /// The descriptor that holds the lock; nil once it was let go.
    private let lock: Lock<Int32?>

    /// Makes the folder (mode 700) if it is not there, and takes its lock.
    package init(path: String) throws(Refused) {
        try Self.makeFolder(path)
        let name = path + "/hiroba.lock"
        // The lock goes with the process, however it ends; the file stays and says nothing by itself.
        let lock = clinux_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else {
            throw Refused(description: "The folder \(path) cannot be written to: \(systemError(errno)).")
        }
        if let reason = lockFile(lock) {
            close(lock)
            guard reason == EWOULDBLOCK else {
                throw Refused(description: "The folder \(path) cannot be locked: \(systemError(reason)).")
            }
            throw Refused(
                description: "Another hiroba is using the folder \(path). Stop it, or give --data another folder.")
        }
        self.path = path
        self.lock = Lock(lock)
    }

    deinit { release() }

    /// Lets the next process in.
    package func release() {
        lock.withLock { descriptor in
            if let descriptor { close(descriptor) }
            descriptor = nil
        }
    }

    /// A secret of this installation: random, made when it is first asked for, and kept in a file with mode 600.
    package func secret(_ name: String) throws(Refused) -> [UInt8] {
        let file = "\(path)/\(name).secret"
        if let bytes = readFile(file) {
            guard bytes.count == 32 else {
                throw Refused(description: "The file \(file) should hold 32 bytes, but holds \(bytes.count).")
            }
            return bytes
        }
        guard access(file, F_OK) != 0 else {
            throw Refused(description: "The file \(file) cannot be read: \(systemError(errno)).")
        }
        let bytes = randomBytes(32)
        try Self.write(bytes, to: file)
        return bytes
    }

    /// The key by which the operator's programs may ask for pushes; made when it is first asked for.
    package func serverKey() throws(Refused) -> String {
        if let bytes = readFile(serverKeyFile) {
            let key = String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace }
            guard ServerKey.isOne(key) else {
                throw Refused(description: "The file \(serverKeyFile) holds no server key; remove it to have one made.")
            }
            return key
        }
        guard access(serverKeyFile, F_OK) != 0 else {
            throw Refused(description: "The file \(serverKeyFile) cannot be read: \(systemError(errno)).")
        }
        let key = ServerKey.random()
        try Self.write(Array("\(key)\n".utf8), to: serverKeyFile)
        return key
    }

    private var serverKeyFile: String { "\(path)/\(Self.serverKeyName)" }
    static let serverKeyName = "server-key"

    /// Whether nothing but the lock is in it.
    package var isEmpty: Bool { names(in: path).allSatisfy { $0 == "hiroba.lock" } }

    /// An empty file that says what the folder is for.
    package func mark(_ name: String) throws(Refused) { try Self.write([], to: "\(path)/\(name)") }

    package func has(_ name: String) -> Bool { access("\(path)/\(name)", F_OK) == 0 }

    /// Removes everything in the folder but its lock.
    package func empty() throws(Refused) {
        for name in names(in: path) where name != "hiroba.lock" {
            guard removeTree("\(path)/\(name)") else {
                throw Refused(description: "\(path)/\(name) cannot be removed: \(systemError(errno)).")
            }
        }
    }

    package static func makeFolder(_ path: String) throws(Refused) {
        // Parents are made too, as the shell's `mkdir -p` would.
        var parent = path[path.startIndex...]
        var missing: [String] = []
        while !parent.isEmpty, access(String(parent), F_OK) != 0 {
            missing.append(String(parent))
            guard let slash = parent.lastIndex(of: "/") else { break }
            parent = parent[..<slash]
        }
        for folder in missing.reversed() where mkdir(folder, 0o700) != 0 && errno != EEXIST {
            throw Refused(description: "The folder \(folder) cannot be made: \(systemError(errno)).")
        }
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw Refused(description: "\(path) is not a folder.")
        }
    }

    /// Writes a file with mode 600 so that it is there whole or not at all, also after a power cut.
    private static func write(_ bytes: [UInt8], to file: String) throws(Refused) {
        let temporary = file + ".new"
        unlink(temporary)
        let descriptor = clinux_open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw Refused(description: "\(file) cannot be written: \(systemError(errno)).")
        }
        let written = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        let isWritten = written == bytes.count && fsync(descriptor) == 0
        let reason = errno
        close(descriptor)
        guard isWritten, rename(temporary, file) == 0 else {
            throw Refused(description: "\(file) cannot be written: \(systemError(isWritten ? errno : reason)).")
        }
        let folder = clinux_open(String(file[..<(file.lastIndex(of: "/") ?? file.startIndex)]), O_RDONLY | O_CLOEXEC, 0)
        if folder >= 0 {
            fsync(folder)
            close(folder)
        }
    }
}

// MARK: - Small things around files

/// The operating system's words for an error number.
package func systemError(_ number: Int32) -> String { String(cString: strerror(number)) }

/// The bytes of a file, or nil when it cannot be read. For small files at start.
package func readFile(_ path: String) -> [UInt8]? {
    let descriptor = clinux_open(path, O_RDONLY | O_CLOEXEC, 0)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while true {
        let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
        if count == 0 { return bytes }
        if count < 0 {
            if errno == EINTR { continue }
            return nil
        }
        bytes.append(contentsOf: buffer[..<count])
        guard bytes.count <= 16 << 20 else { return nil }
    }
}

private func names(in folder: String) -> [String] {
    guard let directory = opendir(folder) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        if name != ".", name != ".." { names.append(name) }
    }
    return names
}

/// Removes a file or a folder with all in it; links are removed, not followed.
private func removeTree(_ path: String) -> Bool {
    var status = stat()
    guard lstat(path, &status) == 0 else { return errno == ENOENT }
    guard status.st_mode & S_IFMT == S_IFDIR else { return unlink(path) == 0 }
    for name in names(in: path) where !removeTree("\(path)/\(name)") { return false }
    return rmdir(path) == 0
}
