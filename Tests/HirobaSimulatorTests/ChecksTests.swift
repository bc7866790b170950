import HirobaCrypto
import HirobaJSON
import Testing

@testable import HirobaSimulator

/// One bad input: the row that must find it, what it is, and the answer.
struct BadInput: Sendable, CustomTestStringConvertible {
    let row: Int
    let name: String
    let reason: Reason
    var timestamp: Int64?
    let examination: @Sendable (Provider) -> Examination

    var testDescription: String { "row \(row): \(name)" }

    init(
        _ row: Int, _ name: String, _ reason: Reason, timestamp: Int64? = nil,
        _ examination: @escaping @Sendable (Provider) -> Examination
    ) {
        self.row = row
        self.name = name
        self.reason = reason
        self.timestamp = timestamp
        self.examination = examination
    }

    /// A bad field.
    init(_ row: Int, _ reason: Reason, field: String, _ value: String?) {
        self.init(row, "\(field) \(value ?? "missing")", reason) {
            $0.examination($0.request().with(field, value))
        }
    }

    static let all: [BadInput] = [
        .init(1, "GET on a device", .methodNotAllowed) { $0.examination($0.request().with(method: "GET")) },
        .init(1, "PUT without a token", .methodNotAllowed) {
            $0.examination($0.request().with(method: "PUT").with(path: "/3/device"))
        },
        .init(1, "GET on a broadcast", .methodNotAllowed) {
            $0.examination($0.request().with(method: "GET").with(path: "/4/broadcasts/apps/\(Provider.bundle)"))
        },
        .init(2, "another path", .badPath) { $0.examination($0.request().with(path: "/2/device/\($0.token)")) },
        .init(2, "another path by GET", .badPath) { $0.examination($0.request().with(method: "GET").with(path: "/")) },
        .init(2, "a path that only begins so", .badPath) { $0.examination($0.request().with(path: "/3/devices/1")) },
        .init(3, "no token", .missingDeviceToken) { $0.examination($0.request().with(path: "/3/device/")) },
        .init(3, "no token and no slash", .missingDeviceToken) {
            $0.examination($0.request().with(path: "/3/device"))
        },
        .init(4, "two topics", .duplicateHeaders) {
            $0.examination($0.request().adding("apns-topic", Provider.bundle))
        },
        .init(4, "two authorizations", .duplicateHeaders) {
            $0.examination($0.request().adding("authorization", "bearer x"))
        },
        .init(5, .missingProviderToken, field: "authorization", nil),
        .init(5, .missingProviderToken, field: "authorization", "basic YTpi"),
        .init(5, .missingProviderToken, field: "authorization", "bearer "),
        .init(6, .invalidProviderToken, field: "authorization", "bearer a.b"),
        .init(6, .invalidProviderToken, field: "authorization", "bearer a.b.c.d"),
        badToken("another algorithm") { $0.jwt(alg: "HS256") },
        badToken("an unknown key") { $0.jwt(kid: "KEY9999999") },
        badToken("another team than the key's") { $0.jwt(team: Provider.otherTeam) },
        badToken("another key's signature") { $0.jwt(by: $0.otherKey) },
        badToken("a signature in DER") { derSigned($0.jwt()) },
        badToken("a changed signature") { String($0.jwt().dropLast(4)) + "AAAA" },
        badToken("no issue time") { $0.jwt(claims: ["iss": .string(Provider.team)]) },
        badToken("an issue time that is no number") { $0.jwt(issuedAt: "soon") },
        badToken("an issue time that is true") { $0.jwt(issuedAt: true) },
        badToken("padding") { $0.jwt() + "=" },
        .init(7, "a token of 61 minutes", .expiredProviderToken) {
            $0.examination(
                $0.request().with("authorization", "bearer \($0.jwt(issuedAt: .integer($0.seconds - 3601)))"))
        },
        .init(8, "a token from the future", .invalidProviderToken) {
            $0.examination(
                $0.request().with("authorization", "bearer \($0.jwt(issuedAt: .integer($0.seconds + 3601)))"))
        },
        .init(9, "a key of the sandbox in production", .badEnvironmentKeyIDInToken) {
            $0.examination(
                $0.request().with("authorization", "bearer \($0.jwt(kid: "KEYSANDBOX"))").with(environment: .production)
            )
        },
        .init(10, "another key on one connection", .unrelatedKeyIDInToken) {
            let token = $0.jwt(kid: "KEY0000002", by: $0.otherKey)
            return $0.examination($0.request().with("authorization", "bearer \(token)"), line: line($0))
        },
        .init(11, "another team on one connection", .invalidProviderToken) {
            let token = $0.jwt(kid: "KEYSTRANGE", team: Provider.otherTeam, by: $0.otherKey)
            let request = $0.request().with("authorization", "bearer \(token)")
                .with("apns-topic", Provider.otherBundle)
            let subject = DeviceToken(text: $0.token, bundle: Provider.otherBundle)
            return $0.examination(request, line: line($0), subject: subject)
        },
        .init(12, "a sixth token within 20 minutes", .tooManyProviderTokenUpdates) {
            var line = LineState()
            for number in 1...5 { line.tokens["\(number)"] = $0.now - 1_199_999 }
            return $0.examination($0.request(), line: line)
        },
        .init(12, "a second token where that is strict", .tooManyProviderTokenUpdates) {
            var rules = $0.rules
            rules.tokenUpdates = 1
            var line = LineState()
            line.tokens["1"] = $0.now - 1_199_999
            return $0.examination($0.request(), line: line, rules: rules)
        },
        .init(13, .missingTopic, field: "apns-topic", nil),
        .init(13, .missingTopic, field: "apns-topic", ""),
        .init(14, .badTopic, field: "apns-topic", "forum"),
        .init(14, .badTopic, field: "apns-topic", "org..example"),
        .init(14, .badTopic, field: "apns-topic", "org.example.forum!"),
        .init(15, .topicDisallowed, field: "apns-topic", Provider.otherBundle),
        .init(15, "another topic than a topic key's", .topicDisallowed) {
            let token = $0.jwt(kid: "KEYONETOPI")
            let subject = DeviceToken(text: $0.token, bundle: Provider.secondBundle)
            return $0.examination(
                $0.request().with("authorization", "bearer \(token)").with("apns-topic", Provider.secondBundle),
                subject: subject)
        },
        .init(16, .badMessageID, field: "apns-id", "1"),
        .init(16, .badMessageID, field: "apns-id", "123e4567e89b12d3a456426655440000"),
        .init(17, .invalidPushType, field: "apns-push-type", "loud"),
        .init(17, .invalidPushType, field: "apns-push-type", "voip"),
        .init(17, "a suffix of another type", .invalidPushType) {
            let subject = DeviceToken(text: $0.token, bundle: Provider.bundle, kind: .device)
            return $0.examination($0.request().with("apns-topic", Provider.bundle + ".voip"), subject: subject)
        },
        .init(18, .badPriority, field: "apns-priority", "7"),
        .init(18, .badPriority, field: "apns-priority", "05"),
        .init(18, .badPriority, field: "apns-priority", ""),
        .init(18, "10 in the background", .badPriority) {
            $0.examination($0.request().with("apns-push-type", "background").with("apns-priority", "10"))
        },
        .init(18, "1 for a live activity", .badPriority) {
            let subject = DeviceToken(text: $0.token, bundle: Provider.bundle, kind: .liveActivity)
            return $0.examination(
                $0.request().with("apns-push-type", "liveactivity")
                    .with("apns-topic", Provider.bundle + ".push-type.liveactivity").with("apns-priority", "1"),
                subject: subject)
        },
        .init(19, .badExpirationDate, field: "apns-expiration", "tomorrow"),
        .init(19, .badExpirationDate, field: "apns-expiration", "-1"),
        .init(19, .badExpirationDate, field: "apns-expiration", "1.5"),
        .init(19, .badExpirationDate, field: "apns-expiration", "99999999999999999999"),
        .init(20, "65 bytes", .badCollapseID) {
            $0.examination($0.request().with("apns-collapse-id", String(repeating: "a", count: 65)))
        },
        .init(20, "22 characters in 66 bytes", .badCollapseID) {
            $0.examination($0.request().with("apns-collapse-id", String(repeating: "広", count: 22)))
        },
        .init(21, "no body", .payloadEmpty) { $0.examination($0.request().with(body: .bytes([]))) },
        .init(22, "4097 bytes", .payloadTooLarge) {
            $0.examination($0.request().with(body: .bytes([UInt8](repeating: 32, count: 4097))))
        },
        .init(22, "a body without end", .payloadTooLarge) { $0.examination($0.request().with(body: .tooLong)) },
        .init(22, "5121 bytes by VoIP", .payloadTooLarge) {
            let subject = DeviceToken(text: $0.token, bundle: Provider.bundle, kind: .voip)
            return $0.examination(
                $0.request().with("apns-push-type", "voip").with("apns-topic", Provider.bundle + ".voip")
                    .with(body: .bytes([UInt8](repeating: 32, count: 5121))), subject: subject)
        },
        .init(23, "not hexadecimal", .badDeviceToken) {
            $0.examination($0.request().with(path: "/3/device/xyz0"))
        },
        .init(23, "an odd length", .badDeviceToken) { $0.examination($0.request().with(path: "/3/device/abc")) },
        .init(23, "unknown, or of the other environment", .badDeviceToken) {
            $0.examination($0.request(), subject: .some(nil))
        },
        .init(24, "another app's token", .deviceTokenNotForTopic) {
            $0.examination($0.request(), subject: DeviceToken(text: $0.token, bundle: Provider.secondBundle))
        },
        .init(24, "a VoIP token", .deviceTokenNotForTopic) {
            $0.examination($0.request(), subject: DeviceToken(text: $0.token, bundle: Provider.bundle, kind: .voip))
        },
        .init(25, "an app that is gone", .unregistered, timestamp: 1_799_999_999_123) {
            $0.examination(
                $0.request(),
                subject: DeviceToken(
                    text: $0.token, bundle: Provider.bundle, life: .unregistered(since: 1_799_999_999_123)))
        },
        .init(26, "an expired token", .expiredToken, timestamp: 1_799_999_999_123) {
            $0.examination(
                $0.request(),
                subject: DeviceToken(text: $0.token, bundle: Provider.bundle, life: .expired(since: 1_799_999_999_123)))
        },
        .init(27, "too many at once", .tooManyRequests) {
            var rules = $0.rules
            rules.pushesPerMinute = 3
            return $0.examination($0.request(), rules: rules, recentPushes: 3)
        },
    ]

    private static func badToken(_ name: String, _ token: @escaping @Sendable (Provider) -> String) -> BadInput {
        .init(6, name, .invalidProviderToken) {
            $0.examination($0.request().with("authorization", "bearer \(token($0))"))
        }
    }

    /// A connection that has been used with the first key.
    private static func line(_ provider: Provider) -> LineState {
        var line = LineState()
        line.key = "KEY0000001"
        line.team = Provider.team
        return line
    }

    /// The same signature as the pair of numbers that OpenSSL writes: 70 bytes and not 64.
    private static func derSigned(_ token: String) -> String {
        let parts = token.split(separator: ".").map(String.init)
        let raw = Base64URL.decode(parts[2]) ?? []
        let der = [0x30, 0x46] + [0x02, 0x21, 0] + raw.prefix(32) + [0x02, 0x21, 0] + raw.suffix(32)
        return "\(parts[0]).\(parts[1]).\(Base64URL.encode(der))"
    }
}

@Suite struct ChecksTests {
    let provider = Provider()

    private func answer(_ examination: Examination, _ checks: Checks = .standard) -> Refusal? {
        var examination = examination
        return checks.run(&examination)
    }

    @Test("each bad input gets Apple's answer", arguments: BadInput.all)
    func badInput(_ input: BadInput) {
        #expect(answer(input.examination(provider)) == Refusal(input.reason, timestamp: input.timestamp))
    }

    @Test(
        "it is that row which finds it: without the row, the input passes or meets another answer",
        arguments: BadInput.all)
    func rowIsNeeded(_ input: BadInput) {
        let without = Checks(all: Checks.standard.all.filter { $0.row != input.row })
        let found = answer(input.examination(provider), without)
        // Without the row that reads the token nobody knows whose it is, and the rows behind say the same of other inputs.
        #expect(found != Refusal(input.reason, timestamp: input.timestamp))
    }

    @Test("every row has an input, and the rows stand in their order")
    func complete() {
        #expect(Set(BadInput.all.map(\.row)) == Set(1...27))
        let rows = Checks.standard.all.map(\.row).filter { $0 <= 27 }
        #expect(rows == Array(1...27))
    }

    @Test("a good request passes")
    func good() {
        #expect(answer(provider.examination(provider.request())) == nil)
    }

    @Test(
        "what is at the edge passes",
        arguments: [
            (
                "authorization scheme",
                { @Sendable (p: Provider) in p.request().with("authorization", "Bearer \(p.jwt())") }
            ),
            (
                "an hour old",
                { p in p.request().with("authorization", "bearer \(p.jwt(issuedAt: .integer(p.seconds - 3600)))") }
            ),
            (
                "skew",
                { p in p.request().with("authorization", "bearer \(p.jwt(issuedAt: .integer(p.seconds + 300)))") }
            ),
            (
                "issue time as text",
                { p in p.request().with("authorization", "bearer \(p.jwt(issuedAt: .string("\(p.seconds)")))") }
            ),
            (
                "extra claims",
                { p in
                    p.request().with(
                        "authorization",
                        "bearer \(p.jwt(claims: ["iss": .string(Provider.team), "iat": .integer(p.seconds), "kid": "KEY0000001"]))"
                    )
                }
            ),
            ("capitals in the id", { p in p.request().with("apns-id", "123E4567-E89B-12D3-A456-426655440000") }),
            ("no push type", { p in p.request().with("apns-push-type", nil) }),
            ("expiration 0", { p in p.request().with("apns-expiration", "0") }),
            ("64 bytes", { p in p.request().with("apns-collapse-id", String(repeating: "a", count: 64)) }),
            ("4096 bytes", { p in p.request().with(body: .bytes([UInt8](repeating: 32, count: 4096))) }),
            ("a body that is no JSON", { p in p.request().with(body: .bytes([1, 2, 3])) }),
            ("priority 1", { p in p.request().with("apns-priority", "1") }),
            ("capitals in the token", { p in p.request().with(path: "/3/device/\(p.token.uppercased())") }),
            ("background at 5", { p in p.request().with("apns-push-type", "background").with("apns-priority", "5") }),
            ("other fields twice", { p in p.request().adding("accept", "a").adding("accept", "b") }),
        ] as [(String, @Sendable (Provider) -> PushRequest)])
    func edges(_ name: String, _ request: @Sendable (Provider) -> PushRequest) {
        #expect(answer(provider.examination(request(provider))) == nil, "\(name)")
    }

    @Test("a related key and a token seen before are welcome on a connection")
    func connection() {
        var line = LineState()
        line.key = "KEY0000001"
        line.team = Provider.team
        let related = provider.jwt(kid: "KEYRELATED", by: provider.otherKey)
        #expect(
            answer(provider.examination(provider.request().with("authorization", "bearer \(related)"), line: line))
                == nil)

        let token = provider.jwt()
        let request = provider.request().with("authorization", "bearer \(token)")
        line.tokens = [token: provider.now - 1_000]
        for number in 1...5 { line.tokens["\(number)"] = provider.now - 1_000 }
        #expect(answer(provider.examination(request, line: line)) == nil, "it is not a new one")
        line.tokens = [:]
        for number in 1...5 { line.tokens["\(number)"] = provider.now - 1_200_000 }
        #expect(answer(provider.examination(request, line: line)) == nil, "the others are old")
    }

    @Test("of two things wrong, the one that stands first in the table is the answer")
    func order() {
        // Everything is wrong at once, and is put right row by row.
        let expired = provider.jwt(issuedAt: .integer(provider.seconds - 4000))
        var request = PushRequest(
            method: "GET", path: "/3/device/",
            fields: [
                ("apns-push-type", "loud"), ("apns-topic", "forum"), ("apns-id", "1"), ("apns-priority", "3"),
                ("apns-expiration", "x"), ("apns-collapse-id", String(repeating: "a", count: 99)),
            ], body: .bytes([]))
        var subject: DeviceToken?
        var answers: [Reason?] = []
        func look() {
            answers.append(answer(provider.examination(request, subject: .some(subject)))?.reason)
        }
        look()
        request = request.with(method: "POST")
        look()
        request = request.with(path: "/3/device/zz").adding("authorization", "bearer").adding("authorization", "x")
        look()
        request = request.with("authorization", nil)
        look()
        request = request.with("authorization", "bearer nonsense")
        look()
        request = request.with("authorization", "bearer \(expired)")
        look()
        request = request.with("authorization", "bearer \(provider.jwt())").with("apns-topic", nil)
        look()
        request = request.with("apns-topic", "forum")
        look()
        request = request.with("apns-topic", Provider.otherBundle)
        look()
        request = request.with("apns-topic", Provider.bundle)
        look()
        request = request.with("apns-id", nil)
        look()
        request = request.with("apns-push-type", "alert")
        look()
        request = request.with("apns-priority", "10")
        look()
        request = request.with("apns-expiration", "0")
        look()
        request = request.with("apns-collapse-id", "a")
        look()
        request = request.with(body: .bytes([UInt8](repeating: 32, count: 5000)))
        look()
        request = request.with(body: .bytes([32]))
        look()
        request = request.with(path: "/3/device/\(provider.token)")
        subject = DeviceToken(text: provider.token, bundle: Provider.secondBundle, life: .unregistered(since: 1))
        look()
        subject?.bundle = Provider.bundle
        look()
        subject?.life = .alive
        look()
        #expect(
            answers == [
                .methodNotAllowed, .missingDeviceToken, .duplicateHeaders, .missingProviderToken, .invalidProviderToken,
                .expiredProviderToken, .missingTopic, .badTopic, .topicDisallowed, .badMessageID, .invalidPushType,
                .badPriority, .badExpirationDate, .badCollapseID, .payloadEmpty, .payloadTooLarge, .badDeviceToken,
                .deviceTokenNotForTopic, .unregistered, nil,
            ])
    }

    @Test("each reason has Apple's status")
    func statuses() {
        let statuses = Dictionary(grouping: Reason.allCases, by: \.status).mapValues { Set($0.map(\.rawValue)) }
        #expect(statuses[403]?.contains("ExpiredProviderToken") == true)
        #expect(statuses[404] == ["BadPath"])
        #expect(statuses[405] == ["MethodNotAllowed"])
        #expect(statuses[410] == ["Unregistered", "ExpiredToken"])
        #expect(statuses[413] == ["PayloadTooLarge"])
        #expect(statuses[429] == ["TooManyProviderTokenUpdates", "TooManyRequests"])
        #expect(statuses[500] == ["InternalServerError"])
        #expect(statuses[503] == ["ServiceUnavailable"])
    }
}
