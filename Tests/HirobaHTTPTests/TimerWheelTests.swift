import Testing

@testable import HirobaHTTP

@Suite struct TimerWheelTests {
    @Test("what is due fires, not early and not much later")
    func fires() {
        for start: UInt64 in [0, 49, 1_000_000_007] {
            for delay: UInt64 in [0, 1, 50, 51, 999, 10_000, 51_150, 51_250, 60_000, 200_000] {
                var wheel = TimerWheel(now: start)
                wheel.add(7, at: start + delay)
                var now = start
                var fired: UInt64?
                while fired == nil, now < start + delay + 1000 {
                    now += 10
                    for entry in wheel.advance(to: now) {
                        #expect(entry.key == 7)
                        #expect(entry.time == start + delay)
                        fired = now
                    }
                }
                let late = fired.map { $0 - start }
                #expect(late.map { $0 >= delay && $0 <= delay + 110 } == true, "start \(start) delay \(delay)")
                #expect(wheel.advance(to: now + 1_000_000).isEmpty)
            }
        }
    }

    @Test("the time until the next is never longer than that, however the wheel is turned")
    func timeUntilNext() {
        var wheel = TimerWheel(now: 1000)
        #expect(wheel.timeUntilNext(now: 1000) == nil)
        wheel.add(1, at: 61_000)
        wheel.add(2, at: 3000)
        var now: UInt64 = 1000
        var order: [UInt64] = []
        var turns = 0
        while let wait = wheel.timeUntilNext(now: now), turns < 100 {
            turns += 1
            now += max(wait, 1)
            order += wheel.advance(to: now).map(\.key)
        }
        #expect(order == [2, 1])
        #expect(now >= 61_000 && now <= 61_100)
        // Sleeping from one to the next, and not tick by tick.
        #expect(turns < 10)
    }

    @Test("a long sleep loses nothing")
    func longSleep() {
        var wheel = TimerWheel(now: 0)
        for key in 0..<1000 { wheel.add(UInt64(key), at: UInt64(key * 97)) }
        let fired = wheel.advance(to: 200_000).map(\.key) + wheel.advance(to: 400_000).map(\.key)
        #expect(fired.sorted() == (0..<1000).map { UInt64($0) })
        #expect(wheel.timeUntilNext(now: 400_000) == nil)
    }
}
