import HirobaHTTP
import HirobaThreads
import Testing

/// The conformance tests have an `HTTP2Client` of their own.
private typealias Client = HirobaHTTP.HTTP2Client

/// The client against our own server. What a server can do wrong is in the tests of the push gateways.
@Suite(.timeLimit(.minutes(2))) struct HTTP2ClientTests {
    /// Runs `body` with a client of a server that answers with what it was asked.
    private func withClient(
        host: String = "localhost", tls: HTTPServerConfiguration.TLSFiles?,
        trust: Client.Configuration.Trust, limits: HTTPLimits = HTTPLimits(),
        rules: (inout HTTP2ClientRules) -> Void = { _ in },
        handler: @escaping HTTPHandler = echoEverything, _ body: (Client) async throws -> Void
    ) async throws {
        let server = try HTTPServer(
            configuration: HTTPServerConfiguration(host: "0.0.0.0", port: 0, tls: tls, loops: 1, limits: limits),
            handler: handler)
        let port = try await server.start().port
        let loop = try EventLoop()
        loop.start(name: "test-client")
        var configuration = Client.Configuration(host: host, port: port, trust: trust)
        rules(&configuration.rules)
        let client = try Client(configuration: configuration, loop: loop)
        do {
            try await body(client)
        } catch {
            Issue.record(error)
        }
        await client.stop(grace: .seconds(1))
        await withCheckedContinuation { continuation in loop.stop { continuation.resume() } }
        await server.stop(grace: .zero)
    }

    private func answer(_ outcome: HTTP2Outcome) throws -> HTTP2Answer {
        struct NoAnswer: Error { let outcome: HTTP2Outcome }
        guard case .answer(let answer) = outcome else { throw NoAnswer(outcome: outcome) }
        return answer
    }

    @Test("requests and answers travel whole, in the clear and by TLS", arguments: [false, true])
    func travels(isSecure: Bool) async throws {
        let certificate = try await Certificate(name: "client")
        let files = certificate.files
        try await withClient(
            tls: isSecure ? files : nil, trust: isSecure ? .authority(file: files.certificate) : .clear
        ) { client in
            var request = HTTP2ClientRequest(.post, path: "/a/b?c=d")
            request.add("x-one", "1")
            request.add("x-two", "zwei", .literal)
            let answer = try answer(await client.send(request))
            #expect(answer.status == 200)
            #expect(answer.headers["x-secure"] == String(isSecure))
            #expect(String(decoding: answer.body, as: UTF8.self) == "POST /a/b?c=d one=1 two=zwei ")
            // Larger than every window, so that both sides must give it back.
            for size in [1, 16_384, 65_536, 400_000] {
                var request = HTTP2ClientRequest(.post, path: "/")
                let start = request.takeBytes()
                request.setBody(start + (0..<size).map { UInt8(truncatingIfNeeded: $0) })
                let answer = try self.answer(await client.send(request))
                #expect(answer.headers["x-body"] == String(size))
                #expect(answer.body.count == min(size + 14, 65_536), "of a long answer the beginning is kept")
            }
        }
    }

    @Test("a head too long for one frame is cut, and the next is as short as ever", arguments: [16_000, 50_000])
    func longHead(length: Int) async throws {
        var limits = HTTPLimits()
        limits.headBytes = 100_000
        try await withClient(tls: nil, trust: .clear, limits: limits) { client in
            for value in [String(repeating: "x", count: length), "1"] {
                var request = HTTP2ClientRequest(.get, path: "/")
                request.add("x-one", value, .literal)
                let answer = try answer(await client.send(request))
                #expect(String(decoding: answer.body, as: UTF8.self) == String("GET / one=\(value) two= ".prefix(1000)))
            }
            var request = HTTP2ClientRequest(.head, path: "/")
            request.add("x-two", "1")
            let head = try answer(await client.send(request))
            #expect(head.status == 200 && head.body.isEmpty)
        }
    }

    @Test("of a head beyond measure the beginning is kept", arguments: [(150, 10), (40, 1000)])
    func longAnswer(fields: Int, length: Int) async throws {
        let value = String(repeating: "x", count: length)
        let handler: HTTPHandler = { _ in
            var response = HTTPResponse(.ok)
            for number in 0..<fields { response.headers["x-\(number)"] = value }
            return response
        }
        try await withClient(tls: nil, trust: .clear, handler: handler) { client in
            for _ in 0..<2 {
                let answer = try answer(await client.send(HTTP2ClientRequest(.get, path: "/")))
                #expect(answer.status == 200)
                #expect(answer.headers["x-0"] == value)
                #expect(answer.headers.count <= 100)
                #expect(answer.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count } <= 16 * 1024)
            }
        }
    }

    @Test("many at once all get their own answer, whatever the queue and the streams")
    func many() async throws {
        try await withClient(
            tls: nil, trust: .clear,
            rules: {
                $0.queue = 7
                $0.streams = 5
                $0.connections = 3
            }
        ) { client in
            let right = await withTaskGroup { group in
                for number in 0..<500 {
                    group.addTask {
                        let outcome = await client.send(HTTP2ClientRequest(.get, path: "/\(number)"))
                        guard case .answer(let answer) = outcome else { return 0 }
                        return String(decoding: answer.body, as: UTF8.self).hasPrefix("GET /\(number) ") ? 1 : 0
                    }
                }
                return await group.reduce(0, +)
            }
            #expect(right == 500)
        }
    }

    private func refusal(_ outcome: HTTP2Outcome) -> String? {
        guard case .notProcessed(.unreachable(let reason, _)) = outcome else { return nil }
        return reason
    }

    @Test("a certificate by nobody we trust is refused, and says why")
    func unknownAuthority() async throws {
        let certificate = try await Certificate(name: "client")
        try await withClient(tls: certificate.files, trust: .system) { client in
            let reason = refusal(await client.send(HTTP2ClientRequest(.get, path: "/")))
            #expect(reason?.contains("certificate") == true, "\(reason ?? "it was taken")")
        }
    }

    @Test("a certificate for another host is refused, be it a name or an address")
    func otherHost() async throws {
        let certificate = try await Certificate(name: "client")
        let trust = Client.Configuration.Trust.authority(file: certificate.files.certificate)
        for (host, isGood) in [("localhost", true), ("127.0.0.1", true), ("127.0.0.2", false), ("LOCALHOST", true)] {
            try await withClient(host: host, tls: certificate.files, trust: trust) { client in
                let outcome = await client.send(HTTP2ClientRequest(.get, path: "/"))
                #expect((refusal(outcome) == nil) == isGood, "\(host)")
                if isGood {
                    let answer = try answer(outcome)
                    #expect(answer.status == 200)
                }
            }
        }
    }

    @Test("a certificate by an authority we trust is refused when it is for another name than the server's")
    func otherName() async throws {
        // What `localhost` resolves to stands in it, which must not be enough.
        let certificate = try await Certificate(name: "localhost", hosts: "DNS:other.example,IP:127.0.0.1,IP:::1")
        let trust = Client.Configuration.Trust.authority(file: certificate.files.certificate)
        try await withClient(host: "localhost", tls: certificate.files, trust: trust) { client in
            let reason = refusal(await client.send(HTTP2ClientRequest(.get, path: "/")))
            #expect(reason?.contains("hostname mismatch") == true, "\(reason ?? "it was taken")")
        }
    }

    @Test("TLS is not spoken to a server in the clear, nor the other way round")
    func mismatch() async throws {
        let certificate = try await Certificate(name: "client")
        try await withClient(tls: nil, trust: .authority(file: certificate.files.certificate)) { client in
            #expect(refusal(await client.send(HTTP2ClientRequest(.get, path: "/"))) != nil)
        }
        try await withClient(tls: certificate.files, trust: .clear) { client in
            #expect(refusal(await client.send(HTTP2ClientRequest(.get, path: "/"))) != nil)
        }
    }

    @Test("an unknown name is a server that is not there")
    func unknownName() async throws {
        try await withClient(host: "no-such-host.invalid", tls: nil, trust: .clear) { client in
            #expect(refusal(await client.send(HTTP2ClientRequest(.get, path: "/")))?.contains("no-such-host") == true)
        }
    }

    @Test("an authority that cannot be read is told at the start")
    func badAuthority() throws {
        let loop = try EventLoop()
        #expect(throws: HTTPServerError.self) {
            _ = try Client(
                configuration: .init(host: "localhost", port: 1, trust: .authority(file: "/nowhere")), loop: loop)
        }
    }

    @Test("whoever stops the client waits for what is open, but no longer than he says")
    func stops() async throws {
        let gate = Lock<[CheckedContinuation<Void, Never>]>([])
        try await withClient(
            tls: nil, trust: .clear,
            handler: { _ in
                await withCheckedContinuation { continuation in gate.withLock { $0.append(continuation) } }
                return HTTPResponse(.ok)
            }
        ) { client in
            async let outcome = client.send(HTTP2ClientRequest(.get, path: "/"))
            #expect(await eventually { gate.withLock { !$0.isEmpty } })
            async let stopped: Void = client.stop(grace: .seconds(30))
            for continuation in gate.withLock({ $0 }) { continuation.resume() }
            let answer = try answer(await outcome)
            #expect(answer.status == 200)
            await stopped
            guard case .notProcessed(.stopped) = await client.send(HTTP2ClientRequest(.get, path: "/")) else {
                Issue.record("a stopped client sends nothing")
                return
            }
        }
        gate.withLock { $0 = [] }
        try await withClient(
            tls: nil, trust: .clear,
            handler: { _ in
                await withCheckedContinuation { continuation in gate.withLock { $0.append(continuation) } }
                return HTTPResponse(.ok)
            }
        ) { client in
            async let outcome = client.send(HTTP2ClientRequest(.get, path: "/"))
            #expect(await eventually { gate.withLock { !$0.isEmpty } })
            await client.stop(grace: .zero)
            guard case .unknown = await outcome else {
                Issue.record("what was open is in doubt")
                return
            }
            for continuation in gate.withLock({ $0 }) { continuation.resume() }
        }
    }
}

private func echoEverything(_ request: HTTPRequest) async -> HTTPResponse {
    do {
        let body = try await request.body.collect(upTo: 1_000_000)
        let fields = "one=\(request.headers["x-one"] ?? "") two=\(request.headers["x-two"] ?? "")"
        let head =
            body.isEmpty
            ? "\(request.method) \(request.target) \(fields) " : "\(request.method) \(request.target) 12345678"
        return HTTPResponse(
            .ok, headers: ["x-secure": String(request.isSecure), "x-body": String(body.count)],
            body: .bytes(Array(head.utf8.prefix(body.isEmpty ? 1000 : 14)) + body))
    } catch {
        return HTTPResponse(.badRequest)
    }
}
