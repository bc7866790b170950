#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A person as others see them.
public struct User: Codable, Hashable, Sendable, Identifiable {
    /// A person's id.
    public typealias ID = HirobaContract.ID<User>

    /// The person's id.
    public var id: ID
    /// What the person calls themselves; anonymous people have no name.
    public var name: String?
    /// Whether the person came without an e-mail address.
    public var isAnonymous: Bool
    /// When the person came.
    public var createdAt: Date
    /// When the profile last changed.
    public var updatedAt: Date

    /// A person.
    public init(id: ID, name: String? = nil, isAnonymous: Bool, createdAt: Date, updatedAt: Date) {
        self.id = id
        self.name = name
        self.isAnonymous = isAnonymous
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }
}

/// The person who is signed in, as only they see themselves.
public struct Me: Codable, Hashable, Sendable, Identifiable {
    /// The person's id.
    public var id: User.ID
    /// What the person calls themselves.
    public var name: String?
    /// The e-mail address; anonymous people have none.
    public var email: String?
    /// Whether the person came without an e-mail address.
    public var isAnonymous: Bool
    /// When the person came.
    public var createdAt: Date
    /// When the profile last changed.
    public var updatedAt: Date

    /// The person who is signed in.
    public init(
        id: User.ID, name: String? = nil, email: String? = nil, isAnonymous: Bool, createdAt: Date, updatedAt: Date
    ) {
        self.id = id
        self.name = name
        self.email = email
        self.isAnonymous = isAnonymous
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }
}

/// Who wrote something.
public struct Person: Codable, Hashable, Sendable, Identifiable {
    /// The person's id.
    public var id: User.ID
    /// What the person calls themselves; anonymous people have no name.
    public var name: String?

    /// Who wrote something.
    public init(id: User.ID, name: String? = nil) {
        self.id = id
        self.name = name
    }
}

/// One place where a person is signed in.
public struct Session: Codable, Hashable, Sendable, Identifiable {
    /// A session's id. It is no secret: the token is.
    public typealias ID = HirobaContract.ID<Session>

    /// The session's id.
    public var id: ID
    /// Whether this is the session that asks.
    public var current: Bool
    /// What the device called itself.
    public var device: String?
    /// When the person signed in there.
    public var createdAt: Date
    /// When the session was last used, to the hour.
    public var lastUsedAt: Date?
    /// When the session ends if it is not used before.
    public var expiresAt: Date

    /// One place where a person is signed in.
    public init(
        id: ID, current: Bool, device: String? = nil, createdAt: Date, lastUsedAt: Date? = nil, expiresAt: Date
    ) {
        self.id = id
        self.current = current
        self.device = device
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
        self.expiresAt = expiresAt
    }
}

/// What a sign-in answers.
public struct SignedIn: Codable, Hashable, Sendable {
    /// Who is signed in now.
    public var user: Me
    /// The secret that proves it, sent as `Authorization: Bearer`.
    public var token: String
    /// When the session ends if it is not used before.
    public var expiresAt: Date

    /// What a sign-in answers.
    public init(user: Me, token: String, expiresAt: Date) {
        self.user = user
        self.token = token
        self.expiresAt = expiresAt
    }
}
