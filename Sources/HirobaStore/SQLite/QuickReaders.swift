import HirobaThreads

/// Connections for reads that are over in no time, such as a row by its id or a page by an index: they run right where the
/// caller is, on an event loop too.
///
/// Handing such a read to another thread and its result back costs more than the read. What turns out to take longer than
/// `longest` is broken off and done again on a reader's own thread, so that no loop is held up by a large query; a page that
/// must come from a disk costs the loop one read of it.
///
/// Between two reads a connection keeps its view of the data, so that the next read need not take one: the locks for it cost
/// as much as a small read. Views end before a commit can change what they show, so that a read always sees every write
/// that could be seen before it.
final class QuickReaders: Sendable {
    /// As long as a few dozen small requests take.
    static let longest = Duration.milliseconds(2)

    private struct State: @unchecked Sendable {
        // Unchecked because a connection is either here, under the lock, or lent to one caller.
        var idle: [SQLiteConnection]
        var lent = 0
        var isClosed = false
        /// Grows when a commit begins and when it ends: odd while one is at work.
        var commits = 0
    }

    /// A connection and what `commits` was when it was lent.
    private struct Loan {
        let connection: SQLiteConnection
        let commits: Int
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
        guard let loan = lend() else { return nil }
        defer { giveBack(loan) }
        let outcome = Result { try loan.connection.read(until: .after(Self.longest), keepsView: true, body) }
        if case .failure(let error as StoreError) = outcome, error.code == .timeout || error.code == .busy {
            return nil
        }
        return outcome
    }

    /// To be called before a COMMIT: nobody keeps a view of what was before it, nor of what is seen while it is at work.
    func commitBegins() {
        state.withLock { state in
            state.commits += 1
            for connection in state.idle { connection.endView() }
        }
    }

    /// To be called after a COMMIT, however it went, and before anybody is told of it.
    func commitEnds() { state.withLock { $0.commits += 1 } }

    func close() {
        let (idle, isOver) = state.withLock { state in
            defer { (state.idle, state.isClosed) = ([], true) }
            return (state.idle, !state.isClosed && state.lent == 0)
        }
        for connection in idle { connection.close() }
        if isOver { atEnd() }
    }

    private func lend() -> Loan? {
        state.withLock { state in
            guard let connection = state.idle.popLast() else { return nil }
            state.lent += 1
            return Loan(connection: connection, commits: state.commits)
        }
    }

    private func giveBack(_ loan: Loan) {
        let isOver = state.withLock { state -> Bool in
            state.lent -= 1
            guard state.isClosed else {
                // The view may be one of before a commit.
                if loan.commits != state.commits || !state.commits.isMultiple(of: 2) { loan.connection.endView() }
                state.idle.append(loan.connection)
                return false
            }
            loan.connection.close()
            return state.lent == 0
        }
        if isOver { atEnd() }
    }
}

extension SQLiteConnection {
    /// Runs `body` on one unchanging view of the data and breaks it off at the deadline.
    ///
    /// - Parameter keepsView: leaves the view for the next read, when all went well. `endView` gives it up.
    func read<Value>(
        until deadline: Deadline, keepsView: Bool = false, _ body: (Transaction) throws -> Value
    ) throws -> Value {
        let transaction = Transaction(on: self)
        do {
            setDeadline(deadline)
            if !isInTransaction { try execute("BEGIN") }
            defer { transaction.close() }
            let value = try body(transaction)
            if let failure = transaction.failure { throw failure }
            if !keepsView {
                setDeadline(nil)
                try execute("COMMIT")
            }
            return value
        } catch {
            endView()
            // What broke the transaction counts, whatever the closure made of it.
            throw transaction.failure ?? error
        }
    }

    /// Ends a transaction that only read.
    func endView() {
        setDeadline(nil)
        if isInTransaction { try? execute("ROLLBACK") }
    }
}
