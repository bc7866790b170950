/// Deadlines of many things, cheap to set and coarse: one fires up to `tick` milliseconds late, never early.
///
/// There is no removal. Whoever set a time checks, when it fires, whether it is still the one that counts.
struct TimerWheel {
    struct Entry {
        var key: UInt64
        var time: UInt64
    }

    private static let tick: UInt64 = 50
    private static let slotCount: UInt64 = 1024

    private var slots: [[Entry]] = Array(repeating: [], count: Int(slotCount))
    /// The last tick that was dealt with.
    private var current: UInt64
    private var count = 0
    /// No slot before this tick holds anything.
    private var earliest: UInt64 = .max

    /// - Parameter now: milliseconds on a clock that only goes forward.
    init(now: UInt64) { current = now / Self.tick }

    mutating func add(_ key: UInt64, at time: UInt64) {
        insert(Entry(key: key, time: time))
        count += 1
    }

    private mutating func insert(_ entry: Entry) {
        // Rounded up, so that nothing fires early; what lies beyond the rim waits in the last slot and goes round again.
        let wanted = entry.time / Self.tick + 1
        let tick = min(max(wanted, current + 1), current + Self.slotCount - 1)
        slots[Int(tick % Self.slotCount)].append(entry)
        earliest = min(earliest, tick)
    }

    /// Takes out everything that is due.
    mutating func advance(to now: UInt64) -> [Entry] {
        let target = now / Self.tick
        var all: [Entry] = []
        while current < target {
            if count == 0 || earliest > target {
                current = target
                break
            }
            current = max(current + 1, min(earliest, target))
            let slot = Int(current % Self.slotCount)
            let due = slots[slot]
            slots[slot] = []
            earliest = nextFilledTick()
            for entry in due {
                if entry.time / Self.tick + 1 > current {
                    insert(entry)
                } else {
                    count -= 1
                    all.append(entry)
                }
            }
        }
        return all
    }

    private func nextFilledTick() -> UInt64 {
        for tick in current + 1..<current + Self.slotCount where !slots[Int(tick % Self.slotCount)].isEmpty {
            return tick
        }
        return .max
    }

    /// Milliseconds until something may be due; `nil` when nothing is set.
    func timeUntilNext(now: UInt64) -> UInt64? {
        guard count > 0, earliest != .max else { return nil }
        let due = earliest * Self.tick
        return due > now ? due - now : 0
    }
}
