/// The identifier of one thing of a kind: 16 letters and digits, made by the server.
///
/// Each kind has a type of its own, so that a person's id cannot be passed where a file's belongs. Written and read as
/// plain text; when read, anything but 1 to 64 letters, digits, `-` and `_` is refused.
public struct ID<Subject>: RawRepresentable, Hashable, Sendable {
    /// The identifier's text.
    public let rawValue: String

    /// An identifier from its text, which is not checked.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// An identifier from its text, which is not checked.
    public init(_ text: String) { rawValue = text }

    /// Whether this is the text of an identifier and not something else.
    public static func isWellFormed(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { character in
                switch character {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}

extension ID: Codable {
    /// Reads the text and checks it.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        rawValue = try container.decode(String.self)
        guard Self.isWellFormed(rawValue) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "this is not an id")
        }
    }

    /// Writes the text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

extension ID: ExpressibleByStringLiteral, CustomStringConvertible {
    /// An identifier written in code.
    public init(stringLiteral text: String) { rawValue = text }

    /// The identifier's text.
    public var description: String { rawValue }
}
