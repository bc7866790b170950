import HirobaStore
import HirobaThreads
import TestSupport
import Testing

@Suite struct SignalHubTests {
    @Test("a signal comes after the commit, so that whoever is woken finds the row; a failed write gives none")
    func afterCommit() async throws {
        struct Mine: Error {}
        try await withDatabases(migrations: [counters]) { database in
            let found = Lock<[Int]>([])
            let signals = database.signals("changes")
            // Looks each time it is woken. A stream begins with one signal.
            let watcher = Task {
                for await _ in signals {
                    let count = try await rows(database)
                    found.withLock { $0.append(count) }
                }
            }
            try await eventually { found.withLock { $0 }.first == 0 }

            await #expect(throws: Mine.self) {
                try await database.write { db in
                    db.signal("changes")
                    throw Mine()
                }
            }
            let (signalled, gate) = (Gate(), Gate())
            async let write: Void = database.write { db in
                try db.run("INSERT INTO counters VALUES (\("a"), \(1))")
                for _ in 0..<3 { db.signal("changes") }
                signalled.open()
                try gate.wait()
            }
            try await signalled.pass()
            // Long enough for a signal that comes too early to be heard.
            for _ in 0..<50 { _ = try await rows(database) }
            // On PostgreSQL everybody is also woken when the connection for signals is there.
            if database.dialect == .sqlite { #expect(found.withLock { $0 } == [0]) }
            gate.open()
            try await write
            try await eventually { found.withLock { $0 }.last == 1 }
            if database.dialect == .sqlite { #expect(found.withLock { $0 } == [0, 1]) }
            await database.close()
            _ = await watcher.result
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

private func rows(_ database: Database) async throws -> Int {
    try await database.read { db in
        Int(try db.first("SELECT count(*) FROM counters") { row in try row.integer(0) } ?? 0)
    }
}
