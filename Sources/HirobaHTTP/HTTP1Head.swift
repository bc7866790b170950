// Imports nothing: part of what is fuzzed by itself.

/// The head of an HTTP/1.1 request, read and found good.
struct HTTP1Head: Sendable {
    var method: HTTPMethod
    var target: String
    /// Where the path lies in the target's UTF-8; empty when an absolute target has none.
    var pathStart: Int
    var pathEnd: Int
    var headers: HTTPHeaders
    /// 0 or 1; a higher minor version is spoken to as 1 (RFC 9110 section 2.5).
    var minorVersion: Int
    var framing: HTTP1Framing
    /// Whether the client wants to go on with this connection (RFC 9112 section 9.3).
    var keepsAlive: Bool
    /// Whether the client waits for `100 Continue` before it sends the body (RFC 9110 section 10.1.1).
    var expectsContinue: Bool
}

/// How the end of a request body is known (RFC 9112 section 6.3).
enum HTTP1Framing: Sendable, Hashable {
    case none
    case length(Int)
    case chunked
}

/// Why a request cannot be taken. The connection is closed after the answer, because nobody can tell where the next
/// request would begin.
struct HTTP1Refusal: Error, Sendable, Hashable {
    var status: HTTPStatus
    /// A sentence for the person who wrote the client.
    var reason: String

    init(_ status: HTTPStatus, _ reason: String) {
        self.status = status
        self.reason = reason
    }

    static func bad(_ reason: String) -> HTTP1Refusal { HTTP1Refusal(.badRequest, reason) }
}
