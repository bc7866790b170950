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
    package func comments(_ call: ListComments, by caller: Caller) async throws(HirobaError) -> Page<Comment> {
        let topic = try StoredID(call.topic)
        let request = try PageRequest("comments of \(topic.text)", limit: call.limit, after: call.after, desk.limits)
        return try await desk.read(caller) { db, visitor in
            let comments = try db.rows(Self.list(of: topic.text, request, visitor.access)) { row in try Comment(row) }
            // No comments, or no topic?
            if comments.isEmpty { _ = try Self.topic(topic.text, visitor, in: db) }
            let page = request.page(comments) { Cursor(createdAt: $0.createdAt.milliseconds, id: $0.id.rawValue) }
            return Page(items: page.items, next: page.next)
        }
    }

    static func list(of topic: String, _ request: PageRequest, _ access: Access) -> SQL {
        let conditions = [.text(topic)] + access.values
        return page.filled(
            with: conditions + conditions + request.values, form: request.form(access.principals.count))
    }

    // The condition on the topic names no comment, so that it is answered once and not for each row.
    private static let page = SQLTemplate { form in
        """
        SELECT \(Comment.columns) FROM comments c LEFT JOIN users u ON u.id = c.owner
        WHERE c.topic = \(.given(.text))
            AND \(Access.condition(on: "c.acl_read", principals: PageRequest.number(in: form))) AND EXISTS (
            SELECT 1 FROM topics t WHERE t.id = \(.given(.text))
                AND \(Access.condition(on: "t.acl_read", principals: PageRequest.number(in: form)))
        )\(PageRequest.rows(of: "c", form))
        """
    }

    /// Whoever may read the topic may comment on it. The author may change the comment, everyone reads it.
    package func createComment(_ call: CreateComment, by caller: Caller) async throws(HirobaError) -> Comment {
        let topic = try StoredID(call.topic)
        let text = try Texts.passage(call.text, field: "text", most: desk.limits.text, mayBeEmpty: false)
        let repeatable = try Repeatable(caller, "CreateComment", call)
        let (id, now) = (ObjectID.random(), desk.clock.now())
        return try await desk.write(caller) { db, visitor in
            let member = try visitor.signedIn()
            if let earlier = try repeatable?.earlierSubject(of: member.user, in: db) {
                return try Self.comment(earlier, visitor, in: db)
            }
            let access = visitor.access
            let isThere = Self.topicIsThere.filled(
                with: [topic.sqlValue] + access.values, form: access.principals.count)
            guard try db.first(isThere, { _ in true }) == true else { throw HirobaError.notFound }
            try db.run(
                Self.insert.filled(with: [
                    id.sqlValue, topic.sqlValue, text.sqlValue, now.sqlValue, now.sqlValue,
                    member.user.rawValue.sqlValue,
                    AccessList.everyone.sqlValue, AccessList.only(member.user).sqlValue,
                ]))
            try repeatable?.remember(id, of: member.user, in: db, at: now)
            try Event(.commentCreated, id, in: topic.text, actor: member.user, read: .everyone, at: now).append(in: db)
            return Comment(
                id: Comment.ID(rawValue: id), topic: call.topic, text: text, author: member.person,
                createdAt: Date(milliseconds: now), updatedAt: Date(milliseconds: now))
        }
    }

    private static let topicIsThere = SQLTemplate { principals in
        """
        SELECT 1 FROM topics
        WHERE id = \(.given(.text)) AND \(Access.condition(on: "acl_read", principals: principals))
        """
    }

    private static let insert = SQLTemplate {
        """
        INSERT INTO comments (id, topic, text, created_at, updated_at, owner, version, acl_read, acl_write)
        VALUES (\(.given(.text)), \(.given(.text)), \(.given(.text)), \(.given(.integer)), \(.given(.integer)), \
        \(.given(.text)), 1, \(.given(.text)), \(.given(.text)))
        """
    }

    package func deleteComment(_ call: DeleteComment, by caller: Caller) async throws(HirobaError) {
        let id = try StoredID(call.comment)
        let now = desk.clock.now()
        try await desk.write(caller) { db, visitor in
            // With the topic: a comment left over from a topic that is gone is gone as well.
            let row = try db.first(
                """
                SELECT c.acl_read, c.acl_write, c.topic, c.version, t.acl_read
                FROM comments c JOIN topics t ON t.id = c.topic WHERE c.id = \(id)
                """
            ) { row in
                (
                    read: AccessList(stored: try row.text(0)), write: AccessList(stored: try row.text(1)),
                    topic: try row.text(2), version: try row.integer(3), topicRead: AccessList(stored: try row.text(4))
                )
            }
            guard let row, visitor.access.matches(row.topicRead) else { throw HirobaError.notFound }
            try visitor.mustBeAbleToChange(read: row.read, write: row.write)
            try db.run("DELETE FROM comments WHERE id = \(id)")
            try Event(
                .commentDeleted, id.text, in: row.topic, version: row.version + 1, actor: visitor.member?.user,
                read: row.read, at: now
            ).append(in: db)
        }
    }

    private static func comment(_ id: String, _ visitor: Visitor, in db: Transaction) throws -> Comment {
        let comment = try db.first(
            """
            SELECT \(Comment.columns) FROM comments c JOIN topics t ON t.id = c.topic LEFT JOIN users u ON u.id = c.owner
            WHERE c.id = \(id) AND \(visitor.access.condition(on: "c.acl_read"))
                AND \(visitor.access.condition(on: "t.acl_read"))
            """
        ) { row in try Comment(row) }
        guard let comment else { throw HirobaError.notFound }
        return comment
    }

    static func removeComments(of topic: String, most: Int, in db: Transaction) throws -> Int {
        try db.run("DELETE FROM comments WHERE id IN (SELECT id FROM comments WHERE topic = \(topic) LIMIT \(most))")
    }

    /// Removes comments that outlived their topic: the program ended in between, or they were written as it went.
    func pruneRemovedTopics() async throws(HirobaError) {
        let before = desk.clock.now() - Self.longestWrite.milliseconds
        while true {
            let topics = try await desk.read { db in
                try db.rows("SELECT topic FROM removed_topics WHERE at < \(before) LIMIT 100") { row in try row.text(0)
                }
            }
            if topics.isEmpty { return }
            for topic in topics {
                try await desk.inChunks { db, most in try Self.removeComments(of: topic, most: most, in: db) }
                _ = try await desk.write { db in try db.run("DELETE FROM removed_topics WHERE topic = \(topic)") }
            }
        }
    }

    /// No transaction lives longer than this.
    private static let longestWrite = Duration.seconds(3600)
}

extension Comment {
    /// What `init(_ row:)` reads, from `comments c` and `users u`.
    static let columns: SQL = "c.id, c.topic, c.text, c.created_at, c.updated_at, c.owner, u.name"
    static let columnCount = 7

    init(_ row: borrowing Row) throws {
        self.init(
            id: Comment.ID(rawValue: try row.text(0)), topic: Topic.ID(rawValue: try row.text(1)),
            text: try row.text(2),
            author: Person(id: User.ID(rawValue: try row.text(5)), name: try row.optionalText(6)),
            createdAt: try row.date(3), updatedAt: try row.date(4))
    }
}
