/// Registers a device, or tells what has changed on it. Apps do so at each launch, whether somebody is signed in or not;
/// the device belongs to whoever is.
///
/// A device of somebody else's may be taken over by showing its token: whoever has it holds the phone.
public struct PutDevice: Call, Hashable {
    /// The device as it is known now.
    public typealias Answer = Device
    /// Where it goes.
    public static let route = Route(.put, "/devices/{device}")
    /// What it does.
    public static let summary = "Register a device for pushes, or tell what has changed on it"
    /// Anybody.
    public static let credential = CallCredential.optional
    /// It may be somebody else's.
    public static let errors: [ErrorCode] = [.forbidden]
    /// Limits of its fields.
    public static let limits: [String: FieldLimit] = [
        "device": .characters(8...64), "token": .characters(2...400), "app": .characters(1...255),
        "language": .characters(1...35),
        "timeZone": .characters(1...64), "appVersion": .characters(1...50),
    ]

    /// An id that the app made, the same for as long as the app is installed: 8 to 64 letters, digits, `-` and `_`.
    public var device: Device.ID
    /// The token that the system gave the app, as hexadecimal digits. Absent when the app has none.
    public var token: String?
    /// What kind of device it is.
    public var platform: DevicePlatform
    /// Which of the gateway's worlds the token is from.
    public var environment: PushEnvironment
    /// The app: a bundle identifier.
    public var app: String
    /// Whether the person lets the app notify them.
    public var permission: PushPermission
    /// The language of the app, such as `ja` or `en-GB`.
    public var language: String?
    /// The time zone, such as `Asia/Tokyo`.
    public var timeZone: String?
    /// The version of the app.
    public var appVersion: String?

    /// Registers a device.
    public init(
        device: Device.ID, token: String?, platform: DevicePlatform = .ios, environment: PushEnvironment, app: String,
        permission: PushPermission, language: String? = nil, timeZone: String? = nil, appVersion: String? = nil
    ) {
        self.device = device
        self.token = token
        self.platform = platform
        self.environment = environment
        self.app = app
        self.permission = permission
        self.language = language
        self.timeZone = timeZone
        self.appVersion = appVersion
    }
}

/// Tells what became of a push on the phone.
public struct ReportOpened: Call, Hashable {
    /// Nothing.
    public typealias Answer = NoContent
    /// Where it goes.
    public static let route = Route(.post, "/devices/{device}/reports")
    /// What it does.
    public static let summary = "Tell what became of a push on the phone"
    /// 204.
    public static let successStatuses = [204]
    /// Anybody: the id of a delivery is known only to the phone.
    public static let credential = CallCredential.optional
    /// There may be no such delivery to this device.
    public static let errors: [ErrorCode] = [.notFound]

    /// What became of a push.
    public struct Event: OpenText {
        /// The word as it is sent.
        public let rawValue: String

        /// A word, known or not.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The person opened it.
        public static let opened = Event(rawValue: "opened")

        /// Every word of this version.
        public static let known: [Event] = [opened]
    }

    /// The device.
    public var device: Device.ID
    /// The delivery: the member `push` of what came with the notification.
    public var push: PushDelivery.ID
    /// What became of it.
    public var event: Event

    /// Tells what became of a push.
    public init(device: Device.ID, push: PushDelivery.ID, event: Event = .opened) {
        self.device = device
        self.push = push
        self.event = event
    }
}

/// Lists the devices, those that registered first last.
public struct ListDevices: Call, Hashable {
    /// A part of the list.
    public typealias Answer = Page<Device>
    /// Where it goes.
    public static let route = Route(.get, "/devices")
    /// What it does.
    public static let summary = "List devices, newest first"
    /// The operator.
    public static let credential = CallCredential.serverKey
    /// Limits of its fields.
    public static let limits: [String: FieldLimit] = ["limit": .value(1...1_000)]

    /// How many at most.
    public var limit: Int?
    /// The `next` of the part before.
    public var after: String?

    /// Lists the devices.
    public init(limit: Int? = nil, after: String? = nil) {
        self.limit = limit
        self.after = after
    }
}

/// Lists pushes, newest first.
public struct ListPushes: Call, Hashable {
    /// A part of the list.
    public typealias Answer = Page<PushSummary>
    /// Where it goes.
    public static let route = Route(.get, "/push")
    /// What it does.
    public static let summary = "List pushes, newest first"
    /// The operator.
    public static let credential = CallCredential.serverKey
    /// Limits of its fields.
    public static let limits: [String: FieldLimit] = ["limit": .value(1...1_000)]

    /// How many at most.
    public var limit: Int?
    /// The `next` of the part before.
    public var after: String?

    /// Lists pushes.
    public init(limit: Int? = nil, after: String? = nil) {
        self.limit = limit
        self.after = after
    }
}

/// Reads everything about one push.
public struct GetPush: Call, Hashable {
    /// Why it was sent, to whom not and why not, and what became of it on each device.
    public typealias Answer = PushStory
    /// Where it goes.
    public static let route = Route(.get, "/push/{push}")
    /// What it does.
    public static let summary = "Read everything about one push"
    /// The operator.
    public static let credential = CallCredential.serverKey
    /// There may be no such push.
    public static let errors: [ErrorCode] = [.notFound]

    /// The id of a push, of a delivery, or of what it is about, such as a comment.
    public var push: PushSummary.ID

    /// Reads everything about one push.
    public init(push: PushSummary.ID) { self.push = push }
}

/// Follows a person.
public struct FollowUser: Call, Hashable {
    /// Nothing.
    public typealias Answer = NoContent
    /// Where it goes.
    public static let route = Route(.put, "/users/{user}/follow")
    /// What it does.
    public static let summary = "Follow a person"
    /// 204.
    public static let successStatuses = [204]
    /// There may be no such person.
    public static let errors: [ErrorCode] = [.notFound]

    /// The person to follow.
    public var user: User.ID

    /// Follows a person.
    public init(user: User.ID) { self.user = user }
}

/// Follows a person no longer.
public struct UnfollowUser: Call, Hashable {
    /// Nothing.
    public typealias Answer = NoContent
    /// Where it goes.
    public static let route = Route(.delete, "/users/{user}/follow")
    /// What it does.
    public static let summary = "Follow a person no longer"
    /// 204.
    public static let successStatuses = [204]
    /// There may be no such person.
    public static let errors: [ErrorCode] = [.notFound]

    /// The person to follow no longer.
    public var user: User.ID

    /// Follows a person no longer.
    public init(user: User.ID) { self.user = user }
}

/// Reads what the person wants to be notified of.
public struct GetSettings: Call, Hashable {
    /// The settings.
    public typealias Answer = NotificationSettings
    /// Where it goes.
    public static let route = Route(.get, "/settings")
    /// What it does.
    public static let summary = "Read what the person wants to be notified of"

    /// Reads the settings.
    public init() {}
}

/// Sets what the person wants to be notified of.
public struct PutSettings: Call, Hashable {
    /// The settings as they are now.
    public typealias Answer = NotificationSettings
    /// Where it goes.
    public static let route = Route(.put, "/settings")
    /// What it does.
    public static let summary = "Set what the person wants to be notified of"

    /// Comments on one's own topics.
    public var topicComments: NotifiedBy
    /// Comments on one's own photos.
    public var photoComments: NotifiedBy
    /// Everything else.
    public var others: Bool

    /// Sets what the person wants to be notified of.
    public init(topicComments: NotifiedBy, photoComments: NotifiedBy, others: Bool) {
        self.topicComments = topicComments
        self.photoComments = photoComments
        self.others = others
    }

    /// Sets what the person wants to be notified of.
    public init(_ settings: NotificationSettings) {
        self.init(
            topicComments: settings.topicComments, photoComments: settings.photoComments, others: settings.others)
    }
}
