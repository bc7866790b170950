/// How much a reader takes in before it refuses.
public struct JSONLimits: Sendable {
    /// How many lists and objects may lie inside each other. Guards the reader's stack; 64 by default, and never
    /// more than 1,024.
    public var depth: Int
    /// The largest document in bytes: 64 MiB by default. Whoever reads from a network sets a smaller one there, where
    /// the bytes come in.
    public var bytes: Int
    /// What to do when an object names a member twice.
    public var repeatedNames: RepeatedNames

    /// What to do when an object names a member twice. RFC 8259 leaves it open.
    public enum RepeatedNames: Sendable {
        /// The last value stands, in the place of the first.
        case lastWins
        /// The document is refused.
        case refuse
    }

    /// Limits.
    public init(depth: Int = 64, bytes: Int = 64 << 20, repeatedNames: RepeatedNames = .lastWins) {
        self.depth = min(depth, 1_024)
        self.bytes = bytes
        self.repeatedNames = repeatedNames
    }
}

/// Why bytes are no JSON document, and where.
public struct JSONError: Error, Sendable, Hashable {
    /// What was wrong.
    public enum Problem: Sendable, Hashable {
        /// Something else stood where this was expected.
        case expected(String)
        /// The document ended where this was expected.
        case ended(String)
        /// Bytes that are not UTF-8.
        case notUTF8
        /// Half of a surrogate pair in `\u` escapes: no Unicode scalar.
        case loneSurrogate
        /// A byte below 0x20 inside a text, which must be escaped.
        case controlCharacter
        /// An object with a member named twice, where that is refused.
        case repeatedName(String)
        /// More lists and objects inside each other than allowed.
        case tooDeep(limit: Int)
        /// A longer document than allowed.
        case tooLong(limit: Int)
    }

    /// What was wrong.
    public var problem: Problem
    /// The offset in bytes from the start.
    public var offset: Int
    /// The line, from 1.
    public var line: Int
}

extension JSONError: CustomStringConvertible {
    /// One sentence with the place.
    public var description: String {
        let what =
            switch problem {
            case .expected(let wanted): "expected \(wanted)"
            case .ended(let wanted): "the document ends where \(wanted) was expected"
            case .notUTF8: "this is not UTF-8"
            case .loneSurrogate: "half of a surrogate pair"
            case .controlCharacter: "a control character inside a text must be escaped"
            case .repeatedName(let name): "the name \"\(name)\" occurs twice in one object"
            case .tooDeep(let limit): "more than \(limit) lists and objects inside each other"
            case .tooLong(let limit): "longer than \(limit) bytes"
            }
        return "\(what) (line \(line), offset \(offset))"
    }
}
