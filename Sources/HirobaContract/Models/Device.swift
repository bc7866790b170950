#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A phone with an app on it, as the server knows it. Its token stays with the server.
public struct Device: Codable, Hashable, Sendable, Identifiable {
    /// A device's id, made by the app: 8 to 64 letters, digits, `-` and `_`. A UUID serves well.
    public typealias ID = HirobaContract.ID<Device>

    /// The device's id.
    public var id: ID
    /// Who is signed in on it.
    public var user: User.ID?
    /// What kind of device it is.
    public var platform: DevicePlatform
    /// Which of the gateway's worlds the token is from. May differ from what the app said, once the gateway has
    /// taken the token elsewhere.
    public var environment: PushEnvironment
    /// The app: a bundle identifier.
    public var app: String
    /// Whether the person lets the app notify them.
    public var permission: PushPermission
    /// The language of the app.
    public var language: String?
    /// The time zone.
    public var timeZone: String?
    /// The version of the app.
    public var appVersion: String?
    /// Whether the app has handed in a token that is still its own.
    public var hasToken: Bool
    /// When the app last handed in a token.
    public var registeredAt: Date?
    /// What the gateway last said about a push to it.
    public var lastVerdict: String?
    /// When the gateway said so.
    public var lastVerdictAt: Date?
    /// Whether pushes reach it, and what to do if not.
    public var health: DeviceHealth
    /// When it first registered.
    public var createdAt: Date
    /// When it last registered.
    public var updatedAt: Date

    /// A phone with an app on it.
    public init(
        id: ID, user: User.ID? = nil, platform: DevicePlatform, environment: PushEnvironment, app: String,
        permission: PushPermission, language: String? = nil, timeZone: String? = nil, appVersion: String? = nil,
        hasToken: Bool, registeredAt: Date? = nil, lastVerdict: String? = nil, lastVerdictAt: Date? = nil,
        health: DeviceHealth, createdAt: Date, updatedAt: Date
    ) {
        self.id = id
        self.user = user
        self.platform = platform
        self.environment = environment
        self.app = app
        self.permission = permission
        self.language = language
        self.timeZone = timeZone
        self.appVersion = appVersion
        self.hasToken = hasToken
        self.registeredAt = registeredAt
        self.lastVerdict = lastVerdict
        self.lastVerdictAt = lastVerdictAt
        self.health = health
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }
}

/// Whether pushes reach a device.
public struct DeviceHealth: Codable, Hashable, Sendable {
    /// How it is, in a word.
    public var condition: DeviceCondition
    /// What is wrong and what to do, in a sentence in the language of whoever asked.
    public var sentence: String

    /// Whether pushes reach a device.
    public init(condition: DeviceCondition, sentence: String) {
        self.condition = condition
        self.sentence = sentence
    }
}

/// How a device is, in a word.
public struct DeviceCondition: OpenText {
    /// The word as it is sent.
    public let rawValue: String

    /// A word, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The gateway took the last push.
    public static let well = DeviceCondition(rawValue: "well")
    /// It is registered, and no push was sent to it yet.
    public static let untried = DeviceCondition(rawValue: "untried")
    /// Pushes wait, because the gateway cannot take them just now.
    public static let waiting = DeviceCondition(rawValue: "waiting")
    /// The person does not let the app notify them.
    public static let notPermitted = DeviceCondition(rawValue: "not_permitted")
    /// The app has handed in no token.
    public static let noToken = DeviceCondition(rawValue: "no_token")
    /// Nobody is signed in on it.
    public static let signedOut = DeviceCondition(rawValue: "signed_out")
    /// The token is dead: the app was removed, or has a new one.
    public static let dead = DeviceCondition(rawValue: "dead")
    /// The gateway refuses pushes to it.
    public static let refused = DeviceCondition(rawValue: "refused")

    /// Every word of this version.
    public static let known: [DeviceCondition] = [
        well, untried, waiting, notPermitted, noToken, signedOut, dead, refused,
    ]
}

/// What kind of device it is.
public struct DevicePlatform: OpenText {
    /// The word as it is sent.
    public let rawValue: String

    /// A word, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// An iPhone or iPad.
    public static let ios = DevicePlatform(rawValue: "ios")

    /// Every word of this version.
    public static let known: [DevicePlatform] = [ios]
}

/// Which of the gateway's worlds a token is from. Builds of Xcode get tokens of the sandbox, TestFlight and the App Store
/// those of production.
public struct PushEnvironment: OpenText {
    /// The word as it is sent.
    public let rawValue: String

    /// A word, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// For development.
    public static let sandbox = PushEnvironment(rawValue: "sandbox")
    /// For everybody else.
    public static let production = PushEnvironment(rawValue: "production")

    /// Every word of this version.
    public static let known: [PushEnvironment] = [sandbox, production]
}

/// Whether the person lets the app notify them.
public struct PushPermission: OpenText {
    /// The word as it is sent.
    public let rawValue: String

    /// A word, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Not asked yet.
    public static let notDetermined = PushPermission(rawValue: "not_determined")
    /// No.
    public static let denied = PushPermission(rawValue: "denied")
    /// Yes.
    public static let authorized = PushPermission(rawValue: "authorized")
    /// Quietly, until the person decides.
    public static let provisional = PushPermission(rawValue: "provisional")
    /// As long as the app's clip is used.
    public static let ephemeral = PushPermission(rawValue: "ephemeral")

    /// Every word of this version.
    public static let known: [PushPermission] = [notDetermined, denied, authorized, provisional, ephemeral]
}
