import HirobaCore
import HirobaCrypto
import HirobaHTTP
import Testing

@testable import HirobaGateways
@testable import HirobaSimulator

/// One answer of the stand-in: how a push of ours comes to it, and what the gateway must make of it.
struct StandInAnswer: Sendable, CustomTestStringConvertible {
    let reason: Reason
    let name: String
    var key: @Sendable (APNsKey) -> APNsKey = { $0 }
    /// Sends a push that is refused.
    let send: @Sendable (StandIn) async throws -> Verdict
    let isRight: @Sendable (Verdict, StandIn) -> Bool

    var testDescription: String { "\(reason.rawValue): \(name)" }

    init(
        _ reason: Reason, _ name: String, key: @escaping @Sendable (APNsKey) -> APNsKey = { $0 },
        _ verdict: Verdict, send: @escaping @Sendable (StandIn) async throws -> Verdict
    ) {
        self.init(reason, name, key: key, isRight: { found, _ in found == verdict }, send: send)
    }

    init(
        _ reason: Reason, _ name: String, key: @escaping @Sendable (APNsKey) -> APNsKey = { $0 },
        isRight: @escaping @Sendable (Verdict, StandIn) -> Bool,
        send: @escaping @Sendable (StandIn) async throws -> Verdict
    ) {
        self.reason = reason
        self.name = name
        self.key = key
        self.send = send
        self.isRight = isRight
    }

    static let all: [StandInAnswer] = [
        .init(.badDeviceToken, "a token nobody has", .refused(reason: "BadDeviceToken", fault: .device)) {
            await $0.send(to: "0a0b")
        },
        .init(.badDeviceToken, "a token that neither environment has", .gone(since: nil, reason: "BadDeviceToken")) {
            await $0.send(to: "0a0b", isProven: false)
        },
        .init(
            .deviceTokenNotForTopic, "another app's token",
            .refused(reason: "DeviceTokenNotForTopic", fault: .device)
        ) { await $0.send(to: try await $0.token(of: StandIn.otherApp)) },
        .init(.deviceTokenNotForTopic, "a call", .refused(reason: "DeviceTokenNotForTopic", fault: .device)) {
            var message = makeMessage()
            message.kind = .voip
            return await $0.send(message, to: try await $0.token())
        },
        .init(.unregistered, "an app that is gone", isRight: { isGone($0, "Unregistered", $1) }) { standIn in
            let token = try await standIn.token()
            await standIn.simulator.phones.kill(token: token, in: .sandbox)
            return await standIn.send(to: token)
        },
        .init(.expiredToken, "a token that has expired", isRight: { isGone($0, "ExpiredToken", $1) }) { standIn in
            let token = try await standIn.token()
            await standIn.simulator.phones.kill(token: token, in: .sandbox, asExpired: true)
            return await standIn.send(to: token)
        },
        .init(
            .tooManyRequests, "the third within a minute",
            .retry(after: .seconds(60), of: .device, reason: "TooManyRequests")
        ) { standIn in
            standIn.simulator.front.changeRules { $0.pushesPerMinute = 2 }
            let token = try await standIn.token()
            for _ in 0..<2 { #expect(isAccepted(await standIn.send(to: token))) }
            return await standIn.send(to: token)
        },
        held(.invalidProviderToken, "another key under the same name") {
            APNsKey(id: $0.id, team: $0.team, key: .generate())
        },
        held(.invalidProviderToken, "a key nobody knows") { APNsKey(id: "STRANGE001", team: $0.team, key: $0.key) },
        held(.invalidProviderToken, "another team") { APNsKey(id: $0.id, team: "STRANGE001", key: $0.key) },
        .init(.invalidProviderToken, "our clock is two hours ahead", .held(reason: "InvalidProviderToken")) {
            $0.passHere(minutes: 120)
            return await $0.send(to: try await $0.token())
        },
        .init(
            .expiredProviderToken, "our clock is two hours behind",
            .held(reason: "ExpiredProviderToken: is the clock right?")
        ) {
            $0.passHere(minutes: -120)
            return await $0.send(to: try await $0.token())
        },
        .init(.expiredProviderToken, "our clock is slow: a new one is good", isRight: { found, _ in isAccepted(found) })
        {
            let token = try await $0.token()
            #expect(isAccepted(await $0.send(to: token)))
            $0.passAtApple(minutes: 61)
            $0.passHere(minutes: 40)
            return await $0.send(to: token)
        },
        .init(.badEnvironmentKeyIDInToken, "a key of the sandbox", .held(reason: "BadEnvironmentKeyIdInToken")) {
            standIn in
            standIn.simulator.front.changeRules { rules in
                let known = rules.keys
                let keys = known.keys.values.map { key in
                    ProviderKey(id: key.id, team: key.team, environments: [.sandbox], publicKey: key.publicKey)
                }
                rules.keys = ProviderKeys(keys: keys, teams: known.teams)
            }
            return await standIn.send(to: try await standIn.token(environment: .production), environment: .production)
        },
        .init(
            .tooManyProviderTokenUpdates, "a second token within 20 minutes",
            .retry(after: .seconds(60), of: .route, reason: "TooManyProviderTokenUpdates")
        ) { standIn in
            standIn.simulator.front.changeRules { $0.tokenUpdates = 1 }
            let token = try await standIn.token()
            #expect(isAccepted(await standIn.send(to: token)))
            standIn.passHere(minutes: 46)
            let verdict = await standIn.send(to: token)
            #expect(isAccepted(await standIn.send(to: token)), "by the token before")
            return verdict
        },
        .init(.missingTopic, "an app without a name", .held(reason: "MissingTopic: ")) {
            await $0.send(to: try await $0.token(), app: "")
        },
        .init(.badTopic, "an app that is no bundle", .refused(reason: "BadTopic", fault: .message)) {
            await $0.send(to: try await $0.token(), app: "nonsense")
        },
        .init(
            .topicDisallowed, "another team's app", .held(reason: "TopicDisallowed: jp.example.strange")
        ) { await $0.send(to: try await $0.token(), app: "jp.example.strange") },
        .init(
            .internalServerError, "a bad day",
            .retry(after: .seconds(900), of: .route, reason: "InternalServerError")
        ) {
            try $0.set { $0.share500 = 1 }
            return await $0.send(to: try await $0.token())
        },
        .init(
            .serviceUnavailable, "a bad day",
            .retry(after: .seconds(900), of: .route, reason: "ServiceUnavailable")
        ) {
            try $0.set { $0.share503 = 1 }
            return await $0.send(to: try await $0.token())
        },
        .init(.tooManyRequests, "a bad day", .retry(after: .seconds(60), of: .device, reason: "TooManyRequests")) {
            try $0.set { $0.share429 = 1 }
            return await $0.send(to: try await $0.token())
        },
    ]

    private static func held(
        _ reason: Reason, _ name: String, key: @escaping @Sendable (APNsKey) -> APNsKey
    ) -> StandInAnswer {
        .init(reason, name, key: key, .held(reason: reason.rawValue)) { await $0.send(to: try await $0.token()) }
    }

    /// What is wrong with pushes that we never build: the gateway finds it before it sends, or has no way to do it.
    static let neverProvoked: Set<Reason> = [
        .badCollapseID, .badExpirationDate, .badMessageID, .badPath, .badPriority, .duplicateHeaders,
        .featureNotEnabled, .invalidPushType, .methodNotAllowed, .missingDeviceToken, .missingProviderToken,
        .payloadEmpty, .payloadTooLarge, .unrelatedKeyIDInToken,
    ]
}

private func isAccepted(_ verdict: Verdict) -> Bool {
    if case .accepted(let acceptance) = verdict { !acceptance.isResent } else { false }
}

private func isGone(_ verdict: Verdict, _ reason: String, _ standIn: StandIn) -> Bool {
    verdict == .gone(since: standIn.now, reason: reason)
}

/// Our sender against our stand-in for Apple.
@Suite(.timeLimit(.minutes(5))) struct APNsStandInTests {
    // MARK: Answers

    @Test("each answer of the stand-in has the verdict of the table", arguments: StandInAnswer.all)
    func answer(_ answer: StandInAnswer) async throws {
        try await withStandIn(key: answer.key) { standIn in
            let verdict = try await answer.send(standIn)
            #expect(answer.isRight(verdict, standIn), "\(verdict)")
            #expect(standIn.simulator.front.counters.refused[answer.reason] ?? 0 > 0, "it was another answer")
        }
    }

    @Test("there is no answer of the stand-in that we do not know, and none that is not tried")
    func complete() {
        #expect(Set(StandInAnswer.all.map(\.reason)).union(StandInAnswer.neverProvoked) == Set(Reason.allCases))
        #expect(Set(StandInAnswer.all.map(\.reason)).isDisjoint(with: StandInAnswer.neverProvoked))
        for reason in Reason.allCases {
            #expect(APNsReaction.to(status: reason.status, reason: reason.rawValue).isKnown, "\(reason)")
        }
    }

    @Test("a push arrives as it was written, and the answer says where")
    func accepted() async throws {
        try await withStandIn { standIn in
            let token = try #require(await standIn.simulator.phones.phone("hana")?.apps.first?.token)
            var message = makeMessage("I was there too")
            message.collapseKey = "topic-1"
            message.lifetime = .until(standIn.now / 1000 + 600)
            let verdict = await standIn.send(message, to: token, environment: .production, isProven: false)
            guard case .accepted(let acceptance) = verdict else {
                Issue.record("\(verdict)")
                return
            }
            #expect(acceptance.environment == .sandbox, "the token was not one of the environment we thought")
            #expect(acceptance.id == message.id)
            let stories = await standIn.simulator.phones.deliveries(of: try #require(acceptance.uniqueID))
            #expect(stories.map(\.apnsID) == [message.id])
            #expect(stories.map(\.body) == ["I was there too"])
            #expect(stories.map(\.collapseID) == ["topic-1"])
            #expect(stories.map(\.findings) == [[]])
            #expect(stories.map(\.outcome) == [.shown])
        }
    }

    @Test("the largest push that we build is the largest that is taken", arguments: [PushMessage.Kind.alert])
    func largest(kind: PushMessage.Kind) async throws {
        try await withStandIn { standIn in
            let message = makeMessage(String(repeating: "あ", count: 5000))
            #expect(try APNsPayload(message).bytes.count > 4090)
            let token = try await standIn.token()
            #expect(isAccepted(await standIn.send(message, to: token)))
        }
    }

    // MARK: Bad days

    private let count = 3000

    @Test("GOAWAY every 300 pushes: none is lost, none comes twice")
    func goAway() async throws {
        try await withStandIn(rules: { $0.connections = 2 }) { standIn in
            try standIn.set {
                $0.goAwayAfter = 300
                $0.latency = 5
                $0.jitter = 20
            }
            let tokens = await standIn.simulator.phones.addCrowd(100, bundle: StandIn.app)
            let tally = await standIn.sendMany(count, to: tokens)
            #expect(tally.accepted == count)
            #expect(tally.resent == 0)
            let arrivals = await standIn.arrivals()
            #expect(Set(arrivals.keys) == Set(tally.verdictOfID.keys))
            #expect(arrivals.values.allSatisfy { $0 == 1 })
            #expect(standIn.goAways >= count / 300 - 1)
            #expect(standIn.stops == 0)
        }
    }

    @Test("GOAWAY on command: what is on its way ends, and the next goes by another connection")
    func goAwayNow() async throws {
        try await withStandIn { standIn in
            let token = try await standIn.token()
            #expect(isAccepted(await standIn.send(to: token)))
            try standIn.set { $0.latency = 100 }
            async let slow = standIn.send(to: token)
            #expect(await eventually { standIn.simulator.front.counters.accepted == 2 })
            standIn.simulator.front.goAway()
            #expect(isAccepted(await slow))
            #expect(isAccepted(await standIn.send(to: token)))
            #expect(standIn.goAways == 1)
            #expect(standIn.connections == 2)
        }
    }

    @Test("GOAWAY with a reason that concerns the key closes the way")
    func goAwayForTheKey() async throws {
        try await withStandIn { standIn in
            let token = try await standIn.token()
            #expect(isAccepted(await standIn.send(to: token)))
            standIn.simulator.front.goAway(reason: "InvalidProviderToken")
            #expect(await eventually { standIn.stops == 1 })
            #expect(await standIn.send(to: token) == .held(reason: "InvalidProviderToken"))
        }
    }

    @Test("connections that break off: none is lost, and what comes twice is marked", arguments: [false, true])
    func breaks(withGoAway: Bool) async throws {
        try await withStandIn { standIn in
            try standIn.set {
                if withGoAway { $0.goAwayAfter = 300 } else { $0.dropAfter = 300 }
                $0.goAwayIsHard = true
                $0.latency = 5
                $0.jitter = 20
            }
            let tokens = await standIn.simulator.phones.addCrowd(100, bundle: StandIn.app)
            let tally = await standIn.sendMany(count, to: tokens)
            #expect(tally.accepted + tally.unknown == count)
            #expect(tally.resent > 0)
            for (id, times) in await standIn.arrivals() {
                switch tally.verdictOfID[id] {
                case .accepted(let acceptance): #expect(times == 1 || times == 2 && acceptance.isResent)
                default: #expect(times <= 2)
                }
            }
            let arrived = await standIn.arrivals()
            for (id, verdict) in tally.verdictOfID where arrived[id] == nil {
                guard case .unknown = verdict else {
                    Issue.record("\(verdict), and it never came")
                    return
                }
            }
            #expect(standIn.stops == 0)
        }
    }

    @Test("one stream at first and after each refusal: none is lost, none comes twice")
    func strict() async throws {
        try await withStandIn { standIn in
            try standIn.set {
                $0.fallsBackToOneStream = true
                $0.streamLimit = 500
                $0.latency = 2
            }
            var tokens = await standIn.simulator.phones.addCrowd(99, bundle: StandIn.app)
            tokens.append("0a0b")
            let tally = await standIn.sendMany(count, to: tokens)
            #expect(tally.count { $0 == .refused(reason: "BadDeviceToken", fault: .device) } == count / 100)
            #expect(tally.accepted == count - count / 100)
            #expect(tally.resent == 0)
            let arrivals = await standIn.arrivals()
            #expect(arrivals.count == tally.accepted)
            #expect(arrivals.values.allSatisfy { $0 == 1 })
            #expect(standIn.simulator.front.counters.connections == 1, "nobody was made to close the connection")
        }
    }

    @Test("dead tokens only: each is told so, on one connection")
    func dead() async throws {
        try await withStandIn { standIn in
            let tokens = await standIn.simulator.phones.addCrowd(20, bundle: StandIn.app)
            for token in tokens { await standIn.simulator.phones.kill(token: token, in: .sandbox) }
            try standIn.set { $0.latency = 2 }
            let tally = await standIn.sendMany(count, to: tokens)
            #expect(tally.count { $0 == .gone(since: standIn.now, reason: "Unregistered") } == count)
            #expect(standIn.simulator.front.counters.refused == [.unregistered: count], "asked once each")
            #expect(standIn.simulator.front.counters.connections == 1)
            #expect(await standIn.arrivals().isEmpty)
        }
    }

    @Test("all kinds of errors at once: each push gets its own, and none that was taken is sent again")
    func errors() async throws {
        try await withStandIn { standIn in
            try standIn.set {
                $0.share500 = 0.005
                $0.share503 = 0.005
                $0.share429 = 0.005
                $0.latency = 5
                $0.jitter = 10
            }
            var tokens = await standIn.simulator.phones.addCrowd(99, bundle: StandIn.app)
            for token in tokens[..<5] { await standIn.simulator.phones.kill(token: token, in: .sandbox) }
            tokens.append("0a0b")
            let tally = await standIn.sendMany(count, to: tokens)
            #expect(tally.verdicts.count == count)
            let counters = standIn.simulator.front.counters
            func expect(_ reason: Reason, _ isIt: (Verdict) -> Bool) {
                #expect(tally.count(isIt) == counters.refused[reason] ?? 0, "\(reason)")
            }
            expect(.unregistered) { $0 == .gone(since: standIn.now, reason: "Unregistered") }
            expect(.badDeviceToken) { $0 == .refused(reason: "BadDeviceToken", fault: .device) }
            expect(.internalServerError) {
                $0 == .retry(after: .seconds(900), of: .route, reason: "InternalServerError")
            }
            expect(.serviceUnavailable) {
                $0 == .retry(after: .seconds(900), of: .route, reason: "ServiceUnavailable")
            }
            expect(.tooManyRequests) { $0 == .retry(after: .seconds(60), of: .device, reason: "TooManyRequests") }
            #expect(tally.accepted == counters.accepted)
            let arrivals = await standIn.arrivals()
            #expect(arrivals.count == tally.accepted)
            #expect(arrivals.values.allSatisfy { $0 == 1 })
            #expect(standIn.stops == 0)
        }
    }

    @Test("a push that is never answered is sent once more and then left in doubt")
    func unanswered() async throws {
        try await withStandIn(rules: { $0.deadline = 200 }) { standIn in
            try standIn.set { $0.shareUnanswered = 1 }
            let token = try await standIn.token()
            #expect(await standIn.send(to: token) == .unknown(reason: "no answer in time"))
            #expect(standIn.simulator.front.counters.unanswered == 2)
        }
    }

    @Test("few streams at once: none is lost, none comes twice", arguments: [1, 3, 1000])
    func streams(limit: Int) async throws {
        try await withStandIn { standIn in
            try standIn.set {
                $0.streamLimit = limit
                $0.latency = 2
            }
            let token = try await standIn.token()
            let tally = await standIn.sendMany(200, to: [token], width: 50)
            #expect(tally.accepted == 200)
            #expect(tally.resent == 0)
            #expect(standIn.simulator.front.counters.accepted == 200)
        }
    }
}
