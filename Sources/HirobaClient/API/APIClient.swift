import HirobaContract
import HirobaJSON

/// Sends the calls of one API.
///
/// ```swift
/// let client = APIClient(Weather(baseURL: address, key: key))
/// ```
public struct APIClient<API: APIDescription>: Sendable {
    /// The API it speaks.
    public let api: API
    /// What carries the requests.
    public let transport: any Transport
    /// The most bytes of an answer that are held in memory: 16 MiB by default. Files are downloaded to disk instead.
    public var largestAnswer = 16 << 20

    /// A client of an API.
    public init(_ api: API, transport: any Transport = URLSessionTransport()) {
        self.api = api
        self.transport = transport
    }

    /// Sends a call and answers what its type names.
    public func send<Call: APICall>(_ call: Call) async throws(ClientError) -> Call.Answer where Call.API == API {
        try await send(call, answering: Call.Answer.self)
    }

    /// Sends a call and answers the type that is named here, or inferred from where the answer goes.
    ///
    /// This is the only function that sends and the only place that decodes. The status is looked at first: only the
    /// body of a success is decoded as the answer.
    public func send<Call: APIType, Answer: Decodable & Sendable>(
        _ call: Call, answering: Answer.Type = Answer.self
    ) async throws(ClientError) -> Answer where Call.API == API {
        let answer = try await answer(to: try call.request(for: api))
        let body = try await collect(answer.body)
        // A call that promises nothing is content with any body.
        if let nothing = NoContent() as? Answer { return nothing }
        return try await decode(body, status: answer.status)
    }

    @concurrent
    private func decode<Answer: Decodable & Sendable>(
        _ body: [UInt8], status: Int
    ) async throws(ClientError) -> Answer {
        do {
            return try JSONCoding.decode(Answer.self, from: body, unknownFields: .ignore, dates: api.dates)
        } catch {
            throw .decoding(error, status: status)
        }
    }

    /// Sends a request and waits for the head of its answer, whose body is still to come.
    ///
    /// - Throws: whatever an answer without success says, once its body has been read.
    public func answer(to request: APIRequest) async throws(ClientError) -> TransportAnswer {
        var request = request
        try await api.authorize(&request)
        guard let url = request.url(below: api.baseURL) else {
            throw .request("\"\(api.baseURL)\" and \"\(request.path)\" make no address")
        }
        let answer = try await transport.start(
            TransportRequest(
                method: request.method.rawValue, url: url, headers: request.headers, body: request.body,
                uploadProgress: request.uploadProgress))
        guard (200..<300).contains(answer.status) else {
            // An error's body is only for words; one that breaks off or never ends does not hide the status.
            let body = (try? await collect(answer.body)) ?? []
            if Task.isCancelled { throw .cancelled }
            throw .api(api.failure(status: answer.status, headers: answer.headers, body: body))
        }
        return answer
    }

    func collect(_ body: TransportBody) async throws(ClientError) -> [UInt8] {
        var bytes: [UInt8] = []
        do {
            for try await part in body {
                guard bytes.count + part.count <= largestAnswer else {
                    throw ClientError.network(
                        NetworkFailure(.other, "The answer is larger than \(largestAnswer) bytes"))
                }
                bytes += part
            }
        } catch {
            throw ClientError(transport: error)
        }
        if Task.isCancelled { throw .cancelled }
        return bytes
    }
}

extension ClientError {
    /// What a body threw, which is one of ours or a cancellation.
    init(transport error: any Error) {
        self =
            switch error {
            case let error as ClientError: error
            case is CancellationError: .cancelled
            default: .network(NetworkFailure(.other, String(describing: error)))
            }
    }
}
