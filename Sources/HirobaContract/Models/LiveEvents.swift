/// The name of an event in the live stream.
public struct LiveEventName: OpenText {
    /// The name as it is sent.
    public let rawValue: String

    /// A name, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stream has begun; what happens from now on is told.
    public static let ready = LiveEventName(rawValue: "ready")
    /// The position is too old for the gap to be told: load again what is shown.
    public static let resync = LiveEventName(rawValue: "resync")
    /// A topic was created. The data is a `Topic`.
    public static let topicCreated = LiveEventName(rawValue: "topic.created")
    /// A topic was deleted. The data is a `Deleted`.
    public static let topicDeleted = LiveEventName(rawValue: "topic.deleted")
    /// A comment was created. The data is a `Comment`.
    public static let commentCreated = LiveEventName(rawValue: "comment.created")
    /// A comment was deleted. The data is a `Deleted` with its topic.
    public static let commentDeleted = LiveEventName(rawValue: "comment.deleted")

    /// Every name of this version.
    public static let known: [LiveEventName] = [
        ready, resync, topicCreated, topicDeleted, commentCreated, commentDeleted,
    ]
}

/// The data of an event about something that is gone.
public struct Deleted: Codable, Hashable, Sendable {
    /// The id of what was deleted.
    public var id: String
    /// The topic it belonged to, if it was a comment.
    public var topic: Topic.ID?

    /// The data of an event about something that is gone.
    public init(id: String, topic: Topic.ID? = nil) {
        self.id = id
        self.topic = topic
    }
}
