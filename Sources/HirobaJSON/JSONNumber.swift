/// A number as it was written: a fraction, an exponent, a negative zero, or a whole number beyond 64 bits.
///
/// The text is kept, so that a document that is read and written again keeps every digit. Equality is that of the
/// text: `1.0` and `1.00` are the same amount but not the same number here.
public struct JSONNumber: Sendable, Hashable {
    /// The number in JSON's spelling.
    public let text: String

    /// A number whose spelling the reader has checked.
    init(checked text: String) { self.text = text }

    /// The shortest spelling that reads back as the same `Double`; nil for infinities and NaN.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        text = value.description
    }

    /// A number from JSON's spelling of it; nil when the text is no number.
    public init?(text: String) {
        var reader = JSONReader(Array(text.utf8), limits: JSONLimits())
        guard let value = try? reader.readDocument() else { return nil }
        switch value {
        case .number(let number): self = number
        case .integer: self.text = text.filter { !$0.isWhitespace }
        default: return nil
        }
    }

    /// The nearest `Double`; nil when the number is beyond its range.
    public var double: Double? {
        guard let value = Double(text), value.isFinite else { return nil }
        return value
    }

    /// The whole number this is exactly, if it is one and fits into 64 bits: `1.0` and `1e2` are whole.
    public var integer: Int64? {
        if let value = Int64(text) { return value }
        guard let value = double else { return nil }
        return Int64(exactly: value)
    }
}
