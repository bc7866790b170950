import CSQLite
import Glibc
import HirobaStore
import TestSupport
import Testing

@Suite struct SQLiteEngineTests {
    @Test("a folder that is in use is refused, and free again after closing")
    func lock() async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/data/hiroba.db"
            let database = try await Database.open(.sqlite(path: path), migrations: [])
            do {
                _ = try await Database.open(.sqlite(path: path), migrations: [])
                Issue.record("the second was let in")
            } catch let error as StoreError {
                #expect(error.code == .inUse)
                #expect(error.message.contains("in use by another process"))
            }
            await database.close()
            await (try await Database.open(.sqlite(path: path), migrations: [])).close()
        }
    }

    @Test("a database that is dropped without closing gives the folder back as well")
    func dropped() async throws {
        try await withTemporaryFolder { folder in
            _ = try await Database.open(.sqlite(path: folder + "/a.db"), migrations: [counters])
            try await eventually {
                await code {
                    await (try await Database.open(.sqlite(path: folder + "/a.db"), migrations: [counters])).close()
                }
                    == nil
            }
        }
    }

    @Test("a failed opening does not keep the folder")
    func failedOpening() async throws {
        let broken = Migration("broken", ["CREATE NONSENSE"])
        try await withTemporaryFolder { folder in
            #expect(
                await code { try await Database.open(.sqlite(path: folder + "/a.db"), migrations: [broken]) }
                    == .programming)
            await (try await Database.open(.sqlite(path: folder + "/a.db"), migrations: [counters])).close()
        }
    }

    @Test("another program's database, or a file that is none, is refused and left as it is")
    func foreignFile() async throws {
        try await withTemporaryFolder { folder in
            var foreign: OpaquePointer?
            sqlite3_open(folder + "/foreign.db", &foreign)
            sqlite3_exec(foreign, "CREATE TABLE theirs (x)", nil, nil, nil)
            sqlite3_close(foreign)
            #expect(
                await code { try await Database.open(.sqlite(path: folder + "/foreign.db"), migrations: [counters]) }
                    == .schema)

            let noise = try #require(fopen(folder + "/noise.db", "w"))
            fputs(String(repeating: "not a database ", count: 1000), noise)
            fclose(noise)
            #expect(
                await code { try await Database.open(.sqlite(path: folder + "/noise.db"), migrations: [counters]) }
                    == .corrupt)
        }
    }

    @Test("a folder that cannot be made is unavailable, not a crash")
    func impossibleFolder() async throws {
        let outcome = await code { try await Database.open(.sqlite(path: "/proc/nowhere/hiroba.db"), migrations: []) }
        #expect(outcome == .notFound || outcome == .unavailable)
    }

    @Test("only the owner can read the files")
    func modes() async throws {
        try await withTemporaryFolder { folder in
            let database = try await Database.open(.sqlite(path: folder + "/data/hiroba.db"), migrations: [counters])
            for name in ["hiroba.db", "hiroba.db-wal", "lock"] {
                var status = stat()
                #expect(stat(folder + "/data/" + name, &status) == 0)
                #expect(status.st_mode & 0o777 == 0o600, "\(name)")
            }
            await database.close()
        }
    }

    @Test("can be looked at beside the program that writes, and after it, without leaving a trace")
    func viewing() async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/a.db"
            #expect(await code { try await Database.openForReading(.sqlite(path: path)) } == .unavailable)
            #expect(access(path, F_OK) != 0)

            func values(_ database: Database) async throws -> [Int64] {
                try await database.read { db in
                    try db.rows("SELECT value FROM counters ORDER BY value") { row in try row.integer(0) }
                }
            }
            let writer = try await Database.open(.sqlite(path: path), migrations: [counters])
            let viewer = try await Database.openForReading(.sqlite(path: path))
            #expect(try await viewer.appliedMigrations() == [counters.name])
            #expect(try await values(viewer) == [])
            try await writer.write { db in try db.run("INSERT INTO counters (name, value) VALUES ('a', 1)") }
            #expect(try await values(viewer) == [1])
            #expect(await code { try await viewer.write { db in try db.run("DELETE FROM counters") } } == .programming)
            #expect(await code { try await viewer.read { db in try db.run("DELETE FROM counters") } } == .programming)
            await viewer.close()
            // It was not the viewer's to tidy up, and the writer goes on.
            try await writer.write { db in try db.run("INSERT INTO counters (name, value) VALUES ('b', 2)") }
            await writer.close()
            let later = try await Database.openForReading(.sqlite(path: path))
            #expect(try await values(later) == [1, 2])
            await later.close()
            await (try await Database.open(.sqlite(path: path), migrations: [counters])).close()
        }
    }
}
