import HirobaStore
import TestSupport
import Testing

/// What SQLite and PostgreSQL do differently: each difference seen, and the way around it seen to work.
@Suite struct DialectTests {
    @Test("a parameter whose type PostgreSQL cannot guess is an error there; a typed one is not")
    func untypedNull() async throws {
        try await withDatabases { database in
            let untyped = await code { try await database.read { db in try db.run("SELECT \(SQLValue.null) IS NULL") } }
            #expect(untyped == (database.dialect == .postgres ? .programming : nil))
            let isNull = try await database.read { db in
                try db.first("SELECT \(nil as String?) IS NULL, \(1) IS NULL") { row in
                    [try row.bool(0), try row.bool(1)]
                }
            }
            #expect(isNull == [true, false])
        }
    }

    @Test("arithmetic with a parameter has 64 bits")
    func wideArithmetic() async throws {
        try await withDatabases { database in
            let number = try await database.read { db in
                try db.first("SELECT \(1_900_000_000_000) - 1000") { row in try row.integer(0) }
            }
            #expect(number == 1_899_999_999_000)
        }
    }

    @Test("a sum of integers, which PostgreSQL counts in another type, is read as an integer")
    func sums() async throws {
        try await withDatabases(migrations: [counters]) { database in
            let sum = try await database.write { db in
                try db.run("INSERT INTO counters VALUES (\("a"), \(1)), (\("b"), \(1_099_511_627_776))")
                return try db.first("SELECT SUM(value) FROM counters") { row in try row.integer(0) }
            }
            #expect(sum == 1_099_511_627_777)
        }
    }

    @Test("true and false are conditions and values on both")
    func flags() async throws {
        let flags = Migration(
            "flags", ["CREATE TABLE flags (id \(.integer) PRIMARY KEY, f \(.flag) NOT NULL) \(.strict)"])
        try await withDatabases(migrations: [flags]) { database in
            let ids = try await database.write { db in
                try db.run("INSERT INTO flags VALUES (1, \(true)), (2, \(false)), (3, TRUE)")
                return try ["f", "NOT f", "f = TRUE", "f = \(false)"].map { (condition: SQL) in
                    try db.rows("SELECT id FROM flags WHERE \(condition) ORDER BY id") { row in try row.integer(0) }
                }
            }
            #expect(ids == [[1, 3], [2], [1, 3], [2]])
            let exists = try await database.read { db in
                try db.first("SELECT EXISTS (SELECT 1 FROM flags), EXISTS (SELECT 1 FROM flags WHERE id = 9)") { row in
                    [try row.bool(0), try row.bool(1)]
                }
            }
            #expect(exists == [true, false])
        }
    }

    @Test(
        "LIKE minds case and takes an escape, on both",
        arguments: [
            ("abc", "a%", true), ("ABC", "a%", false), ("a%c", "a\\%c", true), ("abc", "a\\%c", false),
            ("a_c", "a\\_c", true), ("abc", "a\\_c", false), ("Äb", "ä%", false),
        ])
    func like(text: String, pattern: String, matches: Bool) async throws {
        try await withDatabases { database in
            let found = try await database.read { db in
                try db.first("SELECT \(text) LIKE \(pattern) ESCAPE '\\'") { row in try row.bool(0) }
            }
            #expect(found == matches)
        }
    }

    @Test("`contains` and `hasPrefix` take every character as it is, on both as Swift does")
    func containsAndHasPrefix() async throws {
        let texts = ["", "%", "_", "\\", "a%b", "a_b", "a\\b", "abc", "ABC", "広場で", "場", "e\u{301}", "'", "\"", "*"]
        try await withDatabases { database in
            for text in texts {
                let found = try await database.read { db in
                    try texts.filter { !$0.isEmpty }.map { part in
                        try db.first(
                            "SELECT \(SQL.contains("\(text)", part)), \(SQL.hasPrefix("\(text)", part))"
                        ) { row in [try row.bool(0), try row.bool(1)] }
                    }
                }
                let expected = texts.filter { !$0.isEmpty }.map { part in
                    [
                        Array(text.utf8).contains(Array(part.utf8)),
                        Array(text.utf8).starts(with: Array(part.utf8)),
                    ]
                }
                #expect(found == expected, "in \(text)")
            }
        }
    }

    @Test("columns of keys sort by bytes on both; text people wrote sorts as PostgreSQL's language says")
    func collation() async throws {
        let table = Migration("words", ["CREATE TABLE words (k \(.key), t TEXT) \(.strict)"])
        try await withDatabases(migrations: [table]) { database in
            let (byKey, byText) = try await database.write { db in
                for word in ["a", "B", "c", "あ", "_"] { try db.run("INSERT INTO words VALUES (\(word), \(word))") }
                return (
                    try db.rows("SELECT k FROM words ORDER BY k") { row in try row.text(0) },
                    try db.rows("SELECT t FROM words ORDER BY t") { row in try row.text(0) }
                )
            }
            #expect(byKey == ["B", "_", "a", "c", "あ"])
            #expect(byText == (database.dialect == .sqlite ? byKey : ["_", "a", "B", "c", "あ"]))
        }
    }

    @Test("JSON true is 1 for SQLite's own operator and 'true' for `jsonText` on both")
    func json() async throws {
        let document = #"{"yes":true,"no":false,"null":null,"n":12,"t":"x\"y","o":{"a b":{"名":"deep"}}}"#
        try await withDatabases { database in
            let raw = try await database.read { db in
                try db.first(
                    .byDialect(
                        sqlite: "SELECT CAST(\(document) ->> '$.yes' AS TEXT)",
                        postgres: "SELECT CAST(\(document) AS JSONB) ->> 'yes'")
                ) { row in try row.text(0) }
            }
            #expect(raw == (database.dialect == .sqlite ? "1" : "true"))
            let paths = [
                ["yes"], ["no"], ["null"], ["n"], ["t"], ["o", "a b", "名"], ["missing"], ["n", "x"], ["$[0]"],
            ]
            let found = try await database.read { db in
                try paths.map { path in
                    try db.first("SELECT \(SQL.jsonText("\(document)", path))") { row in try row.optionalText(0) }
                        ?? nil
                }
            }
            #expect(found == ["true", "false", nil, "12", "x\"y", "deep", nil, nil, nil])
        }
    }

    @Test("FOR UPDATE exists on one side only; `skipLocked` is fine on both")
    func forUpdate() async throws {
        try await withDatabases(migrations: [counters]) { database in
            let raw = await code {
                try await database.claim { db in try db.run("SELECT name FROM counters FOR UPDATE") }
            }
            #expect(raw == (database.dialect == .sqlite ? .programming : nil))
            try await database.claim { db in try db.run("SELECT name FROM counters \(.skipLocked)") }
        }
    }

    @Test("a reader that stops at `oldestOpenTransaction` skips no row whose transaction commits late")
    func commitOrder() async throws {
        let feed = Migration(
            "feed",
            ["CREATE TABLE feed (sequence \(.identity), tx \(.integer) NOT NULL, what TEXT NOT NULL) \(.strict)"])
        try await withPostgres(migrations: [feed]) { database in
            let insert: @Sendable (String) -> SQL = {
                "INSERT INTO feed (tx, what) VALUES (\(.currentTransaction), \($0))"
            }
            let read: @Sendable () async throws -> [String] = {
                try await database.read { db in
                    try db.rows(
                        "SELECT what FROM feed WHERE tx < \(.oldestOpenTransaction) ORDER BY tx, sequence"
                    ) { row in try row.text(0) }
                }
            }
            let (hasNumber, gate) = (Gate(), Gate())
            async let slow: Void = database.write { db in
                try db.run(insert("slow"))
                hasNumber.open()
                try gate.wait()
            }
            try await hasNumber.pass()
            try await database.write { db in try db.run(insert("quick")) }
            // Committed and visible, with a higher sequence than one that is still to come.
            let visible = try await database.read { db in
                try db.rows("SELECT what FROM feed") { row in try row.text(0) }
            }
            #expect(visible == ["quick"])
            #expect(try await read() == [])
            gate.open()
            try await slow
            // A transaction of another test, though in another database of the cluster, can hold the mark back for a while.
            try await eventually { try await read() == ["slow", "quick"] }
        }
        try await withSQLite(migrations: [feed]) { database in
            try await database.write { db in
                try db.run("INSERT INTO feed (tx, what) VALUES (\(.currentTransaction), \("only"))")
            }
            let rows = try await database.read { db in
                try db.rows("SELECT what FROM feed WHERE tx < \(.oldestOpenTransaction)") { row in try row.text(0) }
            }
            #expect(rows == ["only"])
        }
    }
}
