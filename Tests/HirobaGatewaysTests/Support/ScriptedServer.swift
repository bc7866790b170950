import CNghttp2
import Glibc
import HirobaThreads

/// A server of HTTP/2 in the clear that does exactly what a test tells it, wrong things too: it says what it likes about
/// streams, refuses them, ends connections, never answers.
final class ScriptedServer: Sendable {
    struct Request: Sendable {
        let connection: ScriptedConnection
        let stream: Int
        let fields: [(name: String, value: String)]
        let body: [UInt8]

        subscript(_ name: String) -> String? { fields.first { $0.name == name }?.value }
        /// What the test's push was called.
        var id: String { self["apns-id"] ?? "" }

        func accept() { connection.answer(stream, 200, [("apns-id", id)]) }

        func refuse(_ status: Int, _ reason: String, timestamp: Int64? = nil) {
            let time = timestamp.map { ",\"timestamp\":\($0)" } ?? ""
            connection.answer(
                stream, status, [("apns-id", id), ("content-type", "application/json")],
                Array("{\"reason\":\"\(reason)\"\(time)}".utf8))
        }
    }

    private struct State {
        var requests: [Request] = []
        var connections: [ScriptedConnection] = []
        var isStopped = false
    }

    let port: Int
    private let listener: ListeningSocket
    private let state = Lock(State())

    /// - Parameters:
    ///   - port: 0 for any that is free.
    ///   - streams: how many the first SETTINGS allow; `nil` says nothing at all.
    ///   - greet: called instead for each connection, before anything is sent.
    ///   - script: called for each request that has arrived whole, on its connection's thread.
    init(
        port: Int = 0, streams: Int? = 100, greet: (@Sendable (ScriptedConnection) -> Void)? = nil,
        script: @escaping @Sendable (Request) -> Void
    ) throws {
        listener = try ListeningSocket(port: port)
        self.port = listener.port
        startThread(name: "scripted") { [self] in
            while let socket = listener.accept() {
                let connection = ScriptedConnection(socket: socket)
                let isStopped = state.withLock { state in
                    state.connections.append(connection)
                    return state.isStopped
                }
                if isStopped { connection.close() }
                if let greet {
                    greet(connection)
                } else {
                    connection.limit(streams)
                }
                startThread(name: "scripted") { [self] in
                    connection.serve { request in
                        state.withLock { $0.requests.append(request) }
                        script(request)
                    }
                }
            }
        }
    }

    var requests: [Request] { state.withLock { $0.requests } }
    var connections: [ScriptedConnection] { state.withLock { $0.connections } }

    /// Nobody can connect any more, and whoever is connected is cut off.
    func stop() {
        let connections = state.withLock { state in
            state.isStopped = true
            return state.connections
        }
        listener.stop()
        for connection in connections { connection.close() }
    }
}

/// A socket of this machine on which a test's server listens.
final class ListeningSocket: Sendable {
    struct NoPort: Error {}

    let port: Int
    private let socket: CInt

    init(port: Int = 0) throws {
        let socket = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var on: CInt = 1
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<CInt>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 && listen(socket, 64) == 0 && getsockname(socket, $0, &length) == 0
            }
        }
        guard isBound else { throw NoPort() }
        self.port = Int(UInt16(bigEndian: address.sin_port))
        self.socket = socket
    }

    /// - Returns: the socket of the next connection; `nil` after `stop`.
    func accept() -> CInt? {
        let connection = Glibc.accept(socket, nil, nil)
        guard connection >= 0 else { return nil }
        _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
        var on: CInt = 1
        setsockopt(connection, CInt(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
        return connection
    }

    func stop() { shutdown(socket, CInt(SHUT_RDWR)) }

    deinit { close(socket) }
}

/// One connection of a scripted server. Frames may be sent from any thread.
final class ScriptedConnection: @unchecked Sendable {
    // Unchecked because of the inflater and `parts`, which only the connection's own thread touches.
    private let socket: CInt
    private let isClosed = Lock(false)
    private let inflater: OpaquePointer?
    private var parts: [Int: (fields: [(name: String, value: String)], body: [UInt8])] = [:]
    private let pings = Lock((answered: true, count: 0))

    fileprivate init(socket: CInt) {
        self.socket = socket
        var inflater: OpaquePointer?
        nghttp2_hd_inflate_new(&inflater)
        self.inflater = inflater
    }

    deinit {
        nghttp2_hd_inflate_del(inflater)
        Glibc.close(socket)
    }

    // MARK: What a script may do

    /// - Returns: whether the client is still there.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        isClosed.withLock { isClosed in
            guard !isClosed else { return false }
            var sent = 0
            while sent < bytes.count {
                let count = bytes[sent...].withUnsafeBytes {
                    Glibc.send(socket, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
                }
                guard count > 0 else { return false }
                sent += count
            }
            return true
        }
    }

    @discardableResult
    func frame(_ kind: UInt8, flags: UInt8 = 0, stream: Int = 0, _ payload: [UInt8]) -> Bool {
        send(Self.number(payload.count, 3) + [kind, flags] + Self.number(stream, 4) + payload)
    }

    /// SETTINGS with MAX_CONCURRENT_STREAMS.
    func limit(_ streams: Int?) { frame(4, streams.map { Self.number(3, 2) + Self.number($0, 4) } ?? []) }

    /// SETTINGS with HEADER_TABLE_SIZE, and with MAX_CONCURRENT_STREAMS. Before anything has come.
    func limitTable(_ bytes: Int, streams: Int) {
        nghttp2_hd_inflate_change_table_size(inflater, bytes)
        frame(4, Self.number(1, 2) + Self.number(bytes, 4) + Self.number(3, 2) + Self.number(streams, 4))
    }

    func answer(_ stream: Int, _ status: Int, _ fields: [(String, String)] = [], _ body: [UInt8] = []) {
        answer(stream, fields: [(":status", String(status))] + fields, body)
    }

    /// Names and values of less than 127 bytes.
    func answer(_ stream: Int, fields: [(String, String)], _ body: [UInt8] = []) {
        // Literals without indexing, RFC 7541 section 6.2.2.
        let block = fields.flatMap { name, value in
            [0, UInt8(name.utf8.count)] + name.utf8 + [UInt8(value.utf8.count)] + value.utf8
        }
        let end: UInt8 = body.isEmpty ? 1 : 0
        frame(1, flags: block.count > 16_000 ? end : end | 4, stream: stream, Array(block.prefix(16_000)))
        // CONTINUATION.
        for start in stride(from: 16_000, to: block.count, by: 16_000) {
            let part = block[start..<min(start + 16_000, block.count)]
            frame(9, flags: part.endIndex == block.count ? 4 : 0, stream: stream, Array(part))
        }
        if !body.isEmpty { frame(0, flags: 1, stream: stream, body) }
    }

    /// RST_STREAM.
    func reset(_ stream: Int, _ code: Int) { frame(3, stream: stream, Self.number(code, 4)) }

    func goAway(last: Int, code: Int = 0, reason: String? = nil) {
        let debug = reason.map { Array("{\"reason\":\"\($0)\"}".utf8) } ?? []
        frame(7, Self.number(last, 4) + Self.number(code, 4) + debug)
    }

    /// Cuts the connection.
    func close() {
        isClosed.withLock { isClosed in
            guard !isClosed else { return }
            isClosed = true
            shutdown(socket, CInt(SHUT_RDWR))
        }
    }

    /// Leaves PINGs without an answer from now on.
    func ignorePings() { pings.withLock { $0.answered = false } }
    var pingCount: Int { pings.withLock { $0.count } }

    // MARK: What scripts keep for each connection

    private struct Script {
        var tableEntries = 0
        var count = 0
        var hasChance = false
        var processed: [String] = []
        var hasLowLimit = true
        var settings = 1
        var acknowledged = 0
        /// Settings that the client has yet to take note of before streams are taken again.
        var awaited = 0
    }

    private let script = Lock(Script())

    /// How many fields the client has indexed so far (RFC 7541 section 2.3.2).
    var tableEntries: Int { script.withLock { $0.tableEntries } }

    /// How often it was asked.
    func count() -> Int {
        script.withLock { script in
            script.count += 1
            return script.count
        }
    }

    /// True once for each time that `giveChance` was called.
    func takeChance() -> Bool {
        script.withLock { script in
            defer { script.hasChance = false }
            return script.hasChance
        }
    }

    func giveChance() { script.withLock { $0.hasChance = true } }

    /// The ids that `strict` did not refuse.
    var processed: [String] { script.withLock { $0.processed } }

    /// As Apple was seen to do: one stream until a push was accepted, and again after one was refused; the streams that
    /// come before the client knows are refused.
    func strict(_ request: ScriptedServer.Request) {
        let isBad = request[":path"] == "/3/device/bad0"
        let limit: Int? = script.withLock { script in
            if script.acknowledged < script.awaited { return nil }
            script.processed.append(request.id)
            guard isBad || script.hasLowLimit else { return 0 }
            script.hasLowLimit = isBad
            script.settings += 1
            if isBad { script.awaited = script.settings }
            return isBad ? 1 : 100
        }
        guard let limit else { return reset(request.stream, 7) }
        if isBad { request.refuse(400, "BadDeviceToken") } else { request.accept() }
        if limit > 0 { self.limit(limit) }
    }

    // MARK: Reading

    fileprivate func serve(_ arrived: (ScriptedServer.Request) -> Void) {
        defer { close() }
        // The client's preface.
        guard read(24) != nil else { return }
        while let head = read(9), let payload = read(head[..<3].reduce(0) { $0 << 8 | Int($1) }) {
            let (kind, flags) = (head[3], head[4])
            let stream = head[5...].reduce(0) { $0 << 8 | Int($1) }
            switch kind {
            case 0:
                parts[stream]?.body += payload
                if !payload.isEmpty { frame(8, Self.number(payload.count, 4)) }
            case 1: parts[stream] = (inflate(payload), [])
            case 4 where flags & 1 == 0: frame(4, flags: 1, [])
            case 4: script.withLock { $0.acknowledged += 1 }
            case 6 where flags & 1 == 0:
                let isAnswered = pings.withLock { pings in
                    pings.count += 1
                    return pings.answered
                }
                if isAnswered { frame(6, flags: 1, payload) }
            default: break
            }
            if kind <= 1, flags & 1 != 0, let (fields, body) = parts.removeValue(forKey: stream) {
                arrived(ScriptedServer.Request(connection: self, stream: stream, fields: fields, body: body))
            }
        }
    }

    private func read(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let step = bytes[filled...].withUnsafeMutableBytes { recv(socket, $0.baseAddress, $0.count, 0) }
            guard step > 0 else { return nil }
            filled += step
        }
        return bytes
    }

    private func inflate(_ block: [UInt8]) -> [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        var at = 0
        while true {
            var field = nghttp2_nv()
            var flags: CInt = 0
            let used = block.withUnsafeBufferPointer { buffer in
                nghttp2_hd_inflate_hd2(
                    inflater, &field, &flags, buffer.baseAddress.map { $0 + at }, block.count - at, 1)
            }
            guard used >= 0 else { return fields }
            at += used
            if flags & CInt(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
                fields.append(
                    (
                        String(decoding: UnsafeBufferPointer(start: field.name, count: field.namelen), as: UTF8.self),
                        String(decoding: UnsafeBufferPointer(start: field.value, count: field.valuelen), as: UTF8.self)
                    ))
            }
            if flags & CInt(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 {
                nghttp2_hd_inflate_end_headers(inflater)
                // The static table has 61.
                let entries = nghttp2_hd_inflate_get_num_table_entries(inflater) - 61
                script.withLock { $0.tableEntries = entries }
                return fields
            }
        }
    }

    private static func number(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }
}
