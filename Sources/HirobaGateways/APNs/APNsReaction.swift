import HirobaCore

/// What a provider does about an answer of Apple's gateway. The whole of it is the table below.
enum APNsReaction: Sendable, Hashable {
    case accepted
    /// Never send to this token again, unless it was registered later than the answer's timestamp.
    case tokenIsDead
    /// Most likely a token of the other environment. Ask there once; if that refuses it too, it is dead.
    case tokenIsSuspect
    /// The token belongs to another app or another kind of push: neither dead nor to be sent to.
    case tokenIsElsewhere
    /// We built something wrong. Drop the message and tell somebody.
    case drop
    /// A person must repair the configuration. Send nothing more this way, and keep everything.
    case stop(Stop)
    /// Make a new provider token, if that is allowed, and send again once.
    case refreshProviderToken
    /// Go back to the provider token before, make no new one for a while, and send again later.
    case useProviderTokenBefore
    /// Send again at once, on another connection.
    case reconnect
    case sendLater(Duration, of: Verdict.Scope, replacesConnection: Bool)

    enum Stop: Sendable, Hashable {
        /// Everything that uses this key in this environment.
        case key
        /// What goes to this app by this key.
        case app
    }

    struct Row: Sendable {
        let status: Int
        /// `nil` stands for no reason.
        let reason: String?
        let reaction: APNsReaction

        init(_ status: Int, _ reason: String?, _ reaction: APNsReaction) {
            self.status = status
            self.reason = reason
            self.reaction = reaction
        }
    }

    /// Apple: try 5xx again after 15 minutes.
    private static let serverTrouble = Duration.seconds(15 * 60)

    /// Apple's table of reasons ("Handling notification responses from APNs"), with what we do about each.
    static let table: [Row] = [
        Row(200, nil, .accepted),

        Row(400, "BadDeviceToken", .tokenIsSuspect),
        Row(400, "DeviceTokenNotForTopic", .tokenIsElsewhere),
        Row(410, "Unregistered", .tokenIsDead),
        Row(410, "ExpiredToken", .tokenIsDead),

        Row(400, "BadCollapseId", .drop),
        Row(400, "BadExpirationDate", .drop),
        Row(400, "BadMessageId", .drop),
        Row(400, "BadPriority", .drop),
        Row(400, "BadTopic", .drop),
        Row(400, "DuplicateHeaders", .drop),
        Row(400, "InvalidPushType", .drop),
        Row(400, "MissingDeviceToken", .drop),
        Row(400, "PayloadEmpty", .drop),
        Row(404, "BadPath", .drop),
        Row(405, "MethodNotAllowed", .drop),
        Row(413, "PayloadTooLarge", .drop),

        Row(400, "MissingTopic", .stop(.app)),
        Row(400, "TopicDisallowed", .stop(.app)),
        Row(403, "TopicMismatch", .stop(.app)),
        Row(403, "InvalidProviderToken", .stop(.key)),
        Row(403, "MissingProviderToken", .stop(.key)),
        Row(403, "BadCertificate", .stop(.key)),
        Row(403, "BadCertificateEnvironment", .stop(.key)),
        Row(403, "Forbidden", .stop(.key)),
        Row(403, "BadEnvironmentKeyIdInToken", .stop(.key)),
        // The same, as it was seen on the wire.
        Row(403, "BadEnvironmentKeyInToken", .stop(.key)),

        Row(403, "ExpiredProviderToken", .refreshProviderToken),
        Row(429, "TooManyProviderTokenUpdates", .useProviderTokenBefore),
        Row(400, "IdleTimeout", .reconnect),
        // A connection is bound to the keys of its first push. Ours serve one key each, so this never comes.
        Row(403, "UnrelatedKeyIdInToken", .reconnect),

        Row(429, "TooManyRequests", .sendLater(.seconds(60), of: .device, replacesConnection: false)),
        Row(500, "InternalServerError", .sendLater(serverTrouble, of: .route, replacesConnection: false)),
        Row(503, "ServiceUnavailable", .sendLater(serverTrouble, of: .route, replacesConnection: true)),
        Row(503, "Shutdown", .sendLater(serverTrouble, of: .route, replacesConnection: true)),

        // Broadcast channels.
        Row(400, "FeatureNotEnabled", .stop(.app)),
        Row(400, "CannotCreateChannelConfig", .stop(.app)),
        Row(400, "MissingChannelId", .drop),
        Row(400, "BadChannelId", .drop),
        Row(400, "ChannelNotRegistered", .drop),
        Row(400, "BadRequestParams", .drop),
        Row(400, "BadRequestPayload", .drop),
        Row(400, "MissingPushType", .drop),
        Row(400, "MissingChannelQueueSize", .drop),
    ]

    private struct Key: Hashable {
        let status: Int
        let reason: String?
    }

    private static let byAnswer = Dictionary(
        uniqueKeysWithValues: table.map { (Key(status: $0.status, reason: $0.reason), $0.reaction) })
    private static let byReason = Dictionary(
        table.compactMap { row in row.reason.map { ($0, row.reaction) } }, uniquingKeysWith: { first, _ in first })

    /// What to do about an answer. A reason nobody has heard of, or under a status it does not belong to, goes by the
    /// status: nothing is done to the token.
    /// - Returns: also whether the table knows the answer; if not, somebody should be told.
    static func to(status: Int, reason: String?) -> (reaction: APNsReaction, isKnown: Bool) {
        if status == 200 { return (.accepted, true) }
        if let reaction = byAnswer[Key(status: status, reason: reason)] { return (reaction, true) }
        return switch status {
        case 429: (.sendLater(.seconds(60), of: .device, replacesConnection: false), false)
        case 400..<500: (.drop, false)
        default: (.sendLater(serverTrouble, of: .route, replacesConnection: false), false)
        }
    }

    /// What to do about the reason that the gateway gives for ending a connection.
    static func to(goAway reason: String) -> APNsReaction? { byReason[reason] }
}
