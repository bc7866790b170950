import HirobaThreads

/// Connections for reads that are over in no time, such as a row by its id or a page by an index: they run right where the
/// caller is, on an event loop too.
///
/// Handing such a read to another thread and its result back costs more than the read. What turns out to take longer than
/// `longest` is broken off and done again on a reader's own thread, so that no loop is held up by a large query; a page that
/// must come from a disk costs the loop one read of it.
final class QuickReaders: Sendable {
    /// As long as a few dozen small requests take.
    static let longest = Duration.milliseconds(2)

    private struct State: @unchecked Sendable {
        // Unchecked because a connection is either here, under the lock, or lent to one caller.
        var idle: [SQLiteConnection]
        var lent = 0
        var isClosed = false
    }

    private let state: Lock<State>
    private let atEnd: @Sendable () -> Void

    /// - Parameter atEnd: called once, when the last connection is closed.
    init(_ connections: [SQLiteConnection], atEnd: @escaping @Sendable () -> Void) {
        state = Lock(State(idle: connections))
        self.atEnd = atEnd
    }

    /// The outcome of `body`, or nil when it must be run elsewhere: every connection is lent, or the read is not a quick one.
    func read<Value>(_ body: (Transaction) throws -> Value) -> Result<Value, any Error>? {
        guard let connection = lend() else { return nil }
        defer { giveBack(connection) }
        let outcome = Result { try connection.read(until: .after(Self.longest), body) }
        if case .failure(let error as StoreError) = outcome, error.code == .timeout || error.code == .busy {
            return nil
        }
        return outcome
    }

    func close() {
        let (idle, isOver) = state.withLock { state in
            defer { (state.idle, state.isClosed) = ([], true) }
            return (state.idle, !state.isClosed && state.lent == 0)
        }
        for connection in idle { connection.close() }
        if isOver { atEnd() }
    }

    private func lend() -> SQLiteConnection? {
        state.withLock { state in
            guard let connection = state.idle.popLast() else { return nil }
            state.lent += 1
            return connection
        }
    }

    private func giveBack(_ connection: SQLiteConnection) {
        let isOver = state.withLock { state -> Bool in
            state.lent -= 1
            guard state.isClosed else {
                state.idle.append(connection)
                return false
            }
            connection.close()
            return state.lent == 0
        }
        if isOver { atEnd() }
    }
}

extension SQLiteConnection {
    /// Runs `body` on one unchanging view of the data and breaks it off at the deadline.
    func read<Value>(until deadline: Deadline, _ body: (Transaction) throws -> Value) throws -> Value {
        let transaction = Transaction(on: self)
        do {
            setDeadline(deadline)
            try execute("BEGIN")
            defer { transaction.close() }
            let value = try body(transaction)
            if let failure = transaction.failure { throw failure }
            setDeadline(nil)
            try execute("COMMIT")
            return value
        } catch {
            setDeadline(nil)
            if isInTransaction { try? execute("ROLLBACK") }
            // What broke the transaction counts, whatever the closure made of it.
            throw transaction.failure ?? error
        }
    }
}
