import CLinux
import CSQLite
import Glibc
import HirobaThreads

/// One writer and a few readers, each on a thread of its own, over one file in WAL mode; and readers that have no thread,
/// for what is quickly read.
final class SQLiteEngine: Engine {
    var dialect: Dialect { .sqlite }
    let signals = SignalHub()
    private let reads: OperationQueue
    private let writes: OperationQueue
    private let quickReaders: QuickReaders
    private let threads: ThreadCount

    /// "HROB", which `file` and a later start can read in the header of the database.
    static let applicationID: Int64 = 0x4852_4f42

    private init(
        _ writer: SQLiteConnection, _ readers: [SQLiteConnection], _ quickReaders: [SQLiteConnection],
        _ lock: FolderLock, _ options: Database.Options
    ) {
        reads = OperationQueue(most: options.waiting)
        writes = OperationQueue(most: options.waiting)
        // The quick readers together count as one: they leave when the last of them is closed.
        let threads = ThreadCount(readers.count + 2) { lock.unlock() }
        self.threads = threads
        self.quickReaders = QuickReaders(quickReaders) { threads.leave() }
        startWriter(OwnedConnection(writer), options)
        for (number, reader) in readers.enumerated() { startReader(OwnedConnection(reader), number) }
    }

    static func open(path: String, _ migrations: [Migration], _ options: Database.Options) async throws -> SQLiteEngine
    {
        try await withCheckedThrowingContinuation { continuation in
            // Opening reads and syncs files, which must not stop an event loop.
            startThread(name: "store-open") {
                continuation.resume(with: Result { try openBlocking(path: path, migrations, options) })
            }
        }
    }

    private static func openBlocking(
        path: String, _ migrations: [Migration], _ options: Database.Options
    ) throws -> SQLiteEngine {
        let folder = folder(of: path)
        try makeFolder(folder)
        let lock = try FolderLock(folder: folder)
        // SQLite gives its other files the mode of this one.
        let descriptor = clinux_open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreError.file("open", path, errno) }
        Glibc.close(descriptor)
        // The names of the database and of the lock, before anything is written to them.
        try syncFolder(folder)
        let writer = try SQLiteConnection(path: path)
        try claim(writer, path)
        try configure(writer)
        // Every write searches some indexes: most of their upper pages fit in 8 MiB. Fewer and larger moves from the log to
        // the file write a page that changes often only once.
        try writer.execute("PRAGMA cache_size = -8192")
        try writer.execute("PRAGMA wal_autocheckpoint = 4000")
        if options.unsafelySkipsSync { try writer.execute("PRAGMA synchronous = OFF") }
        try Migrator(migrations).run(on: writer)
        let count = max(1, options.readers)
        let readers = try (0..<count).map { _ in try openReader(path) }
        let quickReaders = try (0..<count).map { _ in
            let reader = try openReader(path)
            // Nothing may wait where these run; whoever finds the database busy goes to a reader's thread.
            try reader.execute("PRAGMA busy_timeout = 0")
            // What is asked for often should be there: a page from the file costs as much as a search in one that is.
            try reader.execute("PRAGMA cache_size = -8192")
            return reader
        }
        return SQLiteEngine(writer, readers, quickReaders, lock, options)
    }

    private static func openReader(_ path: String) throws -> SQLiteConnection {
        let reader = try SQLiteConnection(path: path)
        try configure(reader)
        try reader.execute("PRAGMA query_only = ON")
        return reader
    }

    /// Refuses a database that some other program made.
    private static func claim(_ connection: SQLiteConnection, _ path: String) throws {
        let id = try connection.number("PRAGMA application_id")
        if id == applicationID { return }
        guard id == 0, try connection.number("SELECT count(*) FROM sqlite_schema") == 0 else {
            throw StoreError(.schema, "\(path) is a database of another program")
        }
        try connection.execute("PRAGMA application_id = \(applicationID)")
    }

    private static func configure(_ connection: SQLiteConnection) throws {
        for setting in [
            "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON",
            "PRAGMA trusted_schema = OFF", "PRAGMA temp_store = MEMORY",
            // As on PostgreSQL.
            "PRAGMA case_sensitive_like = ON",
            // A long read can make the log grow; it gives the space back afterwards.
            "PRAGMA journal_size_limit = 67108864",
            // Nobody else may write, but a backup or a person with the sqlite3 program may look.
            "PRAGMA busy_timeout = 2000",
        ] {
            try connection.execute(setting)
        }
    }

    var settings: @Sendable (Transaction) throws -> [Database.Setting] {
        { db in
            // Each connection is configured by us; what can differ is the file's own mode.
            let mode = try db.first("PRAGMA journal_mode") { row in try row.text(0) } ?? "unknown"
            let synchronous = try db.first("PRAGMA synchronous") { row in try row.integer(0) } ?? 0
            let version = String(cString: sqlite3_libversion())
            return [
                Database.Setting(name: "SQLite", value: version, problem: nil),
                Database.Setting(
                    name: "journal_mode", value: mode, problem: mode == "wal" ? nil : "The journal mode must be wal."),
                Database.Setting(
                    name: "synchronous", value: synchronous == 2 ? "full" : "\(synchronous)",
                    problem: synchronous == 2 ? nil : "Without synchronous = full a power cut loses answered writes."),
            ]
        }
    }

    var waitingWrites: Int { writes.count }

    func readAtOnce<Value>(_ body: (Transaction) throws -> Value) -> Result<Value, any Error>? {
        quickReaders.read(body)
    }

    func submit(_ operation: Operation) {
        (operation.kind == .read ? reads : writes).append(operation)
    }

    func close(whenDone: (@Sendable () -> Void)?) {
        reads.close()
        writes.close()
        quickReaders.close()
        signals.close()
        if let whenDone { threads.whenDone(whenDone) }
    }

    // MARK: Threads

    private func startWriter(_ owned: OwnedConnection, _ options: Database.Options) {
        let (writes, signals, quickReaders, threads) = (writes, signals, quickReaders, threads)
        startThread(name: "store-writer") {
            let writer = SQLiteWriter(owned.connection, signals, quickReaders, groupTime: options.groupTime)
            let most = max(1, options.groupSize)
            var gathering = WriteGathering()
            while true {
                let group = writes.take(most, atLeast: min(gathering.wanted, most), within: gathering.patience)
                if group.isEmpty { break }
                let start = Deadline.now.nanoseconds
                writer.run(group)
                gathering.note(
                    done: group.count, waiting: writes.count, time: Deadline.now.nanoseconds - start)
            }
            owned.connection.close()
            threads.leave()
        }
    }

    private func startReader(_ owned: OwnedConnection, _ number: Int) {
        let (reads, threads) = (reads, threads)
        startThread(name: "store-reader-\(number)") {
            while let operation = reads.take(1).first { Self.read(operation, on: owned.connection) }
            owned.connection.close()
            threads.leave()
        }
    }

    static func read(_ operation: Operation, on connection: SQLiteConnection) {
        if operation.deadline.hasPassed {
            return operation.fail(StoreError(.timeout, "the read waited too long for its turn"))
        }
        do {
            try connection.read(until: operation.deadline) { db in try operation.attempt(db) }
        } catch {
            return operation.fail(error)
        }
        operation.succeed()
    }
}

/// Counts the threads that still run, and does one thing and tells who waits when none does.
final class ThreadCount: Sendable {
    private struct State {
        var running: Int
        var waiting: [@Sendable () -> Void] = []
    }

    private let state: Lock<State>
    private let atEnd: @Sendable () -> Void

    init(_ running: Int, atEnd: @escaping @Sendable () -> Void) {
        state = Lock(State(running: running))
        self.atEnd = atEnd
    }

    func leave() {
        let isLast = state.withLock { state in
            state.running -= 1
            return state.running == 0
        }
        guard isLast else { return }
        atEnd()
        let waiting = state.withLock { state in
            // Below zero: from now on nobody needs to wait.
            state.running = -1
            return state.waiting
        }
        for waiter in waiting { waiter() }
    }

    func whenDone(_ body: @escaping @Sendable () -> Void) {
        let isDone = state.withLock { state in
            if state.running >= 0 { state.waiting.append(body) }
            return state.running < 0
        }
        if isDone { body() }
    }
}

/// Lets a connection go over to the thread that will own it.
struct OwnedConnection: @unchecked Sendable {
    // Unchecked because nobody else keeps the connection: it was opened, is handed over, and used there only.
    let connection: SQLiteConnection
    init(_ connection: SQLiteConnection) { self.connection = connection }
}
