internal import HirobaContract
internal import HirobaStore

/// One turn of the outbox: what was answered is written down, what happened is made into deliveries, and what is due is
/// claimed. All in one transaction, so that a comment is one fsync away from the gateway.
struct OutboxRound: Sendable {
    let worker: String
    let now: Int64
    /// What the gateway said since the last round.
    let answers: [Answer]
    /// How many deliveries may be claimed.
    let room: Int
    /// Rows that may be made.
    let budget: Int
    /// Whether others must be shown that this worker lives.
    let showsLife: Bool
    let publicURL: String
    let nextHeld: Int64

    struct Answer: Sendable {
        let attempt: PushAttempt
        let verdict: Verdict
    }

    struct Claim: Sendable {
        let attempt: PushAttempt
        let message: PushMessage
    }

    struct Result: Sendable {
        var claims: [Claim] = []
        /// There is more to do at once.
        var hasMore = false
        /// When the next delivery is due that could not be claimed yet.
        var nextDue: Int64?
        var nextHeld: Int64
    }

    func run(in db: Transaction) throws -> Result {
        var result = Result(nextHeld: nextHeld)
        try record(in: db, &result)
        if showsLife { try PushWorkers.show(worker, in: db, at: now) }
        // What has waited comes before what is new.
        if room > 0, try claim(in: db, &result) == room { result.hasMore = true }
        if budget > 0 {
            var expansion = Expansion(self, room: room - result.claims.count, in: db)
            if try expansion.run() { result.hasMore = true }
            result.claims += expansion.claims
        }
        result.nextDue = try db.first("SELECT min(due_at) FROM deliveries WHERE state = 'waiting'") { row in
            try row.optionalInteger(0)
        }.flatMap { $0 }
        return result
    }

    // MARK: - Verdicts

    private func record(in db: Transaction, _ result: inout Result) throws {
        var rules = PushReaction.Rules(now: now, nextHeld: nextHeld)
        for answer in answers {
            rules.chance = Double.random(in: 0..<1)
            let reaction = PushReaction(to: answer.verdict, of: answer.attempt, &rules)
            // Whoever took the delivery over meanwhile tells how it ended.
            guard try record(reaction, answer, in: db) else { continue }
            try mark(reaction.mark, answer, in: db)
        }
        result.nextHeld = rules.nextHeld
    }

    private func record(_ reaction: PushReaction, _ answer: Answer, in db: Transaction) throws -> Bool {
        let attempt = answer.attempt
        let mine: SQL = "id = \(attempt.delivery) AND state = 'sending' AND worker = \(worker)"
        switch reaction.next {
        case .over(let state):
            let acceptance: Verdict.Acceptance? =
                if case .accepted(let acceptance) = answer.verdict { acceptance } else { nil }
            return try db.run(
                """
                UPDATE deliveries SET state = \(state.rawValue), reason = \(.bound(reaction.reason)), worker = NULL,
                    is_resent = (is_resent OR \(reaction.isResent)), ended_at = \(now),
                    gateway_id = \(.bound(acceptance?.id)), unique_id = \(.bound(acceptance?.uniqueID))
                WHERE \(mine)
                """) > 0
        case .again(let at, let counts):
            return try db.run(
                """
                UPDATE deliveries SET state = 'waiting', reason = \(.bound(reaction.reason)), worker = NULL,
                    is_resent = (is_resent OR \(reaction.isResent)), due_at = \(at),
                    attempts = attempts - \(counts ? 0 : 1), doubts = doubts + \(reaction.isResent ? 1 : 0)
                WHERE \(mine)
                """) > 0
        }
    }

    /// Only if the device still has the token that this is about.
    private func mark(_ mark: PushReaction.Mark, _ answer: Answer, in db: Transaction) throws {
        let attempt = answer.attempt
        let same: SQL = "id = \(attempt.device) AND token = \(attempt.address.token)"
        let said: SQL = "last_verdict = \(Verdict.Note(answer.verdict).text), last_verdict_at = \(now)"
        switch mark {
        case .none: break
        case .note: try db.run("UPDATE devices SET \(said) WHERE \(same)")
        case .proven(let environment):
            guard !attempt.isKnownToWork(in: environment, at: now) else { return }
            try db.run(
                """
                UPDATE devices SET environment = \(environment.rawValue), is_environment_proven = TRUE,
                    problem = NULL, \(said) WHERE \(same)
                """)
        case .dead(let since):
            let died = try db.run(
                """
                UPDATE devices SET died_at = \(now), \(said)
                WHERE \(same) AND (\(since == nil) OR registered_at <= \(since ?? 0))
                """)
            if died == 0 { try sendToNewToken(attempt, in: db) }
        case .misfit:
            try db.run(
                "UPDATE devices SET problem = \(DeviceProblem.refused.rawValue), \(said) WHERE \(same)")
        }
    }

    /// The app got another token while the message was on its way to the old one.
    private func sendToNewToken(_ attempt: PushAttempt, in db: Transaction) throws {
        guard attempt.attempts < PushReaction.Rules.mostDoubts else { return }
        try db.run(
            """
            UPDATE deliveries SET state = 'waiting', due_at = \(now), ended_at = NULL WHERE id = \(attempt.delivery)
                AND EXISTS (SELECT 1 FROM devices WHERE id = \(attempt.device) AND token <> \(attempt.address.token)
                    AND died_at IS NULL)
            """)
    }

    // MARK: - Claiming

    private struct Due {
        let id: String
        let notification: String
        let source: PushSource
        let device: String
        let user: String
        let attempts: Int
        let doubts: Int
        let expiresAt: Int64
        /// Whoever is signed in on the device now.
        let signedIn: String?
        let isBlocked: Bool
        /// Nil when the device is gone.
        let target: PushTarget?
    }

    /// - Returns: how many were due, up to the room there is.
    private func claim(in db: Transaction, _ result: inout Result) throws -> Int {
        let due = try db.rows(
            """
            SELECT e.id, e.notification_id, e.device_id, e.user_id, e.attempts, e.doubts, n.kind, n.subject, n.container,
                n.actor, n.expires_at, s.user_id, \(Relation.isBlocked("e.user_id", "n.actor")), d.id,
                \(PushTarget.columns)
            FROM (
                SELECT id, notification_id, device_id, user_id, attempts, doubts FROM deliveries
                WHERE state = 'waiting' AND due_at <= \(now) ORDER BY due_at, id LIMIT \(room) \(.skipLocked)
            ) e JOIN notifications n ON n.id = e.notification_id LEFT JOIN devices d ON d.id = e.device_id
            LEFT JOIN sessions s ON s.id = d.session_id AND s.expires_at > \(now)
            """
        ) { row in
            Due(
                id: try row.text(0), notification: try row.text(1),
                source: PushSource(
                    kind: try row.text(6), subject: try row.text(7), container: try row.optionalText(8),
                    actor: try row.optionalText(9)),
                device: try row.text(2), user: try row.text(3), attempts: Int(try row.integer(4)),
                doubts: Int(try row.integer(5)), expiresAt: try row.integer(10),
                signedIn: try row.optionalText(11), isBlocked: try row.bool(12),
                target: try row.isNull(13) ? nil : PushTarget(row, from: 14))
        }
        var contents = PushContents()
        for delivery in due {
            if let claim = try claim(delivery, &contents, in: db) { result.claims.append(claim) }
        }
        guard !result.claims.isEmpty else { return due.count }
        try db.run(
            """
            UPDATE deliveries SET state = 'sending', worker = \(worker), attempts = attempts + 1, sent_at = \(now),
                due_at = NULL
            WHERE \(SQL.isAny("id", ofIDs: result.claims.map(\.attempt.delivery)))
            """)
        return due.count
    }

    /// Nil when it is no longer right to send it.
    private func claim(_ due: Due, _ contents: inout PushContents, in db: Transaction) throws -> Claim? {
        guard due.expiresAt > now else {
            try end(due, .expired, due.attempts == 0 ? "waited" : nil, in: db)
            return nil
        }
        guard due.signedIn == due.user, let target = due.target else { return try drop(due, .signedOut, in: db) }
        guard !due.isBlocked else { return try drop(due, .blocked, in: db) }
        guard let strategy = Strategy.of(due.source.kind),
            let content = try contents.content(strategy, due.notification, due.source, in: db),
            content.mayBeTold(to: due.user)
        else { return try drop(due, .subjectGone, in: db) }
        switch target.way {
        case .none(let obstacle): return try drop(due, obstacle, in: db)
        case .open(let address):
            let attempt = PushAttempt(
                delivery: due.id, device: due.device, address: address, attempts: due.attempts + 1,
                doubts: due.doubts, expiresAt: due.expiresAt, lastVerdict: target.lastVerdict,
                lastVerdictAt: target.lastVerdictAt)
            let message = content.message(
                strategy, id: due.id, in: target.language, expiresAt: due.expiresAt, publicURL: publicURL)
            return Claim(attempt: attempt, message: message)
        }
    }

    private func drop(_ due: Due, _ obstacle: DeliveryObstacle, in db: Transaction) throws -> Claim? {
        try end(due, .dropped, obstacle.rawValue, in: db)
        return nil
    }

    /// A reason of nil leaves what is there.
    private func end(_ due: Due, _ state: PushDeliveryState, _ reason: String?, in db: Transaction) throws {
        try db.run(
            """
            UPDATE deliveries SET state = \(state.rawValue), reason = coalesce(\(.bound(reason)), reason),
                ended_at = \(now), due_at = NULL
            WHERE id = \(due.id)
            """)
    }
}

extension PushAttempt {
    /// Whether the row says what an acceptance would write, as of lately.
    fileprivate func isKnownToWork(in environment: PushAddress.Environment, at now: Int64) -> Bool {
        address.isEnvironmentProven && address.environment == environment
            && lastVerdict == Verdict.Note.Word.accepted.rawValue && now - (lastVerdictAt ?? 0) < 60_000
    }
}

/// Those who send, and what they leave behind.
///
/// SQLite has one process. On PostgreSQL there may be several, which show each other that they live for as long as they
/// have something in hand.
enum PushWorkers {
    static let showsLifeEvery: Int64 = 5000
    static let isGoneAfter: Int64 = 20_000
    static let looksEvery: Int64 = 10_000

    static func show(_ worker: String, in db: Transaction, at now: Int64) throws {
        try db.run(
            """
            INSERT INTO push_workers (id, seen_at) VALUES (\(worker), \(now))
            ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at
            """)
    }

    /// Says good-bye: what is left in hand may be taken over at once.
    static func leave(_ worker: String, in db: Transaction) throws {
        try db.run("DELETE FROM push_workers WHERE id = \(worker)")
    }

    /// Puts back what workers that are gone had in hand. How it went is not known, so it is sent again under the same id.
    ///
    /// - Returns: how many.
    static func takeOver(by worker: String, most: Int, in db: Transaction, at now: Int64) throws -> Int {
        let isGone: SQL = .byDialect(
            sqlite: "TRUE",
            postgres: """
                NOT EXISTS (SELECT 1 FROM push_workers w WHERE w.id = deliveries.worker
                    AND w.seen_at > \(now - isGoneAfter))
                """)
        let left = try db.rows(
            """
            SELECT id FROM deliveries WHERE state = 'sending' AND worker <> \(worker) AND \(isGone)
            LIMIT \(most) \(.skipLocked)
            """
        ) { row in try row.text(0) }
        guard !left.isEmpty else { return 0 }
        try db.run(
            """
            UPDATE deliveries SET state = 'waiting', worker = NULL, is_resent = TRUE, due_at = \(now)
            WHERE \(SQL.isAny("id", ofIDs: left))
            """)
        return left.count
    }

    /// Puts back what this worker holds in the table but not in hand: the end of a claim was not known.
    static func putBack(by worker: String, except inHand: Set<String>, in db: Transaction, at now: Int64) throws {
        let held = try db.rows("SELECT id FROM deliveries WHERE state = 'sending' AND worker = \(worker)") { row in
            try row.text(0)
        }
        let strays = held.filter { !inHand.contains($0) }
        guard !strays.isEmpty else { return }
        try db.run(
            """
            UPDATE deliveries SET state = 'waiting', worker = NULL, due_at = \(now)
            WHERE \(SQL.isAny("id", ofIDs: strays))
            """)
    }

    /// What waits for a repair is looked at now: it may have been made.
    static func releaseHeld(most: Int, in db: Transaction, at now: Int64) throws -> Int {
        let held = try db.rows(
            """
            SELECT id FROM deliveries WHERE state = 'waiting' AND due_at > \(now)
                AND \(SQL.hasPrefix("reason", "\(Verdict.Note.Word.held.rawValue):"))
            LIMIT \(most) \(.skipLocked)
            """
        ) { row in try row.text(0) }
        guard !held.isEmpty else { return 0 }
        try db.run("UPDATE deliveries SET due_at = \(now) WHERE \(SQL.isAny("id", ofIDs: held))")
        return held.count
    }
}
