import Glibc

/// Lets a test hold a transaction open until something else has happened: `wait` blocks its thread, or its task, until
/// `open` was called.
package final class Gate: @unchecked Sendable {
    // Unchecked because a semaphore is made for being used by several threads.
    private let semaphore: UnsafeMutablePointer<sem_t> = .allocate(capacity: 1)

    package init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    package func open() { sem_post(semaphore) }

    /// For closures of the database, which have threads of their own. Gives up after half a minute.
    package func wait() throws {
        var end = timespec()
        clock_gettime(CLOCK_REALTIME, &end)
        end.tv_sec += 30
        while sem_timedwait(semaphore, &end) != 0 {
            if errno != EINTR { throw TestSupportError("the gate was not opened within 30 s") }
        }
        sem_post(semaphore)
    }

    /// For tests.
    package func pass() async throws {
        try await eventually { sem_trywait(self.semaphore) == 0 }
        sem_post(semaphore)
    }
}

/// Waits until `condition` holds; after half a minute throws instead.
package func eventually(_ condition: () async throws -> Bool) async throws {
    for _ in 0..<6000 {
        if try await condition() { return }
        try await Task.sleep(for: .milliseconds(5))
    }
    throw TestSupportError("what was waited for did not happen within 30 s")
}
