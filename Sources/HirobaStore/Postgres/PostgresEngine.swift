import Glibc
import HirobaThreads

/// A pool of connections, each on a thread of its own: some for reading, some for writing, so that writers that keep
/// retrying never hold up a reader.
final class PostgresEngine: Engine {
    var dialect: Dialect { .postgres }
    var signals: SignalHub { messenger.hub }
    private let messenger: PostgresMessenger
    private let reads: OperationQueue
    private let writes: OperationQueue
    private let threads: ThreadCount

    private init(_ url: String, _ options: Database.Options) {
        let server = PostgresServer(url: url)
        let writers = max(1, options.connections / 2)
        let readers = max(1, options.connections - writers)
        (reads, writes) = (OperationQueue(most: options.waiting), OperationQueue(most: options.waiting))
        threads = ThreadCount(readers + writers + 1) {}
        messenger = PostgresMessenger(server, threads)
        let turns = Lock(0)
        for (name, queue, count, timeout) in [
            ("store-read", reads, readers, options.readDeadline),
            ("store-write", writes, writers, options.writeDeadline),
        ] {
            for number in 0..<count {
                startThread(name: "\(name)-\(number)") { [threads, messenger] in
                    let worker = PostgresWorker(server, messenger, turns, statementTimeout: timeout)
                    while let operation = queue.take(1).first { worker.run(operation) }
                    worker.disconnect()
                    threads.leave()
                }
            }
        }
    }

    static func open(
        url: String, _ migrations: [Migration], _ options: Database.Options
    ) async throws -> PostgresEngine {
        try await withCheckedThrowingContinuation { continuation in
            startThread(name: "store-open") {
                continuation.resume(with: Result { try openBlocking(url: url, migrations, options) })
            }
        }
    }

    private static func openBlocking(
        url: String, _ migrations: [Migration], _ options: Database.Options
    ) throws -> PostgresEngine {
        // A step that rewrites a large table may take its time.
        let connection = try PostgresConnection(url: url, deadline: .after(.seconds(10)), statementTimeout: nil)
        connection.deadline = .after(.seconds(6 * 3600))
        try Migrator(migrations).run(on: connection)
        return PostgresEngine(url, options)
    }

    var settings: @Sendable (Transaction) throws -> [Database.Setting] {
        { db in
            func setting(_ name: String, _ problem: (String) -> String?) throws -> Database.Setting {
                let value = try db.first("SELECT current_setting(\(name))") { row in try row.text(0) } ?? "unknown"
                return Database.Setting(name: name, value: value, problem: problem(value))
            }
            return [
                try setting("server_version") { _ in nil },
                try setting("server_encoding") {
                    $0 == "UTF8" ? nil : "The database must be made with ENCODING 'UTF8'."
                },
                try setting("fsync") { $0 == "on" ? nil : "Without fsync a power cut loses or damages the database." },
                try setting("full_page_writes") {
                    $0 == "on" ? nil : "Without full_page_writes a power cut can damage it."
                },
                try setting("synchronous_commit") {
                    $0 == "off" ? "With synchronous_commit = off a crash loses answered writes." : nil
                },
            ]
        }
    }

    var waitingWrites: Int { writes.count }

    /// Every read waits for the network.
    func readAtOnce<Value>(_ body: (Transaction) throws -> Value) -> Result<Value, any Error>? { nil }

    func submit(_ operation: Operation) {
        (operation.kind == .read ? reads : writes).append(operation)
    }

    func close(whenDone: (@Sendable () -> Void)?) {
        reads.close()
        writes.close()
        messenger.close()
        if let whenDone { threads.whenDone(whenDone) }
    }
}

/// Where the database is and whether it makes sense to call there: after a failure nobody tries again for a while.
final class PostgresServer: Sendable {
    private struct State {
        var nextAttempt: Deadline?
        var pause: Duration = PostgresServer.shortestPause
        var reason = ""
    }

    private let url: String
    private let state = Lock(State())

    private static let shortestPause: Duration = .milliseconds(100)
    private static let longestPause: Duration = .seconds(5)

    init(url: String) { self.url = url }

    /// - Parameter statementTimeout: after which the server gives up a statement.
    func connect(before deadline: Deadline, statementTimeout: Duration) throws(StoreError) -> PostgresConnection {
        let refusal: StoreError? = state.withLock { state in
            guard let next = state.nextAttempt, !next.hasPassed else { return nil }
            return StoreError(.unavailable, state.reason)
        }
        if let refusal { throw refusal }
        do {
            let connection = try PostgresConnection(
                url: url, deadline: min(deadline, .after(.seconds(5))), statementTimeout: statementTimeout)
            state.withLock { $0 = State() }
            return connection
        } catch {
            state.withLock { state in
                state.reason = error.message
                state.nextAttempt = .after(state.pause)
                state.pause = min(state.pause * 2, Self.longestPause)
            }
            throw error
        }
    }
}

/// Runs operations one after the other on one connection, which it opens when needed.
final class PostgresWorker {
    private let server: PostgresServer
    private let messenger: PostgresMessenger
    /// Writers that have collided a few times go one at a time, so that one of them is sure to get through.
    private let turns: Lock<Int>
    private let statementTimeout: Duration
    private var connection: PostgresConnection?

    private static let collisionsBeforeTurns = 3
    /// The server is asked to stop at the deadline; this is how much later we stop listening.
    private static let grace: Duration = .seconds(1)

    init(
        _ server: PostgresServer, _ messenger: PostgresMessenger, _ turns: Lock<Int>, statementTimeout: Duration
    ) {
        (self.server, self.messenger, self.turns) = (server, messenger, turns)
        self.statementTimeout = statementTimeout
    }

    func disconnect() { connection = nil }

    private enum Ending {
        case answered
        /// Nothing of it is in the database; run it again.
        case collided(StoreError)
        case disconnected(StoreError)
    }

    func run(_ operation: Operation) {
        var collisions = 0
        var hasReconnected = false
        var reason = StoreError(.timeout, "the operation waited too long for its turn")
        while !operation.deadline.hasPassed {
            let ending =
                collisions < Self.collisionsBeforeTurns
                ? attempt(operation) : attemptAlone(operation)
            switch ending {
            case .answered: return
            case .collided(let error):
                reason = error
                collisions += 1
                pause(afterCollision: collisions)
            case .disconnected(let error):
                // The server was restarted, say: that shows only when a connection from before is used.
                connection = nil
                if hasReconnected { return operation.fail(error) }
                hasReconnected = true
                reason = error
            }
        }
        operation.fail(reason)
    }

    private func attemptAlone(_ operation: Operation) -> Ending {
        turns.withLock { turn in
            turn &+= 1
            return attempt(operation)
        }
    }

    private func attempt(_ operation: Operation) -> Ending {
        let connection: PostgresConnection
        do {
            connection =
                try self.connection ?? server.connect(before: operation.deadline, statementTimeout: statementTimeout)
        } catch {
            operation.fail(error)
            return .answered
        }
        self.connection = connection
        connection.deadline = Deadline(
            nanoseconds: operation.deadline.nanoseconds + UInt64(Self.grace.components.seconds) * 1_000_000_000)
        let transaction = Transaction(on: connection)
        connection.begin(operation.kind)
        do {
            try operation.attempt(transaction)
        } catch {
            // The closure may have turned the store's error into one of its own.
            return end(operation, on: connection, transaction.failure as? StoreError, error)
        }
        if operation.kind == .read {
            // The answer is complete and a transaction that only reads cannot fail any more.
            operation.succeed()
            if (try? connection.commit()) == nil { self.connection = nil }
            return .answered
        }
        return commit(operation, on: connection, transaction.signals)
    }

    private func commit(_ operation: Operation, on connection: PostgresConnection, _ signals: Set<String>) -> Ending {
        do {
            try connection.commit()
        } catch {
            if error.code == .serialization { return .collided(error) }
            // Only the server itself can tell that nothing was written.
            let isUnknown = error.engineCode == nil || !connection.isIdle
            if isUnknown { self.connection = nil }
            let message = "the connection was lost during COMMIT: \(error.message)"
            operation.fail(isUnknown ? StoreError(.unknownOutcome, message, engineCode: error.engineCode) : error)
            return .answered
        }
        messenger.send(signals)
        operation.succeed()
        return .answered
    }

    private func end(
        _ operation: Operation, on connection: PostgresConnection, _ failure: StoreError?, _ error: any Error
    ) -> Ending {
        let isRolledBack = connection.isIdle && (try? connection.rollback()) != nil
        if !isRolledBack { self.connection = nil }
        if let failure {
            if failure.code == .serialization { return .collided(failure) }
            // A statement prepared before a change of the schema; a fresh connection has none.
            if Self.staleStatement.contains(failure.engineCode ?? "") { return .disconnected(failure) }
            if failure.code == .unavailable && !isRolledBack { return .disconnected(failure) }
        }
        operation.fail(error)
        return .answered
    }

    private static let staleStatement: Set<String> = ["0A000", "26000"]

    /// Waits a random while, longer after each collision, so that two writers do not meet again at once.
    private func pause(afterCollision count: Int) {
        let most = min(50_000, 500 << min(count, 7))
        usleep(UInt32.random(in: 0...UInt32(most)))
    }
}

extension Migrator {
    /// Nodes that start together take turns: each step holds a lock until its commit. READ COMMITTED, because the
    /// view of the data must be taken after the lock and not before.
    func run(on connection: PostgresConnection) throws {
        var isDone = false
        while !isDone {
            connection.begin(.claim)
            do {
                let transaction = Transaction(on: connection)
                try transaction.run("SELECT pg_advisory_xact_lock(\(Self.lockNumber))")
                isDone = try !step(transaction)
                try connection.commit()
            } catch {
                try? connection.rollback()
                throw error
            }
        }
    }

    /// "HROB": any number that other programs on the same database are unlikely to lock.
    private static let lockNumber = 0x4852_4f42
}
