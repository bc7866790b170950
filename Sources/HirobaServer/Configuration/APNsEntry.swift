package import HirobaCore
import HirobaJSON

/// One way to Apple's push service: a key, the environment it is used in, and the apps it is for.
package struct APNsEntry: Sendable, Equatable {
    package var environment: PushAddress.Environment
    /// The `.p8` file as Apple gave it out.
    package var keyFile: String
    package var keyID: String
    package var teamID: String
    /// Bundle identifiers.
    package var apps: [String]
    /// Another server than Apple's own, such as `hiroba phones`.
    package var host: String?
    package var port: Int?
    /// The only authority whose certificate is taken from that server; nil for those the system trusts.
    package var authorityFile: String?

    package init(
        environment: PushAddress.Environment, keyFile: String, keyID: String, teamID: String, apps: [String],
        host: String? = nil, port: Int? = nil, authorityFile: String? = nil
    ) {
        self.environment = environment
        self.keyFile = keyFile
        self.keyID = keyID
        self.teamID = teamID
        self.apps = apps
        self.host = host
        self.port = port
        self.authorityFile = authorityFile
    }

    private enum Member: String, CaseIterable {
        case environment, apps, host, port
        case keyFile = "key-file"
        case keyID = "key-id"
        case teamID = "team-id"
        case authorityFile = "authority-file"
    }

    /// Reads one entry, or a list of them.
    static func list(in text: String) throws(ConfigurationError) -> [APNsEntry] {
        let json: JSON
        do {
            json = try JSON.parse(text)
        } catch {
            throw ConfigurationError("is no JSON: \(error)")
        }
        var entries: [APNsEntry] = []
        switch json {
        case .array(let items):
            for (index, item) in items.enumerated() {
                do {
                    entries.append(try APNsEntry(item))
                } catch {
                    throw ConfigurationError("(entry \(index + 1)) \(error)")
                }
            }
        default: entries = [try APNsEntry(json)]
        }
        for (index, entry) in entries.enumerated() {
            for earlier in entries[..<index] where earlier.environment == entry.environment {
                guard let app = entry.apps.first(where: earlier.apps.contains) else { continue }
                throw ConfigurationError(
                    "has two entries for \(app) in the \(entry.environment.rawValue) environment; leave one")
            }
        }
        return entries
    }

    private init(_ json: JSON) throws(ConfigurationError) {
        guard case .object(let object) = json else {
            throw ConfigurationError(
                "must be an object such as {\"environment\": \"production\", \"key-file\": \"AuthKey_ABC123DEFG.p8\", "
                    + "\"key-id\": \"ABC123DEFG\", \"team-id\": \"DEF123GHIJ\", \"apps\": [\"org.example.app\"]}")
        }
        for member in object where Member(rawValue: member.name) == nil {
            let near = nearest(to: member.name, among: Member.allCases.map(\.rawValue))
            throw ConfigurationError(
                "has an unknown member “\(member.name)”" + (near.map { ", perhaps for “\($0)”" } ?? ""))
        }
        let environment = try Self.text(object, .environment)
        guard let known = PushAddress.Environment(rawValue: environment) else {
            throw ConfigurationError("has the environment “\(environment)”, but must say sandbox or production")
        }
        self.environment = known
        keyFile = try Self.text(object, .keyFile)
        keyID = try Self.identifier(object, .keyID)
        teamID = try Self.identifier(object, .teamID)
        apps = object[Member.apps.rawValue]?.array?.compactMap(\.string) ?? []
        guard !apps.isEmpty, apps.count == object[Member.apps.rawValue]?.array?.count,
            apps.allSatisfy(Self.isBundleID)
        else { throw ConfigurationError("must list its “apps” by their bundle ids, such as [\"org.example.app\"]") }
        host = object[Member.host.rawValue] == nil ? nil : try Self.text(object, .host)
        authorityFile = object[Member.authorityFile.rawValue] == nil ? nil : try Self.text(object, .authorityFile)
        if let port = object[Member.port.rawValue] {
            guard let number = port.integer, (1...65_535).contains(number) else {
                throw ConfigurationError("has a “port” that is no number from 1 to 65535")
            }
            self.port = Int(number)
        }
    }

    private static func text(_ object: JSONObject, _ member: Member) throws(ConfigurationError) -> String {
        guard let text = object[member.rawValue]?.string, !text.isEmpty, !text.utf8.contains(0) else {
            throw ConfigurationError("needs the text “\(member.rawValue)”")
        }
        return text
    }

    /// Ten letters and digits, as Apple makes them.
    private static func identifier(_ object: JSONObject, _ member: Member) throws(ConfigurationError) -> String {
        let text = try text(object, member)
        guard text.utf8.count == 10, text.utf8.allSatisfy(isLetterOrDigit) else {
            throw ConfigurationError(
                "has “\(text)” for its “\(member.rawValue)”, but Apple's have ten letters and digits")
        }
        return text
    }

    private static func isBundleID(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }
}

extension APNsEntry: CustomStringConvertible {
    /// Nothing in it is secret: the key itself stays in its file.
    package var description: String {
        let server = host.map { " at \($0):\(port ?? 443)" } ?? ""
        return "\(environment.rawValue)\(server): key \(keyID) of team \(teamID) for \(apps.joined(separator: ", "))"
    }
}
