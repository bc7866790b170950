import CNghttp2
import HirobaHTTP
import Testing

/// One frame of HTTP/2 (RFC 9113 section 4.1).
struct Frame: Sendable {
    enum Kind {
        static let data: UInt8 = 0
        static let headers: UInt8 = 1
        static let priority: UInt8 = 2
        static let reset: UInt8 = 3
        static let settings: UInt8 = 4
        static let pushPromise: UInt8 = 5
        static let ping: UInt8 = 6
        static let goAway: UInt8 = 7
        static let windowUpdate: UInt8 = 8
        static let continuation: UInt8 = 9
    }
    static let endStream: UInt8 = 1
    static let acknowledge: UInt8 = 1
    static let endHeaders: UInt8 = 4

    var kind: UInt8
    var flags: UInt8 = 0
    var stream = 0
    var payload: [UInt8] = []

    var bytes: [UInt8] { Self.number(payload.count, 3) + [kind, flags] + Self.number(stream, 4) + payload }

    /// The error code of RST_STREAM or GOAWAY.
    var code: Int {
        let field = kind == Kind.goAway ? payload.dropFirst(4).prefix(4) : payload.prefix(4)
        return field.reduce(0) { $0 << 8 | Int($1) }
    }

    static func number(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }

    static func windowUpdate(_ stream: Int, _ amount: Int) -> Frame {
        Frame(kind: Kind.windowUpdate, stream: stream, payload: number(amount, 4))
    }

    static func reset(_ stream: Int, _ code: Int = 8) -> Frame {
        Frame(kind: Kind.reset, stream: stream, payload: number(code, 4))
    }
}

/// How the server ended a stream or a connection.
enum HTTP2Error: Error, Equatable {
    case reset(stream: Int, code: Int)
    case goAway(code: Int)
    case malformed(String)
}

extension ServerUnderTest {
    /// A client that the server has greeted. With an idle time of some milliseconds a busy machine may be too late for
    /// the first try.
    func greetedInTime() async throws -> HTTP2Client {
        for _ in 1...50 {
            if let client = try? await HTTP2Client(port: port) { return client }
        }
        throw RawError.deadline("greeting in time")
    }
}

/// A client of HTTP/2 by prior knowledge that can also do everything wrong. Fields go out as plain literals.
final class HTTP2Client {
    let connection: RawConnection
    private let inflater: OpaquePointer?
    private(set) var received: [Frame] = []
    /// Whether frames of data give the server its window back.
    var returnsWindow = true

    /// Connects, greets and waits for the server's settings.
    init(port: Int, settings: [(Int, Int)] = []) async throws {
        connection = try RawConnection(port: port)
        var inflater: OpaquePointer?
        nghttp2_hd_inflate_new(&inflater)
        self.inflater = inflater
        let payload = settings.flatMap { Frame.number($0.0, 2) + Frame.number($0.1, 4) }
        try await connection.send(
            Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + Frame(kind: Frame.Kind.settings, payload: payload).bytes)
        let first = try await next()
        guard first.kind == Frame.Kind.settings, first.flags == 0 else {
            throw HTTP2Error.malformed("no settings first")
        }
    }

    deinit { if let inflater { nghttp2_hd_inflate_del(inflater) } }

    // MARK: Sending

    func send(_ frame: Frame) async throws { try await connection.send(frame.bytes) }

    static func block(_ fields: [(String, String)]) -> [UInt8] {
        fields.flatMap { name, value in [0] + text(name) + text(value) }
    }

    private static func text(_ text: String) -> [UInt8] {
        let bytes = latin1(text)
        guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
        var length: [UInt8] = [127]
        var rest = bytes.count - 127
        while rest >= 128 {
            length.append(UInt8(rest & 127 | 128))
            rest >>= 7
        }
        return length + [UInt8(rest)] + bytes
    }

    static func fields(_ method: String, _ path: String, _ more: [(String, String)] = []) -> [(String, String)] {
        [(":method", method), (":scheme", "http"), (":path", path), (":authority", "a")] + more
    }

    func request(
        _ stream: Int, _ method: String = "GET", _ path: String, _ more: [(String, String)] = [], end: Bool = true
    ) async throws {
        try await sendHead(stream, Self.fields(method, path, more), end: end)
    }

    func sendHead(_ stream: Int, _ fields: [(String, String)], end: Bool = true) async throws {
        let block = Self.block(fields)
        var rest = block.dropFirst(16_384)
        let flags = (end ? Frame.endStream : 0) | (rest.isEmpty ? Frame.endHeaders : 0)
        var bytes = Frame(kind: Frame.Kind.headers, flags: flags, stream: stream, payload: Array(block.prefix(16_384)))
            .bytes
        while !rest.isEmpty {
            let part = Array(rest.prefix(16_384))
            rest = rest.dropFirst(16_384)
            bytes +=
                Frame(
                    kind: Frame.Kind.continuation, flags: rest.isEmpty ? Frame.endHeaders : 0, stream: stream,
                    payload: part
                ).bytes
        }
        try await connection.send(bytes)
    }

    func sendData(_ stream: Int, _ bytes: [UInt8], end: Bool = true) async throws {
        try await send(Frame(kind: Frame.Kind.data, flags: end ? Frame.endStream : 0, stream: stream, payload: bytes))
    }

    // MARK: Receiving

    /// The next frame, after the answers that a well-behaved client owes for it.
    func next() async throws -> Frame {
        let head = try await connection.bytes(9)
        let length = head[0..<3].reduce(0) { $0 << 8 | Int($1) }
        let stream = head[5..<9].reduce(0) { $0 << 8 | Int($1) } & 0x7fff_ffff
        let frame = Frame(kind: head[3], flags: head[4], stream: stream, payload: try await connection.bytes(length))
        received.append(frame)
        do {
            switch frame.kind {
            case Frame.Kind.settings where frame.flags == 0:
                try await send(Frame(kind: Frame.Kind.settings, flags: Frame.acknowledge))
            case Frame.Kind.ping where frame.flags == 0:
                try await send(Frame(kind: Frame.Kind.ping, flags: Frame.acknowledge, payload: frame.payload))
            case Frame.Kind.data where returnsWindow && length > 0:
                try await connection.send(
                    Frame.windowUpdate(0, length).bytes
                        + (frame.flags & Frame.endStream == 0 ? Frame.windowUpdate(stream, length).bytes : []))
            default: break
            }
        } catch RawError.reset {
            // The server has closed already; what it sent before can still be read.
        }
        return frame
    }

    struct Answer {
        var stream = 0
        var status = 0
        var headers: [(name: String, value: String)] = []
        var body: [UInt8] = []
        var interim: [Int] = []
        var text: String { String(decoding: body, as: UTF8.self) }
        subscript(_ name: String) -> String? { headers.first { $0.name == name }?.value }
    }

    private var open: [Int: Answer] = [:]

    /// Reads until an answer is whole, whichever stream's it is.
    func answer() async throws -> Answer {
        while true {
            let frame = try await next()
            if let whole = try take(frame) { return whole }
        }
    }

    /// Takes a frame in; returns the answer that it ends.
    func take(_ frame: Frame) throws -> Answer? {
        switch frame.kind {
        case Frame.Kind.headers:
            guard frame.flags & Frame.endHeaders != 0 else { throw HTTP2Error.malformed("continuation not expected") }
            var answer = open[frame.stream] ?? Answer(stream: frame.stream)
            let fields = try inflate(frame.payload)
            if let status = fields.first(where: { $0.name == ":status" }).flatMap({ Int($0.value) }) {
                if status < 200 {
                    answer.interim.append(status)
                } else {
                    answer.status = status
                    answer.headers = fields
                }
            }
            open[frame.stream] = answer
        case Frame.Kind.data:
            open[frame.stream, default: Answer(stream: frame.stream)].body += frame.payload
        case Frame.Kind.reset:
            throw HTTP2Error.reset(stream: frame.stream, code: frame.code)
        case Frame.Kind.goAway where frame.code != 0:
            throw HTTP2Error.goAway(code: frame.code)
        default:
            return nil
        }
        guard frame.flags & Frame.endStream != 0 else { return nil }
        return open.removeValue(forKey: frame.stream)
    }

    /// Reads until the server says GOAWAY and returns its code; nil when it closed without.
    func goAway() async throws -> Int? {
        do {
            while true {
                let frame = try await next()
                if frame.kind == Frame.Kind.goAway { return frame.code }
            }
        } catch RawError.closed {
            return nil
        } catch RawError.reset {
            return nil
        }
    }

    private func inflate(_ block: [UInt8]) throws -> [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        var at = 0
        while true {
            var field = nghttp2_nv()
            var flags: CInt = 0
            let used = block.withUnsafeBufferPointer { buffer in
                nghttp2_hd_inflate_hd2(
                    inflater, &field, &flags, buffer.baseAddress?.advanced(by: at), block.count - at, 1)
            }
            guard used >= 0 else { throw HTTP2Error.malformed("header block: \(used)") }
            at += Int(used)
            if flags & CInt(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
                fields.append(
                    (
                        String(decoding: UnsafeBufferPointer(start: field.name, count: field.namelen), as: UTF8.self),
                        String(decoding: UnsafeBufferPointer(start: field.value, count: field.valuelen), as: UTF8.self)
                    ))
            }
            if flags & CInt(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 {
                nghttp2_hd_inflate_end_headers(inflater)
                return fields
            }
        }
    }
}
