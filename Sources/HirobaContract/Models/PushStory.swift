#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// One push on its way from what happened to people's devices, in short.
public struct PushSummary: Codable, Hashable, Sendable, Identifiable {
    /// A push's id.
    public typealias ID = HirobaContract.ID<PushSummary>

    /// The push's id.
    public var id: ID
    /// What happened, such as `comment.created`.
    public var kind: String
    /// The id of what it happened to.
    public var subject: String
    /// The topic that the subject belongs to.
    public var container: String?
    /// Who did it.
    public var actor: User.ID?
    /// How far it is, in a sentence in the language of whoever asked.
    public var sentence: String
    /// How many deliveries there are, one for a device.
    public var deliveries: Int
    /// How many of them are not over.
    public var waiting: Int
    /// How many the gateway took.
    public var accepted: Int
    /// How many were opened.
    public var opened: Int
    /// When it happened.
    public var happenedAt: Date
    /// When the push was made of it.
    public var createdAt: Date
    /// When it is no longer worth telling.
    public var expiresAt: Date

    /// One push.
    public init(
        id: ID, kind: String, subject: String, container: String? = nil, actor: User.ID? = nil, sentence: String,
        deliveries: Int, waiting: Int, accepted: Int, opened: Int, happenedAt: Date, createdAt: Date, expiresAt: Date
    ) {
        self.id = id
        self.kind = kind
        self.subject = subject
        self.container = container
        self.actor = actor
        self.sentence = sentence
        self.deliveries = deliveries
        self.waiting = waiting
        self.accepted = accepted
        self.opened = opened
        self.happenedAt = happenedAt
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }
}

/// Everything about one push: why it was sent, to whom not and why not, and what became of it on each device.
public struct PushStory: Codable, Hashable, Sendable {
    /// The push.
    public var push: PushSummary
    /// Whom it could have been for.
    public var people: [PushRecipient]
    /// What became of it on each device.
    public var deliveries: [PushDelivery]
    /// Whether people and deliveries are all there are. Of a push to very many the first are told.
    public var isWhole: Bool

    /// Everything about one push.
    public init(push: PushSummary, people: [PushRecipient], deliveries: [PushDelivery], isWhole: Bool) {
        self.push = push
        self.people = people
        self.deliveries = deliveries
        self.isWhole = isWhole
    }
}

/// Somebody whom a push could have been for, and what was decided.
public struct PushRecipient: Codable, Hashable, Sendable {
    /// The person.
    public var user: User.ID
    /// What the person calls themselves.
    public var name: String?
    /// What was decided, in a word.
    public var decision: PushDecision
    /// What was decided and why, in a sentence in the language of whoever asked.
    public var sentence: String

    /// Somebody whom a push could have been for.
    public init(user: User.ID, name: String? = nil, decision: PushDecision, sentence: String) {
        self.user = user
        self.name = name
        self.decision = decision
        self.sentence = sentence
    }
}

/// What was decided about a person and a push.
public struct PushDecision: OpenText {
    /// The word as it is sent.
    public let rawValue: String

    /// A word, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// It goes to their devices.
    public static let notified = PushDecision(rawValue: "notified")
    /// They did it themselves.
    public static let isActor = PushDecision(rawValue: "is_actor")
    /// One of the two has blocked the other.
    public static let blocked = PushDecision(rawValue: "blocked")
    /// Their settings say no.
    public static let settingOff = PushDecision(rawValue: "setting_off")
    /// Their settings want it from people they follow, and they do not follow the one who did it.
    public static let notFollowing = PushDecision(rawValue: "not_following")
    /// They may not read what it is about.
    public static let mayNotRead = PushDecision(rawValue: "may_not_read")
    /// They are signed in on no device that takes pushes.
    public static let noDevice = PushDecision(rawValue: "no_device")
    /// It happened too long ago.
    public static let tooLate = PushDecision(rawValue: "too_late")

    /// Every word of this version.
    public static let known: [PushDecision] = [
        notified, isActor, blocked, settingOff, notFollowing, mayNotRead, noDevice, tooLate,
    ]
}

/// A push on its way to one device.
public struct PushDelivery: Codable, Hashable, Sendable, Identifiable {
    /// A delivery's id: a UUID, the same in every attempt, told to the phone with the push.
    public typealias ID = HirobaContract.ID<PushDelivery>

    /// The delivery's id.
    public var id: ID
    /// The push.
    public var push: PushSummary.ID
    /// The device.
    public var device: Device.ID
    /// The person.
    public var user: User.ID
    /// Where it is, in a word.
    public var state: PushDeliveryState
    /// What the gateway or we said about it last, in a word.
    public var reason: String?
    /// What happened to it, in a sentence in the language of whoever asked.
    public var sentence: String
    /// How often it was handed to the gateway.
    public var attempts: Int
    /// It was sent again after an attempt whose end is unknown. The phone shows it once.
    public var isResent: Bool
    /// When it was made.
    public var createdAt: Date
    /// When it is looked at next, if it is not over.
    public var dueAt: Date?
    /// When it was last handed to the gateway.
    public var sentAt: Date?
    /// When it was over.
    public var endedAt: Date?
    /// Its id as the gateway repeats it.
    public var gatewayID: String?
    /// What the gateway's own console calls it.
    public var uniqueID: String?
    /// When the person opened it.
    public var openedAt: Date?

    /// A push on its way to one device.
    public init(
        id: ID, push: PushSummary.ID, device: Device.ID, user: User.ID, state: PushDeliveryState,
        reason: String? = nil, sentence: String, attempts: Int, isResent: Bool, createdAt: Date, dueAt: Date? = nil,
        sentAt: Date? = nil, endedAt: Date? = nil, gatewayID: String? = nil, uniqueID: String? = nil,
        openedAt: Date? = nil
    ) {
        self.id = id
        self.push = push
        self.device = device
        self.user = user
        self.state = state
        self.reason = reason
        self.sentence = sentence
        self.attempts = attempts
        self.isResent = isResent
        self.createdAt = createdAt
        self.dueAt = dueAt
        self.sentAt = sentAt
        self.endedAt = endedAt
        self.gatewayID = gatewayID
        self.uniqueID = uniqueID
        self.openedAt = openedAt
    }
}

/// Where a delivery is.
public struct PushDeliveryState: OpenText {
    /// The word as it is sent.
    public let rawValue: String

    /// A word, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// It waits for its turn.
    public static let waiting = PushDeliveryState(rawValue: "waiting")
    /// The gateway has it and has not answered.
    public static let sending = PushDeliveryState(rawValue: "sending")
    /// The gateway took it. Whether the phone shows it is up to the phone.
    public static let accepted = PushDeliveryState(rawValue: "accepted")
    /// The token is dead.
    public static let gone = PushDeliveryState(rawValue: "gone")
    /// The gateway refused it for good.
    public static let refused = PushDeliveryState(rawValue: "refused")
    /// It could not be sent in time.
    public static let expired = PushDeliveryState(rawValue: "expired")
    /// Before it was sent it was no longer right to send it.
    public static let dropped = PushDeliveryState(rawValue: "dropped")
    /// The device could take no push when it was made.
    public static let skipped = PushDeliveryState(rawValue: "skipped")

    /// Every word of this version.
    public static let known: [PushDeliveryState] = [
        waiting, sending, accepted, gone, refused, expired, dropped, skipped,
    ]
}
