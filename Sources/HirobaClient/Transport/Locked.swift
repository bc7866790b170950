import Foundation

/// A value behind a lock, for the few places that are called without `async`. `Mutex` needs a younger system than we
/// do.
///
/// Unchecked, because the compiler cannot see that the lock is taken for every access; `withLock` is the only way in.
final class Locked<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
