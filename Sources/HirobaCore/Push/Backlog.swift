internal import HirobaStore

extension Push {
    /// What is still to be done.
    package struct Backlog: Sendable {
        /// What happened and is not yet made into deliveries.
        package var events: Int
        /// Deliveries that are not over.
        package var deliveries: Int
        /// How long ago the oldest of these was made.
        package var oldestAge: Duration
    }

    /// Counts no further than 100,000 of each, so that looking costs little when there is much.
    package func backlog() async throws(HirobaError) -> Backlog {
        let now = desk.clock.now()
        return try await desk.read { db in
            func count(_ rows: SQL) throws -> Int {
                let counted: SQL = "SELECT count(*) FROM (\(rows) LIMIT 100000) some_rows"
                return Int(try db.first(counted) { row in try row.integer(0) } ?? 0)
            }
            let events =
                try count("SELECT 1 FROM events WHERE push IS NOT NULL")
                + count("SELECT 1 FROM notifications WHERE state = 'expanding'")
            let deliveries =
                try count("SELECT 1 FROM deliveries WHERE state = 'waiting'")
                + count("SELECT 1 FROM deliveries WHERE state = 'sending'")
            let oldest = try db.first(
                """
                SELECT min(created_at) FROM (
                    SELECT created_at FROM deliveries WHERE state = 'waiting' ORDER BY due_at, id LIMIT 1000) some_rows
                """
            ) { row in try row.optionalInteger(0) }
            let age = oldest.flatMap { $0 }.map { max(0, now - $0) } ?? 0
            return Backlog(events: events, deliveries: deliveries, oldestAge: .milliseconds(age))
        }
    }
}
