import Glibc
import HirobaHTTP
import HirobaThreads
import Testing

/// The engines that the conformance suite runs on. A second one is added here and nowhere else.
enum Engine: CaseIterable, Sendable {
    case hiroba

    func make(
        _ configuration: HTTPServerConfiguration, _ handler: @escaping HTTPHandler
    ) throws -> any HTTPServerEngine {
        switch self {
        case .hiroba: try HTTPServer(configuration: configuration, handler: handler)
        }
    }
}

/// Everything an engine has to do, one suite a subject; each runs on each `Engine`.
@Suite("Conformance") enum Conformance {}

/// A server that runs for one test, on a free port.
struct ServerUnderTest: Sendable {
    let server: any HTTPServerEngine
    let port: Int

    func connect() throws -> RawConnection { try RawConnection(port: port) }

    /// A connection whose `request` has reached its handler, which counts. With an idle time of some milliseconds a busy
    /// machine may be too late for the first try.
    func connect(sending request: String, until arrived: Counter) async throws -> RawConnection {
        for _ in 1...50 {
            let before = arrived.value
            let connection = try connect()
            try? await connection.send(request)
            if await eventually(within: .seconds(1), { arrived.value > before }) { return connection }
        }
        throw RawError.deadline("sending a request in time")
    }

    /// Stops the server while the test goes on.
    func beginStop(grace: Duration) -> Task<Void, Never> { Task { await server.stop(grace: grace) } }

    /// Sends `request` on a connection of its own and returns the one answer to it.
    func exchange(_ request: String) async throws -> RawAnswer {
        let connection = try connect()
        try await connection.send(request)
        return try await connection.answer(toHead: request.hasPrefix("HEAD "))
    }
}

/// Starts a server with one loop, runs `body` and stops the server, whatever happens.
func withServer(
    _ engine: Engine, limits: HTTPLimits = HTTPLimits(), tls: HTTPServerConfiguration.TLSFiles? = nil,
    handler: @escaping HTTPHandler, _ body: (ServerUnderTest) async throws -> Void
) async throws {
    var configuration = HTTPServerConfiguration(host: "127.0.0.1", port: 0)
    configuration.tls = tls
    configuration.loops = 1
    configuration.limits = limits
    let server = try engine.make(configuration, handler)
    let address = try await server.start()
    do {
        try await body(ServerUnderTest(server: server, port: address.port))
    } catch {
        await server.stop(grace: .zero)
        throw error
    }
    await server.stop(grace: .zero)
}

/// Answers with what the engine made of a request: `METHOD TARGET BODY`.
@Sendable func echo(_ request: HTTPRequest) async -> HTTPResponse {
    let body: [UInt8]
    do throws(HTTPBodyError) {
        body = try await request.body.collect(upTo: 1 << 20)
    } catch {
        return HTTPResponse(error == .tooLarge ? .contentTooLarge : .badRequest)
    }
    return text("\(request.method.rawValue) \(request.target) \(String(decoding: body, as: UTF8.self))")
}

func text(_ text: String, status: HTTPStatus = .ok) -> HTTPResponse {
    HTTPResponse(status, body: .bytes(Array(text.utf8)))
}

/// One byte a scalar, so that a test can spell every byte there is.
func latin1(_ text: String) -> [UInt8] { text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }

/// Asks again until `condition` holds; false when it did not within `patience`.
func eventually(
    within patience: Duration = .seconds(10), _ condition: () async throws -> Bool
) async rethrows -> Bool {
    let deadline = ContinuousClock.now + patience
    while true {
        if try await condition() { return true }
        if ContinuousClock.now > deadline { return false }
        try? await Task.sleep(for: .milliseconds(5))
    }
}

/// Closed until it is opened; then everybody goes through. Waiting ends when the task is cancelled, too.
final class Gate: Sendable {
    private enum State {
        case closed([Int: CheckedContinuation<Void, Never>], cancelled: Set<Int>)
        case open
    }
    private let state = Lock(State.closed([:], cancelled: []))
    private let numbers = Lock(0)

    func open() {
        let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            guard case .closed(let waiting, _) = state else { return [] }
            state = .open
            return Array(waiting.values)
        }
        for continuation in waiting { continuation.resume() }
    }

    func pass() async {
        let number = numbers.withLock { number -> Int in
            number += 1
            return number
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goOn = state.withLock { state -> Bool in
                    guard case .closed(var waiting, let cancelled) = state else { return true }
                    if cancelled.contains(number) { return true }
                    waiting[number] = continuation
                    state = .closed(waiting, cancelled: cancelled)
                    return false
                }
                if goOn { continuation.resume() }
            }
        } onCancel: {
            let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
                guard case .closed(var waiting, var cancelled) = state else { return nil }
                cancelled.insert(number)
                let mine = waiting.removeValue(forKey: number)
                state = .closed(waiting, cancelled: cancelled)
                return mine
            }
            waiting?.resume()
        }
    }
}

/// A number that handlers and tests share.
final class Counter: Sendable {
    private let state = Lock(0)
    var value: Int { state.withLock { $0 } }
    func add(_ amount: Int = 1) { state.withLock { $0 += amount } }
}

/// An answer as it came over the wire, its framing checked and taken off.
struct RawAnswer: Sendable {
    var interim: [Int] = []
    var version = ""
    var status = 0
    var reason = ""
    var headers: [(name: String, value: String)] = []
    var body: [UInt8] = []
    var isChunked = false
    var endedByClose = false

    var text: String { String(decoding: body, as: UTF8.self) }

    subscript(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// What went wrong between a test and the server, from the test's side.
enum RawError: Error, Equatable {
    case connect(Int32)
    case deadline(String)
    case closed(afterReading: String)
    case reset
    case malformed(String)
}

/// One TCP connection as a stranger uses it: bytes out, bytes in, nothing in between.
///
/// It blocks, with a deadline, on a thread of its own, so that the threads of Swift's pool stay free for the server.
actor RawConnection {
    private nonisolated let thread: WorkerThread
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    private let descriptor: CInt
    private var isOpen = true
    private var unread: [UInt8] = []
    private let patience: Duration = .seconds(15)

    init(port: Int, receiveBuffer: Int? = nil) throws {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var yes: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<CInt>.size))
        if var size = receiveBuffer.map(CInt.init) {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<CInt>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else {
            let code = errno
            Glibc.close(descriptor)
            throw RawError.connect(code)
        }
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        self.descriptor = descriptor
        thread = WorkerThread(name: "raw-client")
    }

    deinit { if isOpen { Glibc.close(descriptor) } }

    // MARK: Sending

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Glibc.send(
                    descriptor, buffer.baseAddress?.advanced(by: sent), bytes.count - sent, CInt(MSG_NOSIGNAL))
            }
            if count > 0 {
                sent += count
            } else if errno == EAGAIN {
                guard wait(for: POLLOUT, patience) else { throw RawError.deadline("sending byte \(sent)") }
            } else if errno != EINTR {
                throw RawError.reset
            }
        }
    }

    /// Sends each byte by itself.
    func sendByteByByte(_ text: String) throws {
        for byte in text.utf8 { try send([byte]) }
    }

    /// Sends zeros until nothing more has gone out for `quiet`, or `most` bytes are sent. Returns how many went out.
    func sendUntilBlocked(most: Int, quiet: Duration = .milliseconds(300)) throws -> Int {
        let block = [UInt8](repeating: 0, count: 64 * 1024)
        var sent = 0
        while sent < most {
            let count = block.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, min(block.count, most - sent), CInt(MSG_NOSIGNAL))
            }
            if count > 0 {
                sent += count
            } else if errno == EAGAIN {
                if !wait(for: POLLOUT, quiet) { return sent }
            } else if errno != EINTR {
                throw RawError.reset
            }
        }
        return sent
    }

    /// No more bytes will come from here; answers can still be read.
    func finishSending() { shutdown(descriptor, CInt(SHUT_WR)) }

    func close() {
        guard isOpen else { return }
        isOpen = false
        Glibc.close(descriptor)
    }

    // MARK: Receiving

    /// Whether something arrives, or the other side closes, within `time`.
    func hasInput(within time: Duration) -> Bool { !unread.isEmpty || wait(for: POLLIN, time) }

    /// Reads exactly `count` bytes.
    func bytes(_ count: Int) throws -> [UInt8] {
        while unread.count < count {
            guard try receive() else { throw RawError.closed(afterReading: String(decoding: unread, as: UTF8.self)) }
        }
        let bytes = Array(unread.prefix(count))
        unread.removeFirst(count)
        return bytes
    }

    /// Reads until the other side closes. A reset counts as closed.
    func rest() throws -> [UInt8] {
        while true {
            do {
                if try !receive() { break }
            } catch RawError.reset {
                break
            }
        }
        defer { unread = [] }
        return unread
    }

    /// Whether the other side closes the connection without sending another byte.
    func isClosed() throws -> Bool { try rest().isEmpty }

    func line() throws -> String {
        while true {
            if let end = unread.firstIndex(of: 10) {
                guard end > 0, unread[end - 1] == 13 else { throw RawError.malformed("a bare line feed in the answer") }
                let line = String(decoding: unread[..<(end - 1)], as: UTF8.self)
                unread.removeFirst(end + 1)
                return line
            }
            guard try receive() else { throw RawError.closed(afterReading: String(decoding: unread, as: UTF8.self)) }
        }
    }

    /// Reads status and headers; the body stays unread.
    func answerHead() throws -> RawAnswer {
        var answer = RawAnswer()
        while true {
            let statusLine = try line()
            let parts = statusLine.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, parts[0].hasPrefix("HTTP/1."), parts[1].count == 3, let status = Int(parts[1])
            else {
                throw RawError.malformed("status line: \(statusLine)")
            }
            (answer.version, answer.status, answer.reason) = (String(parts[0]), status, String(parts[2]))
            answer.headers = []
            while case let field = try line(), !field.isEmpty {
                guard let colon = field.firstIndex(of: ":"), colon != field.startIndex else {
                    throw RawError.malformed("field: \(field)")
                }
                let value = field[field.index(after: colon)...].drop { $0 == " " }
                answer.headers.append((String(field[..<colon]), String(value)))
            }
            guard (100..<200).contains(status) else { return answer }
            answer.interim.append(status)
        }
    }

    /// Reads one whole answer, interim ones before it included.
    func answer(toHead: Bool = false) throws -> RawAnswer {
        var answer = try answerHead()
        if toHead || answer.status == 204 || answer.status == 304 { return answer }
        if let coding = answer["Transfer-Encoding"] {
            guard coding == "chunked", answer["Content-Length"] == nil else {
                throw RawError.malformed("transfer coding \(coding)")
            }
            answer.isChunked = true
            while let chunk = try chunk() { answer.body += chunk }
        } else if let length = answer["Content-Length"] {
            guard let length = Int(length) else { throw RawError.malformed("Content-Length: \(length)") }
            answer.body = try bytes(length)
        } else {
            answer.endedByClose = true
            answer.body = try rest()
        }
        return answer
    }

    /// Reads one chunk; nil is the last.
    func chunk() throws -> [UInt8]? {
        let size = try line()
        guard let count = Int(size, radix: 16) else { throw RawError.malformed("chunk size \(size)") }
        let data = try bytes(count)
        guard try line().isEmpty else { throw RawError.malformed("no CRLF after a chunk") }
        return count == 0 ? nil : data
    }

    private func receive() throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count > 0 {
                unread += buffer[..<count]
                return true
            }
            if count == 0 { return false }
            switch errno {
            case EAGAIN:
                guard wait(for: POLLIN, patience) else {
                    throw RawError.deadline(
                        "waiting for more than: \(String(decoding: unread.prefix(500), as: UTF8.self))")
                }
            case EINTR: continue
            default: throw RawError.reset
            }
        }
    }

    private func wait(for event: CInt, _ time: Duration) -> Bool {
        let milliseconds = CInt(time.components.seconds * 1000 + time.components.attoseconds / 1_000_000_000_000_000)
        var entry = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        return poll(&entry, 1, milliseconds) > 0
    }
}
