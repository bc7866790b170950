import HirobaCore
import Testing

@testable import HirobaGateways

@Suite struct APNsReactionTests {
    /// Apple's list of codes after which nothing is ever sent again as it was.
    private static let neverResent = [
        "BadDeviceToken", "DeviceTokenNotForTopic", "Forbidden", "ExpiredToken", "Unregistered", "PayloadTooLarge",
    ]

    @Test(
        "every answer has its reaction",
        arguments: [
            ("400 BadDeviceToken", APNsReaction.tokenIsSuspect), ("400 DeviceTokenNotForTopic", .tokenIsElsewhere),
            ("410 Unregistered", .tokenIsDead), ("410 ExpiredToken", .tokenIsDead),
            ("400 BadCollapseId", .drop), ("400 BadExpirationDate", .drop), ("400 BadMessageId", .drop),
            ("400 BadPriority", .drop), ("400 BadTopic", .drop), ("400 DuplicateHeaders", .drop),
            ("400 InvalidPushType", .drop), ("400 MissingDeviceToken", .drop), ("400 PayloadEmpty", .drop),
            ("404 BadPath", .drop), ("405 MethodNotAllowed", .drop), ("413 PayloadTooLarge", .drop),
            ("400 MissingTopic", .stop(.app)), ("400 TopicDisallowed", .stop(.app)), ("403 TopicMismatch", .stop(.app)),
            ("403 InvalidProviderToken", .stop(.key)), ("403 MissingProviderToken", .stop(.key)),
            ("403 BadCertificate", .stop(.key)), ("403 BadCertificateEnvironment", .stop(.key)),
            ("403 Forbidden", .stop(.key)), ("403 BadEnvironmentKeyIdInToken", .stop(.key)),
            ("403 BadEnvironmentKeyInToken", .stop(.key)),
            ("403 ExpiredProviderToken", .refreshProviderToken),
            ("429 TooManyProviderTokenUpdates", .useProviderTokenBefore),
            ("400 IdleTimeout", .reconnect), ("403 UnrelatedKeyIdInToken", .reconnect),
            ("429 TooManyRequests", .sendLater(.seconds(60), of: .device, replacesConnection: false)),
            ("500 InternalServerError", .sendLater(.seconds(900), of: .route, replacesConnection: false)),
            ("503 ServiceUnavailable", .sendLater(.seconds(900), of: .route, replacesConnection: true)),
            ("503 Shutdown", .sendLater(.seconds(900), of: .route, replacesConnection: true)),
            ("400 FeatureNotEnabled", .stop(.app)), ("400 CannotCreateChannelConfig", .stop(.app)),
            ("400 MissingChannelId", .drop), ("400 BadChannelId", .drop), ("400 ChannelNotRegistered", .drop),
            ("400 BadRequestParams", .drop), ("400 BadRequestPayload", .drop), ("400 MissingPushType", .drop),
            ("400 MissingChannelQueueSize", .drop),
        ])
    func row(answer: String, reaction: APNsReaction) throws {
        let words = answer.split(separator: " ")
        let (found, isKnown) = APNsReaction.to(status: try #require(Int(words[0])), reason: String(words[1]))
        #expect(found == reaction)
        #expect(isKnown)
        if Self.neverResent.contains(String(words[1])) {
            switch found {
            case .sendLater, .reconnect, .refreshProviderToken, .useProviderTokenBefore, .accepted:
                Issue.record("\(answer) must not be sent again")
            default: break
            }
        }
    }

    @Test("the table has no row that is not tested, and none twice")
    func complete() {
        #expect(APNsReaction.table.count == 44)
        #expect(Set(APNsReaction.table.map { "\($0.status) \($0.reason ?? "")" }).count == 44)
    }

    @Test("200 is accepted, whatever else it says")
    func accepted() {
        #expect(APNsReaction.to(status: 200, reason: nil) == (.accepted, true))
        #expect(APNsReaction.to(status: 200, reason: "Odd") == (.accepted, true))
    }

    @Test("a reason nobody has heard of goes by its status, and somebody is told")
    func unknown() {
        let later = APNsReaction.sendLater(.seconds(900), of: .route, replacesConnection: false)
        for reason in ["SomethingNew", nil] {
            #expect(APNsReaction.to(status: 400, reason: reason) == (.drop, false))
            #expect(APNsReaction.to(status: 403, reason: reason) == (.drop, false))
            #expect(APNsReaction.to(status: 410, reason: reason) == (.drop, false), "no token dies of a guess")
            #expect(APNsReaction.to(status: 500, reason: reason) == (later, false))
            #expect(APNsReaction.to(status: 503, reason: reason) == (later, false))
            #expect(APNsReaction.to(status: 302, reason: reason) == (later, false))
            #expect(
                APNsReaction.to(status: 429, reason: reason)
                    == (.sendLater(.seconds(60), of: .device, replacesConnection: false), false))
        }
    }

    @Test("a reason under a status it does not belong to is as good as unknown")
    func mismatched() {
        #expect(APNsReaction.to(status: 500, reason: "Unregistered").isKnown == false)
        #expect(APNsReaction.to(status: 400, reason: "Unregistered") == (.drop, false))
        #expect(APNsReaction.to(status: 403, reason: "BadDeviceToken") == (.drop, false))
    }

    @Test("the reason of a GOAWAY is one of the same")
    func goAway() {
        #expect(APNsReaction.to(goAway: "InvalidProviderToken") == .stop(.key))
        #expect(APNsReaction.to(goAway: "Shutdown") == .sendLater(.seconds(900), of: .route, replacesConnection: true))
        #expect(APNsReaction.to(goAway: "SomethingNew") == nil)
    }
}
