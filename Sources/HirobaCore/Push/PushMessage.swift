package import HirobaJSON

/// One notification on its way to one device: everything a gateway needs, and nothing it would have to look up.
package struct PushMessage: Sendable, Hashable {
    /// What it is to do on the device.
    package enum Kind: Sendable, Hashable {
        /// Show, sound or badge something.
        case alert
        /// Wake the app without anyone noticing.
        case background
        /// Ring: goes to a token of its own.
        case voip
    }

    package enum Urgency: Sendable, Hashable {
        case now
        /// When it costs the device little.
        case whenConvenient
        /// Never wakes the device.
        case withNextWake
    }

    package enum Lifetime: Sendable, Hashable {
        /// As long as the gateway likes.
        case gatewayDecides
        /// One attempt; nothing is kept for a device that is offline.
        case attemptOnce
        /// Kept until then, in seconds since 1970.
        case until(Int64)
    }

    /// Names this delivery in every attempt, the same again when it is resent: a UUID.
    package var id: String
    package var kind: Kind
    package var title: String?
    package var subtitle: String?
    /// Cut with an ellipsis when the whole is too long for the gateway.
    package var body: String?
    /// The number on the app's icon from now on; 0 takes it away, `nil` leaves it.
    package var badge: Int?
    /// `default`, or a file of the app.
    package var sound: String?
    /// Notifications of the same thread lie together.
    package var thread: String?
    /// Chooses the buttons below the notification.
    package var category: String?
    /// Where a tap leads.
    package var link: String?
    /// The address of a picture that the device fetches before it shows the notification.
    package var picture: String?
    /// More for the app to read. A member named `aps` is left out.
    package var data: JSONObject
    package var urgency: Urgency
    package var lifetime: Lifetime
    /// Replaces what is shown with the same key.
    package var collapseKey: String?

    package init(
        id: String, kind: Kind = .alert, title: String? = nil, subtitle: String? = nil, body: String? = nil,
        badge: Int? = nil, sound: String? = nil, thread: String? = nil, category: String? = nil, link: String? = nil,
        picture: String? = nil, data: JSONObject = JSONObject(), urgency: Urgency = .now,
        lifetime: Lifetime = .gatewayDecides, collapseKey: String? = nil
    ) {
        self.id = id
        self.kind = kind
        self.title = title
        self.subtitle = subtitle
        self.body = body
        self.badge = badge
        self.sound = sound
        self.thread = thread
        self.category = category
        self.link = link
        self.picture = picture
        self.data = data
        self.urgency = urgency
        self.lifetime = lifetime
        self.collapseKey = collapseKey
    }
}

/// Where one device of a gateway is.
package struct PushAddress: Sendable, Hashable {
    /// Which of a gateway's worlds a token is from. A token of one means nothing in the other.
    package enum Environment: String, Sendable, Hashable, CaseIterable {
        case production
        case sandbox

        package var other: Environment { self == .production ? .sandbox : .production }
    }

    /// As the device gave it: for Apple's gateway in hexadecimal digits.
    package var token: String
    /// The app: a bundle identifier.
    package var app: String
    package var environment: Environment
    /// Whether the gateway has taken this token in this environment before.
    package var isEnvironmentProven: Bool

    package init(token: String, app: String, environment: Environment, isEnvironmentProven: Bool) {
        self.token = token
        self.app = app
        self.environment = environment
        self.isEnvironmentProven = isEnvironmentProven
    }
}
