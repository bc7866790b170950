internal import HirobaContract
internal import HirobaStore

/// Reading and keeping the table of events.
enum Spine {
    /// An event where it stands.
    struct Entry: Sendable {
        let position: Position
        let event: Event
    }

    /// The one row about the table as a whole.
    struct History: Sendable, Equatable {
        /// Positions of another epoch mean nothing.
        let epoch: String
        /// Everything up to here has been pruned.
        let floor: Position
    }

    static func history(in db: Transaction) throws -> History {
        let history = try db.first("SELECT epoch, floor_xid, floor_seq FROM spine") { row in
            History(
                epoch: try row.text(0), floor: Position(xid: try row.integer(1), seq: try row.integer(2)))
        }
        guard let history else { throw StoreError(.corrupt, "the table spine is empty") }
        return history
    }

    /// The last event that may be told, or the floor when there is none.
    static func head(in db: Transaction) throws -> Position {
        let last = try db.first(
            """
            SELECT xid, seq FROM events WHERE xid < \(.oldestOpenTransaction) ORDER BY \(newestFirst) LIMIT 1
            """
        ) { row in Position(xid: try row.integer(0), seq: try row.integer(1)) }
        return try last ?? history(in: db).floor
    }

    /// The events after `position`, oldest first, as far as no transaction that is still open can add one before them.
    static func entries(after position: Position, most: Int, in db: Transaction) throws -> [Entry] {
        try db.rows(
            """
            SELECT xid, seq, kind, subject, container, actor, version, acl_read, at FROM events
            WHERE \(isAfter(position)) AND xid < \(.oldestOpenTransaction) ORDER BY \(oldestFirst) LIMIT \(most)
            """
        ) { row in
            Entry(
                position: Position(xid: try row.integer(0), seq: try row.integer(1)),
                event: Event(
                    Event.Kind(name: try row.text(2)), try row.text(3), in: try row.optionalText(4),
                    version: try row.integer(6), actor: try row.optionalText(5).map { User.ID(rawValue: $0) },
                    read: AccessList(stored: try row.text(7)), at: try row.integer(8)))
        }
    }

    /// Whether there are events that may not be told yet, because an older transaction is still open.
    static func hasHeldBack(after position: Position, in db: Transaction) throws -> Bool {
        guard db.dialect == .postgres else { return false }
        return try db.first(
            "SELECT 1 FROM events WHERE \(isAfter(position)) AND xid >= \(.oldestOpenTransaction) LIMIT 1"
        ) { _ in true } == true
    }

    static func exists(_ position: Position, in db: Transaction) throws -> Bool {
        try db.first("SELECT 1 FROM events WHERE seq = \(position.seq) AND xid = \(position.xid)") { _ in true } == true
    }

    /// Deletes the oldest events up to `most`, those that happened before `time`, and moves the floor behind them. The
    /// newest stays, however old it is: SQLite counts on from it.
    static func prune(before time: Int64, most: Int, in db: Transaction) throws -> Int {
        let oldest = try db.rows(
            "SELECT xid, seq, at FROM events ORDER BY \(oldestFirst) LIMIT \(most + 1)"
        ) { row in (position: Position(xid: try row.integer(0), seq: try row.integer(1)), at: try row.integer(2)) }
        // Up to the first that stays: what is left must have no holes below a position somebody can resume from.
        let old = oldest.dropLast().prefix { $0.at < time }
        guard let last = old.last?.position else { return 0 }
        let count = try db.run("DELETE FROM events WHERE NOT \(isAfter(last))")
        try db.run("UPDATE spine SET floor_xid = \(last.xid), floor_seq = \(last.seq)")
        return count
    }

    /// Begins a new history with the events of an old one: after a restore, the transaction numbers of these rows belong
    /// to another server, and positions that clients hold may be ahead of what was restored.
    static func beginNewEpoch(_ epoch: String, in db: Transaction) throws {
        try db.run("UPDATE events SET xid = 0 WHERE xid <> 0")
        try db.run("UPDATE spine SET epoch = \(epoch), floor_xid = 0, floor_seq = 0")
        db.signal(Event.signal)
    }

    /// Whether the table holds transaction numbers that this server has not reached: it was filled by another one.
    static func isFromAnotherServer(in db: Transaction) throws -> Bool {
        guard db.dialect == .postgres else { return false }
        return try db.first(
            """
            SELECT 1 FROM events
            WHERE xid >= CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS TEXT) AS BIGINT) LIMIT 1
            """
        ) { _ in true } == true
    }

    // SQLite has the sequence as its key and one transaction number for all.
    private static func isAfter(_ position: Position) -> SQL {
        .byDialect(sqlite: "(seq > \(position.seq))", postgres: "((xid, seq) > (\(position.xid), \(position.seq)))")
    }
    private static let oldestFirst = SQL.byDialect(sqlite: "seq", postgres: "xid, seq")
    private static let newestFirst = SQL.byDialect(sqlite: "seq DESC", postgres: "xid DESC, seq DESC")
}
