/// A request to the front as a plain value.
package struct PushRequest: Sendable {
    package enum Body: Sendable, Hashable {
        case bytes([UInt8])
        /// More than any push may hold; it was not read to its end.
        case tooLong
    }

    package var method: String
    package var path: String
    /// Names in small letters, in the order in which they came.
    package var fields: [(name: String, value: String)]
    package var body: Body
    package var environment: PushEnvironment

    package init(
        method: String = "POST", path: String, fields: [(name: String, value: String)] = [], body: Body = .bytes([]),
        environment: PushEnvironment = .sandbox
    ) {
        self.method = method
        self.path = path
        self.fields = fields
        self.body = body
        self.environment = environment
    }

    /// The first value under this name.
    package subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

    static let devicePath = "/3/device"
    static let broadcastPath = "/4/broadcasts/apps/"

    var isForDevice: Bool { path == Self.devicePath || path.hasPrefix(Self.devicePath + "/") }
    var isBroadcast: Bool { path.hasPrefix(Self.broadcastPath) }

    /// What stands in the path where the token belongs, in small letters: hexadecimal digits mean the same in either case.
    package var token: String { path.dropFirst(Self.devicePath.count + 1).lowercased() }

    /// `authorization` without its scheme; `nil` when it is of another scheme or empty.
    var bearer: String? {
        guard let value = self["authorization"] else { return nil }
        let parts = value.split(separator: " ", omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return String(parts[1])
    }
}

/// A push that passed all checks.
package struct Push: Sendable, Hashable {
    /// As the provider wrote it, or made here.
    package var id: String
    package var environment: PushEnvironment
    package var token: String
    package var bundle: String
    package var type: PushType
    package var priority: Int
    /// Seconds since 1970; 0 is "now or never", `nil` leaves it to APNs.
    package var expiration: Int64?
    package var collapseID: String?
    package var payload: [UInt8]

    package init(
        id: String, environment: PushEnvironment = .sandbox, token: String, bundle: String, type: PushType = .alert,
        priority: Int = 10, expiration: Int64? = nil, collapseID: String? = nil, payload: [UInt8]
    ) {
        self.id = id
        self.environment = environment
        self.token = token
        self.bundle = bundle
        self.type = type
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
        self.payload = payload
    }
}
