import Glibc
import HirobaContract
import HirobaHTTP
import Synchronization

/// Counts and logs every request, gives it an id, and puts the fields on its answer that every answer has.
struct Observer: Sendable {
    let metrics: Metrics
    let log: Log?
    /// Sent with every answer over TLS when the public address is a TLS one.
    let isStrictlySecure: Bool

    /// - Parameter log: where a line for each request goes; nil for none.
    init(metrics: Metrics, log: Log?, isStrictlySecure: Bool) {
        self.metrics = metrics
        self.log = log
        self.isStrictlySecure = isStrictlySecure
    }

    /// Answers and finishes, for what has no handler in the table of routes.
    func watch(
        _ request: HTTPRequest, as route: Metrics.Route, _ answer: () async throws -> HTTPResponse
    ) async rethrows -> HTTPResponse {
        let start = nanoseconds()
        var response = try await answer()
        finish(&response, to: request, route: route, since: start)
        return response
    }

    /// The answer is known: it is counted, logged, and gets its last fields. A stream is logged when it ends.
    func finish(
        _ response: inout HTTPResponse, to request: HTTPRequest, route: Metrics.Route, since start: Int,
        recognition: Recognition? = nil
    ) {
        let id: String
        if let given = response.headers[RequestID.field] {
            id = given
        } else {
            id = RequestID.next()
            response.headers.add(RequestID.field, id)
        }
        if !response.headers.contains("X-Content-Type-Options") {
            response.headers.add("X-Content-Type-Options", "nosniff")
        }
        if isStrictlySecure, request.isSecure {
            response.headers.add("Strict-Transport-Security", "max-age=31536000")
        }
        let microseconds = (nanoseconds() - start) / 1_000
        let bytes: Int
        switch response.body {
        case .none: bytes = 0
        case .bytes(let body): bytes = body.count
        case .file(_, _, let length): bytes = length
        case .stream(let body):
            let status = response.status.rawValue
            route.record(status: status, microseconds: microseconds, bytes: 0)
            guard let log else { return }
            response.body = .stream { [line = Line(request, route, recognition?.user)] writer in
                let counter = CountingWriter(writer)
                defer {
                    line.write(
                        to: log, id: id, status: status, microseconds: (nanoseconds() - start) / 1_000,
                        bytes: counter.bytes.load(ordering: .relaxed))
                }
                try await body(counter)
            }
            return
        }
        route.record(status: response.status.rawValue, microseconds: microseconds, bytes: bytes)
        if let log {
            Line(request, route, recognition?.user).write(
                to: log, id: id, status: response.status.rawValue, microseconds: microseconds, bytes: bytes)
        }
    }

    /// What a line tells about a request: never its token, its query or its body. The route's template stands for the
    /// path, so that lines of one kind can be counted.
    private struct Line: Sendable {
        let method: String
        let route: Metrics.Route
        let peer: String
        let version: HTTPRequest.Version
        let user: User.ID?

        init(_ request: HTTPRequest, _ route: Metrics.Route, _ user: User.ID?) {
            self.user = user
            method = request.method.rawValue
            self.route = route
            peer = request.peer.ip
            version = request.version
        }

        func write(to log: Log, id: String, status: Int, microseconds: Int, bytes: Int) {
            log.line("request") { line in
                line.append(contentsOf: ",\"id\":\"".utf8)
                line.append(contentsOf: id.utf8)
                line.append(contentsOf: "\",\"method\":".utf8)
                appendJSONString(method, to: &line)
                line.append(contentsOf: ",\"route\":".utf8)
                line.append(contentsOf: route.quotedTemplate)
                line.append(contentsOf: ",\"status\":".utf8)
                appendNumber(status, to: &line)
                line.append(contentsOf: ",\"microseconds\":".utf8)
                appendNumber(microseconds, to: &line)
                line.append(contentsOf: ",\"bytes\":".utf8)
                appendNumber(bytes, to: &line)
                line.append(contentsOf: ",\"peer\":".utf8)
                appendJSONString(peer, to: &line)
                if let user {
                    line.append(contentsOf: ",\"user\":".utf8)
                    appendJSONString(user.rawValue, to: &line)
                }
                line.append(contentsOf: version == .http2 ? ",\"http\":2".utf8 : ",\"http\":1".utf8)
            }
        }
    }
}

/// Names one request, in its answer and in the log.
enum RequestID {
    static let field = "X-Request-Id"

    private static let state = Atomic<UInt64>(UInt64.random(in: 0...UInt64.max))

    /// Twelve letters and digits; a text that short needs no memory of its own. The finaliser of SplitMix64 makes every
    /// step of the counter a new number that does not tell how many requests there were.
    static func next() -> String {
        var value = state.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        value ^= value >> 31
        return String(unsafeUninitializedCapacity: 12) { buffer in
            for index in 0..<12 {
                let digit = UInt8(value & 31)
                buffer[index] = digit < 10 ? 0x30 + digit : 0x61 + digit - 10
                value >>= 5
            }
            return 12
        }
    }
}

private final class CountingWriter: HTTPResponseWriter {
    let writer: any HTTPResponseWriter
    let bytes = Atomic<Int>(0)

    init(_ writer: any HTTPResponseWriter) { self.writer = writer }

    func write(_ bytes: [UInt8]) async throws {
        try await writer.write(bytes)
        self.bytes.wrappingAdd(bytes.count, ordering: .relaxed)
    }

    func keepAlive(with bytes: [UInt8], every interval: Duration) async {
        await writer.keepAlive(with: bytes, every: interval)
    }
}

func nanoseconds() -> Int {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return now.tv_sec * 1_000_000_000 + now.tv_nsec
}
