internal import HirobaContract
internal import HirobaCrypto
internal import HirobaStore

/// Makes notifications of marked events and deliveries of notifications, inside one transaction and a piece at a time:
/// where it left off is kept with the notification.
///
/// As long as there is room, deliveries are made claimed already: nobody else could have had them before.
struct Expansion {
    let db: Transaction
    let round: OutboxRound
    private var now: Int64 { round.now }
    /// Rows that may still be made in this transaction.
    private var budget: Int
    /// How many deliveries may still be claimed.
    private var room: Int
    private(set) var claims: [OutboxRound.Claim] = []
    private var contents = PushContents()

    init(_ round: OutboxRound, room: Int, in db: Transaction) {
        self.round = round
        self.db = db
        budget = round.budget
        self.room = room
    }

    /// - Returns: whether there is more to do.
    mutating func run() throws -> Bool {
        while budget > 0, let begun = try nextBegun() { try go(on: begun) }
        guard budget > 0 else { return true }
        let events = try takeEvents()
        for (index, event) in events.enumerated() {
            // The first may have used the budget up. The others begin where they would have.
            try begin(event, onlyNoted: index > 0 && budget <= 0)
        }
        return budget <= 0
    }

    // MARK: - Events

    private struct Marked {
        let source: PushSource
        let at: Int64
    }

    /// Takes the marks of the oldest events away. Nobody else takes the same ones.
    private func takeEvents() throws -> [Marked] {
        let found = try db.rows(
            """
            SELECT seq, kind, subject, container, actor, at FROM events
            WHERE push IS NOT NULL ORDER BY seq LIMIT \(min(budget, Self.mostEvents)) \(.skipLocked)
            """
        ) { row in
            (
                seq: try row.integer(0),
                event: Marked(
                    source: PushSource(
                        kind: try row.text(1), subject: try row.text(2), container: try row.optionalText(3),
                        actor: try row.optionalText(4)), at: try row.integer(5))
            )
        }
        if !found.isEmpty {
            try db.run(
                "UPDATE events SET push = NULL WHERE push IS NOT NULL AND \(SQL.isAny("seq", ofNumbers: found.map(\.seq)))"
            )
        }
        return found.map(\.event)
    }

    private static let mostEvents = 100

    // MARK: - Notifications

    private struct Begun {
        let id: String
        let source: PushSource
        let expiresAt: Int64
        let cursor: Cursor?
    }

    /// Up to where a notification has been expanded: all of the person's devices, or those up to one.
    private struct Cursor {
        let user: String
        let device: String?

        init(user: String, device: String?) {
            self.user = user
            self.device = device
        }

        init(_ text: String) {
            let parts = text.split(separator: " ").map { String($0) }
            self.init(user: parts.first ?? "", device: parts.count > 1 ? parts[1] : nil)
        }

        var text: String { device.map { "\(user) \($0)" } ?? user }
    }

    private func nextBegun() throws -> Begun? {
        try db.first(
            """
            SELECT id, kind, subject, container, actor, expires_at, cursor FROM notifications
            WHERE state = 'expanding' ORDER BY created_at, id LIMIT 1 \(.skipLocked)
            """
        ) { row in
            Begun(
                id: try row.text(0),
                source: PushSource(
                    kind: try row.text(1), subject: try row.text(2), container: try row.optionalText(3),
                    actor: try row.optionalText(4)), expiresAt: try row.integer(5),
                cursor: try row.optionalText(6).map { Cursor($0) })
        }
    }

    private mutating func begin(_ event: Marked, onlyNoted: Bool) throws {
        // A later program marked it, and will not be the only one to look at this database for long.
        guard let strategy = Strategy.of(event.source.kind) else { return }
        let begun = Begun(
            id: ObjectID.random(), source: event.source, expiresAt: event.at + strategy.lifetime.milliseconds,
            cursor: nil)
        let end = onlyNoted ? End(cursor: nil, isReached: false) : try expand(begun, strategy)
        budget -= 1
        try db.run(
            """
            INSERT INTO notifications (id, kind, subject, container, actor, event_at, created_at, expires_at, cursor,
                state)
            VALUES (\(begun.id), \(event.source.kind), \(event.source.subject), \(.bound(event.source.container)),
                \(.bound(event.source.actor)), \(event.at), \(now), \(begun.expiresAt), \(.bound(end.cursor?.text)),
                \(end.state.rawValue))
            """)
    }

    private mutating func go(on begun: Begun) throws {
        let end =
            if let strategy = Strategy.of(begun.source.kind) {
                try expand(begun, strategy)
            } else {
                End(cursor: begun.cursor, isReached: true)
            }
        budget -= 1
        try db.run(
            """
            UPDATE notifications SET cursor = \(.bound(end.cursor?.text)), state = \(end.state.rawValue)
            WHERE id = \(begun.id)
            """)
    }

    private struct End {
        let cursor: Cursor?
        let isReached: Bool

        var state: PushState { isReached ? .expanded : .expanding }
    }

    // MARK: - People

    private struct Candidate {
        let user: String
        let setting: String?
        let isBlocked: Bool
        let follows: Bool
    }

    private mutating func expand(_ begun: Begun, _ strategy: Strategy) throws -> End {
        var cursor = begun.cursor
        // First the devices of somebody who had more of them than fitted.
        if let begunPerson = cursor, let device = begunPerson.device {
            let content = try content(begun, strategy)
            guard let content, content.mayBeTold(to: begunPerson.user) else {
                return End(cursor: Cursor(user: begunPerson.user, device: nil), isReached: false)
            }
            let rest = try deliver(begun, strategy, content, to: begunPerson.user, after: device)
            guard rest.isWhole else { return End(cursor: rest.cursor, isReached: false) }
            cursor = Cursor(user: begunPerson.user, device: nil)
        }
        while budget > 0 {
            let most = min(budget, 100)
            let page = try candidates(begun, strategy, after: cursor?.user ?? "", most: most)
            for candidate in page {
                guard budget > 0 else { return End(cursor: cursor, isReached: false) }
                var decision = decide(about: candidate, begun, strategy)
                var rest: Delivered?
                if decision == .notified {
                    if let content = try content(begun, strategy), content.mayBeTold(to: candidate.user) {
                        let delivered = try deliver(begun, strategy, content, to: candidate.user, after: "")
                        if delivered.isWhole, !delivered.hasAny { decision = .noDevice }
                        rest = delivered
                    } else {
                        decision = .mayNotRead
                    }
                }
                budget -= 1
                try db.run(
                    """
                    INSERT INTO notification_people (notification_id, user_id, decision)
                    VALUES (\(begun.id), \(candidate.user), \(decision.rawValue))
                    ON CONFLICT (notification_id, user_id) DO NOTHING
                    """)
                if let rest, !rest.isWhole { return End(cursor: rest.cursor, isReached: false) }
                cursor = Cursor(user: candidate.user, device: nil)
            }
            if page.count < most { return End(cursor: cursor, isReached: true) }
        }
        return End(cursor: cursor, isReached: false)
    }

    private func candidates(
        _ begun: Begun, _ strategy: Strategy, after user: String, most: Int
    ) throws -> [Candidate] {
        let actor = begun.source.actor ?? ""
        return try db.rows(
            """
            SELECT a.user_id, ns.\(strategy.setting.column), \(Relation.isBlocked("a.user_id", "\(actor)")),
                \(Relation.follows("a.user_id", "\(actor)"))
            FROM (\(strategy.audience.people(of: begun.source))) a
            LEFT JOIN notification_settings ns ON ns.user_id = a.user_id
            WHERE a.user_id > \(user) ORDER BY a.user_id LIMIT \(most)
            """
        ) { row in
            Candidate(
                user: try row.text(0), setting: try row.optionalText(1), isBlocked: try row.bool(2),
                follows: try row.bool(3))
        }
    }

    /// In the order in which people would explain it.
    private func decide(about candidate: Candidate, _ begun: Begun, _ strategy: Strategy) -> PushDecision {
        if candidate.user == begun.source.actor { return .isActor }
        if candidate.isBlocked { return .blocked }
        switch candidate.setting.map({ NotifiedBy(rawValue: $0) }) ?? strategy.setting.byDefault {
        case .off: return .settingOff
        case .following where !candidate.follows: return .notFollowing
        default: break
        }
        return begun.expiresAt <= now ? .tooLate : .notified
    }

    private mutating func content(_ begun: Begun, _ strategy: Strategy) throws -> PushContent? {
        try contents.content(strategy, begun.id, begun.source, in: db)
    }

    // MARK: - Devices

    private struct Delivered {
        let isWhole: Bool
        /// Whether there was a device that pushes can be sent to.
        var hasAny = false
        /// The last device.
        var cursor: Cursor?
    }

    /// One delivery for each device that the person is signed in on.
    private mutating func deliver(
        _ begun: Begun, _ strategy: Strategy, _ content: PushContent, to user: String, after device: String
    ) throws -> Delivered {
        let most = max(1, budget)
        let devices = try db.rows(
            """
            SELECT d.id, \(PushTarget.columns) FROM sessions s JOIN devices d ON d.session_id = s.id
            WHERE s.user_id = \(user) AND s.expires_at > \(now) AND d.id > \(device) ORDER BY d.id LIMIT \(most)
            """
        ) { row in (id: try row.text(0), target: try PushTarget(row, from: 1)) }
        var hasAny = false
        for device in devices {
            let delivery = UUIDText.random()
            switch device.target.way {
            case .none(let obstacle):
                try insert(delivery, begun, device.id, user, .skipped, obstacle)
            case .open(let address):
                hasAny = true
                guard room > 0 else {
                    try insert(delivery, begun, device.id, user, .waiting)
                    continue
                }
                room -= 1
                try insert(delivery, begun, device.id, user, .sending)
                claims.append(
                    OutboxRound.Claim(
                        attempt: PushAttempt(
                            delivery: delivery, device: device.id, address: address, attempts: 1,
                            doubts: 0, expiresAt: begun.expiresAt, lastVerdict: device.target.lastVerdict,
                            lastVerdictAt: device.target.lastVerdictAt),
                        message: content.message(
                            strategy, id: delivery, in: device.target.language, expiresAt: begun.expiresAt,
                            publicURL: round.publicURL)))
            }
        }
        budget -= devices.count
        return Delivered(
            isWhole: devices.count < most, hasAny: hasAny,
            cursor: devices.last.map { Cursor(user: user, device: $0.id) })
    }

    private func insert(
        _ delivery: String, _ begun: Begun, _ device: String, _ user: String, _ state: PushDeliveryState,
        _ obstacle: DeliveryObstacle? = nil
    ) throws {
        let isSending = state == .sending
        try db.run(
            """
            INSERT INTO deliveries (id, notification_id, device_id, user_id, state, reason, attempts, doubts, is_resent,
                worker,
                created_at, due_at, sent_at, ended_at)
            VALUES (\(delivery), \(begun.id), \(device), \(user), \(state.rawValue), \(.bound(obstacle?.rawValue)),
                \(isSending ? 1 : 0), 0, FALSE, \(.bound(isSending ? round.worker : nil)), \(now),
                \(.bound(state == .waiting ? now : nil)), \(.bound(isSending ? now : nil)),
                \(.bound(state == .skipped ? now : nil)))
            """)
    }
}

/// A device as somebody who wants to push to it sees it.
struct PushTarget: Sendable {
    enum Way: Sendable {
        case open(PushAddress)
        case none(DeliveryObstacle)
    }

    let way: Way
    let language: Language
    let lastVerdict: String?
    let lastVerdictAt: Int64?

    /// What `init(_ row:from:)` reads, from `devices d`.
    static let columns: SQL = """
        d.token, d.app, d.environment, d.is_environment_proven, d.died_at IS NOT NULL, d.language, d.last_verdict, \
        d.last_verdict_at
        """

    init(_ row: borrowing Row, from column: Int) throws {
        language = Language(ofDevice: try row.optionalText(column + 5))
        lastVerdict = try row.optionalText(column + 6)
        lastVerdictAt = try row.optionalInteger(column + 7)
        guard let token = try row.optionalText(column), let app = try row.optionalText(column + 1),
            let environment = PushAddress.Environment(rawValue: try row.text(column + 2))
        else {
            way = .none(.noToken)
            return
        }
        guard try !row.bool(column + 4) else {
            way = .none(.deviceDead)
            return
        }
        way = .open(
            PushAddress(
                token: token, app: app, environment: environment, isEnvironmentProven: try row.bool(column + 3)))
    }
}
