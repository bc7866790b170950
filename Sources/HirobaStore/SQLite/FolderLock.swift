import CLinux
import Glibc
import HirobaThreads

/// Keeps a second process away from a data folder for as long as it lives, also after a crash: the kernel lets go of the
/// lock when the process ends.
final class FolderLock: Sendable {
    private let descriptor: Lock<Int32?>

    init(folder: String) throws(StoreError) {
        let path = folder + "/lock"
        let descriptor = clinux_open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreError.file("open", path, errno) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let reason = errno
            let holder = Self.holder(descriptor)
            close(descriptor)
            guard reason == EWOULDBLOCK else { throw StoreError.file("lock", path, reason) }
            throw StoreError(.inUse, "the folder \(folder) is in use by another process\(holder)")
        }
        self.descriptor = Lock(descriptor)
        // Only for the sentence above; the lock itself does not depend on it.
        ftruncate(descriptor, 0)
        let text = Array("\(getpid())".utf8)
        _ = text.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    }

    deinit { unlock() }

    /// Lets the next process in: when nothing in the folder is open any more.
    func unlock() {
        descriptor.withLock { descriptor in
            if let open = descriptor { close(open) }
            descriptor = nil
        }
    }

    private static func holder(_ descriptor: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: 20)
        let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
        guard count > 0 else { return "" }
        return " (\(String(decoding: bytes.prefix(count), as: UTF8.self)))"
    }
}

extension StoreError {
    /// A call of the operating system failed.
    static func file(_ what: String, _ path: String, _ number: Int32) -> StoreError {
        let code: Code =
            switch number {
            case ENOSPC, EDQUOT: .full
            case ENOENT: .notFound
            default: .unavailable
            }
        return StoreError(
            code, "cannot \(what) \(path): \(String(cString: strerror(number)))", engineCode: "errno \(number)")
    }
}

/// Makes what happened to the names in a folder last: after this a new, renamed or removed file stays so.
func syncFolder(_ path: String) throws(StoreError) {
    let descriptor = clinux_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    guard descriptor >= 0 else { throw .file("open", path, errno) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw .file("sync", path, errno) }
}

/// Makes the folder, readable by its owner only, unless it is there; the folder above must exist.
func makeFolder(_ path: String) throws(StoreError) {
    if mkdir(path, 0o700) == 0 {
        try syncFolder(folder(of: path))
    } else if errno != EEXIST {
        throw .file("make", path, errno)
    }
}

/// The folder a path lies in.
func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
}
