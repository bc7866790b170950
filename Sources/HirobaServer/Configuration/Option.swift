/// One thing the program can be told. This one table serves flags, environment, file, `--help` and `hiroba check`.
package struct Option: Sendable {
    /// The flag without its dashes, and the name in the file.
    package let name: String
    /// What stands for the value in `--help`.
    package let placeholder: String
    package let summary: String
    /// As `--help` shows it.
    package let defaultText: String
    /// When somebody should think of changing it.
    package let advice: String
    /// For what may be given several times (repeated as a flag, separated by commas in the environment, a list in the
    /// file): empties the list. Nil for what has one value.
    package var clearList: (@Sendable (inout Configuration) -> Void)?
    /// Its value is JSON, which stands in the file as it is and elsewhere as a text.
    package var takesJSON = false
    package let set: @Sendable (inout Configuration, String) throws(ConfigurationError) -> Void
    /// The values in force, safe to print.
    package let show: @Sendable (Configuration) -> [String]

    package var repeats: Bool { clearList != nil }
    package var flag: String { "--" + name }
    package var environmentName: String {
        "HIROBA_" + String(decoding: name.utf8.map { $0 == 0x2D ? 0x5F : $0 & 0xDF }, as: UTF8.self)
    }

    package static let all: [Option] = [
        Option(
            name: "data", placeholder: "FOLDER",
            summary: "Folder of the database, the uploaded files and the secrets; made with mode 700 at first start.",
            defaultText: "./hiroba-data (./hiroba-demo for the demo)",
            advice: "Set it to an absolute path for anything that lasts, and back that folder up.",
            set: { (configuration, text) throws(ConfigurationError) in configuration.data = try path(text) },
            show: { [$0.data] }),
        Option(
            name: "listen", placeholder: "HOST:PORT",
            summary: "Where to answer; :8080 means every address of the machine, port 0 any free port.",
            defaultText: "127.0.0.1:8080",
            advice: "Open it to the network only with TLS, or behind a proxy on the same machine.",
            set: { (configuration, text) throws(ConfigurationError) in
                configuration.listen = try ListenAddress(parsing: text)
            },
            show: { [$0.listen.description] }),
        Option(
            name: "public-url", placeholder: "URL",
            summary: "The address people type, for links and cookies.",
            defaultText: "the address listened on",
            advice: "Set it as soon as a name or a proxy stands in front.",
            set: { (configuration, text) throws(ConfigurationError) in
                configuration.publicURL = try PublicURL(parsing: text)
            },
            show: { $0.publicURL.map { [$0.text] } ?? [] }),
        Option(
            name: "database", placeholder: "postgres://USER:PASSWORD@HOST/NAME",
            summary: "A PostgreSQL database to use in place of SQLite in the data folder.",
            defaultText: "SQLite",
            advice:
                "When PostgreSQL is run and backed up already. Tell the password by the environment, not by a flag.",
            set: { (configuration, text) throws(ConfigurationError) in
                guard text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") else {
                    throw ConfigurationError("must begin with postgres://")
                }
                try checkDatabaseAddress(text)
                configuration.database = text
            },
            show: { $0.database.map { [hidingPassword(in: $0)] } ?? [] }),
        Option(
            name: "blobs", placeholder: "FOLDER",
            summary: "Folder of the uploaded files.",
            defaultText: "blobs in the data folder",
            advice: "When files belong on another disk. The folder is for one running hiroba alone.",
            set: { (configuration, text) throws(ConfigurationError) in
                guard !text.hasPrefix("s3://") else {
                    throw ConfigurationError("names an S3 bucket, which is not built yet; give a folder")
                }
                configuration.blobs = try path(text)
            },
            show: { [$0.blobsFolder] }),
        Option(
            name: "tls-certificate", placeholder: "FILE",
            summary: "Certificate chain (PEM) to answer with TLS; read again on SIGHUP.",
            defaultText: "none: clear text",
            advice: "Together with --tls-key, when no proxy does TLS.",
            set: { (configuration, text) throws(ConfigurationError) in configuration.certificate = try path(text) },
            show: { $0.certificate.map { [$0] } ?? [] }),
        Option(
            name: "tls-key", placeholder: "FILE",
            summary: "Private key (PEM) of the certificate; read again on SIGHUP.",
            defaultText: "none",
            advice: "Keep it readable by this program's user only.",
            set: { (configuration, text) throws(ConfigurationError) in configuration.key = try path(text) },
            show: { $0.key.map { [$0] } ?? [] }),
        Option(
            name: "trusted-proxy", placeholder: "NETWORK",
            summary: "Network (CIDR) whose X-Forwarded-For and X-Forwarded-Proto are believed. May be repeated.",
            defaultText: "none: the headers are ignored",
            advice: "Name the proxy in front, and nothing wider: whoever is named can pose as any address.",
            clearList: { $0.trustedProxies = [] },
            set: { (configuration, text) throws(ConfigurationError) in
                configuration.trustedProxies.append(try AddressRange(parsing: text))
            },
            show: { $0.trustedProxies.map(\.description) }),
        Option(
            name: "cors-origin", placeholder: "ORIGIN",
            summary:
                "Web origin whose pages may call /v1 from a browser, such as https://app.example. May be repeated.",
            defaultText: "none",
            advice: "For a web app that is served from elsewhere.",
            clearList: { $0.corsOrigins = [] },
            set: { (configuration, text) throws(ConfigurationError) in
                configuration.corsOrigins.append(try PublicURL(parsing: text).text)
            },
            show: { $0.corsOrigins }),
        Option(
            name: "request-log", placeholder: "on|off",
            summary: "One JSON line on standard error for each request. Faults are written in any case.",
            defaultText: "on (off for the demo)",
            advice: "Off when a proxy keeps the log already.",
            set: { (configuration, text) throws(ConfigurationError) in
                switch text {
                case "on": configuration.logsRequests = true
                case "off": configuration.logsRequests = false
                default: throw ConfigurationError("is “\(text)”, but must be on or off")
                }
            },
            show: { [$0.logsRequests ? "on" : "off"] }),
        Option(
            name: "metrics-reader", placeholder: "NETWORK",
            summary: "Network (CIDR) that may read /metrics; others are told there is nothing. May be repeated.",
            defaultText: "this machine: 127.0.0.0/8 and ::1",
            advice: "Name the machine that collects them. Behind a proxy also set --trusted-proxy.",
            clearList: { $0.metricsReaders = [] },
            set: { (configuration, text) throws(ConfigurationError) in
                configuration.metricsReaders.append(try AddressRange(parsing: text))
            },
            show: { $0.metricsReaders.map(\.description) }),
        Option(
            name: "apns", placeholder: "JSON",
            summary:
                "The ways to Apple's push service: a list of entries with environment (sandbox or production), key-file "
                + "(.p8), key-id, team-id, apps (bundle ids), and host, port, authority-file for another server.",
            defaultText: "none: nothing is pushed",
            advice: "In the file, as docs/push.md shows. One entry for each environment and key.",
            takesJSON: true,
            set: { (configuration, text) throws(ConfigurationError) in
                configuration.apns = try APNsEntry.list(in: text)
            },
            show: { $0.apns.map(\.description) }),
        Option(
            name: "loops", placeholder: "NUMBER",
            summary: "Threads that serve connections.",
            defaultText: "one for each processor",
            advice: "Fewer when the machine has other work to do.",
            set: { (configuration, text) throws(ConfigurationError) in
                configuration.loops = try number(text, in: 1...256)
            },
            show: { $0.loops.map { ["\($0)"] } ?? [] }),
        Option(
            name: "max-body", placeholder: "SIZE",
            summary: "Largest JSON body accepted, in bytes, KiB or MiB. More is answered 413.",
            defaultText: "1MiB",
            advice: "Seldom: it is held in memory while it is read.",
            set: { (configuration, text) throws(ConfigurationError) in
                configuration.bodyBytes = try size(text, in: 1 << 10...64 << 20)
            },
            show: { [sizeText($0.bodyBytes)] }),
        Option(
            name: "max-upload", placeholder: "SIZE",
            summary: "Largest file accepted, in bytes, KiB, MiB or GiB. More is answered 413.",
            defaultText: "20MiB",
            advice: "When people share more than photos.",
            set: { (configuration, text) throws(ConfigurationError) in
                configuration.uploadBytes = try size(text, in: 1 << 10...4 << 30)
            },
            show: { [sizeText($0.uploadBytes)] }),
        Option(
            name: "max-head", placeholder: "SIZE",
            summary: "Largest request head (line and fields), in bytes or KiB. More is answered 431.",
            defaultText: "16KiB",
            advice: "When a proxy adds very long fields.",
            set: { (configuration, text) throws(ConfigurationError) in
                configuration.headBytes = try size(text, in: 1 << 10...1 << 20)
            },
            show: { [sizeText($0.headBytes)] }),
        Option(
            name: "head-time", placeholder: "TIME",
            summary: "Time for a request's head to arrive, in s or ms, counted from its first byte.",
            defaultText: "10s",
            advice: "Seldom: it is what stops clients that send a byte a minute.",
            set: { (configuration, text) throws(ConfigurationError) in configuration.headTime = try duration(text) },
            show: { [durationText($0.headTime)] }),
        Option(
            name: "idle-time", placeholder: "TIME",
            summary: "Time a connection may stay open without a request, in s or ms.",
            defaultText: "60s",
            advice: "Longer than the proxy's own, if one stands in front.",
            set: { (configuration, text) throws(ConfigurationError) in configuration.idleTime = try duration(text) },
            show: { [durationText($0.idleTime)] }),
        Option(
            name: "max-connections", placeholder: "NUMBER",
            summary: "Connections open at once.",
            defaultText: "10000",
            advice: "Together with the limit on open files (ulimit -n), which must be larger.",
            set: { (configuration, text) throws(ConfigurationError) in
                configuration.connections = try number(text, in: 1...1_000_000)
            },
            show: { ["\($0.connections)"] }),
        Option(
            name: "max-connections-per-address", placeholder: "NUMBER",
            summary: "Connections open at once from one address (/64 for IPv6).",
            defaultText: "1000",
            advice: "As large as --max-connections behind a proxy, since all come from its address.",
            set: { (configuration, text) throws(ConfigurationError) in
                configuration.connectionsPerAddress = try number(text, in: 1...1_000_000)
            },
            show: { ["\($0.connectionsPerAddress)"] }),
    ]

    package static func named(_ name: some StringProtocol) -> Option? { all.first { $0.name == name } }
}

// MARK: - Values

private func path(_ text: String) throws(ConfigurationError) -> String {
    guard !text.isEmpty, !text.utf8.contains(0) else { throw ConfigurationError("is empty, but must be a path") }
    return text.count > 1 && text.hasSuffix("/") ? String(text.dropLast()) : text
}

private func number(_ text: String, in range: ClosedRange<Int>) throws(ConfigurationError) -> Int {
    guard let number = Int(text), range.contains(number) else {
        throw ConfigurationError("is “\(text)”, but must be a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
}

private let sizeUnits: [(name: String, bytes: Int)] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]

private func size(_ text: String, in range: ClosedRange<Int>) throws(ConfigurationError) -> Int {
    let unit = sizeUnits.first { text.hasSuffix($0.name) }
    let digits = unit.map { text.dropLast($0.name.count) } ?? Substring(text)
    guard let number = Int(digits),
        case let (bytes, overflow) = number.multipliedReportingOverflow(by: unit?.bytes ?? 1),
        !overflow, range.contains(bytes)
    else {
        throw ConfigurationError(
            "is “\(text)”, but must be a size such as 20MiB, from \(sizeText(range.lowerBound)) "
                + "to \(sizeText(range.upperBound))")
    }
    return bytes
}

func sizeText(_ bytes: Int) -> String {
    for unit in sizeUnits where bytes >= unit.bytes && bytes % unit.bytes == 0 {
        return "\(bytes / unit.bytes)\(unit.name)"
    }
    return "\(bytes)"
}

private func duration(_ text: String) throws(ConfigurationError) -> Duration {
    let isMilliseconds = text.hasSuffix("ms")
    let digits = text.dropLast(isMilliseconds ? 2 : text.hasSuffix("s") ? 1 : 0)
    guard let number = Int(digits), (1...(isMilliseconds ? 86_400_000 : 86_400)).contains(number) else {
        throw ConfigurationError("is “\(text)”, but must be a time such as 10s or 500ms, at most a day")
    }
    return isMilliseconds ? .milliseconds(number) : .seconds(number)
}

private func durationText(_ duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    return attoseconds == 0 ? "\(seconds)s" : "\(seconds * 1_000 + attoseconds / 1_000_000_000_000_000)ms"
}

/// A database address that may be shown: its password, wherever it stands, is replaced by dots.
func hidingPassword(in address: String) -> String {
    var shown = address
    if let scheme = address.firstRange(of: "://"), let at = address[scheme.upperBound...].lastIndex(of: "@"),
        let colon = address[scheme.upperBound..<at].firstIndex(of: ":")
    {
        shown.replaceSubrange(shown.index(after: colon)..<at, with: "…")
    }
    // libpq also takes passwords from the query, where a name can be written in escapes.
    guard let mark = shown.firstIndex(of: "?") else { return shown }
    let pairs = shown[shown.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false).map { pair in
        guard let equals = pair.firstIndex(of: "="),
            pair[..<equals].contains("%") || pair[..<equals].contains("password")
        else { return String(pair) }
        return pair[...equals] + "…"
    }
    return shown[...mark] + pairs.joined(separator: "&")
}

/// Refuses an address that libpq would not understand. libpq's own words show the part it stumbled over, and that is
/// often the password: one with an `@`, `/` or `%` in it.
private func checkDatabaseAddress(_ address: String) throws(ConfigurationError) {
    let refused = ConfigurationError(
        "must look like postgres://USER:PASSWORD@HOST:PORT/NAME. In a password write @ as %40, / as %2F, ? as %3F and "
            + "% as %25")
    guard let scheme = address.firstRange(of: "://") else { throw refused }
    var rest = address[scheme.upperBound...]
    if let end = rest.firstIndex(where: { $0 == "@" || $0 == "/" }), rest[end] == "@" {
        rest = rest[rest.index(after: end)...]
    }
    let query = rest.firstIndex(of: "?").map { rest[rest.index(after: $0)...] } ?? ""
    let place = rest.prefix { $0 != "?" }
    let isWellFormed =
        !place.contains("@")
        && place.prefix { $0 != "/" }.split(separator: ",", omittingEmptySubsequences: false).allSatisfy(isHostAndPort)
        && query.split(separator: "&").allSatisfy { $0.count { $0 == "=" } == 1 }
        && address.split(separator: "%", omittingEmptySubsequences: false).dropFirst().allSatisfy { text in
            text.utf8.count >= 2 && text.first != "+" && UInt8(text.prefix(2), radix: 16) ?? 0 != 0
        }
    guard isWellFormed else { throw refused }
}

/// `host`, `host:5432` or `[::1]:5432`. All may be left out.
private func isHostAndPort(_ text: Substring) -> Bool {
    var port = text.drop { $0 != ":" }
    if text.hasPrefix("[") {
        guard let end = text.firstIndex(of: "]") else { return false }
        port = text[text.index(after: end)...]
        guard port.isEmpty || port.hasPrefix(":") else { return false }
    }
    return port.dropFirst().utf8.allSatisfy { (0x30...0x39).contains($0) }
}
