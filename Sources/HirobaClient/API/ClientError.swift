public import HirobaContract
public import HirobaJSON

/// Why a call failed. The first question an app asks, whether the server has spoken at all, is the case.
public enum ClientError: Error, Sendable {
    /// The server did not answer: no network, no server, no time left, a connection lost on the way.
    case network(NetworkFailure)
    /// The server answered that it will not or cannot do this.
    case api(APIFailure)
    /// The server reported success, but its answer is not what the call promises.
    case decoding(JSONCodingError, status: Int)
    /// The call could not be made into a request.
    case request(String)
    /// Something on this device failed: a file that cannot be written, a key chain that is locked.
    case local(String)
    /// The task was cancelled.
    case cancelled

    /// What the server answered, if it answered with a failure.
    public var failure: APIFailure? {
        if case .api(let failure) = self { failure } else { nil }
    }

    /// Whether no answer came, so that trying again later may help.
    public var isNetwork: Bool {
        if case .network = self { true } else { false }
    }

    /// Whether the answer says that the session is dead. Nothing else ever says so.
    public var saysSessionEnded: Bool {
        failure.map { $0.status == 401 && $0.code != ErrorCode.invalidCredentials.rawValue } ?? false
    }
}

extension ClientError: CustomStringConvertible {
    /// One sentence; for failures of the API the server's own.
    public var description: String {
        switch self {
        case .network(let failure): failure.description
        case .api(let failure): failure.sentence
        case .decoding(let error, _): "The answer could not be read: \(error)"
        case .request(let reason): "The request could not be made: \(reason)"
        case .local(let reason): reason
        case .cancelled: "Cancelled"
        }
    }
}

/// Why no answer came.
public struct NetworkFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure.
    public enum Kind: Hashable, Sendable {
        /// The device has no network.
        case offline
        /// There is no server at the address, or it refuses connections.
        case unreachable
        /// The server took too long.
        case timedOut
        /// The connection broke on the way.
        case lost
        /// The server could not prove that it is the right one.
        case untrusted
        /// Anything else.
        case other
    }

    /// What kind of failure.
    public var kind: Kind
    /// The system's own words.
    public var description: String

    /// A failure.
    public init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}

/// An answer with an error status.
public struct APIFailure: Error, Sendable {
    /// The HTTP status.
    public var status: Int
    /// The API's own code. A number is given as its digits.
    public var code: String?
    /// A sentence for people.
    public var sentence: String
    /// The field at fault, where the API names it.
    public var field: String?
    /// Seconds to wait before trying again.
    public var retryAfter: Int?
    /// The body as it came.
    public var body: [UInt8]

    /// A failure whose parts are known.
    public init(
        status: Int, code: String? = nil, sentence: String, field: String? = nil, retryAfter: Int? = nil,
        body: [UInt8] = []
    ) {
        self.status = status
        self.code = code
        self.sentence = sentence
        self.field = field
        self.retryAfter = retryAfter
        self.body = body
    }

    /// Reads what can be read: problem documents, and JSON objects with one of the usual names for a sentence. Whatever
    /// the body is, there is a sentence.
    public init(status: Int, headers: HeaderFields, body: [UInt8]) {
        self.status = status
        self.body = body
        let document = try? JSON.parse(body)
        let sentences = ["detail", "message", "error_description", "error", "title", "status"]
        sentence =
            sentences.lazy.compactMap { document?[$0]?.string }.first ?? "The server answered with status \(status)."
        code = document?["code"].flatMap { $0.string ?? $0.integer.map { String($0) } }
        field = document?["field"]?.string
        retryAfter =
            headers["Retry-After"].flatMap { Int($0) }
            ?? document?["retryAfter"]?.integer.flatMap { Int(exactly: $0) }
    }

    /// The problem document, if the body is one of Hiroba's.
    public var problem: Problem? { try? JSONCoding.decode(Problem.self, from: body) }
}

extension APIFailure: CustomStringConvertible {
    /// The sentence with status and code.
    public var description: String { "\(sentence) (\(status)\(code.map { " \($0)" } ?? ""))" }
}
