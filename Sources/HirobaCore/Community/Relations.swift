package import HirobaContract
internal import HirobaStore

// Who follows whom, who wants to have nothing to do with whom, and what people want to be told. Each of these calls may
// be repeated: what is so already stays so, and makes no event.

extension Community {
    /// Whoever has been blocked by the other finds nobody to follow.
    package func follow(_ call: FollowUser, by caller: Caller) async throws(HirobaError) {
        let (followed, now) = (try StoredID(call.user), desk.clock.now())
        try await desk.write(caller) { db, visitor in
            let member = try visitor.signedIn()
            try Self.mustBeSomebodyElse(followed, member, in: db)
            guard try !Relation.isBlocked(between: member.user.rawValue, and: followed.text, in: db) else {
                throw HirobaError.notFound
            }
            let made = try db.run(
                """
                INSERT INTO follows (follower, followed, created_at)
                VALUES (\(member.user.rawValue), \(followed), \(now)) ON CONFLICT (follower, followed) DO NOTHING
                """)
            if made > 0 { try Relation.tell(.userFollowed, followed, by: member, in: db, at: now) }
        }
    }

    package func unfollow(_ call: UnfollowUser, by caller: Caller) async throws(HirobaError) {
        let (followed, now) = (try StoredID(call.user), desk.clock.now())
        try await desk.write(caller) { db, visitor in
            let member = try visitor.signedIn()
            try Self.mustBeSomebodyElse(followed, member, in: db)
            let gone = try db.run(
                "DELETE FROM follows WHERE follower = \(member.user.rawValue) AND followed = \(followed)")
            if gone > 0 { try Relation.tell(.userUnfollowed, followed, by: member, in: db, at: now) }
        }
    }

    /// From now on neither is told of what the other does, and neither follows the other.
    package func block(_ user: User.ID, by caller: Caller) async throws(HirobaError) {
        let (blocked, now) = (try StoredID(user), desk.clock.now())
        try await desk.write(caller) { db, visitor in
            let member = try visitor.signedIn()
            try Self.mustBeSomebodyElse(blocked, member, in: db)
            let made = try db.run(
                """
                INSERT INTO blocks (blocker, blocked, created_at)
                VALUES (\(member.user.rawValue), \(blocked), \(now)) ON CONFLICT (blocker, blocked) DO NOTHING
                """)
            guard made > 0 else { return }
            for (follower, followed) in [(member.user.rawValue, blocked.text), (blocked.text, member.user.rawValue)] {
                try db.run("DELETE FROM follows WHERE follower = \(follower) AND followed = \(followed)")
            }
            try Relation.tell(.userBlocked, blocked, by: member, in: db, at: now)
        }
    }

    package func unblock(_ user: User.ID, by caller: Caller) async throws(HirobaError) {
        let (blocked, now) = (try StoredID(user), desk.clock.now())
        try await desk.write(caller) { db, visitor in
            let member = try visitor.signedIn()
            try Self.mustBeSomebodyElse(blocked, member, in: db)
            let gone = try db.run(
                "DELETE FROM blocks WHERE blocker = \(member.user.rawValue) AND blocked = \(blocked)")
            if gone > 0 { try Relation.tell(.userUnblocked, blocked, by: member, in: db, at: now) }
        }
    }

    package func settings(_ call: GetSettings, by caller: Caller) async throws(HirobaError) -> NotificationSettings {
        try await desk.read(caller) { db, visitor in
            try NotificationSettings.stored(of: try visitor.signedIn().user, in: db)
        }
    }

    package func putSettings(_ call: PutSettings, by caller: Caller) async throws(HirobaError) -> NotificationSettings {
        for (field, value) in [("topicComments", call.topicComments), ("photoComments", call.photoComments)] {
            guard NotifiedBy.known.contains(value) else {
                throw .invalid(
                    field,
                    Sentence(
                        en: "Choose one of: off, following, everyone.", ja: "off、following、everyoneのどれかを指定してください。"))
            }
        }
        let now = desk.clock.now()
        return try await desk.write(caller) { db, visitor in
            let user = try visitor.signedIn().user
            let settings = NotificationSettings(
                topicComments: call.topicComments, photoComments: call.photoComments, others: call.others)
            guard try NotificationSettings.stored(of: user, in: db) != settings else { return settings }
            try db.run(
                """
                INSERT INTO notification_settings (user_id, topic_comments, photo_comments, others, updated_at)
                VALUES (\(user.rawValue), \(settings.topicComments.rawValue), \(settings.photoComments.rawValue),
                    \(settings.others), \(now))
                ON CONFLICT (user_id) DO UPDATE SET topic_comments = excluded.topic_comments,
                    photo_comments = excluded.photo_comments, others = excluded.others,
                    updated_at = excluded.updated_at
                """)
            try Event(.settingsUpdated, user.rawValue, actor: user, read: .only(user), at: now).append(in: db)
            return settings
        }
    }

    private static func mustBeSomebodyElse(_ user: StoredID, _ member: Member, in db: Transaction) throws {
        guard user.text != member.user.rawValue else {
            throw HirobaError.invalid("user", Sentence(en: "This is you.", ja: "自分自身は指定できません。"))
        }
        guard try db.first("SELECT 1 FROM users WHERE id = \(user)", { _ in true }) == true else {
            throw HirobaError.notFound
        }
    }
}

/// What two people are to each other.
enum Relation {
    /// Whether one of the two has blocked the other: it holds both ways.
    static func isBlocked(between one: String, and other: String, in db: Transaction) throws -> Bool {
        try db.first("SELECT 1 WHERE \(isBlocked("\(one)", "\(other)"))") { _ in true } == true
    }

    /// `isBlocked` as a condition.
    static func isBlocked(_ one: SQL, _ other: SQL) -> SQL {
        """
        (EXISTS (SELECT 1 FROM blocks WHERE blocker = \(one) AND blocked = \(other))
        OR EXISTS (SELECT 1 FROM blocks WHERE blocker = \(other) AND blocked = \(one)))
        """
    }

    static func follows(_ one: SQL, _ other: SQL) -> SQL {
        "EXISTS (SELECT 1 FROM follows WHERE follower = \(one) AND followed = \(other))"
    }

    /// Nobody's business but theirs.
    fileprivate static func tell(
        _ kind: Event.Kind, _ other: StoredID, by member: Member, in db: Transaction, at now: Int64
    ) throws {
        try Event(kind, other.text, actor: member.user, read: .only(member.user), at: now).append(in: db)
    }
}

extension NotificationSettings {
    /// The settings of somebody; the defaults when they never chose.
    static func stored(of user: User.ID, in db: Transaction) throws -> NotificationSettings {
        try db.first(
            """
            SELECT topic_comments, photo_comments, others FROM notification_settings WHERE user_id = \(user.rawValue)
            """
        ) { row in
            NotificationSettings(
                topicComments: NotifiedBy(rawValue: try row.text(0)),
                photoComments: NotifiedBy(rawValue: try row.text(1)), others: try row.bool(2))
        } ?? NotificationSettings()
    }
}
