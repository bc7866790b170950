/// The two worlds of APNs. A token, and mostly a key, belongs to one of them.
package enum PushEnvironment: String, Sendable, Hashable, CaseIterable {
    case sandbox
    case production
}

/// What time it is. Everything here takes the time from one of these, so that hours pass in no time in a test.
package struct SimulatorClock: Sendable {
    /// Milliseconds since 1970 in UTC.
    package let now: @Sendable () -> Int64

    package init(now: @escaping @Sendable () -> Int64) { self.now = now }
}
