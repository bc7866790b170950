internal import HirobaContract
internal import HirobaStore

/// One change, as the spine keeps it: what happened to which row. Ids only; what the row says is read through the
/// permission check by whoever tells of it.
struct Event: Sendable {
    /// What can happen. Later programs add kinds, so readers pass over those they do not know.
    struct Kind: Sendable, Equatable {
        let name: String

        static let userCreated = Kind(name: "user.created")
        static let userUpdated = Kind(name: "user.updated")
        static let sessionEnded = Kind(name: "session.ended")
        static let fileCreated = Kind(name: "file.created")
        static let fileDeleted = Kind(name: "file.deleted")
        static let topicCreated = Kind(name: "topic.created")
        static let topicUpdated = Kind(name: "topic.updated")
        static let topicDeleted = Kind(name: "topic.deleted")
        static let commentCreated = Kind(name: "comment.created")
        static let commentDeleted = Kind(name: "comment.deleted")
        static let userFollowed = Kind(name: "user.followed")
        static let userUnfollowed = Kind(name: "user.unfollowed")
        static let userBlocked = Kind(name: "user.blocked")
        static let userUnblocked = Kind(name: "user.unblocked")
        static let settingsUpdated = Kind(name: "settings.updated")
    }

    let kind: Kind
    let subject: String
    /// The topic that the subject belongs to.
    let container: String?
    /// The subject's version after the change.
    let version: Int64
    let actor: User.ID?
    /// Who may see the subject, or could before it was deleted.
    let read: AccessList
    let at: Int64

    init(
        _ kind: Kind, _ subject: String, in container: String? = nil, version: Int64 = 1, actor: User.ID?,
        read: AccessList, at: Int64
    ) {
        self.kind = kind
        self.subject = subject
        self.container = container
        self.version = version
        self.actor = actor
        self.read = read
        self.at = at
    }

    /// Adds the event in the transaction of the change, so that there is never the one without the other.
    func append(in db: Transaction) throws {
        let isTold = Strategy.of(kind.name) != nil
        try db.run(
            Self.insert.filled(with: [
                kind.name.sqlValue, subject.sqlValue, container.sqlValue, (actor?.rawValue).sqlValue, version.sqlValue,
                read.sqlValue, at.sqlValue, (isTold ? true : Bool?.none).sqlValue,
            ]))
        db.signal(Self.signal)
        if isTold { db.signal(Outbox.signal) }
    }

    private static let insert = SQLTemplate {
        """
        INSERT INTO events (xid, kind, subject, container, actor, version, acl_read, at, push)
        VALUES (\(.currentTransaction), \(.given(.text)), \(.given(.text)), \(.given(.text)), \(.given(.text)), \
        \(.given(.integer)), \(.given(.text)), \(.given(.integer)), \(.given(.flag)))
        """
    }

    static let signal = "events"
}

/// A place in the spine. Events are ordered by transaction, then by sequence: on PostgreSQL a transaction with a later
/// number can have taken an earlier sequence number, and the sequence alone would be skipped for ever.
struct Position: Sendable, Comparable {
    let xid: Int64
    let seq: Int64

    static func < (left: Position, right: Position) -> Bool { (left.xid, left.seq) < (right.xid, right.seq) }
}
