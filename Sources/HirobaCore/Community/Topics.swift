#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif
package import HirobaContract
internal import HirobaCrypto
internal import HirobaJSON
internal import HirobaStore

extension Community {
    package func topics(_ call: ListTopics, by caller: Caller) async throws(HirobaError) -> Page<Topic> {
        let request = try PageRequest("topics", limit: call.limit, after: call.after, desk.limits)
        return try await desk.read(caller) { db, visitor in
            let topics = try db.rows(Self.list(request, visitor.access)) { row in try Topic(row) }
            let page = request.page(topics) { Cursor(createdAt: $0.createdAt.milliseconds, id: $0.id.rawValue) }
            return Page(items: page.items, next: page.next)
        }
    }

    static func list(_ request: PageRequest, _ access: Access) -> SQL {
        page.filled(with: access.values + request.values, form: request.form(access.principals.count))
    }

    private static let page = SQLTemplate { form in
        """
        SELECT \(Topic.columns) FROM topics t LEFT JOIN users u ON u.id = t.owner
        WHERE \(Access.condition(on: "t.acl_read", principals: PageRequest.number(in: form)))\(PageRequest.rows(of: "t", form))
        """
    }

    package func topic(_ call: GetTopic, by caller: Caller) async throws(HirobaError) -> Topic {
        let id = try StoredID(call.topic)
        return try await desk.read(caller) { db, visitor in try Self.topic(id.text, visitor, in: db) }
    }

    /// Everyone will read the topic, its author may change it.
    package func createTopic(_ call: CreateTopic, by caller: Caller) async throws(HirobaError) -> Topic {
        let title = try Texts.line(call.title, field: "title", most: desk.limits.title)
        let text = try Texts.passage(call.text ?? "", field: "text", most: desk.limits.text, mayBeEmpty: true)
        let photo = try call.photo.map { id throws(HirobaError) in try StoredID(photo: id) }
        let repeatable = try Repeatable(caller, "CreateTopic", call)
        let (id, now) = (ObjectID.random(), desk.clock.now())
        return try await desk.write(caller) { db, visitor in
            let member = try visitor.signedIn()
            if let earlier = try repeatable?.earlierSubject(of: member.user, in: db) {
                return try Self.topic(earlier, visitor, in: db)
            }
            if let photo { try Files.mustBeOwnPicture(photo, of: member.user, in: db) }
            try db.run(
                """
                INSERT INTO topics (id, title, text, photo, created_at, updated_at, owner, version, acl_read, acl_write)
                VALUES (\(id), \(title), \(text), \(.bound(photo?.text)), \(now), \(now), \(member.user.rawValue), 1,
                    \(AccessList.everyone), \(AccessList.only(member.user)))
                """)
            try repeatable?.remember(id, of: member.user, in: db, at: now)
            try Event(.topicCreated, id, actor: member.user, read: .everyone, at: now).append(in: db)
            return Topic(
                id: Topic.ID(rawValue: id), title: title, text: text, photo: call.photo, author: member.person,
                createdAt: Date(milliseconds: now), updatedAt: Date(milliseconds: now))
        }
    }

    /// The topic, its comments and its picture go. Whoever may not change the topic is refused by its access list.
    package func deleteTopic(_ call: DeleteTopic, by caller: Caller) async throws(HirobaError) {
        let id = try StoredID(call.topic)
        let now = desk.clock.now()
        let most = desk.limits.chunk
        let (blobs, mayHaveMore) = try await desk.write(caller) { db, visitor in
            let row = try db.first(
                "SELECT acl_read, acl_write, owner, photo, version FROM topics WHERE id = \(id)"
            ) { row in
                (
                    read: AccessList(stored: try row.text(0)), write: AccessList(stored: try row.text(1)),
                    owner: try row.text(2), photo: try row.optionalText(3), version: try row.integer(4)
                )
            }
            guard let row else { throw HirobaError.notFound }
            try visitor.mustBeAbleToChange(read: row.read, write: row.write)
            try db.run("DELETE FROM topics WHERE id = \(id)")
            // Kept until no comment can appear any more: one being written right now may commit after this.
            try db.run("INSERT INTO removed_topics (topic, at) VALUES (\(id), \(now)) ON CONFLICT (topic) DO NOTHING")
            try Event(
                .topicDeleted, id.text, version: row.version + 1, actor: visitor.member?.user, read: row.read, at: now
            ).append(in: db)
            let removed = try Self.removeComments(of: id.text, most: most, in: db)
            var blobs: [String] = []
            if let photo = row.photo {
                blobs = try Files.removePictureNoLongerUsed(
                    photo, of: row.owner, actor: visitor.member?.user, in: db, at: now)
            }
            return (blobs, removed == most)
        }
        await files.deleteBytes(blobs)
        // The topic is gone, and with it its comments from every list. What cannot be removed now is removed later.
        if mayHaveMore {
            try? await desk.inChunks { db, most in try Self.removeComments(of: id.text, most: most, in: db) }
        }
    }

    static func topic(_ id: String, _ visitor: Visitor, in db: Transaction) throws -> Topic {
        let access = visitor.access
        let sql = one.filled(with: [.text(id)] + access.values, form: access.principals.count)
        guard let topic = try db.first(sql, { row in try Topic(row) }) else { throw HirobaError.notFound }
        return topic
    }

    private static let one = SQLTemplate { principals in
        """
        SELECT \(Topic.columns) FROM topics t LEFT JOIN users u ON u.id = t.owner
        WHERE t.id = \(.given(.text)) AND \(Access.condition(on: "t.acl_read", principals: principals))
        """
    }
}

extension Topic {
    /// What `init(_ row:)` reads, from `topics t` and `users u`.
    static let columns: SQL = "t.id, t.title, t.text, t.photo, t.created_at, t.updated_at, t.owner, u.name"
    static let columnCount = 8

    init(_ row: borrowing Row) throws {
        self.init(
            id: Topic.ID(rawValue: try row.text(0)), title: try row.text(1), text: try row.text(2),
            photo: try row.optionalText(3).map { StoredFile.ID(rawValue: $0) },
            author: Person(id: User.ID(rawValue: try row.text(6)), name: try row.optionalText(7)),
            createdAt: try row.date(4), updatedAt: try row.date(5))
    }
}
