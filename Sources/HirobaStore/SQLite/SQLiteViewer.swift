import CSQLite
import HirobaThreads

/// One reader over a file that another process may be working with. It takes no lock on the folder, makes no file and
/// changes none; beside a program that writes it sees, in each read, what was committed before.
final class SQLiteViewer: Engine {
    var dialect: Dialect { .sqlite }
    let signals = SignalHub()
    private let reads: OperationQueue
    private let threads = ThreadCount(1) {}

    private init(_ reader: SQLiteConnection, _ options: Database.Options) {
        reads = OperationQueue(most: options.waiting)
        start(OwnedConnection(reader))
    }

    static func open(path: String, _ options: Database.Options) async throws -> SQLiteViewer {
        try await withCheckedThrowingContinuation { continuation in
            startThread(name: "store-open") {
                continuation.resume(
                    with: Result {
                        let reader = try SQLiteConnection(path: path, isReadOnly: true)
                        guard try reader.number("PRAGMA application_id") == SQLiteEngine.applicationID else {
                            throw StoreError(.schema, "\(path) is no database of Hiroba")
                        }
                        for setting in [
                            "PRAGMA trusted_schema = OFF", "PRAGMA temp_store = MEMORY",
                            "PRAGMA case_sensitive_like = ON",
                            // Whoever opens the database first for writing keeps it for some moments.
                            "PRAGMA busy_timeout = 2000",
                        ] {
                            try reader.execute(setting)
                        }
                        return SQLiteViewer(reader, options)
                    })
            }
        }
    }

    var settings: @Sendable (Transaction) throws -> [Database.Setting] { { _ in [] } }

    var waitingWrites: Int { 0 }

    func readAtOnce<Value>(_ body: (Transaction) throws -> Value) -> Result<Value, any Error>? { nil }

    func submit(_ operation: Operation) { reads.append(operation) }

    func close(whenDone: (@Sendable () -> Void)?) {
        reads.close()
        signals.close()
        if let whenDone { threads.whenDone(whenDone) }
    }

    private func start(_ owned: OwnedConnection) {
        startThread(name: "store-viewer") { [reads, threads] in
            while let operation = reads.take(1).first { SQLiteEngine.read(operation, on: owned.connection) }
            owned.connection.close()
            threads.leave()
        }
    }
}
