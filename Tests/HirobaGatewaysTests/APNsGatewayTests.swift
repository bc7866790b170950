import HirobaCore
import HirobaCrypto
import HirobaHTTP
import HirobaJSON
import HirobaThreads
import Testing

@testable import HirobaGateways

/// What the gateway makes of answers, against a server that gives them.
@Suite(.timeLimit(.minutes(2))) struct APNsGatewayTests {
    // MARK: What is sent

    @Test("a push is a POST with what Apple asks for")
    func request() async throws {
        let server = try ScriptedServer { $0.accept() }
        try await withGateway(to: server) { gateway in
            var message = makeMessage()
            message.lifetime = .until(1_800_000_600)
            message.collapseKey = "topic-1"
            let verdict = await gateway.send(message, token: "0A1b2c")
            #expect(
                verdict
                    == .accepted(
                        .init(id: message.id, uniqueID: nil, environment: .production, isResent: false)))
            let request = try #require(server.requests.first)
            let authorization = try #require(request["authorization"])
            #expect(
                request.fields.filter { $0.name != "authorization" }.map { "\($0.name): \($0.value)" }.sorted() == [
                    ":authority: 127.0.0.1:\(server.port)", ":method: POST", ":path: /3/device/0A1b2c",
                    ":scheme: http", "apns-collapse-id: topic-1", "apns-expiration: 1800000600",
                    "apns-id: \(message.id)", "apns-priority: 10", "apns-push-type: alert",
                    "apns-topic: \(TestGateway.app)",
                ])
            #expect(request.body == (try APNsPayload(message)).bytes)
            let token = try #require(JSONWebToken(String(authorization.dropFirst("bearer ".count))))
            #expect(authorization.hasPrefix("bearer "))
            #expect(token.isSigned(by: TestGateway.key.key.publicKey))
            #expect(try JSON.parse(token.claims)["iat"] == .integer(gateway.now / 1000))
        }
    }

    @Test("fields of other kinds, urgencies and lifetimes")
    func fields() async throws {
        let server = try ScriptedServer { $0.accept() }
        try await withGateway(to: server) { gateway in
            var message = makeMessage()
            message.kind = .background
            message.lifetime = .attemptOnce
            _ = await gateway.send(message)
            message.kind = .voip
            message.urgency = .whenConvenient
            message.lifetime = .gatewayDecides
            _ = await gateway.send(message)
            message.kind = .alert
            message.urgency = .withNextWake
            message.collapseKey = String(repeating: "あ", count: 30)
            _ = await gateway.send(message)
            let requests = server.requests
            try #require(requests.count == 3)
            #expect(requests[0]["apns-push-type"] == "background")
            #expect(requests[0]["apns-priority"] == "5", "10 is an error")
            #expect(requests[0]["apns-expiration"] == "0")
            #expect(requests[0]["apns-collapse-id"] == nil)
            #expect(requests[1]["apns-push-type"] == "voip")
            #expect(requests[1]["apns-topic"] == "\(TestGateway.app).voip")
            #expect(requests[1]["apns-priority"] == "5")
            #expect(requests[1]["apns-expiration"] == nil)
            #expect(requests[2]["apns-priority"] == "1")
            #expect(requests[2]["apns-collapse-id"]?.utf8.count == 64, "no longer than Apple allows")
        }
    }

    @Test("what differs with each push does not fill the table of the field compression")
    func compression() async throws {
        let server = try ScriptedServer { $0.accept() }
        try await withGateway(to: server) { gateway in
            for number in 0..<20 {
                var message = makeMessage()
                message.lifetime = .until(1_800_000_000 + Int64(number))
                message.collapseKey = "topic-\(number)"
                _ = await gateway.send(message, token: "0a0\(number % 10)")
            }
            // :authority, authorization, topic, push type and priority; and the first id, expiration and collapse id, for the
            // sake of their names.
            #expect(server.connections.first?.tableEntries == 8)
        }
    }

    @Test("a gateway that remembers fewer fields, or none, is sent them all the same", arguments: [0, 200])
    func smallTable(bytes: Int) async throws {
        let server = try ScriptedServer(greet: { $0.limitTable(bytes, streams: 10) }, script: { $0.accept() })
        try await withGateway(to: server) { gateway in
            for _ in 0..<3 { _ = await gateway.send() }
            #expect(server.requests.count == 3)
            for request in server.requests {
                #expect(request["authorization"]?.hasPrefix("bearer ") == true)
                #expect(request["apns-topic"] == TestGateway.app)
                #expect(request["apns-priority"] == "10")
            }
            #expect(Set(server.requests.map(\.id)).count == 3)
        }
    }

    @Test("what cannot be sent is known before")
    func refusedHere() async throws {
        let server = try ScriptedServer { $0.accept() }
        try await withGateway(to: server) { gateway in
            for token in ["", "abc", "xyz0", "0a 1", "０ａ", String(repeating: "0a", count: 2000)] {
                #expect(await gateway.send(token: token) == .gone(since: nil, reason: "BadDeviceToken"), "\(token)")
            }
            var message = makeMessage()
            message.data = ["all": .string(String(repeating: "a", count: 4096))]
            #expect(await gateway.send(message) == .refused(reason: "PayloadTooLarge", fault: .message))
            message = makeMessage()
            message.id = "1"
            #expect(await gateway.send(message) == .refused(reason: "BadMessageId", fault: .message))
            guard case .held = await gateway.send(app: "jp.example.unknown") else {
                Issue.record("an app without a key must be held")
                return
            }
            #expect(server.requests.isEmpty)
        }
    }

    // MARK: The table

    @Test(
        "each answer has its verdict",
        arguments: [
            (400, "DeviceTokenNotForTopic", Verdict.refused(reason: "DeviceTokenNotForTopic", fault: .device)),
            (400, "BadDeviceToken", .refused(reason: "BadDeviceToken", fault: .device)),
            (400, "BadPriority", .refused(reason: "BadPriority", fault: .message)),
            (413, "PayloadTooLarge", .refused(reason: "PayloadTooLarge", fault: .message)),
            (404, "BadPath", .refused(reason: "BadPath", fault: .message)),
            (410, "Unregistered", .gone(since: 1_700_000_000_123, reason: "Unregistered")),
            (410, "ExpiredToken", .gone(since: 1_700_000_000_123, reason: "ExpiredToken")),
            (429, "TooManyRequests", .retry(after: .seconds(60), of: .device, reason: "TooManyRequests")),
            (
                429, "TooManyProviderTokenUpdates",
                .retry(after: .seconds(60), of: .route, reason: "TooManyProviderTokenUpdates")
            ),
            (500, "InternalServerError", .retry(after: .seconds(900), of: .route, reason: "InternalServerError")),
            (503, "ServiceUnavailable", .retry(after: .seconds(900), of: .route, reason: "ServiceUnavailable")),
            (503, "Shutdown", .retry(after: .seconds(900), of: .route, reason: "Shutdown")),
            (418, "SomethingNew", .refused(reason: "SomethingNew", fault: .message)),
            (599, "SomethingNew", .retry(after: .seconds(900), of: .route, reason: "SomethingNew")),
        ])
    func verdict(status: Int, reason: String, verdict: Verdict) async throws {
        let server = try ScriptedServer { request in
            request.refuse(status, reason, timestamp: status == 410 ? 1_700_000_000_123 : nil)
        }
        try await withGateway(to: server) { gateway in
            #expect(await gateway.send() == verdict)
            #expect(server.requests.count == 1, "never sent again as it was")
            let isNew = reason == "SomethingNew"
            if case .refused(_, .message) = verdict {
                #expect(!gateway.alarms.isEmpty)
            } else {
                #expect(gateway.alarms.isEmpty != isNew)
            }
        }
    }

    @Test("a 410 without a time kills no registration that is still to come")
    func goneWithoutTime() async throws {
        let server = try ScriptedServer { $0.refuse(410, "Unregistered") }
        try await withGateway(to: server) { gateway in
            #expect(await gateway.send() == .gone(since: gateway.now, reason: "Unregistered"))
        }
    }

    @Test(
        "answers that say nothing readable go by their status", arguments: ["", "{", "[]", "{\"reason\":7}", "\u{0}"])
    func garbledBody(body: String) async throws {
        let server = try ScriptedServer { request in
            request.connection.answer(request.stream, request["apns-priority"] == "5" ? 500 : 400, [], Array(body.utf8))
        }
        try await withGateway(to: server) { gateway in
            #expect(
                await gateway.send() == .refused(reason: "400 without a reason", fault: .message))
            var message = makeMessage()
            message.urgency = .whenConvenient
            #expect(
                await gateway.send(message)
                    == .retry(after: .seconds(900), of: .route, reason: "500 without a reason"))
            #expect(gateway.alarms.count >= 2)
        }
    }

    // MARK: The other environment

    @Test("a token that is refused is tried once in the other environment, and stays there if it is good")
    func otherEnvironment() async throws {
        let production = try ScriptedServer { $0.refuse(400, "BadDeviceToken") }
        let sandbox = try ScriptedServer { request in
            request.connection.answer(request.stream, 200, [("apns-id", request.id), ("apns-unique-id", "u-1")])
        }
        try await withGateway(to: production, sandbox: sandbox) { gateway in
            let message = makeMessage()
            #expect(
                await gateway.send(message, isProven: false)
                    == .accepted(.init(id: message.id, uniqueID: "u-1", environment: .sandbox, isResent: false)))
            #expect(production.requests.count == 1)
            #expect(sandbox.requests.count == 1)
            #expect(
                await gateway.send(isProven: true) == .refused(reason: "BadDeviceToken", fault: .device),
                "a token that was good here is not taken for another's")
            #expect(sandbox.requests.count == 1)
        }
    }

    @Test("a token that both environments refuse is dead")
    func neitherEnvironment() async throws {
        let production = try ScriptedServer { $0.refuse(400, "BadDeviceToken") }
        let sandbox = try ScriptedServer { $0.refuse(400, "BadDeviceToken") }
        try await withGateway(to: production, sandbox: sandbox) { gateway in
            #expect(await gateway.send(isProven: false) == .gone(since: nil, reason: "BadDeviceToken"))
            #expect(production.requests.count == 1)
            #expect(sandbox.requests.count == 1)
        }
    }

    @Test("many bad tokens are a wrong host or key, and stop the route before they empty the registry")
    func manyBadTokens() async throws {
        let server = try ScriptedServer { $0.refuse(400, "BadDeviceToken") }
        try await withGateway(to: server) { gateway in
            var verdicts: [Verdict] = []
            for _ in 0..<25 { verdicts.append(await gateway.send()) }
            #expect(server.requests.count == 20)
            #expect(verdicts[19] == .refused(reason: "BadDeviceToken", fault: .device))
            guard case .held = verdicts[20] else {
                Issue.record("\(verdicts[20])")
                return
            }
            #expect(gateway.stops.count == 1)
        }
    }

    // MARK: Keys

    @Test(
        "what a person must repair stops the way and keeps the message",
        arguments: [
            (403, "InvalidProviderToken", false), (403, "MissingProviderToken", false), (403, "BadCertificate", false),
            (403, "BadCertificateEnvironment", false), (403, "Forbidden", false),
            (403, "BadEnvironmentKeyIdInToken", false), (403, "BadEnvironmentKeyInToken", false),
            (400, "MissingTopic", true), (400, "TopicDisallowed", true), (403, "TopicMismatch", true),
        ])
    func stops(status: Int, reason: String, concernsApp: Bool) async throws {
        let isRepaired = Lock(false)
        let server = try ScriptedServer { request in
            isRepaired.withLock { $0 } || request["apns-topic"] == "jp.example.other" && concernsApp
                ? request.accept() : request.refuse(status, reason)
        }
        try await withGateway(to: server, apps: [TestGateway.app, "jp.example.other"]) { gateway in
            func isHeld(_ app: String = TestGateway.app) async -> Bool {
                guard case .held(let text) = await gateway.send(app: app) else { return false }
                return text.hasPrefix(reason)
            }
            #expect(await isHeld())
            #expect(gateway.stops.count == 1)
            #expect(await isHeld())
            #expect(server.requests.count == 1, "the second was not even sent")
            #expect(await isHeld("jp.example.other") != concernsApp)
            let before = server.requests.count
            gateway.pass(minutes: 6)
            #expect(await isHeld())
            #expect(server.requests.count == before + 1, "one tries after a while")
            #expect(await isHeld())
            #expect(server.requests.count == before + 1)
            isRepaired.withLock { $0 = true }
            gateway.pass(minutes: 6)
            for _ in 0..<2 {
                guard case .accepted = await gateway.send() else {
                    Issue.record("the way must be open again")
                    return
                }
            }
        }
    }

    @Test("a wrong key is refused once, not once for each message that waits")
    func wrongKey() async throws {
        let server = try ScriptedServer { $0.refuse(403, "InvalidProviderToken") }
        try await withGateway(to: server, rules: { $0.queue = 10 }) { gateway in
            let held = await withTaskGroup { group in
                for _ in 0..<200 { group.addTask { if case .held = await gateway.send() { 1 } else { 0 } } }
                return await group.reduce(0, +)
            }
            #expect(held == 200)
            #expect(server.requests.count == 1)
            await gateway.gateway.resume()
            _ = await gateway.send()
            #expect(server.requests.count == 2, "a person may open the way at once")
        }
    }

    @Test("a provider token that has expired is made anew, once for all, and the push sent again")
    func expired() async throws {
        let stale = Lock<String?>(nil)
        let server = try ScriptedServer { request in
            let isStale = stale.withLock { $0 == request["authorization"] }
            if isStale { request.refuse(403, "ExpiredProviderToken") } else { request.accept() }
        }
        try await withGateway(to: server) { gateway in
            _ = await gateway.send()
            gateway.pass(minutes: 21)
            stale.withLock { $0 = server.requests.first?["authorization"] }
            let accepted = await withTaskGroup { group in
                for _ in 0..<50 { group.addTask { if case .accepted = await gateway.send() { 1 } else { 0 } } }
                return await group.reduce(0, +)
            }
            #expect(accepted == 50)
            #expect(server.requests.count > 51)
            #expect(Set(server.requests.compactMap { $0["authorization"] }).count == 2)
        }
    }

    @Test("a young token that has expired means a wrong clock: nothing more is sent")
    func wrongClock() async throws {
        let server = try ScriptedServer { $0.refuse(403, "ExpiredProviderToken") }
        try await withGateway(to: server) { gateway in
            guard case .held(let reason) = await gateway.send() else {
                Issue.record("must be held")
                return
            }
            #expect(reason.contains("clock"))
            #expect(server.requests.count == 1)
            gateway.pass(minutes: 30)
            guard case .held = await gateway.send() else {
                Issue.record("must be held")
                return
            }
            #expect(server.requests.count == 3, "made anew and sent again, but once")
            #expect(Set(server.requests.compactMap { $0["authorization"] }).count == 2)
        }
    }

    @Test("a push is sent again with a new provider token once, however old that is when it is refused as well")
    func expiredTwice() async throws {
        let clock = Lock<TestGateway?>(nil)
        let server = try ScriptedServer { request in
            // Answers so slow that no token is too young to be replaced.
            clock.withLock { $0?.pass(minutes: 21) }
            if request.connection.count() < 6 { request.refuse(403, "ExpiredProviderToken") } else { request.accept() }
        }
        try await withGateway(to: server) { gateway in
            clock.withLock { $0 = gateway }
            guard case .held = await gateway.send() else {
                Issue.record("must be held")
                return
            }
            #expect(server.requests.count == 2)
            #expect(Set(server.requests.compactMap { $0["authorization"] }).count == 2)
        }
        clock.withLock { $0 = nil }
    }

    @Test("too many new tokens: back to the one before")
    func tooManyUpdates() async throws {
        let server = try ScriptedServer { request in
            request["apns-priority"] == "5" ? request.refuse(429, "TooManyProviderTokenUpdates") : request.accept()
        }
        try await withGateway(to: server) { gateway in
            _ = await gateway.send()
            gateway.pass(minutes: 50)
            var message = makeMessage()
            message.urgency = .whenConvenient
            _ = await gateway.send(message)
            _ = await gateway.send()
            let used = server.requests.map { $0["authorization"] }
            try #require(used.count == 3)
            #expect(used[0] != used[1])
            #expect(used[0] == used[2])
        }
    }

    @Test("all connections and both environments share one provider token")
    func oneToken() async throws {
        let production = try ScriptedServer(streams: 1) { $0.accept() }
        let sandbox = try ScriptedServer(streams: 1) { $0.accept() }
        try await withGateway(to: production, sandbox: sandbox, rules: { $0.connections = 4 }) { gateway in
            await withTaskGroup { group in
                for number in 0..<200 {
                    group.addTask {
                        let environment: PushAddress.Environment = number % 2 == 0 ? .production : .sandbox
                        _ = await gateway.gateway.send(
                            makeMessage(),
                            to: PushAddress(
                                token: "0a", app: TestGateway.app, environment: environment, isEnvironmentProven: true))
                    }
                }
            }
            let used = Set((production.requests + sandbox.requests).compactMap { $0["authorization"] })
            #expect(used.count == 1)
            #expect(production.requests.count + sandbox.requests.count == 200)
        }
    }

    // MARK: No answer

    @Test("a push whose connection breaks is sent again under the same id, and says so")
    func broken() async throws {
        let server = try ScriptedServer { request in
            // The first shows that the connection works.
            if request["apns-priority"] == "10", request.connection.takeChance() {
                request.connection.close()
            } else {
                request.accept()
            }
        }
        try await withGateway(to: server) { gateway in
            var first = makeMessage()
            first.urgency = .whenConvenient
            _ = await gateway.send(first)
            let message = makeMessage()
            server.connections[0].giveChance()
            #expect(
                await gateway.send(message)
                    == .accepted(.init(id: message.id, uniqueID: nil, environment: .production, isResent: true)))
            let sent = server.requests.filter { $0.id == message.id }
            #expect(sent.count == 2)
            #expect(sent.allSatisfy { $0["apns-collapse-id"] == message.id }, "so that a double shows once")
            #expect(server.connections.count == 2)
        }
    }

    @Test("a push that breaks every connection is not tried for ever", arguments: [0, 1, 3])
    func alwaysBroken(resends: Int) async throws {
        let server = try ScriptedServer { request in
            request["apns-priority"] == "5" ? request.accept() : request.connection.reset(request.stream, 2)
        }
        try await withGateway(to: server, resends: resends) { gateway in
            var first = makeMessage()
            first.urgency = .whenConvenient
            _ = await gateway.send(first)
            #expect(
                await gateway.send() == .unknown(reason: "the gateway ended the stream with error 2"))
            #expect(server.requests.count == 2 + resends)
        }
    }

    @Test("a push that is never answered is cancelled, sent again and then left in doubt; others go on")
    func silent() async throws {
        let server = try ScriptedServer { if $0["apns-priority"] == "5" { $0.accept() } }
        try await withGateway(to: server, rules: { $0.deadline = 200 }) { gateway in
            var other = makeMessage()
            other.urgency = .whenConvenient
            _ = await gateway.send(other)
            async let silent = gateway.send()
            guard case .accepted = await gateway.send(other) else {
                Issue.record("the other must be accepted")
                return
            }
            #expect(await silent == .unknown(reason: "no answer in time"))
            #expect(server.requests.count { $0["apns-priority"] == "10" } == 2)
            #expect(server.connections.count == 1, "the connection itself is good")
        }
    }

    @Test("a connection that answers neither pushes nor PINGs is given up")
    func dead() async throws {
        let server = try ScriptedServer { if $0["apns-priority"] == "5" { $0.accept() } }
        try await withGateway(
            to: server, resends: 0,
            rules: {
                $0.silence = 100
                $0.pingTime = 100
            }
        ) { gateway in
            var other = makeMessage()
            other.urgency = .whenConvenient
            _ = await gateway.send(other)
            server.connections[0].ignorePings()
            #expect(await gateway.send() == .unknown(reason: "the server did not answer a PING"))
            #expect(server.connections[0].pingCount == 1)
        }
    }

    // MARK: The connection

    @Test("nobody there: everything waits for later, and nothing is lost")
    func away() async throws {
        let server = try ScriptedServer { $0.accept() }
        server.stop()
        try await withGateway(to: server) { gateway in
            for _ in 0..<3 {
                guard case .retry(let time, .route, let reason) = await gateway.send() else {
                    Issue.record("must be tried later")
                    return
                }
                #expect(time > .zero)
                #expect(!reason.isEmpty)
            }
        }
    }

    @Test(
        "a server that speaks something else is one that is not there",
        arguments: ["HTTP/1.1 400 Bad Request\r\n\r\n", "\u{0}\u{0}\u{0}\u{0}", "SSH-2.0-OpenSSH_9.2\r\n"])
    func garbage(answer: String) async throws {
        let server = try ScriptedServer(
            greet: { connection in
                connection.send(Array(answer.utf8) + [UInt8](repeating: 0x47, count: 100))
                connection.close()
            }, script: { $0.accept() })
        try await withGateway(to: server) { gateway in
            guard case .retry(_, .route, _) = await gateway.send() else {
                Issue.record("must be tried later")
                return
            }
        }
    }

    @Test("a server that says nothing is given up")
    func mute() async throws {
        let server = try ScriptedServer(greet: { _ in }, script: { $0.accept() })
        try await withGateway(to: server, rules: { $0.connectTime = 200 }) { gateway in
            guard case .retry(_, .route, _) = await gateway.send() else {
                Issue.record("must be tried later")
                return
            }
            #expect(server.requests.isEmpty)
        }
    }

    @Test(
        "an answer that concerns the connection only is followed by another try on another one",
        arguments: [(400, "IdleTimeout"), (403, "UnrelatedKeyIdInToken")])
    func reconnects(status: Int, reason: String) async throws {
        let isRepaired = Lock(false)
        let server = try ScriptedServer { request in
            isRepaired.withLock { $0 } ? request.accept() : request.refuse(status, reason)
        }
        try await withGateway(to: server, rules: { $0.leastLife = 0 }) { gateway in
            #expect(await gateway.send() == .retry(after: .seconds(1), of: .route, reason: reason))
            #expect(server.requests.count == 3, "twice more, and not for ever")
            #expect(server.connections.count == 3, "each time on another connection")
            isRepaired.withLock { $0 = true }
            guard case .accepted(let acceptance) = await gateway.send() else {
                Issue.record("must be accepted")
                return
            }
            #expect(!acceptance.isResent, "an answer leaves nothing in doubt")
        }
    }

    @Test("after 503 another connection is made, after 500 not", arguments: [(500, 1), (503, 2)])
    func replacesConnection(status: Int, connections: Int) async throws {
        let reason = status == 500 ? "InternalServerError" : "ServiceUnavailable"
        let server = try ScriptedServer { request in
            request["apns-priority"] == "5" ? request.refuse(status, reason) : request.accept()
        }
        try await withGateway(to: server, rules: { $0.leastLife = 0 }) { gateway in
            var bad = makeMessage()
            bad.urgency = .whenConvenient
            for message in [makeMessage(), bad, makeMessage()] { _ = await gateway.send(message) }
            #expect(server.requests.count == 3)
            #expect(server.connections.count == connections)
        }
    }

    @Test(
        "an answer to the push shows that Apple takes the key, and others go out side by side",
        arguments: [(200, ""), (400, "BadTopic"), (410, "Unregistered"), (413, "PayloadTooLarge")])
    func proves(status: Int, reason: String) async throws {
        let waiting = Lock<[ScriptedServer.Request]>([])
        let server = try ScriptedServer { request in
            if request.connection.count() == 1 {
                return status == 200 ? request.accept() : request.refuse(status, reason)
            }
            let all = waiting.withLock { waiting in
                waiting.append(request)
                return waiting.count == 5 ? waiting : []
            }
            for request in all { request.accept() }
        }
        try await withGateway(to: server, rules: { $0.deadline = 5000 }) { gateway in
            _ = await gateway.send()
            let verdicts = await gateway.sendMany(5)
            #expect(verdicts.values.allSatisfy { if case .accepted = $0 { true } else { false } })
            #expect(server.requests.count == 6)
        }
    }

    @Test("a key that the server ends the connection for stops the route")
    func goAwayForTheKey() async throws {
        let server = try ScriptedServer { request in
            request.accept()
            request.connection.goAway(last: request.stream, reason: "InvalidProviderToken")
        }
        try await withGateway(to: server) { gateway in
            _ = await gateway.send()
            #expect(await eventually { gateway.stops == ["InvalidProviderToken"] })
            #expect(await gateway.send() == .held(reason: "InvalidProviderToken"))
        }
    }

    @Test("GOAWAY after every fiftieth push: each is processed once and accepted once")
    func goAway() async throws {
        let server = try ScriptedServer { request in
            // What comes after the GOAWAY on a connection is above its last stream and must not be processed.
            switch request.connection.count() {
            case ..<50: request.accept()
            case 50:
                request.accept()
                request.connection.goAway(last: request.stream, reason: "Shutdown")
            default: break
            }
        }
        try await withGateway(to: server, rules: { $0.connections = 2 }) { gateway in
            let accepted = await withTaskGroup { group -> [String] in
                for _ in 0..<10 {
                    group.addTask {
                        var ids: [String] = []
                        for _ in 0..<60 {
                            let message = makeMessage()
                            if case .accepted(let acceptance) = await gateway.send(message) {
                                #expect(!acceptance.isResent)
                                ids.append(acceptance.id)
                            }
                        }
                        return ids
                    }
                }
                return await group.reduce(into: []) { $0 += $1 }
            }
            #expect(accepted.count == 600)
            #expect(Set(accepted).count == 600)
            #expect(server.connections.count >= 12)
        }
    }

    @Test("a limit that falls to one after each refusal and rises again, with streams refused meanwhile")
    func strictLimit() async throws {
        let server = try ScriptedServer(streams: 1) { $0.connection.strict($0) }
        try await withGateway(to: server) { gateway in
            let verdicts = await withTaskGroup { group -> [String: Int] in
                for number in 0..<500 {
                    group.addTask {
                        switch await gateway.send(token: number % 50 == 0 ? "bad0" : "0a0b") {
                        case .accepted: "accepted"
                        case .refused: "refused"
                        default: "other"
                        }
                    }
                }
                return await group.reduce(into: [:]) { counts, verdict in counts[verdict, default: 0] += 1 }
            }
            #expect(verdicts == ["accepted": 490, "refused": 10])
            let processed = server.connections.flatMap(\.processed)
            #expect(processed.count == 500)
            #expect(Set(processed).count == 500)
            #expect(server.connections.count == 1)
        }
    }

    @Test("a gateway that is stopped tells those who wait")
    func stopping() async throws {
        let server = try ScriptedServer(streams: 1) { _ in }
        try await withGateway(to: server) { gateway in
            async let first = gateway.send()
            #expect(await eventually { server.requests.count == 1 })
            async let second = gateway.send()
            await gateway.gateway.stop(grace: .zero)
            guard case .unknown = await first, case .retry(after: .zero, .route, _) = await second else {
                Issue.record("who is open is in doubt, who waits is not")
                return
            }
        }
    }
}
