#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A subject that people comment on. On screen it is called a thread.
public struct Topic: Codable, Hashable, Sendable, Identifiable {
    /// A topic's id.
    public typealias ID = HirobaContract.ID<Topic>

    /// The topic's id.
    public var id: ID
    /// The title.
    public var title: String
    /// The description; empty when there is none.
    public var text: String
    /// The picture that serves as the topic's icon.
    public var photo: StoredFile.ID?
    /// Who began it.
    public var author: Person
    /// When it was begun.
    public var createdAt: Date
    /// When it last changed.
    public var updatedAt: Date

    /// A subject that people comment on.
    public init(
        id: ID, title: String, text: String, photo: StoredFile.ID? = nil, author: Person, createdAt: Date,
        updatedAt: Date
    ) {
        self.id = id
        self.title = title
        self.text = text
        self.photo = photo
        self.author = author
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }
}

/// What somebody said about a topic.
public struct Comment: Codable, Hashable, Sendable, Identifiable {
    /// A comment's id.
    public typealias ID = HirobaContract.ID<Comment>

    /// The comment's id.
    public var id: ID
    /// The topic it belongs to.
    public var topic: Topic.ID
    /// What was said.
    public var text: String
    /// Who said it.
    public var author: Person
    /// When it was said.
    public var createdAt: Date
    /// When it last changed.
    public var updatedAt: Date

    /// What somebody said about a topic.
    public init(id: ID, topic: Topic.ID, text: String, author: Person, createdAt: Date, updatedAt: Date) {
        self.id = id
        self.topic = topic
        self.text = text
        self.author = author
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }
}
