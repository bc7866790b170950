/// The answer to a request.
///
/// Framing is the engine's: it sets Content-Length, Transfer-Encoding, Connection, Date and Server itself and ignores what
/// the headers say about them. An answer to HEAD, and one with status 204 or 304, goes out without its body.
package struct HTTPResponse: Sendable {
    package enum Body: Sendable {
        case none
        case bytes([UInt8])
        /// Part of a regular file, sent by the kernel where it can. When the file cannot be opened or is shorter than
        /// `offset + length` the client gets 500.
        case file(path: String, offset: Int, length: Int)
        /// Bytes as they are made. The closure runs once, after the head is on its way; when it throws, the connection
        /// (HTTP/2: the stream) is cut, so that the client can tell that the answer is not whole.
        case stream(@Sendable (any HTTPResponseWriter) async throws -> Void)
    }

    package var status: HTTPStatus
    package var headers: HTTPHeaders
    package var body: Body

    package init(_ status: HTTPStatus = .ok, headers: HTTPHeaders = HTTPHeaders(), body: Body = .none) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// A short text in UTF-8.
    package static func text(_ status: HTTPStatus, _ text: String) -> HTTPResponse {
        HTTPResponse(
            status, headers: ["Content-Type": "text/plain; charset=utf-8"], body: .bytes(Array(text.utf8)))
    }
}

/// Where the body of a streamed answer is written.
package protocol HTTPResponseWriter: Sendable {
    /// Sends `bytes`, and returns when they are on their way: a slow client holds its writer back.
    /// - Throws: `HTTPResponseWriterError` when the client is gone or has stopped reading for too long.
    func write(_ bytes: [UInt8]) async throws

    /// Marks the answer as endless: the engine writes `bytes` itself whenever nothing was written for `interval`, and
    /// ends the answer (by cancelling its task) as soon as the server is told to stop.
    func keepAlive(with bytes: [UInt8], every interval: Duration) async
}

extension HTTPResponseWriter {
    package func keepAlive(with bytes: [UInt8], every interval: Duration) async {}
}

/// Why nothing can be written any more.
package enum HTTPResponseWriterError: Error, Hashable, Sendable {
    case disconnected
    /// The answer was ended before this write.
    case ended
}

/// From a request to its answer. It runs on the loop of its connection and must not block.
package typealias HTTPHandler = @Sendable (HTTPRequest) async -> HTTPResponse
