import HirobaHTTP

/// Everything the program can be told, read once from flags, environment and file.
///
/// `Option.all` documents each value: its flag, its unit, its default and when to change it.
package struct Configuration: Sendable, Equatable {
    /// The folder that holds the database, the files and the secrets of this installation.
    package var data = "./hiroba-data"
    package var listen = ListenAddress(host: "127.0.0.1", port: 8080)
    /// The address people use, when it is not the one the program listens on.
    package var publicURL: PublicURL?
    /// A PostgreSQL address; nil means SQLite in the data folder.
    package var database: String?
    /// The folder of uploaded files; nil means `blobs` in the data folder.
    package var blobs: String?
    package var certificate: String?
    package var key: String?
    package var trustedProxies: [AddressRange] = []
    package var corsOrigins: [String] = []
    package var logsRequests = true
    /// Networks that may read `/metrics`.
    package var metricsReaders = [AddressRange.thisMachine, .thisMachineIPv6]
    /// The ways to Apple's push service. Without any, nothing is pushed.
    package var apns: [APNsEntry] = []

    package var loops: Int?
    package var bodyBytes = 1 << 20
    package var uploadBytes = 20 << 20
    package var headBytes = 16 << 10
    package var headTime = Duration.seconds(10)
    package var idleTime = Duration.seconds(60)
    package var connections = 10_000
    package var connectionsPerAddress = 1_000

    package init() {}

    package var blobsFolder: String { blobs ?? data + "/blobs" }
    package var databaseFile: String { data + "/hiroba.sqlite" }

    /// The address to print and to put into links: the public one, or else the one listened on.
    package func address(port: Int) -> String {
        if let publicURL { return publicURL.text }
        let scheme = certificate == nil ? "http" : "https"
        let host: String
        switch listen.host {
        case "", "0.0.0.0", "::": host = "localhost"
        case let named where named.contains(":"): host = "[\(named)]"
        case let named: host = named
        }
        return "\(scheme)://\(host):\(port)"
    }
}

/// Something in flags, environment or file that cannot be understood. The text is a whole sentence for people.
package struct ConfigurationError: Error, Equatable, CustomStringConvertible {
    package var description: String

    package init(_ description: String) { self.description = description }
}

/// Where to listen: `HOST:PORT`, `:PORT` for every address of the machine, `[ADDRESS]:PORT` for IPv6.
package struct ListenAddress: Sendable, Equatable, CustomStringConvertible {
    /// Empty means every address of the machine.
    package var host: String
    /// 0 lets the system choose.
    package var port: Int

    package init(host: String, port: Int) { (self.host, self.port) = (host, port) }

    package init(parsing text: String) throws(ConfigurationError) {
        let refused = ConfigurationError("is “\(text)”, but an address looks like 127.0.0.1:8080, :8080 or [::1]:8080")
        guard let colon = text.lastIndex(of: ":") else { throw refused }
        let digits = text[text.index(after: colon)...]
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = Int(digits), port <= 65_535 else {
            throw refused
        }
        var host = text[..<colon]
        if host.hasPrefix("[") {
            guard host.hasSuffix("]") else { throw refused }
            host = host.dropFirst().dropLast()
            guard NetworkAddress(String(host)) != nil else { throw refused }
        } else {
            guard !host.contains(":"), !host.contains("/"), !host.contains(" ") else { throw refused }
        }
        self.init(host: String(host), port: port)
    }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// The address people type: a scheme and a host, perhaps a port, and no path.
package struct PublicURL: Sendable, Equatable {
    /// As typed, without a slash at the end.
    package let text: String
    package var isSecure: Bool { text.hasPrefix("https://") }
    /// Host and port as they stand in the `Host` header.
    package var authority: String { String(text.drop { $0 != "/" }.dropFirst(2)) }

    package init(parsing text: String) throws(ConfigurationError) {
        let trimmed = text.hasSuffix("/") ? String(text.dropLast()) : text
        let rest =
            trimmed.hasPrefix("https://")
            ? trimmed.dropFirst(8) : trimmed.hasPrefix("http://") ? trimmed.dropFirst(7) : ""
        let allowed = rest.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"): true
            default: false
            }
        }
        guard !rest.isEmpty, allowed else {
            throw ConfigurationError("is “\(text)”, but it must look like https://forum.example, without a path")
        }
        self.text = trimmed
    }
}
