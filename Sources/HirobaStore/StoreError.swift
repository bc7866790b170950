/// What went wrong in the store. `code` is for decisions; the text is for the log and never holds a bound value.
package struct StoreError: Error, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// A row with this key is there already. Prefer `ON CONFLICT`, which says it in the statement.
        case uniqueViolation
        /// The row that is pointed at is missing, or a row still points here.
        case foreignKeyViolation
        /// A NOT NULL or CHECK rule of the table.
        case checkViolation
        /// A text holds a NUL.
        case invalidText
        /// A statement took too long, or waited too long for its turn.
        case timeout
        /// Too many operations are waiting. Nothing was done; try again later.
        case busy
        /// Other writers were in the way again and again. Nothing was done; try again.
        case serialization
        /// The disk is full. Nothing was done.
        case full
        /// The database cannot be reached, or cannot read or write its files. Nothing was done.
        case unavailable
        /// The connection was lost while COMMIT was under way: the write may be there or not. Never run again by itself.
        case unknownOutcome
        /// The files are damaged.
        case corrupt
        /// Another process works with this folder.
        case inUse
        /// A newer program wrote this database, or one with another history.
        case schema
        /// A blob has more bytes than the caller allows.
        case tooLarge
        /// No such blob.
        case notFound
        /// A fault of ours: bad SQL, a column of another type, a write inside `read`.
        case programming
    }

    package let code: Code
    /// What the engine said, without values.
    package let message: String
    /// The statement with `?` or `$1` in the places of its values.
    package let statement: String?
    /// The engine's own number or SQLSTATE.
    package let engineCode: String?

    package init(_ code: Code, _ message: String, statement: String? = nil, engineCode: String? = nil) {
        self.code = code
        self.message = message
        self.statement = statement
        self.engineCode = engineCode
    }

    package var description: String {
        var text = "store: \(code.rawValue): \(message)"
        if let engineCode { text += " (\(engineCode))" }
        if let statement { text += " in: \(statement)" }
        return text
    }
}
