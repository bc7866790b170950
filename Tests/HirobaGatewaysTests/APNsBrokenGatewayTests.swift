import HirobaCore
import HirobaHTTP
import HirobaThreads
import TestSupport
import Testing

@testable import HirobaGateways

/// What a gateway may do with a push instead of answering it.
struct Nonsense: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let answer: @Sendable (ScriptedServer.Request) -> Void

    init(_ name: String, _ answer: @escaping @Sendable (ScriptedServer.Request) -> Void) {
        testDescription = name
        self.answer = answer
    }

    static let all: [Nonsense] = [
        .init("bytes that are no frame") { $0.connection.send([UInt8](repeating: 0xA7, count: 5000)) },
        .init("a frame longer than allowed") { $0.connection.send([0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 1]) },
        .init("DATA without HEADERS") { $0.connection.frame(0, flags: 1, stream: $0.stream, [1, 2, 3]) },
        .init("HEADERS that cannot be read") {
            $0.connection.frame(1, flags: 5, stream: $0.stream, [0xFF, 0xFF, 0xFF])
        },
        .init("an answer without a status") { $0.connection.answer($0.stream, fields: [("apns-id", $0.id)]) },
        .init("a status that is none") { $0.connection.answer($0.stream, fields: [(":status", "2x0")]) },
        .init("two statuses") { $0.connection.answer($0.stream, fields: [(":status", "200"), (":status", "200")]) },
        .init("an interim answer and no other") { $0.connection.answer($0.stream, fields: [(":status", "100")]) },
        .init("an answer to a stream that nobody opened") { $0.connection.answer(99_999, 200) },
        .init("an answer to an even stream") { $0.connection.answer(2, 200) },
        .init("a promise") { $0.connection.frame(5, flags: 4, stream: $0.stream, [0, 0, 0, 2, 0x82]) },
        .init("half an answer") { $0.connection.frame(1, flags: 4, stream: $0.stream, [0x88]) },
        .init("half a head") { $0.connection.frame(1, flags: 0, stream: $0.stream, [0x88]) },
        .init("a head without end") { request in
            request.connection.frame(1, flags: 0, stream: request.stream, [0x88])
            while request.connection.frame(9, stream: request.stream, [UInt8](repeating: 0, count: 3)) {}
        },
        .init("PINGs without end") { request in while request.connection.frame(6, [UInt8](repeating: 0, count: 8)) {} },
        .init("settings without end") { request in while request.connection.frame(4, [0, 3, 0, 0, 0, 9]) {} },
        .init("a window that is too large") { $0.connection.frame(8, [0x7F, 0xFF, 0xFF, 0xFF]) },
        .init("settings that are none") { $0.connection.frame(4, [0, 5, 0, 0, 0, 1]) },
        .init("GOAWAY for a stream that nobody opened") { $0.connection.goAway(last: 99_998) },
        .init("half a frame and the end") {
            $0.connection.send([0, 0, 9, 1]); $0.connection.close()
        },
    ]
}

/// A gateway that does what no gateway should: nothing is lost, the verdict says what is known, and it takes no longer and
/// no more memory than the rules allow.
@Suite(.timeLimit(.minutes(2))) struct APNsBrokenGatewayTests {
    private func isRetry(_ verdict: Verdict) -> Bool {
        if case .retry(_, .route, _) = verdict { true } else { false }
    }

    private func isUnknown(_ verdict: Verdict) -> Bool {
        if case .unknown = verdict { true } else { false }
    }

    /// So that a test that waits for the end of a time does not wait long.
    private func short(_ rules: inout HTTP2ClientRules) {
        rules.deadline = 1000
        rules.silence = 1000
        rules.pingTime = 1000
        rules.connectTime = 2000
        rules.firstPause = 1
        rules.longestPause = 1
    }

    // MARK: Nobody there

    @Test("a gateway that comes back is found, and until then everything waits for later")
    func comesBack() async throws {
        let first = try ScriptedServer { $0.accept() }
        try await withGateway(to: first, rules: { $0.firstPause = 1 }) { gateway in
            guard case .accepted = await gateway.send() else {
                Issue.record("must be accepted")
                return
            }
            first.stop()
            #expect(await eventually { isRetry(await gateway.send()) })
            let second = try ScriptedServer(port: first.port) { $0.accept() }
            defer { second.stop() }
            #expect(await eventually { if case .accepted = await gateway.send() { true } else { false } })
            #expect(second.requests.count == 1)
        }
    }

    @Test("a name that nobody knows")
    func unknownName() async throws {
        let server = try ScriptedServer { $0.accept() }
        try await withGateway(to: server, host: "no-such-host.invalid") { gateway in
            guard case .retry(let time, .route, let reason) = await gateway.send() else {
                Issue.record("must be tried later")
                return
            }
            #expect(reason.contains("no-such-host.invalid"))
            #expect(time > .zero)
        }
    }

    // MARK: TLS

    @Test("a handshake that never ends is given up")
    func endlessHandshake() async throws {
        try await withTemporaryFolder { folder in
            let certificate = try TestCertificate(in: folder)
            let server = try ScriptedServer(greet: { _ in }, script: { $0.accept() })
            try await withGateway(
                to: server, trust: .authority(file: certificate.authority), rules: { $0.connectTime = 200 }
            ) { gateway in
                let verdicts = await gateway.sendMany(20)
                #expect(verdicts.values.allSatisfy(isRetry))
                #expect(server.connections.count == 1, "not one for each")
            }
        }
    }

    @Test("a certificate that has expired, is for another name or by nobody we trust", arguments: 0..<4)
    func badCertificate(kind: Int) async throws {
        try await withTemporaryFolder { folder in
            let certificate = try TestCertificate(
                in: folder, names: kind == 1 ? "DNS:other.example" : "DNS:localhost", days: kind == 0 ? -1 : 2)
            let stranger = try TestCertificate(in: folder + "/stranger")
            let server = try HTTPServer(
                configuration: HTTPServerConfiguration(
                    host: "127.0.0.1", port: 0, tls: .init(certificate: certificate.file, key: certificate.key),
                    loops: 1)
            ) { request in HTTPResponse(headers: ["apns-id": request.headers["apns-id"] ?? ""]) }
            let port = try await server.start().port
            try await withGateway(
                to: port, host: "localhost",
                trust: .authority(file: kind == 2 ? stranger.authority : certificate.authority)
            ) { gateway in
                let verdict = await gateway.send()
                if case .accepted = verdict {
                    #expect(kind == 3, "only the good one is taken")
                } else if case .retry(_, .route, let reason) = verdict {
                    #expect(reason.contains(["expired", "hostname mismatch", "certificate", "-"][kind]), "\(reason)")
                } else {
                    Issue.record("\(verdict)")
                }
            }
            await server.stop(grace: .zero)
        }
    }

    @Test("TLS without HTTP/2 is a gateway that is not there")
    func wrongProtocol() async throws {
        try await withTemporaryFolder { folder in
            let certificate = try TestCertificate(in: folder)
            let server = try PlainTLSServer(certificate, says: "HTTP/1.1 400 Bad Request\r\n\r\n")
            defer { server.stop() }
            try await withGateway(
                to: server.port, host: "localhost", trust: .authority(file: certificate.authority)
            ) { gateway in
                guard case .retry(_, .route, let reason) = await gateway.send() else {
                    Issue.record("must be tried later")
                    return
                }
                #expect(reason.contains("does not speak HTTP/2"))
            }
        }
    }

    // MARK: Bytes

    @Test("nonsense in place of an answer leaves it open what became of the push", arguments: Nonsense.all)
    func nonsense(_ nonsense: Nonsense) async throws {
        let server = try ScriptedServer { request in
            if request["apns-priority"] == "5" { request.accept() } else { nonsense.answer(request) }
        }
        try await withGateway(to: server, rules: short) { gateway in
            var first = makeMessage()
            first.urgency = .whenConvenient
            // The connection is a good one.
            guard case .accepted = await gateway.send(first) else {
                Issue.record("the first must be accepted")
                return
            }
            let message = makeMessage()
            let verdict = await gateway.send(message)
            #expect(isUnknown(verdict), "\(verdict)")
            // Once more, which does not arrive where nobody reads any more.
            #expect((1...2).contains(server.requests.count { $0.id == message.id }))
            #expect(
                await eventually { if case .accepted = await gateway.send(first) { true } else { false } },
                "afterwards all is well")
        }
    }

    @Test("random bytes in place of an answer", arguments: 0..<40)
    func randomBytes(seed: Int) async throws {
        let server = try ScriptedServer { request in
            if request["apns-priority"] == "5" { return request.accept() }
            var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1
            func roll(_ sides: UInt64) -> UInt64 {
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                return state >> 33 % sides
            }
            // Half of them are whole frames of some kind on some stream.
            for _ in 0..<20 {
                let payload = (0..<roll(40)).map { _ in UInt8(truncatingIfNeeded: roll(256)) }
                if seed % 2 == 0 {
                    request.connection.send(payload)
                } else {
                    let stream = [0, request.stream, request.stream - 2, 7][Int(roll(4))]
                    request.connection.frame(UInt8(roll(11)), flags: UInt8(roll(64)), stream: stream, payload)
                }
            }
        }
        try await withGateway(to: server, rules: short) { gateway in
            var first = makeMessage()
            first.urgency = .whenConvenient
            guard case .accepted = await gateway.send(first) else {
                Issue.record("the first must be accepted")
                return
            }
            let message = makeMessage()
            switch await gateway.send(message) {
            // A frame may happen to be RST_STREAM with REFUSED_STREAM, or GOAWAY.
            case .unknown, .retry: break
            case let verdict: Issue.record("\(verdict)")
            }
        }
    }

    // MARK: Too much

    @Test("a 200 with a body is still a 200", arguments: [1, 100_000, 1_000_000])
    func acceptedWithBody(size: Int) async throws {
        try await withServer(answering: .ok, body: .bytes([UInt8](repeating: 0x78, count: size))) { gateway in
            for _ in 0..<3 {
                guard case .accepted = await gateway.send() else {
                    Issue.record("must be accepted")
                    return
                }
            }
        }
    }

    @Test("a megabyte in place of a reason goes by its status")
    func longReason() async throws {
        let reason = Array("{\"reason\":\"BadTopic\",\"more\":\"".utf8)
        let body = reason + [UInt8](repeating: 0x78, count: 1_000_000) + Array("\"}".utf8)
        try await withServer(answering: .badRequest, body: .bytes(body)) { gateway in
            for _ in 0..<3 {
                #expect(await gateway.send() == .refused(reason: "400 without a reason", fault: .message))
            }
        }
    }

    @Test("a body without end is no answer")
    func endlessBody() async throws {
        let piece = [UInt8](repeating: 0x78, count: 16_384)
        let body = HTTPResponse.Body.stream { writer in while true { try await writer.write(piece) } }
        try await withServer(answering: .ok, body: body, rules: short) { gateway in
            #expect(await gateway.send() == .unknown(reason: "no answer in time"))
        }
    }

    @Test("fields beyond measure are left out, and the answer counts")
    func manyFields() async throws {
        let server = try ScriptedServer { request in
            let long = String(repeating: "x", count: 120)
            let fields = [(":status", "200"), ("apns-id", request.id)] + (0..<400).map { ("x-\($0)", long) }
            request.connection.answer(request.stream, fields: fields)
        }
        try await withGateway(to: server) { gateway in
            for _ in 0..<3 {
                let message = makeMessage()
                #expect(
                    await gateway.send(message)
                        == .accepted(
                            .init(id: message.id, uniqueID: nil, environment: .production, isResent: false)))
            }
        }
    }

    // MARK: Ends

    @Test("a gateway that closes after each answer: what it took is accepted, and nothing is lost")
    func closesAlways() async throws {
        let server = try ScriptedServer { request in
            request.accept()
            request.connection.close()
        }
        try await withGateway(to: server, rules: short) { gateway in
            let verdicts = await gateway.sendMany(100)
            var accepted = 0
            for (id, verdict) in verdicts {
                let times = server.requests.count { $0.id == id }
                switch verdict {
                case .accepted(let acceptance):
                    accepted += 1
                    #expect(times == 1 || times == 2 && acceptance.isResent)
                case .unknown: #expect(times <= 2)
                case .retry: #expect(times == 0)
                default: Issue.record("\(verdict)")
                }
            }
            #expect(accepted > 0)
            #expect(verdicts.count == 100)
        }
    }

    @Test("a gateway that refuses every stream is asked a few times, and the push is not in doubt")
    func refusesAlways() async throws {
        let server = try ScriptedServer { $0.connection.reset($0.stream, 7) }
        try await withGateway(to: server, rules: short) { gateway in
            #expect(
                await gateway.send()
                    == .retry(after: .seconds(1), of: .route, reason: "the gateway refused the stream"))
            #expect(server.requests.count == 10)
        }
    }

    @Test("a gateway that says GOAWAY to everybody at once is one that is not there")
    func goAwayAlways() async throws {
        let server = try ScriptedServer(
            greet: {
                $0.limit(100)
                $0.goAway(last: 0, reason: "Shutdown")
            }, script: { _ in })
        try await withGateway(to: server) { gateway in
            #expect(isRetry(await gateway.send()))
            #expect(server.connections.count == 1, "we do not connect in circles")
        }
    }

    @Test("a gateway that allows no streams: who waits is told so")
    func noStreams() async throws {
        let server = try ScriptedServer(streams: 0) { $0.accept() }
        try await withGateway(to: server, rules: { $0.queueTime = 200 }) { gateway in
            let verdicts = await gateway.sendMany(20)
            #expect(verdicts.values.allSatisfy { $0 == .retry(after: .seconds(1), of: .route, reason: busy) })
        }
    }

    @Test("a gateway that refuses a stream and then allows none: who was refused is told so as well")
    func noMoreStreams() async throws {
        let server = try ScriptedServer { request in
            request.connection.limit(0)
            request.connection.reset(request.stream, 7)
        }
        try await withGateway(to: server, rules: { $0.queueTime = 200 }) { gateway in
            #expect(await gateway.send() == .retry(after: .seconds(1), of: .route, reason: busy))
            #expect(server.requests.count == 1)
        }
    }

    private let busy = "it waited too long for its turn"

    private func withServer(
        answering status: HTTPStatus, body: HTTPResponse.Body, rules: (inout HTTP2ClientRules) -> Void = { _ in },
        _ test: (TestGateway) async throws -> Void
    ) async throws {
        let server = try HTTPServer(configuration: HTTPServerConfiguration(host: "127.0.0.1", port: 0, loops: 1)) {
            HTTPResponse(status, headers: ["apns-id": $0.headers["apns-id"] ?? ""], body: body)
        }
        let port = try await server.start().port
        try await withGateway(to: port, rules: rules, test)
        await server.stop(grace: .zero)
    }
}
