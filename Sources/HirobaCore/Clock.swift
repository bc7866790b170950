import Glibc

/// What time it is. Rules take the time from here, so that a test can decide it.
package struct Clock: Sendable {
    /// Milliseconds since 1970 in UTC.
    package let now: @Sendable () -> Int64

    package init(now: @escaping @Sendable () -> Int64) { self.now = now }

    package static let system = Clock {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
