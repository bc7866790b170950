import HirobaStore
import HirobaThreads
import TestSupport
import Testing

private let lines = Migration(
    "lines",
    [
        "CREATE TABLE lines (name \(.key) PRIMARY KEY, text \(.bytes)) \(.strict)",
        """
        CREATE TABLE links (line \(.key) NOT NULL REFERENCES lines (name) DEFERRABLE INITIALLY DEFERRED) \(.strict)
        """,
    ])

/// Many writes in one transaction: what one of them does must not touch the others.
@Suite struct SQLiteWriterTests {
    @Test("a write that throws is undone alone; its neighbours in the same transaction stay")
    func oneThrows() async throws {
        struct Mine: Error {}
        try await withSQLite(migrations: [lines]) { database in
            let outcomes = try await inOneGroup(
                database,
                (0..<20).map { number in
                    { db in
                        try insert(db, "\(number)")
                        if number % 5 == 0 { throw Mine() }
                    }
                })
            #expect(outcomes == (0..<20).map { $0 % 5 == 0 ? .threw("Mine") : .succeeded })
            #expect(try await names(database) == Set((0..<20).filter { $0 % 5 != 0 }.map(String.init)))
        }
    }

    @Test("a write sees what those before it in the transaction have done, except what was undone")
    func order() async throws {
        struct Mine: Error {}
        let seen = Lock<Set<String>>([])
        try await withSQLite(migrations: [lines]) { database in
            let outcomes = try await inOneGroup(
                database,
                [
                    { db in try insert(db, "kept") },
                    { db in
                        try insert(db, "undone")
                        throw Mine()
                    },
                    { db in
                        let found = try db.rows("SELECT name FROM lines") { row in try row.text(0) }
                        seen.withLock { $0 = Set(found) }
                    },
                ])
            #expect(outcomes == [.succeeded, .threw("Mine"), .succeeded])
        }
        #expect(seen.withLock { $0 } == ["kept"])
    }

    @Test("when the disk is full the write that filled it fails, and the others are done once each")
    func full() async throws {
        try await withSQLite(migrations: [lines]) { database in
            try await limitPages(database)
            let outcomes = try await inOneGroup(
                database,
                [
                    { db in try insert(db, "before") },
                    { db in
                        try db.run("INSERT INTO lines VALUES (\("big"), \([UInt8](repeating: 1, count: 9_000_000)))")
                    },
                    { db in try insert(db, "after") },
                ])
            #expect(outcomes == [.succeeded, .failed(.full), .succeeded])
            #expect(try await names(database) == ["before", "after"])
            try await database.write { db in try insert(db, "later") }
            #expect(try await names(database) == ["before", "after", "later"])
        }
    }

    @Test("a full disk that everybody hits fails everybody who does, and nobody is answered wrongly")
    func fullForMany() async throws {
        try await withSQLite(migrations: [lines]) { database in
            try await limitPages(database)
            let outcomes = try await inOneGroup(
                database,
                (0..<40).map { number in
                    { db in
                        try db.run(
                            "INSERT INTO lines VALUES (\("\(number)"), \([UInt8](repeating: 1, count: number % 3 * 200_000)))"
                        )
                    }
                })
            let present = try await names(database)
            for (number, outcome) in outcomes.enumerated() {
                #expect((outcome == .succeeded) == present.contains("\(number)"))
                #expect(outcome == .succeeded || outcome == .failed(.full))
            }
            #expect(outcomes.contains(.failed(.full)))
            #expect(outcomes.contains(.succeeded))
        }
    }

    @Test("an interrupted write, which takes the whole transaction with it, fails alone")
    func interrupted() async throws {
        var options = Database.Options()
        options.writeDeadline = .seconds(2)
        options.groupTime = .seconds(60)
        try await withSQLite(migrations: [lines], options: options) { database in
            let outcomes = try await inOneGroup(
                database,
                [
                    { db in try insert(db, "before") },
                    { db in
                        try db.run(
                            """
                            INSERT INTO lines SELECT 'x', NULL FROM (
                                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT count(*) FROM n)
                            """)
                    },
                ])
            #expect(outcomes == [.succeeded, .failed(.timeout)])
            #expect(try await names(database) == ["before"])
        }
    }

    @Test("a rule that is checked at COMMIT fails only the write that broke it")
    func deferredRule() async throws {
        try await withSQLite(migrations: [lines]) { database in
            let outcomes = try await inOneGroup(
                database,
                [
                    { db in try insert(db, "before") },
                    { db in try db.run("INSERT INTO links VALUES (\("nobody"))") },
                    { db in try db.run("INSERT INTO links VALUES (\("before"))") },
                ])
            #expect(outcomes == [.succeeded, .failed(.foreignKeyViolation), .succeeded])
            #expect(try await names(database) == ["before"])
        }
    }

    @Test("whatever mixture of writes comes together, what was answered is there and what failed is not")
    func mixture() async throws {
        struct Mine: Error {}
        try await withSQLite(migrations: [lines]) { database in
            try await limitPages(database)
            for round in 0..<15 {
                var kinds = (0..<12).map { _ in Int.random(in: 0..<10) }
                // Each full disk makes the healthy ones run again, and they do so three times at most.
                for index in kinds.indices.filter({ kinds[$0] == 2 }).dropFirst(3) { kinds[index] = 5 }
                let outcomes = try await inOneGroup(
                    database,
                    kinds.enumerated().map { number, kind in
                        { db in
                            try insert(db, "\(round).\(number)")
                            switch kind {
                            case 0: throw Mine()
                            case 1: try insert(db, "\(round).\(number)")
                            case 2: try db.run("UPDATE lines SET text = \([UInt8](repeating: 2, count: 9_000_000))")
                            case 3: try db.run("INSERT INTO links VALUES (\("nobody"))")
                            case 4: _ = try? insert(db, "\(round).\(number)")
                            default: break
                            }
                        }
                    })
                let present = try await names(database)
                for (number, outcome) in outcomes.enumerated() {
                    #expect((outcome == .succeeded) == present.contains("\(round).\(number)"), "\(kinds)")
                    #expect((outcome == .succeeded) == (kinds[number] > 4), "\(kinds) \(outcomes)")
                }
            }
        }
    }
}

private enum Outcome: Equatable {
    case succeeded
    case failed(StoreError.Code)
    case threw(String)
}

/// Runs the writes in one transaction, in their order: they are handed over while an earlier write holds the writer up.
private func inOneGroup(
    _ database: Database, _ writes: [@Sendable (Transaction) throws -> Void]
) async throws -> [Outcome] {
    let (running, gate) = (Gate(), Gate())
    async let blocker: Void = database.write { _ in
        running.open()
        try gate.wait()
    }
    try await running.pass()
    let outcomes = try await withThrowingTaskGroup { group in
        for (number, write) in writes.enumerated() {
            group.addTask {
                do {
                    try await database.write(write)
                    return (number, Outcome.succeeded)
                } catch let error as StoreError {
                    return (number, Outcome.failed(error.code))
                } catch {
                    return (number, Outcome.threw("\(type(of: error))"))
                }
            }
            try await eventually { database.waitingWrites == number + 1 }
        }
        gate.open()
        return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
    try await blocker
    return outcomes.sorted { $0.key < $1.key }.map(\.value)
}

@discardableResult
private func insert(_ db: Transaction, _ name: String) throws -> Int {
    try db.run("INSERT INTO lines (name) VALUES (\(name))")
}

/// About 4 MB, so that 9 MB are too much.
private func limitPages(_ database: Database) async throws {
    try await database.write { db in try db.run("PRAGMA max_page_count = 1000") }
}

private func names(_ database: Database) async throws -> Set<String> {
    Set(try await database.read { db in try db.rows("SELECT name FROM lines") { row in try row.text(0) } })
}
