import HirobaThreads

/// Runs the writes of SQLite, many to a transaction: all that wait get a savepoint each and share one fsync.
///
/// Nobody is answered and no signal is given before the COMMIT that holds the write is on disk.
final class SQLiteWriter {
    private let connection: SQLiteConnection
    private let signals: SignalHub
    private let quickReaders: QuickReaders
    private let groupTime: Duration

    /// How often a write is run again because something else in its group took the transaction away.
    private static let mostReruns = 3
    /// It had been in time; that somebody else was not must not cost it its own.
    private static let timeForRerun: Duration = .seconds(1)

    /// A write that has run, waiting for the COMMIT.
    private struct Outcome {
        let operation: Operation
        let signals: Set<String>
        /// What its own closure threw; its savepoint is rolled back.
        let failure: (any Error)?
    }

    init(
        _ connection: SQLiteConnection, _ signals: SignalHub, _ quickReaders: QuickReaders, groupTime: Duration
    ) {
        self.connection = connection
        self.signals = signals
        self.quickReaders = quickReaders
        self.groupTime = groupTime
    }

    func run(_ operations: [Operation]) {
        var waiting = operations[...]
        while !waiting.isEmpty { waiting = runGroup(waiting) }
    }

    /// Runs as many as fit into one transaction and answers them. Returns those that are still to be run.
    private func runGroup(_ operations: ArraySlice<Operation>) -> ArraySlice<Operation> {
        do {
            connection.setDeadline(nil)
            try connection.execute("BEGIN IMMEDIATE")
        } catch {
            for operation in operations { operation.fail(error) }
            return []
        }
        let groupEnd = Deadline.after(groupTime)
        // One alone needs no savepoint: its rollback is the transaction's.
        let needsSavepoints = operations.count > 1
        var outcomes: [Outcome] = []
        for (index, operation) in zip(operations.indices, operations) {
            if !outcomes.isEmpty && groupEnd.hasPassed {
                commit(outcomes)
                return operations[index...]
            }
            if operation.deadline.hasPassed {
                operation.fail(StoreError(.timeout, "the write waited too long for its turn"))
                continue
            }
            let outcome = attempt(operation, withSavepoint: needsSavepoints)
            guard connection.isInTransaction else {
                return recover(from: outcome, before: outcomes, after: operations[(index + 1)...])
            }
            outcomes.append(outcome)
        }
        commit(outcomes)
        return []
    }

    private func attempt(_ operation: Operation, withSavepoint: Bool) -> Outcome {
        let transaction = Transaction(on: connection)
        do {
            if withSavepoint { try connection.execute("SAVEPOINT write") }
            connection.setDeadline(operation.deadline)
            try operation.attempt(transaction)
            connection.setDeadline(nil)
            if withSavepoint { try connection.execute("RELEASE write") }
            return Outcome(operation: operation, signals: transaction.signals, failure: nil)
        } catch {
            connection.setDeadline(nil)
            undo(withSavepoint)
            return Outcome(operation: operation, signals: [], failure: error)
        }
    }

    /// Undoes one write. When even that fails the whole transaction is given up, which the caller then sees.
    private func undo(_ withSavepoint: Bool) {
        guard connection.isInTransaction else { return }
        do {
            if withSavepoint {
                try connection.execute("ROLLBACK TO write")
                try connection.execute("RELEASE write")
            } else {
                try connection.execute("ROLLBACK")
                try connection.execute("BEGIN IMMEDIATE")
            }
        } catch {
            if connection.isInTransaction { try? connection.execute("ROLLBACK") }
        }
    }

    /// A full disk or an interrupted statement can end the whole transaction, and with it writes of the group that had
    /// gone well. The one that did it fails; the others have not been answered yet, so they run again.
    private func recover(
        from guilty: Outcome, before outcomes: [Outcome], after rest: ArraySlice<Operation>
    ) -> ArraySlice<Operation> {
        let reason = guilty.failure ?? StoreError(.unavailable, "SQLite ended the transaction")
        guilty.operation.fail(reason)
        var again: [Operation] = []
        for outcome in outcomes {
            outcome.operation.reruns += 1
            if outcome.operation.reruns > Self.mostReruns {
                outcome.operation.fail(reason)
            } else {
                outcome.operation.extendDeadline(by: Self.timeForRerun)
                again.append(outcome.operation)
            }
        }
        // By themselves, so that the next one of this kind does not take them along again.
        run(again)
        return rest
    }

    private func commit(_ outcomes: [Outcome]) {
        do {
            quickReaders.commitBegins()
            defer { quickReaders.commitEnds() }
            try connection.execute("COMMIT")
        } catch {
            if connection.isInTransaction { try? connection.execute("ROLLBACK") }
            if error.code == .foreignKeyViolation && outcomes.count > 1 {
                // A deferred rule is looked at only now, and for all together. Alone, each meets its own COMMIT.
                for outcome in outcomes {
                    outcome.operation.extendDeadline(by: Self.timeForRerun)
                    _ = runGroup([outcome.operation])
                }
            } else {
                for outcome in outcomes { outcome.operation.fail(outcome.failure ?? error) }
            }
            return
        }
        signals.deliver(outcomes.reduce(into: []) { $0.formUnion($1.signals) })
        for outcome in outcomes {
            if let failure = outcome.failure {
                outcome.operation.fail(failure)
            } else {
                outcome.operation.succeed()
            }
        }
    }
}
