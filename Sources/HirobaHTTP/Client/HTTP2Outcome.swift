/// What became of a request.
package enum HTTP2Outcome: Sendable {
    case answer(HTTP2Answer)
    /// The server has certainly done nothing: sending again cannot do it twice.
    case notProcessed(NotProcessed)
    /// The request was sent, and whether the server acted on it cannot be known.
    case unknown(Doubt)

    package enum NotProcessed: Hashable, Sendable {
        /// No connection could be made. It is not tried again before `retryAfter`.
        case unreachable(String, retryAfter: Duration)
        /// It waited too long for its turn.
        case busy
        /// The server refused the stream again and again.
        case refused
        /// The client is suspended.
        case suspended
        /// The client was stopped.
        case stopped
    }

    package enum Doubt: Hashable, Sendable {
        /// No answer in time.
        case deadline
        /// The server ended the stream, with this error code.
        case reset(UInt32)
        /// The connection broke.
        case connectionLost(String)
    }
}

/// An answer that arrived whole.
package struct HTTP2Answer: Sendable {
    package let status: Int
    /// At most 100 and 16 KiB of them; what is more is left out.
    package let headers: HTTPHeaders
    /// At most 64 KiB; what is more is left out.
    package let body: [UInt8]
    /// Which connection brought it: `retire` takes this number.
    package let connection: Int
}
