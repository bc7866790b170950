/// What a client says about itself in the header `Hiroba-Client`, such as `swift/1.0`.
public struct ClientVersion: Hashable, Sendable, CustomStringConvertible {
    /// The name of the client.
    public var name: String
    /// Grows when the client speaks another language than before.
    public var major: Int
    /// Grows with every release.
    public var minor: Int

    /// The client in this package.
    public static let current = ClientVersion(name: "swift", major: 1, minor: 0)

    /// A name and a version.
    public init(name: String, major: Int, minor: Int) {
        self.name = name
        self.major = major
        self.minor = minor
    }

    /// The header's value; nil when it is anything else than a name, a slash and two numbers.
    public init?(header: String) {
        let parts = header.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else { return nil }
        let numbers = parts[1].split(separator: ".", omittingEmptySubsequences: false).map { Int($0) }
        guard numbers.count == 2, let major = numbers[0], let minor = numbers[1], major >= 0, minor >= 0 else {
            return nil
        }
        self.init(name: String(parts[0]), major: major, minor: minor)
    }

    /// Whether this client is older than the oldest that is served. Clients of another name are not compared.
    public func isOlder(than oldest: ClientVersion) -> Bool {
        name == oldest.name && (major, minor) < (oldest.major, oldest.minor)
    }

    /// The header's value.
    public var description: String { "\(name)/\(major).\(minor)" }
}
