/// What a person wants to be notified of.
public struct NotificationSettings: Codable, Hashable, Sendable {
    /// Comments on one's own topics.
    public var topicComments: NotifiedBy
    /// Comments on one's own photos.
    public var photoComments: NotifiedBy
    /// Everything else.
    public var others: Bool

    /// What a person wants to be notified of; by default as somebody who never chose.
    public init(topicComments: NotifiedBy = .everyone, photoComments: NotifiedBy = .following, others: Bool = true) {
        self.topicComments = topicComments
        self.photoComments = photoComments
        self.others = others
    }
}

/// By whose doings a person wants to be notified.
public struct NotifiedBy: OpenText {
    /// The word as it is sent.
    public let rawValue: String

    /// A word, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Nobody's.
    public static let off = NotifiedBy(rawValue: "off")
    /// Those of people one follows.
    public static let following = NotifiedBy(rawValue: "following")
    /// Anybody's.
    public static let everyone = NotifiedBy(rawValue: "everyone")

    /// Every word of this version.
    public static let known: [NotifiedBy] = [off, following, everyone]
}
