package import HirobaJSON

/// A simulated phone.
package struct Phone: Sendable, Hashable, Identifiable {
    package typealias ID = String

    /// Letters, digits and hyphens; it stands in addresses.
    package let id: ID
    /// As its owner calls it.
    package var name: String
    /// Who carries it, if that is known.
    package var person: String?
    package var isOnline = true
    /// Holds back what is not urgent.
    package var hasLowPower = false
    package var apps: [InstalledApp] = []
    /// The app's pages, for taps: links without a host of their own are looked for here. Without it taps open no page.
    package var webBase: String?
    /// A line about this phone from whoever watches over it.
    package var note: Note?
    /// Pages of the companion from which something can be sent to this phone.
    package var starts: [Start] = []

    package struct Start: Sendable, Hashable {
        package var title: String
        package var address: String

        package init(title: String, address: String) {
            self.title = title
            self.address = address
        }
    }

    package struct Note: Sendable, Hashable {
        package var english: String
        package var japanese: String
        package var isBad: Bool

        package init(english: String, japanese: String, isBad: Bool) {
            self.english = english
            self.japanese = japanese
            self.isBad = isBad
        }
    }

    package init(id: ID, name: String, person: String? = nil, webBase: String? = nil) {
        self.id = id
        self.name = name
        self.person = person
        self.webBase = webBase
    }

    package func app(_ bundle: String, in environment: PushEnvironment? = nil) -> InstalledApp? {
        apps.first { $0.bundle == bundle && (environment == nil || $0.environment == environment) }
    }

    static func isUsable(_ id: ID) -> Bool {
        !id.isEmpty && id.utf8.count <= 64
            && id.utf8.allSatisfy { byte in
                switch byte {
                case 0x61...0x7A, 0x41...0x5A, 0x30...0x39, 0x2D: true
                default: false
                }
            }
    }
}

/// An app on a phone, as one build: its environment is the build's.
package struct InstalledApp: Sendable, Hashable {
    package enum State: String, Sendable, Hashable, CaseIterable {
        case foreground
        case background
        /// Not running, or ended by the person.
        case killed
    }

    package enum Permission: String, Sendable, Hashable, CaseIterable {
        case granted
        case denied
        /// The app never asked.
        case notAsked
    }

    package var bundle: String
    /// Under its icon.
    package var name: String
    package var environment: PushEnvironment
    package var isInstalled = true
    /// Its device token, hexadecimal; dead when the app is not installed.
    package var token: String
    package var state = State.background
    package var permission = Permission.granted
    /// Whether the app asks for a banner when a push comes while it is in front.
    package var showsInFront = false
    package var badge = 0
    /// Newest first, as in the notification centre.
    package var notifications: [ShownNotification] = []
    /// What APNs keeps for it while the phone cannot be reached: one push, the newest.
    package var held: HeldPush?
    /// What its web view shows, after a tap.
    package var page: String?

    package init(
        bundle: String, name: String, environment: PushEnvironment = .sandbox, token: String,
        permission: Permission = .granted
    ) {
        self.bundle = bundle
        self.name = name
        self.environment = environment
        self.token = token
        self.permission = permission
    }
}

package struct HeldPush: Sendable, Hashable {
    package var push: Push
    package var delivery: Int
    /// Milliseconds since 1970.
    package var until: Int64
}

/// A notification on the lock screen.
package struct ShownNotification: Sendable, Hashable {
    /// Counts up on each phone.
    package var number: Int
    /// Whose story it is in the log.
    package var delivery: Int
    package var title: String?
    package var subtitle: String?
    package var body: String?
    package var thread: String?
    package var collapseID: String?
    package var isPassive = false
    /// Fetched by the service extension.
    package var picture: StoredPicture.ID?
    package var link: String?
    package var custom = JSONObject()
    /// Milliseconds since 1970, of the last alert.
    package var shownAt: Int64
    /// How often it has alerted; more than once when a collapse id replaced it.
    package var alerts = 1
}

/// A picture that came with a push.
package struct StoredPicture: Sendable, Hashable, Identifiable {
    package typealias ID = String
    package var id: ID
    package var type: String
    package var bytes: [UInt8]
}
