import Testing

@testable import HirobaHTTP

@Suite struct FrameBudgetTests {
    @Test("a budget is spent at once and earned back at a fifth a second")
    func budget() {
        var budget = FrameBudget(100, now: 1000)
        #expect(granted(&budget, 100, at: 1000) == 100)
        #expect(granted(&budget, 20, at: 2000) == 20)
        #expect(granted(&budget, 51, at: 2050) == 1)
        // In debt by fifty, and twenty a second are earned.
        #expect(granted(&budget, 1, at: 3000) == 0)
        #expect(granted(&budget, 150, at: 13_000) == 100)
    }

    @Test("asking often earns no less, and waiting long no more than all")
    func earning() {
        var often = FrameBudget(100, now: 0)
        var count = 0
        for now in stride(from: UInt64(0), to: 10_000, by: 60) { count += granted(&often, 1, at: now) }
        // Fewer than twenty a second are always granted.
        #expect(count == 167)
        var rare = FrameBudget(10, now: 0)
        #expect(granted(&rare, 20, at: 1_000_000_000) == 10)
    }

    private func granted(_ budget: inout FrameBudget, _ count: Int, at now: UInt64) -> Int {
        var granted = 0
        for _ in 0..<count where budget.spend(now: now) { granted += 1 }
        return granted
    }
}
