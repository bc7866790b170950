import HirobaCrypto
import HirobaJSON
import HirobaThreads

@testable import HirobaSimulator

/// A time that tests set, in milliseconds.
final class TestClock: Sendable {
    private let time = Lock<Int64>(1_800_000_000_000)
    var now: Int64 {
        get { time.withLock { $0 } }
        set { time.withLock { $0 = newValue } }
    }
    func advance(seconds: Int64) { time.withLock { $0 += seconds * 1000 } }
    var clock: SimulatorClock { SimulatorClock { self.now } }
}

/// A provider with its keys, and the world that its pushes go to.
struct Provider {
    static let team = "TEAM000001"
    static let otherTeam = "TEAM000002"
    static let bundle = "org.example.forum"
    static let secondBundle = "org.example.shop"
    static let otherBundle = "org.example.stranger"

    let key = ES256.PrivateKey.generate()
    let otherKey = ES256.PrivateKey.generate()
    let rules: FrontRules
    let now: Int64 = 1_800_000_000_000
    let token = String(repeating: "ab", count: 32)

    init() {
        rules = FrontRules(
            keys: ProviderKeys(
                keys: [
                    ProviderKey(id: "KEY0000001", team: Self.team, publicKey: key.publicKey),
                    ProviderKey(id: "KEY0000002", team: Self.team, publicKey: otherKey.publicKey),
                    ProviderKey(
                        id: "KEYSANDBOX", team: Self.team, environments: [.sandbox], publicKey: key.publicKey),
                    ProviderKey(
                        id: "KEYRELATED", team: Self.team, related: "KEY0000001", publicKey: otherKey.publicKey),
                    ProviderKey(
                        id: "KEYSTRANGE", team: Self.otherTeam, related: "KEY0000001", publicKey: otherKey.publicKey),
                    ProviderKey(
                        id: "KEYONETOPI", team: Self.team, topics: [Self.bundle], publicKey: key.publicKey),
                ], teams: [Self.team: [Self.bundle, Self.secondBundle], Self.otherTeam: [Self.otherBundle]]))
    }

    var seconds: Int64 { now / 1000 }

    /// A provider's token; what is not given is right.
    func jwt(
        kid: String = "KEY0000001", alg: String = "ES256", team: String = Self.team, issuedAt: JSON? = nil,
        claims: JSON? = nil, by signer: ES256.PrivateKey? = nil
    ) -> String {
        let header: JSON = ["alg": .string(alg), "kid": .string(kid)]
        let claims = claims ?? ["iss": .string(team), "iat": issuedAt ?? .integer(seconds - 60)]
        return JSONWebToken(header: header.bytes(), claims: claims.bytes(), key: signer ?? key).text
    }

    /// A request that passes every check.
    func request() -> PushRequest {
        PushRequest(
            path: "/3/device/\(token)",
            fields: [
                ("host", "localhost"), ("authorization", "bearer \(jwt())"), ("apns-topic", Self.bundle),
                ("apns-push-type", "alert"),
            ], body: .bytes(Array(#"{"aps":{"alert":"hello"}}"#.utf8)))
    }

    var subject: DeviceToken { DeviceToken(text: token, bundle: Self.bundle) }

    func examination(
        _ request: PushRequest, line: LineState = LineState(), subject: DeviceToken?? = .none, rules: FrontRules? = nil,
        recentPushes: Int = 0
    ) -> Examination {
        var examination = Examination(
            request: request, rules: rules ?? self.rules, line: line, subject: subject ?? self.subject, now: now)
        examination.recentPushes = recentPushes
        return examination
    }
}

extension PushRequest {
    /// The same with one field changed, or without it.
    func with(_ name: String, _ value: String?) -> PushRequest {
        var request = self
        request.fields.removeAll { $0.name == name }
        if let value { request.fields.append((name, value)) }
        return request
    }

    func adding(_ name: String, _ value: String) -> PushRequest {
        var request = self
        request.fields.append((name, value))
        return request
    }

    func with(method: String) -> PushRequest {
        var request = self
        request.method = method
        return request
    }

    func with(path: String) -> PushRequest {
        var request = self
        request.path = path
        return request
    }

    func with(body: Body) -> PushRequest {
        var request = self
        request.body = body
        return request
    }

    func with(environment: PushEnvironment) -> PushRequest {
        var request = self
        request.environment = environment
        return request
    }
}
