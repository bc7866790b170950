package import HirobaContract
internal import HirobaStore

extension Push {
    /// Pushes, newest first.
    package func notifications(_ call: ListPushes, by caller: Caller) async throws(HirobaError) -> Page<PushSummary> {
        let request = try PageRequest("pushes", limit: call.limit, after: call.after, desk.limits)
        return try await desk.read(caller) { db, visitor in
            try visitor.mustHold(.push)
            let pushes = try db.rows(
                "SELECT \(StoredPush.columns) FROM notifications n WHERE 1 = 1\(request.rows(of: "n"))"
            ) { row in try StoredPush(row) }
            let page = request.page(pushes) { Cursor(createdAt: $0.createdAt, id: $0.id) }
            let tallies = try Tally.of(page.items.map(\.id), in: db)
            return Page(
                items: page.items.map { $0.summary(tallies[$0.id] ?? Tally(), in: caller.language) }, next: page.next)
        }
    }

    /// Everything about the push with this id, or about the one that a delivery or a subject belongs to.
    package func story(_ call: GetPush, by caller: Caller) async throws(HirobaError) -> PushStory {
        let id = call.push.rawValue
        let (most, language) = (desk.limits.largestPage, caller.language)
        return try await desk.read(caller) { db, visitor in
            try visitor.mustHold(.push)
            guard let push = try StoredPush.find(id, in: db) else { throw HirobaError.notFound }
            let people = try db.rows(
                """
                SELECT p.user_id, u.name, p.decision FROM notification_people p LEFT JOIN users u ON u.id = p.user_id
                WHERE p.notification_id = \(push.id) ORDER BY p.user_id LIMIT \(most + 1)
                """
            ) { row in
                let decision = PushDecision(rawValue: try row.text(2))
                return PushRecipient(
                    user: User.ID(try row.text(0)), name: try row.optionalText(1), decision: decision,
                    sentence: decision.sentence[language])
            }
            let deliveries = try db.rows(
                """
                SELECT \(StoredDelivery.columns) FROM deliveries WHERE notification_id = \(push.id)
                ORDER BY user_id, device_id LIMIT \(most + 1)
                """
            ) { row in try StoredDelivery(row).delivery(in: language) }
            let tally = try Tally.of([push.id], in: db)[push.id] ?? Tally()
            return PushStory(
                push: push.summary(tally, in: language), people: Array(people.prefix(most)),
                deliveries: Array(deliveries.prefix(most)),
                isWhole: people.count <= most && deliveries.count <= most)
        }
    }

    /// What is to be known about a device that gets no pushes, or should get none.
    package struct DeviceStory: Sendable {
        /// With the sentence about its health.
        package var device: Device
        /// What was last sent to it, newest first.
        package var deliveries: [PushDelivery]
    }

    package func why(_ device: Device.ID, by caller: Caller) async throws(HirobaError) -> DeviceStory {
        let (now, language) = (desk.clock.now(), caller.language)
        return try await desk.read(caller) { db, visitor in
            try visitor.mustHold(.push)
            guard let stored = try StoredDevice.find(device.rawValue, in: db, at: now) else {
                throw HirobaError.notFound
            }
            let deliveries = try db.rows(
                """
                SELECT \(StoredDelivery.columns) FROM deliveries WHERE device_id = \(device.rawValue)
                ORDER BY created_at DESC LIMIT 10
                """
            ) { row in try StoredDelivery(row).delivery(in: language) }
            return DeviceStory(device: stored.device(in: language), deliveries: deliveries)
        }
    }
}

extension Push {
    /// Removes the stories that are too old to be asked for.
    func prune() async throws(HirobaError) {
        let now = desk.clock.now()
        let before = now - desk.limits.pushes.milliseconds
        try await desk.inChunks { db, most in
            var done = 0
            while done < most, let old = try Self.oldest(before: before, in: db) {
                done += try db.run(
                    """
                    DELETE FROM deliveries WHERE id IN (
                        SELECT id FROM deliveries WHERE notification_id = \(old) LIMIT \(most - done))
                    """)
                guard done < most else { break }
                done += try db.run(
                    """
                    DELETE FROM notification_people WHERE notification_id = \(old) AND user_id IN (
                        SELECT user_id FROM notification_people WHERE notification_id = \(old) LIMIT \(most - done))
                    """)
                guard done < most else { break }
                done += try db.run("DELETE FROM notifications WHERE id = \(old)")
            }
            return done
        }
        _ = try await desk.write { db in
            try db.run("DELETE FROM push_workers WHERE seen_at < \(before)")
        }
    }

    private static func oldest(before time: Int64, in db: Transaction) throws -> String? {
        try db.first("SELECT id FROM notifications WHERE created_at < \(time) ORDER BY created_at, id LIMIT 1") { row in
            try row.text(0)
        }
    }
}

/// A notification as its row says.
struct StoredPush: Sendable {
    let id: String
    let kind: String
    let subject: String
    let container: String?
    let actor: String?
    let eventAt: Int64
    let createdAt: Int64
    let expiresAt: Int64
    let isExpanded: Bool

    /// What `init(_ row:)` reads, from `notifications n`.
    static let columns: SQL =
        "n.id, n.kind, n.subject, n.container, n.actor, n.event_at, n.created_at, n.expires_at, n.state"

    /// The notification with this id, else the one of a delivery, else the newest about a subject.
    static func find(_ id: String, in db: Transaction) throws -> StoredPush? {
        let places: [SQL] = [
            "n.id = \(id)", "n.id = (SELECT notification_id FROM deliveries WHERE id = \(id))", "n.subject = \(id)",
        ]
        for place in places {
            let found = try db.first(
                "SELECT \(columns) FROM notifications n WHERE \(place) ORDER BY n.created_at DESC, n.id DESC LIMIT 1"
            ) { row in try StoredPush(row) }
            if let found { return found }
        }
        return nil
    }

    init(_ row: borrowing Row) throws {
        id = try row.text(0)
        kind = try row.text(1)
        subject = try row.text(2)
        container = try row.optionalText(3)
        actor = try row.optionalText(4)
        eventAt = try row.integer(5)
        createdAt = try row.integer(6)
        expiresAt = try row.integer(7)
        isExpanded = try row.text(8) == PushState.expanded.rawValue
    }

    func summary(_ tally: Tally, in language: Language) -> PushSummary {
        PushSummary(
            id: PushSummary.ID(id), kind: kind, subject: subject, container: container,
            actor: actor.map { User.ID($0) }, sentence: sentence(tally)[language], deliveries: tally.all,
            waiting: tally.waiting, accepted: tally.accepted, opened: tally.opened,
            happenedAt: .init(milliseconds: eventAt), createdAt: .init(milliseconds: createdAt),
            expiresAt: .init(milliseconds: expiresAt))
    }

    private func sentence(_ tally: Tally) -> Sentence {
        guard isExpanded else {
            return Sentence(en: "It is being found out whom this is for.", ja: "送り先を調べています。")
        }
        guard tally.all > 0 else { return Sentence(en: "It goes to no device.", ja: "送り先の端末はありません。") }
        var en = "The gateway took \(tally.accepted) of \(tally.all)"
        var ja = "\(tally.all)件中\(tally.accepted)件が受け付けられました"
        if tally.waiting > 0 {
            en += "; \(tally.waiting) on the way"
            ja += "（配信待ち\(tally.waiting)件）"
        }
        if tally.opened > 0 {
            en += "; \(tally.opened) opened"
            ja += "（開封\(tally.opened)件）"
        }
        return Sentence(en: en + ".", ja: ja + "。")
    }
}

/// How far a notification is.
enum PushState: String, Sendable {
    case expanding, expanded
}

/// How the deliveries of a notification stand.
struct Tally: Sendable {
    var all = 0
    var waiting = 0
    var accepted = 0
    var opened = 0

    static func of(_ notifications: [String], in db: Transaction) throws -> [String: Tally] {
        var tallies: [String: Tally] = [:]
        try db.forEach(
            """
            SELECT notification_id, state, count(*), count(opened_at) FROM deliveries
            WHERE \(SQL.isAny("notification_id", of: notifications)) GROUP BY notification_id, state
            """
        ) { row in
            let (id, count) = (try row.text(0), Int(try row.integer(2)))
            var tally = tallies[id] ?? Tally()
            tally.all += count
            switch PushDeliveryState(rawValue: try row.text(1)) {
            case .waiting, .sending: tally.waiting += count
            case .accepted: tally.accepted += count
            default: break
            }
            tally.opened += Int(try row.integer(3))
            tallies[id] = tally
        }
        return tallies
    }
}
