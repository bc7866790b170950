internal import HirobaContract
internal import HirobaJSON
internal import HirobaStore

/// An event as it is told: encoded once for everybody, with what decides who may hear it.
struct News: Sendable {
    let event: LiveEvent
    let topic: String
    /// All of them must let the listener read.
    let lists: [AccessList]
    let isPublic: Bool

    var position: Position { event.position }

    private init(
        _ entry: Spine.Entry, _ name: LiveEventName, epoch: String, topic: String, lists: [AccessList], data: [UInt8]
    ) {
        event = LiveEvent(name, at: entry.position, epoch, data: data)
        self.topic = topic
        self.lists = lists
        isPublic = lists.allSatisfy(Access.anyone.matches)
    }

    func mayBeTold(to access: Access) -> Bool { isPublic || lists.allSatisfy(access.matches) }

    /// What the entries have to tell, in their order. The rows are read now, for all listeners at once: what was deleted
    /// or locked since is not told.
    static func read(_ entries: [Spine.Entry], epoch: String, in db: Transaction) throws -> [News] {
        func subjects(_ kinds: Event.Kind...) -> [String] {
            entries.filter { kinds.contains($0.event.kind) }.map(\.event.subject)
        }
        let topics = try readTopics(subjects(.topicCreated, .topicUpdated), in: db)
        let comments = try readComments(subjects(.commentCreated), in: db)
        return try entries.compactMap { entry in
            let event = entry.event
            let name = LiveEventName(rawValue: event.kind.name)
            switch event.kind {
            case .topicCreated, .topicUpdated:
                return topics[event.subject].map { item in
                    News(entry, name, epoch: epoch, topic: event.subject, lists: item.lists, data: item.data)
                }
            case .commentCreated:
                guard let topic = event.container else { return nil }
                return comments[event.subject].map { item in
                    News(entry, name, epoch: epoch, topic: topic, lists: item.lists, data: item.data)
                }
            case .topicDeleted, .commentDeleted:
                // The row is gone; who could read it stands in the event.
                let data = try JSONCoding.encode(
                    Deleted(id: event.subject, topic: event.container.map { Topic.ID(rawValue: $0) }))
                return News(
                    entry, name, epoch: epoch, topic: event.container ?? event.subject, lists: [event.read], data: data)
            default: return nil
            }
        }
    }

    private typealias Item = (lists: [AccessList], data: [UInt8])

    private static func readTopics(_ ids: [String], in db: Transaction) throws -> [String: Item] {
        guard !ids.isEmpty else { return [:] }
        let rows = try db.rows(
            """
            SELECT \(Topic.columns), t.acl_read FROM topics t LEFT JOIN users u ON u.id = t.owner
            WHERE \(SQL.isAny("t.id", of: ids))
            """
        ) { row in
            let item: Item = (
                [AccessList(stored: try row.text(Topic.columnCount))], try JSONCoding.encode(try Topic(row))
            )
            return (try row.text(0), item)
        }
        return Dictionary(rows) { first, _ in first }
    }

    private static func readComments(_ ids: [String], in db: Transaction) throws -> [String: Item] {
        guard !ids.isEmpty else { return [:] }
        let rows = try db.rows(
            """
            SELECT \(Comment.columns), c.acl_read, t.acl_read FROM comments c JOIN topics t ON t.id = c.topic
            LEFT JOIN users u ON u.id = c.owner WHERE \(SQL.isAny("c.id", of: ids))
            """
        ) { row in
            let lists = [
                AccessList(stored: try row.text(Comment.columnCount)),
                AccessList(stored: try row.text(Comment.columnCount + 1)),
            ]
            let item: Item = (lists, try JSONCoding.encode(try Comment(row)))
            return (try row.text(0), item)
        }
        return Dictionary(rows) { first, _ in first }
    }
}

extension Position {
    /// As clients keep it.
    func text(of epoch: String) -> String { "\(epoch)-\(xid)-\(seq)" }

    /// Nil for what is no position of this epoch.
    init?(_ text: String, of epoch: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard text.utf8.count < 100, parts.count == 3, parts[0] == epoch, let xid = Int64(parts[1]),
            let seq = Int64(parts[2]), xid >= 0, seq >= 0
        else { return nil }
        self.init(xid: xid, seq: seq)
    }
}
