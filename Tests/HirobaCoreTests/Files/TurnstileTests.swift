import HirobaContract
import HirobaThreads
import Testing

@testable import HirobaCore

@Suite struct TurnstileTests {
    @Test("a few pass at once, a few wait, one more is refused")
    func bounds() async throws {
        let turnstile = Turnstile(atOnce: 2, queue: 3)
        let (inside, most, mayEnd) = (Lock(0), Lock(0), Lock(false))
        @Sendable func work() async throws(HirobaError) {
            let now = inside.withLock { inside in
                inside += 1
                return inside
            }
            most.withLock { $0 = max($0, now) }
            try? await until { mayEnd.withLock { $0 } }
            inside.withLock { $0 -= 1 }
        }
        let refused = try await withThrowingTaskGroup { group in
            for _ in 0..<9 {
                group.addTask { await refusal { try await turnstile.pass(work) } }
            }
            // Two work and three wait; the other four are told at once.
            var refused = 0
            for try await error in group {
                if error?.code == .tooManyRequests { refused += 1 }
                if refused == 4 { mayEnd.withLock { $0 = true } }
            }
            return refused
        }
        #expect(refused == 4 && most.withLock { $0 } == 2 && inside.withLock { $0 } == 0)
        try await turnstile.pass(work)
    }
}
