/// Anything that can be asked of the server: a value that carries its parameters and a type that tells the rest.
///
/// A call is described once, here; the client encodes it, the server decodes it, the OpenAPI document is generated from
/// it. Adding one takes its structure and its entry in `Calls.all`.
public protocol CallDescription: Codable, Sendable {
    /// Where it goes.
    static var route: Route { get }
    /// The name in the OpenAPI document: the type's own name.
    static var name: String { get }
    /// One sentence that says what it does.
    static var summary: String { get }
    /// The status of success; the first is the usual one.
    static var successStatuses: [Int] { get }
    /// Who may call.
    static var credential: CallCredential { get }
    /// What can go wrong besides what can go wrong with any call.
    static var errors: [ErrorCode] { get }
    /// Limits of its fields, by name.
    static var limits: [String: FieldLimit] { get }
}

extension CallDescription {
    /// The type's own name.
    public static var name: String { String(describing: Self.self) }
    /// 200.
    public static var successStatuses: [Int] { [200] }
    /// Whoever is signed in.
    public static var credential: CallCredential { .required }
    /// Nothing of its own.
    public static var errors: [ErrorCode] { [] }
    /// None.
    public static var limits: [String: FieldLimit] { [:] }
}

/// Whether a call needs somebody to be signed in.
public enum CallCredential: Sendable {
    /// Nobody needs to be; a token makes no difference.
    case none
    /// Nobody needs to be; what is answered may depend on who is.
    case optional
    /// Somebody must be.
    case required
    /// Another server, or the operator: a key that the server made.
    case serverKey
}

/// A call with JSON both ways.
public protocol Call: CallDescription {
    /// What success answers.
    associatedtype Answer: Codable & Sendable
}

/// A call whose body is bytes with a type of their own, and whose answer is JSON. Its fields go to path and query.
public protocol UploadCall: CallDescription {
    /// What success answers.
    associatedtype Answer: Codable & Sendable
}

/// A call that is answered by bytes with a type of their own.
public protocol DownloadCall: CallDescription {}

/// A call that is answered by a stream of server-sent events.
public protocol StreamCall: CallDescription {}

/// An answer without a body: status 204.
public struct NoContent: Codable, Hashable, Sendable {
    /// Nothing.
    public init() {}
}

/// A part of a list, newest first.
public struct Page<Item: Codable & Sendable>: Codable, Sendable {
    /// The items of this part.
    public var items: [Item]
    /// What to pass as `after` to get the next part; null at the end.
    public var next: String?

    /// A part of a list.
    public init(items: [Item], next: String? = nil) {
        self.items = items
        self.next = next
    }
}

extension Page {
    private enum CodingKeys: CodingKey { case items, next }

    /// Reads a part of a list.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        items = try container.decode([Item].self, forKey: .items)
        next = container.contains(.next) ? try container.decode(String?.self, forKey: .next) : nil
    }

    /// Writes a part of a list. At the end `next` is null and not absent, so that the end is said and not concluded.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(items, forKey: .items)
        try container.encode(next, forKey: .next)
    }
}

extension Page: Equatable where Item: Equatable {}
extension Page: Hashable where Item: Hashable {}

/// Names of header fields that both ends use.
public enum HeaderName {
    /// A text made by the client, the same each time one and the same request is tried again, so that it is carried out
    /// once.
    public static let idempotencyKey = "Idempotency-Key"
    /// The client and its version, such as `swift/1.0`. A server that is too young for it answers `upgrade_required`.
    public static let client = "Hiroba-Client"
    /// The position after which a stream of events goes on.
    public static let lastEventID = "Last-Event-ID"
}
