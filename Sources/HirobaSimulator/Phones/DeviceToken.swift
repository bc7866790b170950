/// A device token as APNs knows it: of which app, in which environment, and whether it is still good.
package struct DeviceToken: Sendable, Hashable {
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        case device
        case voip
        case liveActivity
        case pushToTalk
    }

    package enum Life: Sendable, Hashable {
        case alive
        /// The app was removed or the token replaced, since that time in milliseconds.
        case unregistered(since: Int64)
        /// A Live Activity ended, or the token was marked so.
        case expired(since: Int64)
    }

    /// Hexadecimal, in small letters.
    package var text: String
    package var environment: PushEnvironment
    package var bundle: String
    package var kind: Kind
    package var life: Life
    /// Whose it is; `nil` for the crowd, which takes pushes and shows nothing.
    package var phone: Phone.ID?

    package init(
        text: String, environment: PushEnvironment = .sandbox, bundle: String, kind: Kind = .device,
        life: Life = .alive, phone: Phone.ID? = nil
    ) {
        self.text = text
        self.environment = environment
        self.bundle = bundle
        self.kind = kind
        self.life = life
        self.phone = phone
    }
}
