import HirobaStore
import TestSupport
import Testing

private let counters = Migration(
    "counters", ["CREATE TABLE counters (name TEXT PRIMARY KEY, value \(.integer) NOT NULL) \(.strict)"])

@Suite struct DatabaseTests {
    @Test("what a write put there a read finds")
    func writeThenRead() async throws {
        try await withDatabases(migrations: [counters]) { database in
            try await database.write { db in
                try db.run("INSERT INTO counters (name, value) VALUES (\("a"), \(41))")
                try db.run("UPDATE counters SET value = value + \(1)")
            }
            let value = try await database.read { db in
                try db.first("SELECT value FROM counters WHERE name = \("a")") { row in try row.integer(0) }
            }
            #expect(value == 42)
        }
    }
}
