import CSQLite
import Glibc

/// One open SQLite connection with its prepared statements.
///
/// It is opened without SQLite's own mutexes: only the thread that owns it may call it.
final class SQLiteConnection: Connection {
    var dialect: Dialect { .sqlite }

    private let handle: OpaquePointer
    private var statements: [String: Prepared] = [:]
    /// By the numbers of their templates, which are few.
    private var templates: [Prepared?] = []
    private var uses = 0
    private var isClosed = false
    /// When the statement that runs must stop. On the heap, because SQLite holds a pointer to it.
    private let deadline: UnsafeMutablePointer<UInt64>

    private final class Prepared {
        let handle: OpaquePointer
        var isRunning = false
        var lastUse = 0
        init(_ handle: OpaquePointer) { self.handle = handle }
        deinit { sqlite3_finalize(handle) }
    }

    /// Statements kept prepared. Texts differ only by where they stand in the program and by the length of lists.
    private static let mostStatements = 200
    /// The clock is read once in so many steps of SQLite's machine, about every tenth of a millisecond.
    private static let stepsBetweenLooks: Int32 = 4000

    /// SQLite counts the memory of all connections under one lock, for whoever asks; nobody does.
    private static let countsNoMemory: Void = { csqlite_count_no_memory() }()

    /// - Parameter isReadOnly: opens what is there, and makes and changes nothing.
    init(path: String, isReadOnly: Bool = false) throws(StoreError) {
        Self.countsNoMemory
        var opened: OpaquePointer?
        let access = isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        let flags = access | SQLITE_OPEN_NOMUTEX
        let status = sqlite3_open_v2(path, &opened, flags, nil)
        guard let opened else { throw StoreError(.unavailable, "SQLite has no memory for a connection") }
        guard status == SQLITE_OK else {
            defer { sqlite3_close_v2(opened) }
            throw Self.error(status, opened, nil, mayHoldValues: false)
        }
        handle = opened
        deadline = .allocate(capacity: 1)
        deadline.initialize(to: .max)
        sqlite3_extended_result_codes(handle, 1)
        csqlite_be_strict(handle)
        sqlite3_progress_handler(
            handle, Self.stepsBetweenLooks,
            { deadline in
                guard let deadline else { return 0 }
                return Deadline.now.nanoseconds >= deadline.load(as: UInt64.self) ? 1 : 0
            }, deadline)
    }

    deinit {
        close()
        deadline.deallocate()
    }

    /// The last connection to be closed also tidies the log away.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        statements = [:]
        templates = []
        sqlite3_close_v2(handle)
    }

    /// Statements that still run at this time are interrupted; nil for none.
    func setDeadline(_ deadline: Deadline?) { self.deadline.pointee = deadline?.nanoseconds ?? .max }

    /// False also right after an error that made SQLite roll the whole transaction back.
    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// A statement without values and without an answer: BEGIN, COMMIT, PRAGMA.
    func execute(_ text: String) throws(StoreError) {
        do {
            _ = try execute(RenderedSQL(text: text), { _ in true })
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(.programming, "\(type(of: error))", statement: text)
        }
    }

    /// A number that a PRAGMA or a one-row SELECT answers.
    func number(_ text: String) throws -> Int64 {
        var number: Int64 = 0
        _ = try execute(RenderedSQL(text: text)) { row in
            number = try row.integer(0)
            return false
        }
        return number
    }

    func execute(_ statement: RenderedSQL, _ each: (borrowing Row) throws -> Bool) throws -> Int {
        let prepared = try take(statement)
        let handle = prepared.handle
        defer {
            sqlite3_reset(handle)
            sqlite3_clear_bindings(handle)
            prepared.isRunning = false
        }
        try bind(statement.values, to: handle, statement.text)
        let columns = Int(sqlite3_column_count(handle))
        let changesBefore = sqlite3_total_changes(self.handle)
        var wantsMore = true
        while true {
            switch sqlite3_step(handle) {
            case SQLITE_ROW:
                if wantsMore { wantsMore = try each(Row(source: .sqlite(handle), count: columns)) }
                // A statement that writes is run to its end, also when only the first row of RETURNING is wanted.
                if !wantsMore && sqlite3_stmt_readonly(handle) != 0 { return 0 }
            case SQLITE_DONE:
                if sqlite3_stmt_readonly(handle) != 0 { return 0 }
                // What triggers and cascades change is not counted on PostgreSQL either.
                return sqlite3_total_changes(self.handle) == changesBefore ? 0 : Int(sqlite3_changes(self.handle))
            case let status:
                throw Self.error(status, self.handle, statement.text, mayHoldValues: status & 0xff == SQLITE_ERROR)
            }
        }
    }

    // MARK: Statements

    private func take(_ statement: RenderedSQL) throws(StoreError) -> Prepared {
        guard let number = statement.template else { return try take(statement.text) }
        if number < templates.count, let known = templates[number], !known.isRunning {
            known.isRunning = true
            return known
        }
        let fresh = Prepared(try prepare(statement.text))
        fresh.isRunning = true
        while templates.count <= number { templates.append(nil) }
        // A statement that runs inside itself is used once and not kept.
        if templates[number] == nil { templates[number] = fresh }
        return fresh
    }

    private func take(_ text: String) throws(StoreError) -> Prepared {
        uses += 1
        if let known = statements[text], !known.isRunning {
            known.isRunning = true
            known.lastUse = uses
            return known
        }
        let fresh = Prepared(try prepare(text))
        fresh.isRunning = true
        fresh.lastUse = uses
        // A statement that runs inside itself is used once and not kept.
        if statements[text] == nil { keep(fresh, text) }
        return fresh
    }

    private func keep(_ prepared: Prepared, _ text: String) {
        if statements.count >= Self.mostStatements {
            let oldest = statements.values.map(\.lastUse).sorted()[Self.mostStatements / 4]
            statements = statements.filter { $0.value.isRunning || $0.value.lastUse > oldest }
        }
        statements[text] = prepared
    }

    private func prepare(_ text: String) throws(StoreError) -> OpaquePointer {
        var statement: OpaquePointer?
        var text = text
        let status: Int32 = text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                var rest: UnsafePointer<CChar>?
                let status = sqlite3_prepare_v3(
                    handle, characters.baseAddress, Int32(characters.count), UInt32(SQLITE_PREPARE_PERSISTENT),
                    &statement,
                    &rest)
                guard status == SQLITE_OK, let start = characters.baseAddress, let rest else { return status }
                // Whatever follows the first statement would be dropped without a word.
                let isRestBlank = characters[(rest - start)...].allSatisfy { $0 == 32 || $0 == 10 || $0 == 59 }
                return isRestBlank ? SQLITE_OK : SQLITE_MISUSE
            }
        }
        guard status == SQLITE_OK, let statement else {
            sqlite3_finalize(statement)
            if status == SQLITE_OK || status == SQLITE_MISUSE {
                throw StoreError(.programming, "not exactly one statement", statement: text)
            }
            throw Self.error(status, handle, text, mayHoldValues: false)
        }
        return statement
    }

    private func bind(_ values: [SQLValue], to statement: OpaquePointer, _ text: String) throws(StoreError) {
        guard values.count == sqlite3_bind_parameter_count(statement) else {
            throw StoreError(.programming, "a parameter was written by hand", statement: text)
        }
        for (index, value) in values.enumerated() {
            let position = Int32(index + 1)
            var status = SQLITE_OK
            switch value {
            case .null: status = sqlite3_bind_null(statement, position)
            case .integer(let number): status = sqlite3_bind_int64(statement, position, number)
            case .real(let number): status = sqlite3_bind_double(statement, position, number)
            case .text(var string):
                status = try bindText(&string, statement, position, text)
            case .bytes(let bytes):
                status = bytes.withUnsafeBytes {
                    csqlite_bind_blob(statement, position, $0.baseAddress, Int32(clamping: $0.count))
                }
            }
            guard status == SQLITE_OK else { throw Self.error(status, handle, text, mayHoldValues: false) }
        }
    }

    private func bindText(
        _ string: inout String, _ statement: OpaquePointer, _ position: Int32, _ text: String
    ) throws(StoreError) -> Int32 {
        let status: Int32? = string.withUTF8 { bytes in
            if let start = bytes.baseAddress, memchr(start, 0, bytes.count) != nil { return nil }
            return bytes.withMemoryRebound(to: CChar.self) {
                // Without a pointer SQLite would bind null.
                guard let start = $0.baseAddress else { return csqlite_bind_text(statement, position, "", 0) }
                return csqlite_bind_text(statement, position, start, Int32(clamping: $0.count))
            }
        }
        guard let status else { throw StoreError(.invalidText, "a text holds a NUL", statement: text) }
        return status
    }

    // MARK: Errors

    /// `mayHoldValues`: errors that functions raise while a statement runs quote what they were given, so their text is
    /// left out.
    private static func error(
        _ status: Int32, _ handle: OpaquePointer, _ statement: String?, mayHoldValues: Bool
    ) -> StoreError {
        let said = mayHoldValues ? "the statement failed" : String(cString: sqlite3_errmsg(handle))
        return StoreError(code(status), said, statement: statement, engineCode: "SQLite \(status)")
    }

    private static func code(_ status: Int32) -> StoreError.Code {
        switch status {
        case SQLiteStatus.uniqueIndex, SQLiteStatus.primaryKey, SQLiteStatus.rowid: return .uniqueViolation
        case SQLiteStatus.foreignKey: return .foreignKeyViolation
        default: break
        }
        switch status & 0xff {
        case SQLITE_CONSTRAINT: return .checkViolation
        case SQLITE_FULL: return .full
        case SQLITE_INTERRUPT: return .timeout
        case SQLITE_BUSY, SQLITE_LOCKED: return .busy
        case SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_NOMEM, SQLITE_PERM: return .unavailable
        // A database that has become read-only under our hands, as against a write inside `read`.
        case SQLITE_READONLY: return status == SQLITE_READONLY ? .programming : .unavailable
        case SQLITE_CORRUPT, SQLITE_NOTADB: return .corrupt
        default: return .programming
        }
    }
}

/// Extended result codes, which are macros with arithmetic in C.
private enum SQLiteStatus {
    static let foreignKey = SQLITE_CONSTRAINT | 3 << 8
    static let primaryKey = SQLITE_CONSTRAINT | 6 << 8
    static let uniqueIndex = SQLITE_CONSTRAINT | 8 << 8
    static let rowid = SQLITE_CONSTRAINT | 10 << 8
}
