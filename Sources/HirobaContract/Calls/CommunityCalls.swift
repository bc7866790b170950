/// Lists topics, newest first.
public struct ListTopics: Call, Hashable {
    /// A part of the list.
    public typealias Answer = Page<Topic>
    /// Where it goes.
    public static let route = Route(.get, "/topics")
    /// What it does.
    public static let summary = "List topics, newest first"
    /// Anybody.
    public static let credential = CallCredential.optional
    /// Limits of its fields.
    public static let limits: [String: FieldLimit] = ["limit": .value(1...1_000)]

    /// How many at most.
    public var limit: Int?
    /// The `next` of the part before.
    public var after: String?

    /// Lists topics.
    public init(limit: Int? = nil, after: String? = nil) {
        self.limit = limit
        self.after = after
    }
}

/// Begins a topic.
public struct CreateTopic: Call, Hashable {
    /// The topic as it was stored.
    public typealias Answer = Topic
    /// Where it goes.
    public static let route = Route(.post, "/topics")
    /// What it does.
    public static let summary = "Begin a topic"
    /// 201.
    public static let successStatuses = [201]
    /// Limits of its fields.
    public static let limits: [String: FieldLimit] = ["title": .characters(1...200), "text": .characters(0...20_000)]

    /// The title, 1 to 200 characters.
    public var title: String
    /// The description, at most 20,000 characters.
    public var text: String?
    /// A picture that the same person uploaded before.
    public var photo: StoredFile.ID?

    /// Begins a topic.
    public init(title: String, text: String? = nil, photo: StoredFile.ID? = nil) {
        self.title = title
        self.text = text
        self.photo = photo
    }
}

/// Reads a topic.
public struct GetTopic: Call, Hashable {
    /// The topic.
    public typealias Answer = Topic
    /// Where it goes.
    public static let route = Route(.get, "/topics/{topic}")
    /// What it does.
    public static let summary = "Read a topic"
    /// Anybody.
    public static let credential = CallCredential.optional
    /// There may be no such topic.
    public static let errors: [ErrorCode] = [.notFound]

    /// The topic.
    public var topic: Topic.ID

    /// Reads a topic.
    public init(topic: Topic.ID) { self.topic = topic }
}

/// Deletes one's own topic with its comments.
public struct DeleteTopic: Call, Hashable {
    /// Nothing.
    public typealias Answer = NoContent
    /// Where it goes.
    public static let route = Route(.delete, "/topics/{topic}")
    /// What it does.
    public static let summary = "Delete one's own topic with its comments"
    /// 204.
    public static let successStatuses = [204]
    /// Somebody else's, or none.
    public static let errors: [ErrorCode] = [.forbidden, .notFound]

    /// The topic.
    public var topic: Topic.ID

    /// Deletes one's own topic.
    public init(topic: Topic.ID) { self.topic = topic }
}

/// Lists the comments on a topic, newest first.
public struct ListComments: Call, Hashable {
    /// A part of the list.
    public typealias Answer = Page<Comment>
    /// Where it goes.
    public static let route = Route(.get, "/topics/{topic}/comments")
    /// What it does.
    public static let summary = "List the comments on a topic, newest first"
    /// Anybody.
    public static let credential = CallCredential.optional
    /// There may be no such topic.
    public static let errors: [ErrorCode] = [.notFound]
    /// Limits of its fields.
    public static let limits: [String: FieldLimit] = ["limit": .value(1...1_000)]

    /// The topic.
    public var topic: Topic.ID
    /// How many at most.
    public var limit: Int?
    /// The `next` of the part before.
    public var after: String?

    /// Lists the comments on a topic.
    public init(topic: Topic.ID, limit: Int? = nil, after: String? = nil) {
        self.topic = topic
        self.limit = limit
        self.after = after
    }
}

/// Comments on a topic.
public struct CreateComment: Call, Hashable {
    /// The comment as it was stored.
    public typealias Answer = Comment
    /// Where it goes.
    public static let route = Route(.post, "/topics/{topic}/comments")
    /// What it does.
    public static let summary = "Comment on a topic"
    /// 201.
    public static let successStatuses = [201]
    /// There may be no such topic.
    public static let errors: [ErrorCode] = [.notFound]
    /// Limits of its fields.
    public static let limits: [String: FieldLimit] = ["text": .characters(1...20_000)]

    /// The topic.
    public var topic: Topic.ID
    /// What to say, 1 to 20,000 characters.
    public var text: String

    /// Comments on a topic.
    public init(topic: Topic.ID, text: String) {
        self.topic = topic
        self.text = text
    }
}

/// Deletes one's own comment.
public struct DeleteComment: Call, Hashable {
    /// Nothing.
    public typealias Answer = NoContent
    /// Where it goes.
    public static let route = Route(.delete, "/comments/{comment}")
    /// What it does.
    public static let summary = "Delete one's own comment"
    /// 204.
    public static let successStatuses = [204]
    /// Somebody else's, or none.
    public static let errors: [ErrorCode] = [.forbidden, .notFound]

    /// The comment.
    public var comment: Comment.ID

    /// Deletes one's own comment.
    public init(comment: Comment.ID) { self.comment = comment }
}

/// Tells what happens, as it happens: server-sent events named as in `LiveEventName`. An event's id is a position in
/// the feed; the header `Last-Event-ID` goes on after one.
public struct Live: StreamCall, Hashable {
    /// Where it goes.
    public static let route = Route(.get, "/live")
    /// What it does.
    public static let summary = "Hear what happens, as server-sent events"
    /// Anybody.
    public static let credential = CallCredential.optional
    /// The topic may not exist.
    public static let errors: [ErrorCode] = [.notFound]

    /// Only what concerns this topic.
    public var topic: Topic.ID?

    /// Tells what happens.
    public init(topic: Topic.ID? = nil) { self.topic = topic }
}
