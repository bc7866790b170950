public import Glibc

/// A mutual exclusion around a value, for a few lines that never wait.
///
/// `Synchronization.Mutex` does the same; this one lives on the heap, where the thread sanitizer can see it.
@usableFromInline package final class Lock<State>: @unchecked Sendable {
    // Unchecked because the compiler cannot see that `state` is touched only while `mutex` is held.
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline var state: State

    package init(_ state: State) {
        self.state = state
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    // Inlinable, because a lock is often held for less than a call of a generic function takes.
    @inlinable package func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state)
    }
}
