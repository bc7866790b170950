import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// HTTP by the system's `URLSession`: no cookies, no cache, bodies streamed both ways.
///
/// A delegate is used throughout, because it is the one interface for streaming that exists on every platform.
public final class URLSessionTransport: Transport {
    private let session: URLSession
    private let exchanges: Exchanges

    /// A transport with connections of its own.
    public init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        exchanges = Exchanges()
        session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
    }

    deinit {
        // The session holds its delegate until it is told to end. What is under way is finished first.
        session.finishTasksAndInvalidate()
    }

    /// Sends a request and waits for the head of its answer.
    public func start(_ request: TransportRequest) async throws(ClientError) -> TransportAnswer {
        var urlRequest = URLRequest(url: request.url, timeoutInterval: request.timeout)
        urlRequest.httpMethod = request.method
        for field in request.headers { urlRequest.addValue(field.value, forHTTPHeaderField: field.name) }
        let task: URLSessionTask
        switch request.body {
        case .none: task = session.dataTask(with: urlRequest)
        case .bytes(let bytes): task = session.uploadTask(with: urlRequest, from: Data(bytes))
        case .file(let file):
            guard FileManager.default.isReadableFile(atPath: file.path) else {
                throw .local("The file \(file.lastPathComponent) cannot be read")
            }
            task = session.uploadTask(with: urlRequest, fromFile: file)
        }
        let running = RunningTask(task)
        do {
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    exchanges.begin(running, continuation: continuation, progress: request.uploadProgress)
                }
            } onCancel: {
                running.cancel()
            }
        } catch {
            throw Task.isCancelled ? .cancelled : ClientError(transport: error)
        }
    }
}

/// A task that may be cancelled from anywhere. `URLSessionTask` is thread-safe on every platform but not declared so on
/// all.
private struct RunningTask: @unchecked Sendable {
    let task: URLSessionTask
    init(_ task: URLSessionTask) { self.task = task }
    func cancel() { task.cancel() }
}

/// What is under way, by the number of its task. Called by the session on its queue, and by `start`.
private final class Exchanges: NSObject, URLSessionDataDelegate {
    private struct Exchange {
        /// Waits for the head; nil once it has come.
        var head: CheckedContinuation<TransportAnswer, any Error>?
        var body: TransportBody.Continuation?
        var progress: UploadProgress?
    }

    private let exchanges = Locked<[Int: Exchange]>([:])

    func begin(
        _ running: RunningTask, continuation: CheckedContinuation<TransportAnswer, any Error>,
        progress: UploadProgress?
    ) {
        exchanges.withLock {
            $0[running.task.taskIdentifier] = Exchange(head: continuation, progress: progress)
        }
        running.task.resume()
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let (stream, body) = TransportBody.makeStream()
        let running = RunningTask(dataTask)
        // A body that nobody reads to its end ends the request.
        body.onTermination = { if case .cancelled = $0 { running.cancel() } }
        let head = exchanges.withLock { exchanges in
            exchanges[dataTask.taskIdentifier]?.body = body
            defer { exchanges[dataTask.taskIdentifier]?.head = nil }
            return exchanges[dataTask.taskIdentifier]?.head
        }
        guard let response = response as? HTTPURLResponse else {
            head?.resume(throwing: ClientError.network(NetworkFailure(.other, "The answer is not HTTP")))
            completionHandler(.cancel)
            return
        }
        var headers = HeaderFields()
        for (name, value) in response.allHeaderFields {
            if let name = name as? String, let value = value as? String { headers[name] = value }
        }
        head?.resume(returning: TransportAnswer(status: response.statusCode, headers: headers, body: stream))
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let body = exchanges.withLock { $0[dataTask.taskIdentifier]?.body }
        body?.yield(Array(data))
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        let progress = exchanges.withLock { $0[task.taskIdentifier]?.progress }
        progress?(totalBytesSent, totalBytesExpectedToSend)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let exchange = exchanges.withLock { $0.removeValue(forKey: task.taskIdentifier) }
        let failure = error.map { ClientError(urlSession: $0) }
        exchange?.head?.resume(throwing: failure ?? .network(NetworkFailure(.lost, "No answer came")))
        exchange?.body?.finish(throwing: failure)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // To another origin the token would go along.
        let old = task.currentRequest?.url
        let isSameOrigin =
            old?.scheme == request.url?.scheme && old?.host == request.url?.host && old?.port == request.url?.port
        completionHandler(isSameOrigin ? request : nil)
    }
}

extension ClientError {
    init(urlSession error: any Error) {
        guard let error = error as? URLError else {
            self = .network(NetworkFailure(.other, error.localizedDescription))
            return
        }
        let kind: NetworkFailure.Kind
        switch error.code {
        case .cancelled:
            self = .cancelled
            return
        case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff: kind = .offline
        case .cannotConnectToHost, .cannotFindHost, .dnsLookupFailed: kind = .unreachable
        case .timedOut: kind = .timedOut
        // On Linux a connection that broke during the body or before the head has no code of its own.
        case .networkConnectionLost, .badServerResponse, .cannotParseResponse, .zeroByteResource, .unknown: kind = .lost
        case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
            .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid:
            kind = .untrusted
        default: kind = .other
        }
        self = .network(NetworkFailure(kind, error.localizedDescription))
    }
}
