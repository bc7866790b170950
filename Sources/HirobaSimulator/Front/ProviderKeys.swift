package import HirobaCrypto

internal import HirobaJSON
internal import HirobaThreads

/// A key that providers sign their tokens with.
package struct ProviderKey: Sendable {
    /// Ten characters, as in a real key's file name.
    package var id: String
    package var team: String
    /// Where it is good: keys made since 2025 are for one environment.
    package var environments: Set<PushEnvironment>
    /// Bundle ids, for a topic-specific key; `nil` is good for all of the team's.
    package var topics: Set<String>?
    /// A key that may be used on the same connection.
    package var related: String?
    package var publicKey: ES256.PublicKey

    package init(
        id: String, team: String, environments: Set<PushEnvironment> = Set(PushEnvironment.allCases),
        topics: Set<String>? = nil, related: String? = nil, publicKey: ES256.PublicKey
    ) {
        self.id = id
        self.team = team
        self.environments = environments
        self.topics = topics
        self.related = related
        self.publicKey = publicKey
    }
}

/// Whom the front knows: the keys, and which bundle ids each team owns.
package struct ProviderKeys: Sendable {
    package private(set) var keys: [String: ProviderKey] = [:]
    package private(set) var teams: [String: Set<String>] = [:]
    /// A signature costs more to check than all the rest; a provider sends the same token for half an hour.
    private let checked = Lock<[String: ProviderToken]>([:])

    package init(keys: [ProviderKey], teams: [String: Set<String>]) {
        for key in keys { self.keys[key.id] = key }
        self.teams = teams
    }

    /// The bundle ids that a key may send to.
    func bundles(of key: ProviderKey) -> Set<String> {
        let all = teams[key.team] ?? []
        return key.topics.map(all.intersection) ?? all
    }

    /// Who a token is from, when it is whole, signed by a key known here and says what that key may say. Its age is not
    /// looked at.
    func token(_ text: String) -> ProviderToken? {
        if let known = checked.withLock({ $0[text] }) { return known }
        guard let token = ProviderToken(text, keys: keys) else { return nil }
        checked.withLock { checked in
            if checked.count >= 1000 { checked = [:] }
            checked[text] = token
        }
        return token
    }
}

/// A provider's token (JWT) whose signature was found good.
struct ProviderToken: Sendable {
    var text: String
    var key: ProviderKey
    /// Seconds since 1970.
    var issuedAt: Int64

    init?(_ text: String, keys: [String: ProviderKey]) {
        guard let token = JSONWebToken(text), let header = try? JSON.parse(token.header),
            let claims = try? JSON.parse(token.claims), header["alg"]?.string == "ES256",
            let key = header["kid"]?.string.flatMap({ keys[$0] }), claims["iss"]?.string == key.team,
            let issuedAt = Self.seconds(claims["iat"]), token.isSigned(by: key.publicKey)
        else { return nil }
        self.text = text
        self.key = key
        self.issuedAt = issuedAt
    }

    /// A number, or the same as a decimal text, which a widely used client sends.
    private static func seconds(_ value: JSON?) -> Int64? {
        if let text = value?.string {
            guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            return Int64(text)
        }
        if let whole = value?.integer { return whole }
        return value?.double.flatMap { Int64(exactly: $0.rounded(.down)) }
    }
}
