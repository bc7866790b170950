import HirobaThreads
import Testing

@testable import HirobaCore

@Suite struct SingleFlightTests {
    @Test("of many at once one works and the others learn that it is done")
    func oneWorks() async throws {
        let flight = SingleFlight<String>()
        let (worked, mayEnd) = (Lock(0), Lock(false))
        @Sendable func work() async throws -> Bool {
            worked.withLock { $0 += 1 }
            try await until { mayEnd.withLock { $0 } }
            return true
        }
        let results = try await withThrowingTaskGroup { group in
            for _ in 0..<10 {
                group.addTask { try await flight.run("key", work) }
            }
            try await until { worked.withLock { $0 } == 1 }
            mayEnd.withLock { $0 = true }
            return try await group.reduce(into: [Bool?]()) { $0.append($1) }
        }
        // Who came when it was done already did it again.
        #expect(results.count == 10 && results.count { $0 == true } == worked.withLock { $0 })
    }

    @Test("work for one key does not wait for work for another")
    func keys() async throws {
        let flight = SingleFlight<String>()
        @Sendable func inner() async throws -> Int { 7 }
        @Sendable func outer() async throws -> Int? { try await flight.run("other", inner) }
        let result = try await flight.run("key", outer)
        #expect(result == 7)
    }

    @Test("when the work fails the others go on, and the next tries again")
    func failure() async throws {
        struct Failure: Error {}
        let flight = SingleFlight<String>()
        func fail() async throws -> Int { throw Failure() }
        await #expect(throws: Failure.self) { try await flight.run("key", fail) }
        func succeed() async throws -> Int { 7 }
        let result = try await flight.run("key", succeed)
        #expect(result == 7)
    }
}
