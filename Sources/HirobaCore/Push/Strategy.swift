internal import HirobaContract
internal import HirobaJSON
internal import HirobaStore

/// What is told about one kind of event: to whom, and how. Data, all of it in the one list below.
struct Strategy: Sendable {
    /// Who could be told.
    enum Audience: Sendable {
        /// Whoever began the topic that the event belongs to.
        case topicOwner
    }

    /// Which of a person's settings decides.
    enum Setting: Sendable {
        case topicComments
    }

    /// What the message says.
    enum Content: Sendable {
        /// The event's subject is a comment on the topic that it belongs to.
        case comment
    }

    let event: Event.Kind
    let audience: Audience
    let setting: Setting
    let content: Content
    let kind: PushMessage.Kind
    let urgency: PushMessage.Urgency
    /// How long after the event it is worth telling.
    let lifetime: Duration

    static let all: [Strategy] = [
        Strategy(
            event: .commentCreated, audience: .topicOwner, setting: .topicComments, content: .comment, kind: .alert,
            urgency: .now, lifetime: .seconds(3 * 24 * 3600))
    ]

    /// What is told of this kind; nil for what is not told.
    static func of(_ kind: String) -> Strategy? { all.first { $0.event.name == kind } }
}

extension Strategy.Audience {
    /// The ids of people, as `user_id`.
    func people(of push: PushSource) -> SQL {
        switch self {
        case .topicOwner: "SELECT owner AS user_id FROM topics WHERE id = \(.bound(push.container))"
        }
    }
}

extension Strategy.Setting {
    /// The column of `notification_settings`.
    var column: SQL {
        switch self {
        case .topicComments: "topic_comments"
        }
    }

    var byDefault: NotifiedBy {
        switch self {
        case .topicComments: NotificationSettings().topicComments
        }
    }
}

/// What a notification is about.
struct PushSource: Sendable {
    let kind: String
    let subject: String
    let container: String?
    let actor: String?
}

/// What can be told of something, as it is now. Who may be told is asked for each person.
struct PushContent: Sendable {
    let name: String?
    let title: String
    let text: String
    let picture: String?
    let topic: String
    let comment: String
    /// All of them must let a person read.
    private let lists: [AccessList]

    /// Nil when it is gone.
    init?(_ strategy: Strategy, of source: PushSource, in db: Transaction) throws {
        switch strategy.content {
        case .comment:
            let found = try db.first(
                """
                SELECT c.text, t.title, t.photo, u.name, t.id, c.acl_read, t.acl_read
                FROM comments c JOIN topics t ON t.id = c.topic LEFT JOIN users u ON u.id = c.owner
                WHERE c.id = \(source.subject)
                """
            ) { row in
                PushContent(
                    name: try row.optionalText(3), title: try row.text(1), text: try row.text(0),
                    picture: try row.optionalText(2), topic: try row.text(4), comment: source.subject,
                    lists: [AccessList(stored: try row.text(5)), AccessList(stored: try row.text(6))])
            }
            guard let found else { return nil }
            self = found
        }
    }

    private init(
        name: String?, title: String, text: String, picture: String?, topic: String, comment: String,
        lists: [AccessList]
    ) {
        self.name = name
        self.title = title
        self.text = text
        self.picture = picture
        self.topic = topic
        self.comment = comment
        self.lists = lists
    }

    func mayBeTold(to user: String) -> Bool { lists.allSatisfy(Access.person(User.ID(user)).matches) }

    /// - Parameter id: the delivery's.
    func message(
        _ strategy: Strategy, id: String, in language: Language, expiresAt: Int64, publicURL: String
    ) -> PushMessage {
        PushMessage(
            id: id, kind: strategy.kind, title: heading[language], body: text, sound: "default", thread: topic,
            link: "/forum/\(topic)", picture: picture.map { "\(publicURL)/v1/files/\($0)?size=\(Self.pictureSide)" },
            data: ["push": .string(id)], urgency: strategy.urgency, lifetime: .until(expiresAt / 1000),
            collapseKey: comment)
    }

    /// Sharp on a phone's lock screen, which shows it about 300 points wide when it is opened up.
    private static let pictureSide = 800

    private var heading: Sentence {
        Sentence(
            en: "\(name ?? "Somebody") commented on “\(title)”",
            ja: "\(name.map { "\($0)さん" } ?? "名無しさん")が「\(title)」にコメントしました")
    }
}

/// What can be told, read once for all who are told in one transaction.
struct PushContents {
    private var read: [String: PushContent?] = [:]

    mutating func content(
        _ strategy: Strategy, _ notification: String, _ source: PushSource, in db: Transaction
    ) throws -> PushContent? {
        if let known = read[notification] { return known }
        let content = try PushContent(strategy, of: source, in: db)
        read[notification] = .some(content)
        return content
    }
}

extension Language {
    /// The one of ours for the language of a device; English for what we do not speak.
    init(ofDevice tag: String?) {
        let first = tag?.split(whereSeparator: { $0 == "-" || $0 == "_" }).first
        self = first.flatMap { Language(rawValue: $0.lowercased()) } ?? .english
    }
}
