internal import HirobaCrypto

/// Why a request is refused.
package struct Refusal: Sendable, Hashable {
    package var reason: Reason
    /// Since when a token is dead, in milliseconds; only with 410.
    package var timestamp: Int64?

    init(_ reason: Reason, timestamp: Int64? = nil) {
        self.reason = reason
        self.timestamp = timestamp
    }
}

/// What the front remembers about one connection.
package struct LineState: Sendable {
    /// The key and the team of the first push whose token was good: the connection is bound to them.
    package var key: String?
    package var team: String?
    /// Provider tokens seen, with the time of the first use of each in milliseconds.
    package var tokens: [String: Int64] = [:]

    package init() {}

    mutating func note(_ token: ProviderToken, now: Int64) {
        key = key ?? token.key.id
        team = team ?? token.key.team
        // What is older than any token may be says nothing any more.
        if tokens.count >= 32 { tokens = tokens.filter { now - $0.value < 2 * 3_600_000 } }
        if tokens[token.text] == nil { tokens[token.text] = now }
    }
}

/// What differs from one front to another.
package struct FrontRules: Sendable {
    package var keys: ProviderKeys
    /// New provider tokens that one connection may bring within 20 minutes. Apple tolerates about five; 1 is strict.
    package var tokenUpdates = 5
    /// Pushes to one device token within a minute, if that is limited at all.
    package var pushesPerMinute: Int?

    package init(keys: ProviderKeys) { self.keys = keys }
}

/// One request on its way through the checks, and what they found out.
struct Examination {
    let request: PushRequest
    let rules: FrontRules
    let line: LineState
    /// The device token of the path, when this environment knows it.
    let subject: DeviceToken?
    /// Pushes to it within the last minute.
    var recentPushes = 0
    /// Milliseconds since 1970.
    let now: Int64

    // Found on the way.
    var token: ProviderToken?
    /// All that concerns the provider's token was in order.
    var isAuthenticated = false
    var topic = Topic("", bundles: [])
    var type = PushType.alert
    var priority = 10
    var expiration: Int64?

    var seconds: Int64 { now / 1000 }
}

/// One line of the table. The numbers are those by which the checks are known in the tests.
struct Check: Sendable {
    let row: Int
    let find: @Sendable (inout Examination) -> Refusal?

    init(_ row: Int, _ find: @escaping @Sendable (inout Examination) -> Refusal?) {
        self.row = row
        self.find = find
    }

    init(_ row: Int, _ reason: Reason, if isBad: @escaping @Sendable (inout Examination) -> Bool) {
        self.init(row) { isBad(&$0) ? Refusal(reason) : nil }
    }
}

/// Everything the front looks at before it takes a push, in the order in which it does: method and path, the provider's
/// token, the headers, the body, and the device token last. The first thing wrong is the answer.
struct Checks: Sendable {
    var all: [Check]

    /// - Returns: why the request is refused, or nothing.
    func run(_ examination: inout Examination) -> Refusal? {
        for check in all {
            if let refusal = check.find(&examination) { return refusal }
            if check.row == Self.lastOfAuthentication { examination.isAuthenticated = true }
        }
        return nil
    }

    private static let lastOfAuthentication = 12

    static let standard = Checks(all: [
        // Method and path.
        Check(1, .methodNotAllowed) {
            ($0.request.isForDevice || $0.request.isBroadcast) && $0.request.method != "POST"
        },
        Check(2, .badPath) { !$0.request.isForDevice && !$0.request.isBroadcast },
        Check(3, .missingDeviceToken) { $0.request.isForDevice && $0.request.token.isEmpty },
        Check(4, .duplicateHeaders) { hasDuplicates($0.request) },

        // The provider's token.
        Check(5, .missingProviderToken) { $0.request.bearer == nil },
        Check(6, .invalidProviderToken) { examination in
            examination.token = examination.request.bearer.flatMap(examination.rules.keys.token)
            return examination.token == nil
        },
        Check(7, .expiredProviderToken) { examination in
            examination.token.map { $0.issuedAt < examination.seconds - 3600 } ?? false
        },
        Check(8, .invalidProviderToken) { examination in
            examination.token.map { $0.issuedAt > examination.seconds + 3600 } ?? false
        },
        Check(9, .badEnvironmentKeyIDInToken) { examination in
            examination.token.map { !$0.key.environments.contains(examination.request.environment) } ?? false
        },
        Check(10, .unrelatedKeyIDInToken) { examination in
            guard let key = examination.token?.key, let bound = examination.line.key, bound != key.id else {
                return false
            }
            return key.related != bound && examination.rules.keys.keys[bound]?.related != key.id
        },
        Check(11, .invalidProviderToken) { examination in
            guard let team = examination.token?.key.team, let bound = examination.line.team else { return false }
            return team != bound
        },
        Check(12, .tooManyProviderTokenUpdates) { hasTooManyTokens($0) },

        // Not built yet: channels.
        Check(100, .featureNotEnabled) { $0.request.isBroadcast },

        // Headers.
        Check(13, .missingTopic) { $0.request["apns-topic"]?.isEmpty ?? true },
        Check(14, .badTopic) { !Topic.isWellFormed($0.request["apns-topic"] ?? "") },
        Check(15, .topicDisallowed) { examination in
            guard let key = examination.token?.key else { return false }
            let bundles = examination.rules.keys.bundles(of: key)
            examination.topic = Topic(examination.request["apns-topic"] ?? "", bundles: bundles)
            return !bundles.contains(examination.topic.bundle)
        },
        Check(16, .badMessageID) { $0.request["apns-id"].map { !UUIDText.isOne($0) } ?? false },
        Check(17, .invalidPushType) { examination in
            // Without the header the topic says which it is.
            let suffix = examination.topic.suffix
            guard let text = examination.request["apns-push-type"] else {
                examination.type = PushType.allCases.first { $0.topicSuffix == suffix } ?? .alert
                return false
            }
            guard let type = PushType(rawValue: text) else { return true }
            examination.type = type
            return type.topicSuffix != suffix
        },
        Check(18, .badPriority) { examination in
            guard let text = examination.request["apns-priority"] else {
                examination.priority = examination.type == .background ? 5 : 10
                return false
            }
            guard let priority = ["1": 1, "5": 5, "10": 10][text] else { return true }
            examination.priority = priority
            return !examination.type.allows(priority: priority)
        },
        Check(19, .badExpirationDate) { examination in
            guard let text = examination.request["apns-expiration"] else { return false }
            examination.expiration = isDecimal(text) ? Int64(text) : nil
            return examination.expiration == nil
        },
        Check(20, .badCollapseID) { ($0.request["apns-collapse-id"]?.utf8.count ?? 0) > 64 },

        // The body.
        Check(21, .payloadEmpty) { $0.request.body == .bytes([]) },
        Check(22, .payloadTooLarge) { examination in
            switch examination.request.body {
            case .bytes(let bytes): bytes.count > examination.type.payloadLimit
            case .tooLong: true
            }
        },

        // The device token.
        Check(23, .badDeviceToken) { Hex.decode($0.request.token) == nil || $0.subject == nil },
        Check(24, .deviceTokenNotForTopic) { examination in
            guard let subject = examination.subject else { return false }
            return subject.bundle != examination.topic.bundle || subject.kind != examination.type.tokenKind
        },
        Check(25) { examination in
            guard case .unregistered(let since) = examination.subject?.life else { return nil }
            return Refusal(.unregistered, timestamp: since)
        },
        Check(26) { examination in
            guard case .expired(let since) = examination.subject?.life else { return nil }
            return Refusal(.expiredToken, timestamp: since)
        },
        Check(27, .tooManyRequests) { examination in
            examination.rules.pushesPerMinute.map { examination.recentPushes >= $0 } ?? false
        },
    ])

    private static func hasDuplicates(_ request: PushRequest) -> Bool {
        var seen: Set<String> = []
        for field in request.fields where field.name.hasPrefix("apns-") || field.name == "authorization" {
            guard seen.insert(field.name).inserted else { return true }
        }
        return false
    }

    /// A token that was used here before is never one too many.
    private static func hasTooManyTokens(_ examination: Examination) -> Bool {
        guard let token = examination.token, examination.line.tokens[token.text] == nil else { return false }
        let twentyMinutes: Int64 = 20 * 60 * 1000
        return examination.line.tokens.values.filter { examination.now - $0 < twentyMinutes }.count
            >= examination.rules.tokenUpdates
    }

    private static func isDecimal(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }
}

extension Examination {
    /// The push that the request holds, once the checks have found nothing.
    func push(id: String) -> Push {
        var payload: [UInt8] = []
        if case .bytes(let bytes) = request.body { payload = bytes }
        return Push(
            id: id, environment: request.environment, token: request.token, bundle: topic.bundle, type: type,
            priority: priority, expiration: expiration, collapseID: request["apns-collapse-id"], payload: payload)
    }
}
