import HirobaThreads

/// SQLite or PostgreSQL, behind `read` and `write`.
///
/// The closure is the transaction. It is synchronous, so nobody can wait for the network while holding a lock on the data,
/// and it may run more than once, so ids and the time come in from outside. `write` returns when the change is on disk:
/// killing the process or cutting the power does not lose it.
package final class Database: Sendable {
    package enum Location: Sendable {
        /// The database file; its folder is made when missing and belongs to this process while open.
        case sqlite(path: String)
        /// A libpq address: `postgres://user@host/name`, or `postgres:///name?host=/run/postgresql`.
        case postgres(url: String)
    }

    package struct Options: Sendable {
        /// SQLite: connections that read at the same time. More than the processor has cores brings nothing.
        package var readers = 2
        /// PostgreSQL: connections in the pool. Ten nodes of ten stay below its default of 100.
        package var connections = 10
        /// Operations that may wait for their turn; one more is refused with `.busy`.
        package var waiting = 4096
        /// The longest a `read` may take, its wait included. A page is read in milliseconds.
        package var readDeadline: Duration = .seconds(5)
        /// The longest a `write` may take, its wait and its repetitions included.
        package var writeDeadline: Duration = .seconds(10)
        /// Writes that share one fsync at most on SQLite, and how long their closures may run together before the
        /// transaction is committed. Bounds what a single slow write can hold up.
        package var groupSize = 256
        package var groupTime: Duration = .milliseconds(20)
        /// For tests only: switches the fsync of SQLite off, so that a test of durability can be seen to fail.
        package var unsafelySkipsSync = false

        package init() {}
    }

    /// Something the database is set to, for `hiroba check`.
    package struct Setting: Sendable {
        package let name: String
        package let value: String
        /// What is wrong with it, in a sentence; nil when it is fine.
        package let problem: String?
    }

    private let engine: any Engine
    private let options: Options
    private let isOnlyForReading: Bool

    private init(_ engine: any Engine, _ options: Options, isOnlyForReading: Bool = false) {
        self.engine = engine
        self.options = options
        self.isOnlyForReading = isOnlyForReading
    }

    deinit { engine.close(whenDone: nil) }

    /// Opens the database and brings its schema up to date. Two nodes may do so at the same time. Without migrations the
    /// schema stays as it is, whichever version made it.
    package static func open(
        _ location: Location, migrations: [Migration], options: Options = Options()
    ) async throws -> Database {
        let engine: any Engine =
            switch location {
            case .sqlite(let path): try await SQLiteEngine.open(path: path, migrations, options)
            case .postgres(let url): try await PostgresEngine.open(url: url, migrations, options)
            }
        return Database(engine, options)
    }

    /// Opens a database for reads only, while another process may be working with it. Nothing is made and nothing changed:
    /// a database that is not there is `.unavailable`, and its schema is as whoever wrote it left it.
    package static func openForReading(_ location: Location, options: Options = Options()) async throws -> Database {
        let engine: any Engine =
            switch location {
            case .sqlite(let path): try await SQLiteViewer.open(path: path, options)
            case .postgres(let url): try await PostgresEngine.open(url: url, [], options)
            }
        return Database(engine, options, isOnlyForReading: true)
    }

    package var dialect: Dialect { engine.dialect }

    /// Runs `body` on one unchanging view of the data. A write inside is a `.programming` error.
    ///
    /// On SQLite a quick read runs at once, on the caller's thread; what takes longer is broken off and begun again on a
    /// thread that may wait.
    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (Transaction) throws -> Value
    ) async throws -> Value {
        if let outcome = engine.readAtOnce(body) { return try outcome.get() }
        return try await run(.read, .after(options.readDeadline), body)
    }

    /// Runs `body` as one transaction, as if alone with the data, and returns once it is on disk. An error thrown by
    /// `body` undoes it all and is thrown here.
    @discardableResult
    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (Transaction) throws -> Value
    ) async throws -> Value {
        try await run(.write, .after(options.writeDeadline), body)
    }

    /// A `write` for taking work from a queue with `.skipLocked`. On PostgreSQL each statement sees what is committed
    /// when it starts, so that workers do not make each other retry; nothing read in one statement may be relied on in
    /// the next.
    @discardableResult
    package func claim<Value: Sendable>(
        _ body: @escaping @Sendable (Transaction) throws -> Value
    ) async throws -> Value {
        try await run(.claim, .after(options.writeDeadline), body)
    }

    private func run<Value: Sendable>(
        _ kind: Operation.Kind, _ deadline: Deadline, _ body: @escaping @Sendable (Transaction) throws -> Value
    ) async throws -> Value {
        guard kind == .read || !isOnlyForReading else {
            throw StoreError(.programming, "a write on a database that was opened for reading")
        }
        return try await withCheckedThrowingContinuation { continuation in
            engine.submit(ClosureOperation(kind, deadline: deadline, continuation: continuation, body: body))
        }
    }

    /// Yields after each commit, here or on another node, that signalled `name`; several become one. The stream begins
    /// with one element, so that `for await _ in signals { look() }` also finds what was there before, and ends when the
    /// database is closed.
    package func signals(_ name: String) -> AsyncStream<Void> { engine.signals.stream(name) }

    /// Wakes those of this process who wait on `signals(name)`, without a commit.
    package func wake(_ name: String) { engine.signals.deliver([name]) }

    /// Whether a read works now.
    package var isHealthy: Bool {
        get async {
            let answer = try? await run(.read, .after(.seconds(2))) { db in try db.first("SELECT 1") { _ in true } }
            return answer == true
        }
    }

    /// What `hiroba check` shows: the settings on which durability rests.
    package func settings() async throws -> [Setting] { try await read(engine.settings) }

    /// The names of the schema's steps so far.
    package func appliedMigrations() async throws -> [String] {
        if isOnlyForReading { return try await read(Migrator.names) }
        return try await write(Migrator.applied)
    }

    /// Writes that nobody has begun yet: a measure of load.
    package var waitingWrites: Int { engine.waitingWrites }

    /// Finishes what was handed over and closes the connections. Operations that come later fail with `.unavailable`.
    package func close() async {
        await withCheckedContinuation { continuation in
            engine.close { continuation.resume() }
        }
    }
}

/// What the two databases have in common.
protocol Engine: Sendable {
    var dialect: Dialect { get }
    var signals: SignalHub { get }
    var waitingWrites: Int { get }
    var settings: @Sendable (Transaction) throws -> [Database.Setting] { get }
    /// The outcome of a read that could be done here and now; nil when it must wait for its turn.
    func readAtOnce<Value>(_ body: (Transaction) throws -> Value) -> Result<Value, any Error>?
    /// Takes the operation over and answers it, whatever happens.
    func submit(_ operation: Operation)
    /// May be called more than once.
    func close(whenDone: (@Sendable () -> Void)?)
}
