import CPostgres
import Glibc

/// One connection to PostgreSQL with its prepared statements.
///
/// libpq is used without blocking: every wait is a poll(2) with a deadline. When it passes the connection is dropped, not
/// cancelled: the server itself stops a statement at `statement_timeout`, so a missed deadline here means that the server
/// or the network does not answer, and a request to cancel would wait for the same.
final class PostgresConnection: Connection {
    var dialect: Dialect { .postgres }

    private let handle: OpaquePointer
    private var statements: [String: String] = [:]
    private var nextName = 0
    /// Sent together with the first statement, which saves a trip.
    private var pendingBegin: String?
    var deadline: Deadline

    /// Prepared statements take memory in the server; texts differ only by where they stand and by the length of lists.
    private static let mostStatements = 400

    /// - Parameter statementTimeout: after which the server gives up a statement; nil for never.
    init(url: String, deadline: Deadline, statementTimeout: Duration?) throws(StoreError) {
        // What stands before the address can be overridden in it.
        let parameters = [
            ("fallback_application_name", "hiroba"), ("keepalives_idle", "30"), ("keepalives_interval", "10"),
            ("keepalives_count", "3"), ("tcp_user_timeout", "30000"), ("dbname", url), ("client_encoding", "UTF8"),
        ]
        let handle = Self.withCStrings(parameters.map(\.0)) { names in
            Self.withCStrings(parameters.map(\.1)) { values in PQconnectStartParams(names, values, 1) }
        }
        guard let handle else { throw StoreError(.unavailable, "libpq has no memory for a connection") }
        self.handle = handle
        self.deadline = deadline
        try finishConnecting()
        PQsetNoticeReceiver(handle, { _, _ in }, nil)
        PQsetnonblocking(handle, 1)
        PQenterPipelineMode(handle)
        let (seconds, attoseconds) = (statementTimeout ?? .zero).components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        do {
            _ = try execute(
                RenderedSQL(
                    text: """
                        SELECT set_config('statement_timeout', '\(milliseconds)', false), \
                        set_config('idle_in_transaction_session_timeout', '60s', false), \
                        set_config('bytea_output', 'hex', false), set_config('jit', 'off', false)
                        """)
            ) { _ in true }
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(.unavailable, "\(type(of: error))")
        }
    }

    deinit { PQfinish(handle) }

    var isLost: Bool { PQstatus(handle) == CONNECTION_BAD }

    /// False while a statement has not been answered to its end; such a connection is of no more use.
    var isIdle: Bool { !isLost && PQtransactionStatus(handle) != PQTRANS_ACTIVE }

    private func finishConnecting() throws(StoreError) {
        var state = PGRES_POLLING_WRITING
        while state != PGRES_POLLING_OK {
            // Also before the first wait: an address that makes no sense has no socket to wait for.
            guard !isLost else { throw connectionError() }
            let isInTime = waitUntilReady(state == PGRES_POLLING_READING ? POLLIN : POLLOUT)
            guard isInTime else { throw StoreError(.unavailable, "the database did not answer in time") }
            state = PQconnectPoll(handle)
        }
    }

    // MARK: Transactions

    func begin(_ kind: Operation.Kind) {
        pendingBegin =
            switch kind {
            case .read: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
            case .write: "BEGIN ISOLATION LEVEL SERIALIZABLE"
            case .claim: "BEGIN ISOLATION LEVEL READ COMMITTED"
            }
    }

    func commit() throws(StoreError) {
        if pendingBegin != nil {
            // Nothing was asked, so nothing was begun.
            pendingBegin = nil
            return
        }
        try command("COMMIT")
    }

    func rollback() throws(StoreError) {
        pendingBegin = nil
        guard PQtransactionStatus(handle) != PQTRANS_IDLE else { return }
        try command("ROLLBACK")
    }

    /// A statement without values that is not worth preparing.
    func command(_ text: String) throws(StoreError) {
        guard PQsendQueryParams(handle, text, 0, nil, nil, nil, nil, 0) == 1, PQpipelineSync(handle) == 1 else {
            throw connectionError()
        }
        let answers = try receiveAnswers(1, text)
        let tag = String(cString: PQcmdStatus(answers.last))
        // A transaction that had failed is rolled back by COMMIT without an error.
        if text == "COMMIT" && tag != "COMMIT" {
            throw StoreError(.programming, "COMMIT was answered by \(tag)", engineCode: tag)
        }
    }

    // MARK: Statements

    func execute(_ statement: RenderedSQL, _ each: (borrowing Row) throws -> Bool) throws -> Int {
        let parameters = try Parameters(statement)
        if statements.count >= Self.mostStatements {
            statements = [:]
            try command("DEALLOCATE ALL")
        }
        var expected = 1
        if let begin = pendingBegin {
            pendingBegin = nil
            guard PQsendQueryParams(handle, begin, 0, nil, nil, nil, nil, 0) == 1 else { throw connectionError() }
            expected += 1
        }
        let known = statements[statement.text]
        let name = known ?? freshName()
        if known == nil {
            guard PQsendPrepare(handle, name, statement.text, 0, nil) == 1 else { throw connectionError() }
            expected += 1
        }
        guard parameters.send(handle, name), PQpipelineSync(handle) == 1 else { throw connectionError() }
        let answers = try receiveAnswers(
            expected, statement.text,
            // Prepared statements stay when a transaction is rolled back, and when their first execution fails.
            preparing: known == nil ? { self.statements[statement.text] = name } : nil)
        guard let answer = answers.last else { return 0 }
        let columns = Int(PQnfields(answer))
        for row in 0..<PQntuples(answer) {
            if try !each(Row(source: .postgres(answer, row: row), count: columns)) { break }
        }
        return answers.changedRows
    }

    private func freshName() -> String {
        nextName += 1
        return "s\(nextName)"
    }

    /// The values of one statement as libpq takes them: text that ends with a NUL, bytes as they are.
    private struct Parameters {
        private var storage: [UInt8] = []
        private var offsets: [Int?] = []
        private var lengths: [Int32] = []
        private var formats: [Int32] = []

        init(_ statement: RenderedSQL) throws(StoreError) {
            for value in statement.values {
                let start = storage.count
                var isBinary = false
                switch value {
                case .null: break
                case .integer(let number): storage += "\(number)".utf8
                case .real(let number): storage += "\(number)".utf8
                case .text(let text):
                    storage += text.utf8
                    if storage[start...].contains(0) {
                        throw StoreError(.invalidText, "a text holds a NUL", statement: statement.text)
                    }
                case .bytes(let bytes):
                    storage += bytes
                    isBinary = true
                }
                offsets.append(value == .null ? nil : start)
                lengths.append(Int32(clamping: storage.count - start))
                formats.append(isBinary ? 1 : 0)
                storage.append(0)
            }
        }

        func send(_ handle: OpaquePointer, _ name: String) -> Bool {
            storage.withUnsafeBytes { bytes in
                let values = offsets.map { offset in
                    offset.flatMap { bytes.baseAddress?.advanced(by: $0).assumingMemoryBound(to: CChar.self) }
                }
                return PQsendQueryPrepared(handle, name, Int32(values.count), values, lengths, formats, 0) == 1
            }
        }
    }

    // MARK: Answers

    /// The answer to the last of the commands that were sent together; frees it in the end.
    private final class Answers {
        fileprivate(set) var last: OpaquePointer?
        deinit { PQclear(last) }

        var changedRows: Int {
            // The count of a SELECT is the rows it found.
            guard let last, strncmp(PQcmdStatus(last), "SELECT", 6) != 0 else { return 0 }
            return Int(String(cString: PQcmdTuples(last))) ?? 0
        }
    }

    /// Reads until the server has answered everything up to the last sync. Of several errors the first is thrown: the
    /// others are only its consequences.
    private func receiveAnswers(
        _ expected: Int, _ statement: String, preparing: (() -> Void)? = nil
    ) throws(StoreError) -> Answers {
        let answers = Answers()
        var failure: StoreError?
        var number = 0
        while true {
            guard let result = try receive() else {
                // The end of one command.
                number += 1
                continue
            }
            switch PQresultStatus(result) {
            case PGRES_PIPELINE_SYNC:
                PQclear(result)
                if let failure { throw failure }
                return answers
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
                if preparing != nil && number == expected - 2 { preparing?() }
                PQclear(answers.last)
                answers.last = result
            case PGRES_PIPELINE_ABORTED: PQclear(result)
            default:
                failure = failure ?? Self.error(result, statement)
                PQclear(result)
            }
            if isLost { throw failure ?? connectionError() }
        }
    }

    private func receive() throws(StoreError) -> OpaquePointer? {
        while PQisBusy(handle) == 1 {
            let unsent = PQflush(handle)
            guard unsent >= 0 else { throw connectionError() }
            try wait(for: unsent == 1 ? POLLIN | POLLOUT : POLLIN)
            guard PQconsumeInput(handle) == 1 else { throw connectionError() }
        }
        let result = PQgetResult(handle)
        // A lost connection answers nothing for ever.
        if result == nil && isLost { throw connectionError() }
        return result
    }

    private func wait(for events: Int32) throws(StoreError) {
        guard waitUntilReady(events) else { throw StoreError(.timeout, "the database did not answer in time") }
    }

    /// False when the deadline passed first.
    private func waitUntilReady(_ events: Int32) -> Bool {
        var descriptor = pollfd(fd: PQsocket(handle), events: Int16(events), revents: 0)
        while true {
            let ready = poll(&descriptor, 1, deadline.millisecondsLeft)
            if ready > 0 { return true }
            if ready == 0 || errno != EINTR { return false }
        }
    }

    // MARK: Notifications

    var descriptor: Int32 { PQsocket(handle) }

    /// The signals that other connections have sent since the last call; reads what has come in, without waiting.
    func takeNotifications() throws(StoreError) -> Set<String> {
        guard PQconsumeInput(handle) == 1 else { throw connectionError() }
        var names: Set<String> = []
        while let notification = PQnotifies(handle) {
            // Our own were delivered when they were sent.
            if notification.pointee.be_pid != PQbackendPID(handle) {
                names.insert(String(cString: notification.pointee.extra))
            }
            PQfreemem(notification)
        }
        return names
    }

    // MARK: Errors

    private func connectionError() -> StoreError {
        let said = String(cString: PQerrorMessage(handle))
        return StoreError(.unavailable, said.split(separator: "\n").first.map(String.init) ?? "the connection was lost")
    }

    private static func error(_ result: OpaquePointer, _ statement: String) -> StoreError {
        func field(_ name: Int32) -> String? { PQresultErrorField(result, name).map { String(cString: $0) } }
        guard let state = field(cpostgres_sqlstate) else {
            return StoreError(.unavailable, "the connection was lost", statement: statement)
        }
        // The first line of the other classes quotes values: `invalid input syntax for type bigint: "…"`.
        let isFreeOfValues = ["08", "23", "25", "26", "28", "3D", "40", "42", "53", "55", "57", "58"]
            .contains(String(state.prefix(2)))
        let said = isFreeOfValues ? field(cpostgres_message) ?? "" : "the statement failed"
        return StoreError(code(state), said, statement: statement, engineCode: state)
    }

    private static func code(_ state: String) -> StoreError.Code {
        switch state {
        case "23505": return .uniqueViolation
        case "23503", "23001": return .foreignKeyViolation
        case "22021": return .invalidText
        case "40001", "40P01": return .serialization
        case "53100": return .full
        case "55P03": return .busy
        case "57014": return .timeout
        case "XX001", "XX002": return .corrupt
        default: break
        }
        switch state.prefix(2) {
        case "23": return .checkViolation
        case "08", "28", "3D", "53", "57", "58": return .unavailable
        default: return .programming
        }
    }

    /// Calls `body` with the strings as C wants a list of them: pointers, and a null at the end.
    private static func withCStrings<Result>(
        _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
    ) -> Result {
        let copies = strings.map { strdup($0) }
        defer { copies.forEach { free($0) } }
        return body(copies.map { $0.map { UnsafePointer($0) } } + [nil])
    }
}
