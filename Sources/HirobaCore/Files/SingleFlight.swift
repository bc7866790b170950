internal import HirobaThreads

/// Lets one caller do a piece of work for a key while others who want the same wait for the end of it.
///
/// The work belongs to the task of the first caller. When that one is cancelled, the next does it.
final class SingleFlight<Key: Hashable & Sendable>: Sendable {
    private let waiting = Lock<[Key: [CheckedContinuation<Void, Never>]]>([:])

    /// Runs `work` unless somebody is already at it, in which case it waits for the end of that and does not run it.
    /// Look again afterwards: the other may have failed.
    ///
    /// - Returns: what `work` returned, or nil when somebody else did it.
    func run<Result: Sendable, Failure: Error>(
        _ key: Key, _ work: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result? {
        guard await isFirst(key) else { return nil }
        defer {
            let others = waiting.withLock { $0.removeValue(forKey: key) }
            for other in others ?? [] { other.resume() }
        }
        return try await work()
    }

    private func isFirst(_ key: Key) async -> Bool {
        let isFirst = waiting.withLock { waiting in
            if waiting[key] != nil { return false }
            waiting[key] = []
            return true
        }
        if isFirst { return true }
        await withCheckedContinuation { continuation in
            let mustWait = waiting.withLock { waiting in
                guard waiting[key] != nil else { return false }
                waiting[key]?.append(continuation)
                return true
            }
            if !mustWait { continuation.resume() }
        }
        return false
    }
}
