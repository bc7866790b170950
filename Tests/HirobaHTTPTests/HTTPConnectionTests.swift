import HirobaHTTP
import HirobaThreads
import Testing

/// Serves for one test with a handler that sees the connection.
private func withServer(
    firstStreamLimit: Int? = nil, connectionClosed: @escaping @Sendable (HTTPConnection) -> Void = { _ in },
    handler: @escaping HTTPHandler, _ body: (HTTP2Client) async throws -> Void
) async throws {
    var configuration = HTTPServerConfiguration(host: "127.0.0.1", port: 0, loops: 1)
    configuration.firstStreamLimit = firstStreamLimit
    configuration.connectionClosed = connectionClosed
    let server = try HTTPServer(configuration: configuration, handler: handler)
    let port = try await server.start().port
    do {
        try await body(try await HTTP2Client(port: port))
    } catch {
        await server.stop(grace: .zero)
        throw error
    }
    await server.stop(grace: .zero)
}

/// What SETTINGS frames said about streams, in order.
private func streamLimits(_ client: HTTP2Client) -> [Int] {
    var limits: [Int] = []
    for frame in client.received where frame.kind == Frame.Kind.settings && frame.flags == 0 {
        var rest = frame.payload[...]
        while rest.count >= 6 {
            let entry = Array(rest.prefix(6))
            if entry[0] == 0, entry[1] == 3 { limits.append(entry[2...].reduce(0) { $0 << 8 | Int($1) }) }
            rest = rest.dropFirst(6)
        }
    }
    return limits
}

@Suite struct HTTPConnectionTests {
    @Test("the stream limit begins where it is told to, moves on command, and is kept to")
    func streamLimit() async throws {
        let gate = Gate()
        try await withServer(firstStreamLimit: 1) { request in
            if request.path == "/wait" { await gate.pass() }
            if request.path == "/more" { request.connection?.setStreamLimit(2) }
            if request.path == "/less" { request.connection?.setStreamLimit(1) }
            return text(request.path)
        } _: { client in
            try await client.request(1, "GET", "/wait")
            try await client.request(3, "GET", "/over")
            await #expect(throws: HTTP2Error.reset(stream: 3, code: 7)) { _ = try await client.answer() }
            gate.open()
            #expect(try await client.answer().text == "/wait")
            try await client.request(5, "GET", "/more")
            #expect(try await client.answer().text == "/more")
            while streamLimits(client).count < 2 { _ = try await client.next() }
            try await client.request(7, "GET", "/less")
            #expect(try await client.answer().text == "/less")
            while streamLimits(client).count < 3 { _ = try await client.next() }
            #expect(streamLimits(client) == [1, 2, 1])
        }
    }

    @Test("GOAWAY tells the last stream and the reason; what lies above is not looked at, what lies below is answered")
    func goAway() async throws {
        let gate = Gate()
        let handled = Lock<[String]>([])
        try await withServer { request in
            handled.withLock { $0.append(request.path) }
            if request.path == "/slow" { await gate.pass() }
            if request.path == "/bye" { request.connection?.goAway(code: 0, text: #"{"reason":"Shutdown"}"#) }
            return text(request.path)
        } _: { client in
            try await client.request(1, "GET", "/slow")
            try await client.request(3, "GET", "/bye")
            var goAway: Frame?
            var answers: [String] = []
            while goAway == nil {
                let frame = try await client.next()
                if let answer = try client.take(frame) { answers.append(answer.text) }
                if frame.kind == Frame.Kind.goAway { goAway = frame }
            }
            let payload = goAway?.payload ?? []
            #expect(payload.prefix(8) == [0, 0, 0, 3, 0, 0, 0, 0])
            #expect(String(decoding: payload.dropFirst(8), as: UTF8.self) == #"{"reason":"Shutdown"}"#)
            try await client.request(5, "GET", "/late")
            gate.open()
            while answers.count < 2 { answers.append(try await client.answer().text) }
            #expect(answers == ["/bye", "/slow"])
            #expect(try await client.goAway() == nil, "the connection closes by itself")
        }
        #expect(handled.withLock { $0 } == ["/slow", "/bye"])
    }

    @Test("a connection can be told from another, is broken off on command, and its end is told")
    func close() async throws {
        let ids = Lock<[UInt64]>([])
        let closed = Lock<[UInt64]>([])
        try await withServer { connection in
            closed.withLock { $0.append(connection.id) }
        } handler: { request in
            if let connection = request.connection { ids.withLock { $0.append(connection.id) } }
            if request.path == "/drop" { request.connection?.close() }
            return text("\(request.stream ?? 0)")
        } _: { client in
            try await client.request(1, "GET", "/")
            #expect(try await client.answer().text == "1")
            try await client.request(3, "GET", "/drop")
            await #expect(throws: (any Error).self) { while true { _ = try await client.next() } }
        }
        let seen = ids.withLock { $0 }
        #expect(seen.count == 2 && Set(seen).count == 1)
        #expect(closed.withLock { $0 } == [seen[0]])
    }
}
