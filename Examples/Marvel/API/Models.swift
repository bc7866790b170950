public import Foundation

/// Around every answer, single objects too.
public struct Envelope<Item: Decodable & Sendable>: Decodable, Sendable {
    /// A part of a list.
    public struct Page: Decodable, Sendable {
        /// How many were left out.
        public var offset: Int
        /// The most that were asked for.
        public var limit: Int
        /// How many there are.
        public var total: Int
        /// How many are here.
        public var count: Int
        /// They.
        public var results: [Item]
    }

    /// The HTTP status again.
    public var code: Int
    /// "Ok".
    public var status: String
    /// Must stand wherever the data are shown.
    public var attributionText: String
    /// Changes when the answer does.
    public var etag: String
    /// The answer itself.
    public var data: Page
}

/// A hero or a villain.
public struct MarvelCharacter: Decodable, Sendable {
    /// Its number.
    public var id: Int
    /// Its name.
    public var name: String
    /// May be empty.
    public var description: String
    /// When it was last changed.
    public var modified: Date
    /// Its picture.
    public var thumbnail: Thumbnail
    /// Where it appears.
    public var comics: Collection
}

/// An issue.
public struct MarvelComic: Decodable, Sendable {
    /// Its number.
    public var id: Int
    /// Its title.
    public var title: String
    /// There are issues like 1.5.
    public var issueNumber: Double
    /// Not every issue has one.
    public var description: String?
    /// When it was last changed.
    public var modified: Date
    /// What it costs.
    public var prices: [Price]

    /// For one kind of copy.
    public struct Price: Decodable, Sendable {
        /// `printPrice` and others.
        public var type: String
        /// In dollars.
        public var price: Double
    }
}

/// A story that goes through several comics.
public struct MarvelEvent: Decodable, Sendable {
    /// Its number.
    public var id: Int
    /// Its name.
    public var title: String
    /// What happens.
    public var description: String
    /// When it was last changed.
    public var modified: Date
}

/// A picture in many sizes.
public struct Thumbnail: Decodable, Sendable {
    /// The address without size and type.
    public var path: String
    /// The type.
    public var `extension`: String

    /// The address in a size, such as `portrait_medium`.
    public func address(_ variant: String) -> String { "\(path)/\(variant).\(self.extension)" }
}

/// Other things that belong to an object; the first of them by name.
public struct Collection: Decodable, Sendable {
    /// One of them.
    public struct Item: Decodable, Sendable {
        /// Its name.
        public var name: String
    }

    /// How many there are.
    public var available: Int
    /// Some of them.
    public var items: [Item]
}
