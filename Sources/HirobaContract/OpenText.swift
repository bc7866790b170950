/// One of a few words, where later servers may say more: a list that is open, so that an old app reads what a younger
/// server sends.
///
/// Conforming types are structures over a text with a static member for each known word.
public protocol OpenText: RawRepresentable<String>, Hashable, Codable, Sendable, CustomStringConvertible {
    /// The words known when this was built.
    static var known: [Self] { get }
    /// A word, known or not.
    init(rawValue: String)
}

extension OpenText {
    /// Reads any word.
    public init(from decoder: any Decoder) throws {
        self.init(rawValue: try decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the word.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }

    /// The word.
    public var description: String { rawValue }
}
