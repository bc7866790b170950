import HirobaStore
import TestSupport
import Testing

@Suite struct SignalHubTests {
    @Test("a signal comes after the commit, several become one, and a transaction that failed gives none")
    func afterCommit() async throws {
        struct Mine: Error {}
        try await withDatabases(migrations: [counters]) { database in
            var signals = database.signals("changes").makeAsyncIterator()
            var others = database.signals("others").makeAsyncIterator()
            // Each stream begins with one.
            #expect(await signals.next() != nil)
            #expect(await others.next() != nil)

            let (signalled, gate) = (Gate(), Gate())
            async let write: Void = database.write { db in
                try db.run("INSERT INTO counters VALUES (\("a"), \(1))")
                for _ in 0..<3 { db.signal("changes") }
                signalled.open()
                try gate.wait()
            }
            try await signalled.pass()
            await #expect(throws: Mine.self) {
                // On SQLite this waits for the other; where it does not, it must not wake anybody.
                gate.open()
                try await database.write { db in
                    db.signal("others")
                    throw Mine()
                }
            }
            #expect(await signals.next() != nil)
            // Whoever is woken finds the row.
            let rows = try await database.read { db in
                try db.rows("SELECT name FROM counters") { row in try row.text(0) }
            }
            #expect(rows == ["a"])
            try await write
            try await database.write { db in db.signal("others") }
            #expect(await others.next() != nil)
        }
    }

    @Test("a stream ends when the database is closed")
    func end() async throws {
        try await withDatabases { database in
            let signals = database.signals("changes")
            async let count = signals.reduce(0) { count, _ in count + 1 }
            await database.close()
            #expect(await count <= 1)
            #expect(await database.signals("changes").reduce(0) { count, _ in count + 1 } == 0)
        }
    }

    @Test("a signal reaches the other nodes")
    func otherNode() async throws {
        try await withPostgresAddress { address in
            let here = try await Database.open(.postgres(url: address), migrations: [counters])
            let there = try await Database.open(.postgres(url: address), migrations: [counters])
            let signals = there.signals("changes")
            // Written again until it is heard: the other node may not be listening yet.
            async let heard = Self.count(signals, upTo: 3)
            for number in 0..<3 {
                try await here.write { db in
                    try db.run("INSERT INTO counters VALUES (\("\(number)"), \(1))")
                    db.signal("changes")
                }
                try await Task.sleep(for: .milliseconds(20))
            }
            try await eventually {
                try await here.write { db in db.signal("changes") }
                return await Self.hasHeard.value
            }
            #expect(await heard == 3)
            await here.close()
            await there.close()
        }
    }

    private actor Flag {
        var value = false
        func set() { value = true }
    }

    private static let hasHeard = Flag()

    private static func count(_ signals: AsyncStream<Void>, upTo most: Int) async -> Int {
        var count = 0
        for await _ in signals {
            count += 1
            if count == most { break }
        }
        await hasHeard.set()
        return count
    }
}
