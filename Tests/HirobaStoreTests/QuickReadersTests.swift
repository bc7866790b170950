import Glibc
import HirobaStore
import HirobaThreads
import TestSupport
import Testing

@Suite struct QuickReadersTests {
    /// The name of the thread this runs on.
    private static func thread() -> String {
        guard let file = fopen("/proc/thread-self/comm", "r") else { return "" }
        defer { fclose(file) }
        var name = [CChar](repeating: 0, count: 32)
        fgets(&name, CInt(name.count), file)
        return String(decoding: name.prefix { $0 > 32 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func isReader(_ thread: String?) -> Bool { thread?.hasPrefix("store-reader") == true }

    @Test("a quick read runs where its caller is")
    func quick() async throws {
        try await withSQLite { database in
            let thread = try await database.read { db in try db.first("SELECT 1") { _ in Self.thread() } }
            #expect(!Self.isReader(thread) && thread != nil)
        }
    }

    @Test("a read that takes long is broken off and done on a thread that may wait")
    func long() async throws {
        try await withSQLite { database in
            let threads = Lock<[String]>([])
            let count = try await database.read { db in
                threads.withLock { $0.append(Self.thread()) }
                return try db.first(
                    """
                    WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000000)
                    SELECT count(*) FROM n
                    """
                ) { row in try row.integer(0) }
            }
            #expect(count == 1_000_000)
            #expect(threads.withLock { $0.map(Self.isReader) } == [false, true])
        }
    }

    @Test("when every quick connection is lent, a read waits for its turn like any other")
    func allLent() async throws {
        try await withTemporaryFolder { folder in
            var options = Database.Options()
            options.readers = 1
            let database = try await Database.open(.sqlite(path: folder + "/a.db"), migrations: [], options: options)
            let (entered, gate) = (Gate(), Gate())
            async let first: Void = OwnThread().run { _ in
                try await database.read { _ in
                    entered.open()
                    try gate.wait()
                }
            }
            try await entered.pass()
            #expect(Self.isReader(try await database.read { _ in Self.thread() }))
            gate.open()
            try await first
            await database.close()
        }
    }

    @Test("closing waits for a quick read, and then the folder is free")
    func closing() async throws {
        try await withTemporaryFolder { folder in
            let database = try await Database.open(.sqlite(path: folder + "/a.db"), migrations: [])
            let (entered, gate) = (Gate(), Gate())
            async let answer = OwnThread().run { _ in
                try await database.read { _ in
                    entered.open()
                    try gate.wait()
                    return "read to its end"
                }
            }
            try await entered.pass()
            async let closed: Void = database.close()
            // A read that comes after the closing has begun is refused, which shows that it has.
            try await eventually { (try? await database.read { _ in true }) == nil }
            gate.open()
            #expect(try await answer == "read to its end")
            await closed
            await (try await Database.open(.sqlite(path: folder + "/a.db"), migrations: [])).close()
        }
    }

    @Test("a quick read sees every write that was answered before")
    func sees() async throws {
        try await withSQLite(migrations: [counters]) { database in
            try await database.write { db in try db.run("INSERT INTO counters VALUES ('a', 0)") }
            for number in 1...50 {
                try await database.write { db in try db.run("UPDATE counters SET value = \(number) WHERE name = 'a'") }
                let seen = try await database.read { db in
                    try db.first("SELECT value FROM counters WHERE name = 'a'") { row in try row.integer(0) }
                }
                #expect(seen == Int64(number))
            }
        }
    }

    @Test("a write inside a quick read is refused")
    func readOnly() async throws {
        try await withSQLite(migrations: [counters]) { database in
            #expect(
                await code {
                    try await database.read { db in try db.run("INSERT INTO counters VALUES ('b', 0)") }
                } == .programming)
        }
    }

    private static func value(_ db: Transaction) throws -> Int64? {
        try db.first("SELECT value FROM counters WHERE name = 'a'") { row in try row.integer(0) }
    }

    @Test("a view that was kept ends with the next commit, on every connection")
    func kept() async throws {
        try await withSQLite(migrations: [counters]) { database in
            try await database.write { db in try db.run("INSERT INTO counters VALUES ('a', 0)") }
            for number in 1...5 {
                let (entered, gate) = (Gate(), Gate())
                // One inside the other, so that both connections are used and keep a view.
                async let slow = OwnThread().run { _ in
                    try await database.read { db in
                        let value = try Self.value(db)
                        entered.open()
                        try gate.wait()
                        return value
                    }
                }
                try await entered.pass()
                #expect(try await database.read(Self.value) == Int64(number - 1))
                gate.open()
                #expect(try await slow == Int64(number - 1))
                try await database.write { db in try db.run("UPDATE counters SET value = \(number) WHERE name = 'a'") }
            }
        }
    }

    @Test("a view that was taken before a commit and given back after it is not kept")
    func overtaken() async throws {
        try await withTemporaryFolder { folder in
            var options = Database.Options()
            options.readers = 1
            let database = try await Database.open(
                .sqlite(path: folder + "/a.db"), migrations: [counters], options: options)
            try await database.write { db in try db.run("INSERT INTO counters VALUES ('a', 0)") }
            let (entered, gate) = (Gate(), Gate())
            async let slow = OwnThread().run { _ in
                try await database.read { db in
                    let value = try Self.value(db)
                    entered.open()
                    try gate.wait()
                    #expect(try Self.value(db) == value)
                    return value
                }
            }
            try await entered.pass()
            try await database.write { db in try db.run("UPDATE counters SET value = 1 WHERE name = 'a'") }
            gate.open()
            #expect(try await slow == 0)
            let thread = Lock("")
            let seen = try await database.read { db in
                thread.withLock { $0 = Self.thread() }
                return try Self.value(db)
            }
            #expect(seen == 1)
            #expect(!Self.isReader(thread.withLock { $0 }))
            await database.close()
        }
    }

    @Test("an idle view does not keep the log from being begun anew")
    func log() async throws {
        try await withTemporaryFolder { folder in
            var options = Database.Options()
            options.unsafelySkipsSync = true
            let database = try await Database.open(
                .sqlite(path: folder + "/a.db"), migrations: [counters], options: options)
            try await database.write { db in try db.run("INSERT INTO counters VALUES ('a', 0)") }
            func size() -> Int {
                var info = stat()
                return lstat(folder + "/a.db-wal", &info) == 0 ? Int(info.st_size) : 0
            }
            for number in 1...9000 {
                if number % 500 == 0 { _ = try await database.read(Self.value) }
                try await database.write { db in try db.run("UPDATE counters SET value = \(number) WHERE name = 'a'") }
            }
            // Nine thousand pages of 4,096 bytes were written to it, and it is begun anew after four thousand.
            #expect(size() < 6000 * 4096)
            await database.close()
        }
    }
}
