/// The database during one `read` or `write`. It is good only inside the closure that was given it.
///
/// After a statement has failed, every later one fails too and the transaction is rolled back, even when the closure
/// caught the error: PostgreSQL would refuse to go on, so nobody gets used to SQLite going on. Say what you want in the
/// statement (`ON CONFLICT …`, `RETURNING`).
package final class Transaction {
    private let connection: any Connection
    private var isOpen = true
    private(set) var failure: (any Error)?
    private(set) var signals: Set<String> = []

    init(on connection: any Connection) { self.connection = connection }

    package var dialect: Dialect { connection.dialect }

    /// All rows of the answer, each turned into a value at once: a `Row` cannot leave the closure.
    @inlinable package func rows<Value>(_ sql: SQL, _ map: (borrowing Row) throws -> Value) throws -> [Value] {
        var values: [Value] = []
        try execute(sql) { row in
            values.append(try map(row))
            return true
        }
        return values
    }

    /// The first row of the answer, or nil when there is none. Further rows are not read.
    @inlinable package func first<Value>(_ sql: SQL, _ map: (borrowing Row) throws -> Value) throws -> Value? {
        var value: Value?
        try execute(sql) { row in
            value = try map(row)
            return false
        }
        return value
    }

    /// Calls `body` with each row as it comes, for long answers that are not to be held in an array.
    @inlinable package func forEach(_ sql: SQL, _ body: (borrowing Row) throws -> Void) throws {
        try execute(sql) { row in
            try body(row)
            return true
        }
    }

    /// Runs a statement and returns how many rows it inserted, changed or deleted.
    @discardableResult
    @inlinable package func run(_ sql: SQL) throws -> Int {
        try execute(sql) { _ in true }
    }

    /// Wakes everyone who waits on `Database.signals(name)`, on every node, once the transaction is committed. A signal is
    /// a hint to look, nothing more; several at once become one.
    package func signal(_ name: String) { signals.insert(name) }

    /// What all of these come down to. They are inlined, so that a row becomes a value without generic detours.
    @discardableResult
    package func execute(_ sql: SQL, _ each: (borrowing Row) throws -> Bool) throws -> Int {
        guard isOpen else { throw StoreError(.programming, "the transaction was used after its closure had returned") }
        if let failure { throw failure }
        do {
            return try connection.execute(sql.rendered(for: connection.dialect), each)
        } catch let error as StoreError {
            failure = error
            throw error
        }
    }

    /// Called when the closure is over, however it ended.
    func close() { isOpen = false }
}

/// One open connection, used by the one thread that owns it.
protocol Connection: AnyObject {
    var dialect: Dialect { get }
    /// Runs a statement and calls `each` with its rows until it answers false; returns the number of rows changed.
    func execute(_ statement: RenderedSQL, _ each: (borrowing Row) throws -> Bool) throws -> Int
}
