/// What kind of failure an answer reports. Stable: apps may decide by it.
public struct ErrorCode: OpenText {
    /// The code as it is sent.
    public let rawValue: String

    /// A code, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The request is malformed as a whole.
    public static let invalidRequest = ErrorCode(rawValue: "invalid_request")
    /// One field of the request is at fault; `Problem.field` names it.
    public static let invalidField = ErrorCode(rawValue: "invalid_field")
    /// Nobody is signed in, or the session has ended.
    public static let unauthorized = ErrorCode(rawValue: "unauthorized")
    /// Somebody is signed in who may not do this.
    public static let forbidden = ErrorCode(rawValue: "forbidden")
    /// There is no such thing, or it may not be seen.
    public static let notFound = ErrorCode(rawValue: "not_found")
    /// The path exists, but not with this method.
    public static let methodNotAllowed = ErrorCode(rawValue: "method_not_allowed")
    /// Somebody else was faster, or the state does not allow this.
    public static let conflict = ErrorCode(rawValue: "conflict")
    /// The e-mail address belongs to an account already.
    public static let emailTaken = ErrorCode(rawValue: "email_taken")
    /// E-mail address and password do not belong together.
    public static let invalidCredentials = ErrorCode(rawValue: "invalid_credentials")
    /// The body is larger than allowed.
    public static let tooLarge = ErrorCode(rawValue: "too_large")
    /// The body is of a type that is not taken here.
    public static let unsupportedMediaType = ErrorCode(rawValue: "unsupported_media_type")
    /// Too many requests in a while; `Problem.retryAfter` says how long to wait.
    public static let tooManyRequests = ErrorCode(rawValue: "too_many_requests")
    /// The server cannot answer just now.
    public static let unavailable = ErrorCode(rawValue: "unavailable")
    /// The idempotency key was used for a different request before.
    public static let idempotencyConflict = ErrorCode(rawValue: "idempotency_conflict")
    /// The app is too old for this server.
    public static let upgradeRequired = ErrorCode(rawValue: "upgrade_required")
    /// The server's fault. `Problem.id` finds it in the server's log.
    public static let `internal` = ErrorCode(rawValue: "internal")

    /// Every code of this version.
    public static let known: [ErrorCode] = [
        invalidRequest, invalidField, unauthorized, forbidden, notFound, methodNotAllowed, conflict, emailTaken,
        invalidCredentials, tooLarge, unsupportedMediaType, tooManyRequests, unavailable, idempotencyConflict,
        upgradeRequired, `internal`,
    ]

    /// The HTTP status that belongs to the code.
    public var status: Int {
        switch self {
        case .invalidRequest, .invalidField: 400
        case .unauthorized, .invalidCredentials: 401
        case .forbidden: 403
        case .notFound: 404
        case .methodNotAllowed: 405
        case .conflict, .emailTaken, .idempotencyConflict: 409
        case .tooLarge: 413
        case .unsupportedMediaType: 415
        case .upgradeRequired: 426
        case .tooManyRequests: 429
        case .unavailable: 503
        default: 500
        }
    }
}

/// The body of every answer that reports a failure: an RFC 9457 problem document, sent as `application/problem+json`.
public struct Problem: Codable, Error, Hashable, Sendable {
    /// The media type of the document.
    public static let mediaType = "application/problem+json"

    /// A URI that names the kind of problem: `about:blank`, since `code` says more.
    public var type: String
    /// The status in words.
    public var title: String
    /// The HTTP status.
    public var status: Int
    /// A sentence for the person, in their language.
    public var detail: String?
    /// What kind of failure this is.
    public var code: ErrorCode
    /// The field at fault, such as `title` or `items[2].title`.
    public var field: String?
    /// Finds the failure in the server's log.
    public var id: String?
    /// Seconds to wait before trying again.
    public var retryAfter: Int?

    /// A problem.
    public init(
        status: Int, title: String, code: ErrorCode, detail: String? = nil, field: String? = nil, id: String? = nil,
        retryAfter: Int? = nil, type: String = "about:blank"
    ) {
        self.type = type
        self.title = title
        self.status = status
        self.detail = detail
        self.code = code
        self.field = field
        self.id = id
        self.retryAfter = retryAfter
    }
}

extension Problem: CustomStringConvertible {
    /// The sentence with the code.
    public var description: String {
        "\(detail ?? title) (\(code)\(field.map { ", \($0)" } ?? ""))"
    }
}
