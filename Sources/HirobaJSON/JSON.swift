/// A JSON value that keeps everything a document says: the order of members, whole numbers beyond 2^53, numbers
/// that no `Double` can hold, and every Unicode scalar of a text.
///
/// Two values are equal when they say the same: the order of an object's members does not count, texts are
/// compared scalar by scalar (so `é` in one scalar differs from `é` in two, unlike Swift's `String`), and a number
/// that was kept as text equals only the same text.
public enum JSON: Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number written without fraction or exponent that fits into 64 bits.
    case integer(Int64)
    /// Any other number, as it was written.
    case number(JSONNumber)
    /// A text.
    case string(String)
    /// A list.
    case array([JSON])
    /// An object with its members in order.
    case object(JSONObject)
}

extension JSON {
    /// The number as a value: whole numbers that fit become `.integer`.
    ///
    /// - Returns: nil for infinities and NaN, which JSON cannot say.
    public static func number(_ value: Double) -> JSON? {
        JSONNumber(value).map(JSON.number)
    }

    /// An empty object.
    public static var emptyObject: JSON { .object(JSONObject()) }

    /// Whether this is `null`.
    public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The truth value, if this is one.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The text, if this is one.
    public var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The whole number, if this is one and fits.
    public var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .number(let number): number.integer
        default: nil
        }
    }

    /// The nearest `Double`, if this is a number within its range.
    public var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let number): number.double
        default: nil
        }
    }

    /// The list, if this is one.
    public var array: [JSON]? {
        if case .array(let values) = self { values } else { nil }
    }

    /// The object, if this is one.
    public var object: JSONObject? {
        if case .object(let members) = self { members } else { nil }
    }

    /// The member of that name; nil when there is none or this is no object. Setting nil removes it, and setting
    /// on anything but an object replaces that by an object.
    public subscript(_ name: String) -> JSON? {
        get {
            if case .object(let members) = self { members[name] } else { nil }
        }
        set {
            var members = object ?? JSONObject()
            self = .null  // So that the members are held once and changed in place.
            members[name] = newValue
            self = .object(members)
        }
    }

    /// The element at that position; nil when there is none or this is no list.
    public subscript(_ index: Int) -> JSON? {
        guard case .array(let values) = self, values.indices.contains(index) else { return nil }
        return values[index]
    }

    /// What kind of value this is, in a word for error messages.
    package var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a truth value"
        case .integer, .number: "a number"
        case .string: "a text"
        case .array: "a list"
        case .object: "an object"
        }
    }
}

extension JSON: Hashable {
    /// Whether both say the same.
    public static func == (left: JSON, right: JSON) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.integer(let a), .integer(let b)): a == b
        case (.number(let a), .number(let b)): a == b
        case (.string(let a), .string(let b)): a.hasSameScalars(as: b)
        case (.array(let a), .array(let b)): a == b
        case (.object(let a), .object(let b)): a == b
        default: false
        }
    }

    /// Feeds the value to a hasher.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0 as UInt8)
        case .bool(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .number(let value): hasher.combine(value)
        case .string(let value): hasher.combine(value)
        case .array(let values): hasher.combine(values)
        case .object(let members): hasher.combine(members)
        }
    }
}

extension String {
    /// Equality of the scalars. Swift's `==` also calls different spellings of one character equal.
    package func hasSameScalars(as other: String) -> Bool {
        // `==` is one comparison of memory for ASCII texts, and nothing that it tells apart has the same bytes.
        self == other && utf8.elementsEqual(other.utf8)
    }
}

extension JSON: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// `null`.
    public init(nilLiteral: ()) { self = .null }
    /// `true` or `false`.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// A whole number.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// A number with a fraction.
    public init(floatLiteral value: Double) { self = JSON.number(value) ?? .null }
    /// A text.
    public init(stringLiteral value: String) { self = .string(value) }
    /// A list.
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    /// An object with its members in the order written.
    public init(dictionaryLiteral members: (String, JSON)...) {
        var object = JSONObject()
        for (name, value) in members { object[name] = value }
        self = .object(object)
    }
}

extension JSON: CustomStringConvertible {
    /// The value as JSON text.
    public var description: String { String(decoding: bytes(), as: UTF8.self) }
}
