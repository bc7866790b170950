#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What carries a request to the server and brings the answer. `URLSessionTransport` does it over the system's HTTP.
public protocol Transport: Sendable {
    /// Sends a request and answers as soon as the head of the answer is there. Cancelling the task, or dropping the
    /// body, ends the request.
    ///
    /// Any status is an answer. Redirections within the same origin are followed.
    func start(_ request: TransportRequest) async throws(ClientError) -> TransportAnswer
}

/// Told how many bytes of a body are on their way, of how many.
public typealias UploadProgress = @Sendable (_ sent: Int64, _ total: Int64) -> Void

/// The parts of a body as they come. Fails with `ClientError`.
public typealias TransportBody = AsyncThrowingStream<[UInt8], any Error>

/// A request with its whole address.
public struct TransportRequest: Sendable {
    /// The method.
    public var method: String
    /// The address.
    public var url: URL
    /// The header fields.
    public var headers: HeaderFields
    /// The body.
    public var body: RequestBody
    /// Told about the body's progress.
    public var uploadProgress: UploadProgress?
    /// Seconds without a byte from the server after which it counts as lost.
    public var timeout: Double

    /// A request.
    public init(
        method: String, url: URL, headers: HeaderFields = HeaderFields(), body: RequestBody = .none,
        uploadProgress: UploadProgress? = nil, timeout: Double = 60
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.uploadProgress = uploadProgress
        self.timeout = timeout
    }
}

/// The head of an answer, and its body to come.
public struct TransportAnswer: Sendable {
    /// The HTTP status.
    public var status: Int
    /// The header fields.
    public var headers: HeaderFields
    /// The body.
    public var body: TransportBody

    /// An answer.
    public init(status: Int, headers: HeaderFields, body: TransportBody) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}
