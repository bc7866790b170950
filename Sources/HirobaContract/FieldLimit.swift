/// A limit of a field, declared beside the call it belongs to and shown in the OpenAPI document.
public enum FieldLimit: Hashable, Sendable {
    /// The length of a text in characters.
    case characters(ClosedRange<Int>)
    /// The value of a number.
    case value(ClosedRange<Int>)
}
