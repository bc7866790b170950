import HirobaStore
import TestSupport
import Testing

@Suite struct MigratorTests {
    private static let first = Migration("first", ["CREATE TABLE a (x \(.integer)) \(.strict)"])
    private static let second = Migration("second") { dialect in
        ["CREATE TABLE b (x \(.integer)) \(.strict)", "INSERT INTO b VALUES (\(dialect == .sqlite ? 1 : 2))"]
    }
    private static let addition = Migration("addition", keepsOlderPrograms: true, ["ALTER TABLE a ADD COLUMN y TEXT"])
    private static let broken = Migration(
        "broken", ["CREATE TABLE c (x \(.integer)) \(.strict)", "INSERT INTO nowhere VALUES (1)"])

    @Test("steps are applied once, in order, and further ones when the program has them")
    func steps() async throws {
        try await onBoth { location in
            for steps in [
                [Self.first], [Self.first, Self.second], [Self.first, Self.second],
                [Self.first, Self.second, Self.addition],
            ] {
                let database = try await Database.open(location, migrations: steps)
                #expect(try await database.appliedMigrations() == steps.map(\.name))
                await database.close()
            }
            let database = try await Database.open(location, migrations: [Self.first, Self.second, Self.addition])
            let rows = try await database.read { db in try db.rows("SELECT x FROM b") { row in try row.integer(0) } }
            #expect(rows == [database.dialect == .sqlite ? 1 : 2])
            await database.close()
        }
    }

    @Test("a step that fails leaves nothing, the steps before it stay, and it can be tried again")
    func failure() async throws {
        try await onBoth { location in
            #expect(
                await code { try await Database.open(location, migrations: [Self.first, Self.broken]) } == .programming)
            let database = try await Database.open(location, migrations: [Self.first])
            #expect(try await database.appliedMigrations() == ["first"])
            #expect(await code { try await database.read { db in try db.run("SELECT x FROM c") } } == .programming)
            await database.close()
        }
    }

    @Test("a program that is too old for the database is refused in a plain sentence")
    func newerDatabase() async throws {
        try await onBoth { location in
            await (try await Database.open(location, migrations: [Self.first, Self.second, Self.addition])).close()
            do {
                _ = try await Database.open(location, migrations: [Self.first])
                Issue.record("it was let in")
            } catch let error as StoreError {
                #expect(error.code == .schema)
                #expect(
                    error.message == """
                        the database was written by a newer version (schema 3, this program knows 1); install that version \
                        again, or restore a backup made before
                        """)
            }
            // The last step only added something, so the program before it may run.
            await (try await Database.open(location, migrations: [Self.first, Self.second])).close()
        }
    }

    @Test("a database with another history is refused")
    func otherHistory() async throws {
        try await onBoth { location in
            await (try await Database.open(location, migrations: [Self.first])).close()
            #expect(await code { try await Database.open(location, migrations: [Self.second]) } == .schema)
        }
    }

    @Test("nodes that start together on an empty database all come up, each step applied once")
    func together() async throws {
        try await withPostgresAddress { address in
            try await withThrowingTaskGroup { group in
                for _ in 0..<6 {
                    group.addTask {
                        let database = try await Database.open(
                            .postgres(url: address), migrations: [Self.first, Self.second, Self.addition])
                        let rows = try await database.read { db in
                            try db.rows("SELECT x FROM b") { row in try row.integer(0) }
                        }
                        await database.close()
                        return rows
                    }
                }
                for try await rows in group { #expect(rows == [2]) }
            }
        }
    }

    private func onBoth(_ body: (Database.Location) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in try await body(.sqlite(path: folder + "/test.db")) }
        try await withPostgresAddress { address in try await body(.postgres(url: address)) }
    }
}
