public import Foundation

// What each call may ask. A field that is nil is absent from the query.

/// Which characters.
public struct CharacterListRequest: Encodable, Sendable {
    /// Exactly this name.
    public var name: String?
    /// The first letters of the name.
    public var nameStartsWith: String?
    /// Those changed since.
    public var modifiedSince: Date?
    /// Those who appear in one of these comics.
    public var comics: [Int]?
    /// `name` or `modified`, with `-` in front for descending.
    public var orderBy: String?
    /// 1 to 100.
    public var limit: Int?
    /// How many to leave out.
    public var offset: Int?

    /// All characters, unless something is said.
    public init(
        name: String? = nil, nameStartsWith: String? = nil, modifiedSince: Date? = nil, comics: [Int]? = nil,
        orderBy: String? = nil, limit: Int? = nil, offset: Int? = nil
    ) {
        self.name = name
        self.nameStartsWith = nameStartsWith
        self.modifiedSince = modifiedSince
        self.comics = comics
        self.orderBy = orderBy
        self.limit = limit
        self.offset = offset
    }
}

/// Whose comics.
public struct CharacterComicsRequest: Encodable, Sendable {
    /// The character: part of the path.
    public var id: Int
    /// `title`, `issueNumber` or `modified`, with `-` in front for descending.
    public var orderBy: String?
    /// 1 to 100.
    public var limit: Int?
    /// How many to leave out.
    public var offset: Int?

    /// The comics of a character.
    public init(id: Int, orderBy: String? = nil, limit: Int? = nil, offset: Int? = nil) {
        self.id = id
        self.orderBy = orderBy
        self.limit = limit
        self.offset = offset
    }
}

/// Which comics.
public struct ComicListRequest: Encodable, Sendable {
    /// The first letters of the title.
    public var titleStartsWith: String?
    /// Those in which one of these characters appears.
    public var characters: [Int]?
    /// `title`, `issueNumber` or `modified`, with `-` in front for descending.
    public var orderBy: String?
    /// 1 to 100.
    public var limit: Int?
    /// How many to leave out.
    public var offset: Int?

    /// All comics, unless something is said.
    public init(
        titleStartsWith: String? = nil, characters: [Int]? = nil, orderBy: String? = nil, limit: Int? = nil,
        offset: Int? = nil
    ) {
        self.titleStartsWith = titleStartsWith
        self.characters = characters
        self.orderBy = orderBy
        self.limit = limit
        self.offset = offset
    }
}

/// Which events.
public struct EventListRequest: Encodable, Sendable {
    /// The first letters of the name.
    public var nameStartsWith: String?
    /// `name` or `modified`, with `-` in front for descending.
    public var orderBy: String?
    /// 1 to 100.
    public var limit: Int?
    /// How many to leave out.
    public var offset: Int?

    /// All events, unless something is said.
    public init(nameStartsWith: String? = nil, orderBy: String? = nil, limit: Int? = nil, offset: Int? = nil) {
        self.nameStartsWith = nameStartsWith
        self.orderBy = orderBy
        self.limit = limit
        self.offset = offset
    }
}
