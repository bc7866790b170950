import HirobaStore
import TestSupport
import Testing

let counters = Migration(
    "counters", ["CREATE TABLE counters (name \(.key) PRIMARY KEY, value \(.integer) NOT NULL) \(.strict)"])

@Suite struct DatabaseTests {
    @Test("what a write put there a read finds")
    func writeThenRead() async throws {
        try await withDatabases(migrations: [counters]) { database in
            let changed = try await database.write { db in
                try db.run("INSERT INTO counters (name, value) VALUES (\("a"), \(41)), (\("b"), \(0))")
                return try db.run("UPDATE counters SET value = value + \(1) WHERE name = \("a")")
            }
            #expect(changed == 1)
            let rows = try await database.read { db in
                try db.rows("SELECT name, value FROM counters ORDER BY name") { row in
                    "\(try row.text(0)) \(try row.integer(1))"
                }
            }
            #expect(rows == ["a 42", "b 0"])
        }
    }

    @Test("every kind of value comes back as it went in")
    func values() async throws {
        struct Line: Equatable {
            let integer: Int64?, real: Double?, flag: Bool?, text: String?, bytes: [UInt8]?
        }
        var random = SystemRandomNumberGenerator()
        func maybe<Value>(_ value: Value) -> Value? { Int.random(in: 0..<8, using: &random) == 0 ? nil : value }
        let texts = [
            "", "'\"\\;--%_$1?", "広場 👩‍👩‍👧 e\u{301}", "\u{1}\u{7f}\u{10ffff}", String(repeating: "ü", count: 5000),
        ]
        let integers: [Int64] = [.min, .max, 0, -1, 1 << 40]
        let reals: [Double] = [0.1, -1e300, .leastNonzeroMagnitude, 1 / 3, 42, .greatestFiniteMagnitude]
        let lines = (0..<60).map { _ in
            Line(
                integer: maybe(integers.randomElement() ?? 0), real: maybe(reals.randomElement() ?? 0),
                flag: maybe(Bool.random()), text: maybe(texts.randomElement() ?? ""),
                bytes: maybe((0..<Int.random(in: 0..<300)).map { _ in UInt8.random(in: .min ... .max) }))
        }
        let table = Migration(
            "values",
            [
                """
                CREATE TABLE lines (number \(.integer) PRIMARY KEY, i \(.integer), r \(.real), f \(.flag), t TEXT, b \(.bytes)) \
                \(.strict)
                """
            ])
        try await withDatabases(migrations: [table]) { database in
            try await database.write { db in
                for (number, line) in lines.enumerated() {
                    try db.run(
                        """
                        INSERT INTO lines (number, i, r, f, t, b)
                        VALUES (\(number), \(line.integer), \(line.real), \(line.flag), \(line.text), \(line.bytes))
                        """)
                }
            }
            let found = try await database.read { db in
                try db.rows("SELECT i, r, f, t, b FROM lines ORDER BY number") { row in
                    Line(
                        integer: try row.optionalInteger(0), real: try row.optionalReal(1),
                        flag: try row.optionalBool(2),
                        text: try row.optionalText(3), bytes: try row.optionalBytes(4))
                }
            }
            #expect(found == lines)
        }
    }

    @Test("a column of another type, an unexpected null or a column that is not there is an error")
    func wrongColumns() async throws {
        try await withDatabases { database in
            func read<Value: Sendable>(_ get: @escaping @Sendable (borrowing Row) throws -> Value) async -> StoreError
                .Code?
            {
                await code {
                    try await database.read { db in
                        try db.first("SELECT \(1), \("one"), \([1] as [UInt8]), \(nil as String?)", get)
                    }
                }
            }
            #expect(await read { row in try row.text(0) } == .programming)
            #expect(await read { row in try row.integer(1) } == .programming)
            #expect(await read { row in try row.text(2) } == .programming)
            #expect(await read { row in try row.bytes(1) } == .programming)
            #expect(await read { row in try row.text(3) } == .programming)
            #expect(await read { row in try row.optionalText(4) } == .programming)
            #expect(await read { row in try row.optionalText(-1) } == .programming)
            #expect(await read { row in try row.optionalText(3) } == nil)
        }
    }

    @Test("a text column's bytes can be appended as they lie there")
    func appendText() async throws {
        try await withDatabases { database in
            let bytes = try await database.read { db in
                try db.first("SELECT \("{\"名\":1}")") { row in
                    var bytes = Array("[".utf8)
                    try row.appendText(0, to: &bytes)
                    return bytes
                }
            }
            #expect(bytes == Array("[{\"名\":1}".utf8))
        }
    }

    @Test("an error thrown by the closure undoes all it did and reaches the caller as it is")
    func closureThrows() async throws {
        struct Mine: Error {}
        try await withDatabases(migrations: [counters]) { database in
            await #expect(throws: Mine.self) {
                try await database.write { db in
                    try db.run("INSERT INTO counters VALUES (\("a"), \(1))")
                    throw Mine()
                }
            }
            let rows = try await count(database)
            #expect(rows == 0)
        }
    }

    @Test("parallel read-then-write closures lose nothing")
    func increments() async throws {
        try await withDatabases(migrations: [counters]) { database in
            try await database.write { db in try db.run("INSERT INTO counters VALUES (\("a"), \(0))") }
            try await withThrowingTaskGroup { group in
                for _ in 0..<800 {
                    group.addTask {
                        try await database.write { db in
                            let value = try db.first("SELECT value FROM counters WHERE name = \("a")") { row in
                                try row.integer(0)
                            }
                            try db.run("UPDATE counters SET value = \((value ?? 0) + 1) WHERE name = \("a")")
                        }
                    }
                }
                try await group.waitForAll()
            }
            let value = try await database.read { db in
                try db.first("SELECT value FROM counters") { row in try row.integer(0) }
            }
            #expect(value == 800)
        }
    }

    @Test("a read sees one state, whatever is written meanwhile")
    func snapshot() async throws {
        try await withDatabases(migrations: [counters]) { database in
            let (hasRead, hasWritten) = (Gate(), Gate())
            async let counts = OwnThread().run { _ in
                try await database.read { db in
                    let before = try db.first("SELECT count(*) FROM counters") { row in try row.integer(0) }
                    hasRead.open()
                    try hasWritten.wait()
                    let after = try db.first("SELECT count(*) FROM counters") { row in try row.integer(0) }
                    return [before, after]
                }
            }
            try await hasRead.pass()
            try await database.write { db in try db.run("INSERT INTO counters VALUES (\("a"), \(1))") }
            hasWritten.open()
            #expect(try await counts == [0, 0])
            let rows = try await count(database)
            #expect(rows == 1)
        }
    }

    @Test("a write inside a read is refused")
    func writeInRead() async throws {
        try await withDatabases(migrations: [counters]) { database in
            let refusal = await code {
                try await database.read { db in try db.run("INSERT INTO counters VALUES (\("a"), \(1))") }
            }
            #expect(refusal == .programming)
            let rows = try await count(database)
            #expect(rows == 0)
        }
    }

    @Test("errors have a code, and their text holds no value")
    func errors() async throws {
        let tables = Migration(
            "tables",
            [
                "CREATE TABLE people (id \(.key) PRIMARY KEY, email TEXT UNIQUE, age \(.integer) NOT NULL CHECK (age > 0)) \(.strict)",
                "CREATE TABLE notes (person \(.key) NOT NULL REFERENCES people (id)) \(.strict)",
            ])
        let secret = "hunter2"
        let cases: [(SQL, StoreError.Code)] = [
            ("INSERT INTO people VALUES (\(secret), \("x"), \(1))", .uniqueViolation),
            ("INSERT INTO people VALUES (\("other"), \(secret), \(1))", .uniqueViolation),
            ("INSERT INTO people VALUES (\("other"), \(secret + "2"), \(0))", .checkViolation),
            ("INSERT INTO people VALUES (\("other"), \(secret + "2"), \(nil as Int?))", .checkViolation),
            ("INSERT INTO notes VALUES (\(secret + "2"))", .foreignKeyViolation),
            ("DELETE FROM people WHERE id = \(secret)", .foreignKeyViolation),
            ("SELECT \(secret + "\0")", .invalidText),
            ("SELECT FROM WHERE \(secret)", .programming),
            ("SELECT nothing FROM people WHERE id = \(secret)", .programming),
            ("SELECT 1 FROM nowhere WHERE id = \(secret)", .programming),
            ("SELECT \"hunter\" WHERE \(secret) <> ''", .programming),
            ("UPDATE people SET age = \(secret)", .programming),
            (.byDialect(sqlite: "SELECT json(\(secret))", postgres: "SELECT CAST(\(secret) AS JSON)"), .programming),
            ("SELECT 1; SELECT 2", .programming),
        ]
        try await withDatabases(migrations: [tables]) { database in
            try await database.write { db in
                try db.run("INSERT INTO people VALUES (\(secret), \(secret), \(1))")
                try db.run("INSERT INTO notes VALUES (\(secret))")
            }
            for (statement, expected) in cases {
                do {
                    _ = try await database.write { db in try db.run(statement) }
                    Issue.record("nothing was thrown, but \(expected) was expected")
                } catch let error as StoreError {
                    #expect(
                        error.code == expected || (database.dialect == .sqlite && error.code == .checkViolation),
                        "\(error)")
                    #expect(!"\(error)".contains(secret))
                    #expect(error.statement != nil)
                }
            }
        }
    }

    @Test("after a failed statement nothing of the transaction stays, also when the closure caught the error")
    func failedStatement() async throws {
        try await withDatabases(migrations: [counters]) { database in
            let outcome = await code {
                try await database.write { db in
                    try db.run("INSERT INTO counters VALUES (\("a"), \(1))")
                    _ = try? db.run("INSERT INTO counters VALUES (\("a"), \(2))")
                    #expect(throws: StoreError.self) { try db.run("INSERT INTO counters VALUES (\("b"), \(2))") }
                }
            }
            #expect(outcome == .uniqueViolation)
            let rows = try await count(database)
            #expect(rows == 0)
        }
    }

    @Test("a transaction that was carried out of its closure does nothing")
    func escaped() async throws {
        final class Thief: @unchecked Sendable { var loot: Transaction? }
        try await withDatabases(migrations: [counters]) { database in
            let thief = Thief()
            try await database.write { db in thief.loot = db }
            #expect(throws: StoreError.self) { try thief.loot?.run("INSERT INTO counters VALUES (\("a"), \(1))") }
            let rows = try await count(database)
            #expect(rows == 0)
        }
    }

    @Test("a statement can run while the rows of another, or of itself, are being read")
    func nested() async throws {
        try await withDatabases(migrations: [counters]) { database in
            try await database.write { db in
                for name in ["a", "b"] { try db.run("INSERT INTO counters VALUES (\(name), \(1))") }
            }
            @Sendable func names(_ db: Transaction, _ body: (String) throws -> [String]) throws -> [[String]] {
                try db.rows("SELECT name FROM counters ORDER BY name") { row in try body(try row.text(0)) }
            }
            let pairs = try await database.read { db in
                try names(db) { outer in try names(db) { [outer + $0] }.flatMap { $0 } }
            }
            #expect(pairs == [["aa", "ab"], ["ba", "bb"]])
        }
    }

    @Test("`first` of RETURNING answers the first row, and the whole statement is done")
    func firstOfReturning() async throws {
        try await withDatabases(migrations: [counters]) { database in
            let name = try await database.write { db in
                try db.first(
                    "INSERT INTO counters VALUES (\("a"), \(1)), (\("b"), \(2)), (\("c"), \(3)) RETURNING name"
                ) {
                    row in try row.text(0)
                }
            }
            #expect(name == "a")
            let rows = try await count(database)
            #expect(rows == 3)
        }
    }

    @Test("many different statements, more than are kept prepared, all work")
    func manyStatements() async throws {
        try await withDatabases { database in
            let sum = try await database.read { db in
                try (0..<500).reduce(Int64(0)) { sum, number in
                    let text = SQL(unsafeSQL: "SELECT \(number) + ")
                    return sum + (try db.first(text + "\(number)") { row in try row.integer(0) } ?? 0)
                }
            }
            #expect(sum == 499 * 500)
        }
    }

    @Test("a statement without end is stopped at the deadline, and the connection works on")
    func deadline() async throws {
        var options = Database.Options()
        options.readDeadline = .milliseconds(300)
        options.writeDeadline = .milliseconds(300)
        options.readers = 1
        let endless: SQL = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 - 1 FROM n) SELECT count(*) FROM n"
        try await withDatabases(migrations: [counters], options: options) { database in
            #expect(await code { try await database.read { db in try db.run(endless) } } == .timeout)
            #expect(await code { try await database.write { db in try db.run(endless) } } == .timeout)
            try await eventually { await code { try await count(database) } == nil }
            try await eventually {
                await code { try await database.write { db in try db.run("DELETE FROM counters") } } == nil
            }
        }
    }

    @Test("more waiting operations than allowed are refused at once, and the others still done")
    func tooMany() async throws {
        var options = Database.Options()
        options.waiting = 2
        options.connections = 2
        try await withDatabases(migrations: [counters], options: options) { database in
            let (running, gate) = (Gate(), Gate())
            async let first: Void = database.write { _ in
                running.open()
                try gate.wait()
            }
            try await running.pass()
            let codes = try await withThrowingTaskGroup { group in
                for number in 0..<5 {
                    group.addTask {
                        await code {
                            try await database.write { db in
                                try db.run("INSERT INTO counters VALUES (\("\(number)"), \(1))")
                            }
                        }
                    }
                }
                var codes: [StoreError.Code?] = []
                // Three are refused at once; the other two cannot be done before the gate is open.
                for _ in 0..<3 { codes.append(try await group.next() ?? nil) }
                gate.open()
                for try await code in group { codes.append(code) }
                return codes
            }
            #expect(codes == [.busy, .busy, .busy, nil, nil])
            try await first
            let rows = try await count(database)
            #expect(rows == 2)
        }
    }

    @Test("closing lets what was handed over finish and refuses what comes later")
    func closing() async throws {
        try await withDatabases(migrations: [counters]) { database in
            let (running, gate) = (Gate(), Gate())
            async let write: Void = database.write { db in
                running.open()
                try gate.wait()
                try db.run("INSERT INTO counters VALUES (\("a"), \(1))")
            }
            try await running.pass()
            async let closed: Void = database.close()
            try await eventually { await code { try await count(database) } == .unavailable }
            gate.open()
            try await write
            await closed
            #expect(await database.isHealthy == false)
        }
    }

    @Test("workers that claim work from a queue each get their own")
    func claims() async throws {
        let jobs = Migration(
            "jobs", ["CREATE TABLE jobs (id \(.integer) PRIMARY KEY, done \(.flag) NOT NULL) \(.strict)"])
        try await withDatabases(migrations: [jobs]) { database in
            try await database.write { db in
                for id in 0..<60 { try db.run("INSERT INTO jobs VALUES (\(id), \(false))") }
            }
            let claimed = try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask {
                        var mine: [Int64] = []
                        while true {
                            let batch = try await database.claim { db in
                                try db.rows(
                                    """
                                    UPDATE jobs SET done = \(true) WHERE id IN (
                                        SELECT id FROM jobs WHERE NOT done ORDER BY id LIMIT \(3) \(.skipLocked))
                                    RETURNING id
                                    """
                                ) { row in try row.integer(0) }
                            }
                            if batch.isEmpty { return mine }
                            mine += batch
                        }
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(claimed.sorted() == Array(0..<60))
        }
    }

    @Test("health and settings are told")
    func health() async throws {
        try await withDatabases { database in
            #expect(await database.isHealthy)
            let settings = try await database.settings()
            switch database.dialect {
            case .sqlite: #expect(settings.allSatisfy { $0.problem == nil })
            // The cluster of the tests runs without fsync, and that is what has to be noticed.
            case .postgres: #expect(settings.filter { $0.problem != nil }.map(\.name) == ["fsync"])
            }
        }
    }
}

private func count(_ database: Database) async throws -> Int64? {
    try await database.read { db in try db.first("SELECT count(*) FROM counters") { row in try row.integer(0) } }
}
