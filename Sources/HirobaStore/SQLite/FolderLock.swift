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
        if let reason = lockFile(descriptor) {
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

/// Locks an open file for this process.
///
/// - Returns: why that failed, an `errno`; nil when it did not. `EWOULDBLOCK` means that somebody has held it for a second:
///   a child process of whoever has just let go keeps a lock until its exec, some moments after its fork.
package func lockFile(_ descriptor: Int32) -> Int32? {
    var reason: Int32?
    for attempt in 0..<50 {
        if attempt > 0 { usleep(20_000) }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return nil }
        reason = errno
        if reason != EWOULDBLOCK { break }
    }
    return reason
}
