import HirobaStore
import HirobaThreads
import TestSupport
import Testing

@Suite struct PostgresEngineTests {
    @Test("connections that the server has dropped are replaced without anybody noticing")
    func reconnects() async throws {
        try await withPostgres(migrations: [counters]) { database in
            let name = try await self.name(database)
            for round in 0..<3 {
                try await PostgresCluster.shared.dropConnections(to: name)
                try await database.write { db in try db.run("INSERT INTO counters VALUES (\("\(round)"), \(1))") }
                #expect(await database.isHealthy)
            }
            let rows = try await database.read { db in
                try db.rows("SELECT name FROM counters") { row in try row.text(0) }
            }
            #expect(Set(rows) == ["0", "1", "2"])
        }
    }

    @Test("a connection lost in the middle of a transaction: it is run again as a whole")
    func lostInTheMiddle() async throws {
        try await withPostgres(migrations: [counters]) { database in
            let name = try await self.name(database)
            let runs = Lock(0)
            let (running, gate) = (Gate(), Gate())
            async let write: Void = database.write { db in
                let run = runs.withLock { runs in
                    runs += 1
                    return runs
                }
                try db.run("INSERT INTO counters VALUES (\("a"), \(1))")
                if run == 1 {
                    running.open()
                    try gate.wait()
                }
                try db.run("UPDATE counters SET value = value + 1")
            }
            try await running.pass()
            try await PostgresCluster.shared.dropConnections(to: name)
            gate.open()
            try await write
            #expect(runs.withLock { $0 } == 2)
            let value = try await database.read { db in
                try db.first("SELECT value FROM counters") { row in try row.integer(0) }
            }
            #expect(value == 2)
        }
    }

    @Test("a connection lost during COMMIT is told as such, and the write is not run again")
    func lostDuringCommit() async throws {
        // A rule that is checked at COMMIT and takes its time.
        let slowCommit = Migration(
            "slow commit",
            [
                """
                CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN PERFORM pg_sleep(20); RETURN NULL; END'
                """,
                """
                CREATE CONSTRAINT TRIGGER pause AFTER INSERT ON counters DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION pause()
                """,
            ])
        try await withPostgresAddress { address in
            let database = try await Database.open(.postgres(url: address), migrations: [counters, slowCommit])
            let name = try await self.name(database)
            let runs = Lock(0)
            async let outcome = code {
                try await database.write { db in
                    runs.withLock { $0 += 1 }
                    try db.run("INSERT INTO counters VALUES (\("a"), \(1))")
                }
            }
            try await eventually {
                try await database.read { db in
                    try db.first(
                        """
                        SELECT count(*) FROM pg_stat_activity
                        WHERE datname = current_database() AND query = 'COMMIT' AND wait_event = 'PgSleep'
                        """
                    ) { row in try row.integer(0) } == 1
                }
            }
            try await PostgresCluster.shared.dropConnections(to: name)
            #expect(await outcome == .unknownOutcome)
            #expect(runs.withLock { $0 } == 1)
            await database.close()
        }
    }

    @Test("a writer that keeps its row skips nobody: claims pass by what another holds")
    func skipLocked() async throws {
        try await withPostgres(migrations: [counters]) { database in
            try await database.write { db in
                for name in ["a", "b"] { try db.run("INSERT INTO counters VALUES (\(name), \(0))") }
            }
            let take: @Sendable (Transaction) throws -> String? = { db in
                try db.first(
                    """
                    UPDATE counters SET value = 1 WHERE name IN (
                        SELECT name FROM counters WHERE value = 0 ORDER BY name LIMIT 1 \(.skipLocked)) RETURNING name
                    """
                ) { row in try row.text(0) }
            }
            let (holding, gate) = (Gate(), Gate())
            async let first = database.claim { db in
                let name = try take(db)
                holding.open()
                try gate.wait()
                return name
            }
            try await holding.pass()
            #expect(try await database.claim(take) == "b")
            #expect(try await database.claim(take) == nil)
            gate.open()
            #expect(try await first == "a")
        }
    }

    @Test("a database that is not there is unavailable at once")
    func unreachable() async throws {
        try await withTemporaryFolder { folder in
            for address in ["postgres://nobody@/nothing?host=\(folder)", "postgres://127.0.0.1:1/nothing", "nonsense"] {
                #expect(await code { try await Database.open(.postgres(url: address), migrations: []) } == .unavailable)
            }
        }
    }

    @Test("a schema that changes under prepared statements costs no error")
    func changedSchema() async throws {
        try await withPostgres(migrations: [counters]) { database in
            let read: @Sendable () async throws -> Int = {
                try await database.read { db in try db.rows("SELECT * FROM counters") { _ in true }.count }
            }
            for _ in 0..<20 { _ = try await read() }
            try await database.write { db in
                try db.run("INSERT INTO counters VALUES (\("a"), \(1))")
                try db.run("ALTER TABLE counters ADD COLUMN more TEXT")
            }
            for _ in 0..<20 { #expect(try await read() == 1) }
        }
    }

    private func name(_ database: Database) async throws -> String {
        try await database.read { db in try db.first("SELECT current_database()::text") { row in try row.text(0) } ?? ""
        }
    }

    @Test("can be opened for reading beside a program that writes, and takes no writes then")
    func viewing() async throws {
        try await withPostgresAddress { address in
            let writer = try await Database.open(.postgres(url: address), migrations: [counters])
            let viewer = try await Database.openForReading(.postgres(url: address))
            try await writer.write { db in try db.run("INSERT INTO counters (name, value) VALUES ('a', 1)") }
            let value = try await viewer.read { db in
                try db.first("SELECT value FROM counters") { row in try row.integer(0) }
            }
            #expect(value == 1)
            #expect(try await viewer.appliedMigrations() == [counters.name])
            #expect(await code { try await viewer.write { db in try db.run("DELETE FROM counters") } } == .programming)
            #expect(await code { try await viewer.claim { db in try db.run("DELETE FROM counters") } } == .programming)
            await viewer.close()
            await writer.close()
        }
    }
}
