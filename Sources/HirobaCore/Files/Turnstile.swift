internal import HirobaThreads

/// Lets a few through at once and a bounded number wait, in the order of arrival, for work that holds much memory.
final class Turnstile: Sendable {
    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Bool, Never>] = []
    }

    private let state: Lock<State>
    private let queue: Int

    init(atOnce: Int, queue: Int) {
        state = Lock(State(free: atOnce))
        self.queue = queue
    }

    /// - Throws: `HirobaError.busy` at once when the queue is full, or what `work` throws.
    func pass<Result: Sendable>(_ work: () async throws(HirobaError) -> Result) async throws(HirobaError) -> Result {
        guard await enter() else { throw .busy }
        defer { leave() }
        return try await work()
    }

    private func enter() async -> Bool {
        await withCheckedContinuation { continuation in
            let answer: Bool? = state.withLock { state in
                if state.free > 0 {
                    state.free -= 1
                    return true
                }
                guard state.waiting.count < queue else { return false }
                state.waiting.append(continuation)
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    private func leave() {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard !state.waiting.isEmpty else {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume(returning: true)
    }
}
