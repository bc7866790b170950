package import HirobaJSON

/// What a phone makes of a push's payload. APNs answers 200 to anything that is not empty, so what is wrong is found here.
package struct Payload: Sendable, Hashable {
    package var title: String?
    package var subtitle: String?
    package var body: String?
    package var badge: Int?
    package var hasSound = false
    package var thread: String?
    package var category: String?
    package var isMutable = false
    package var isContentAvailable = false
    package var interruption = Interruption.active
    /// What stands beside `aps`, for the app.
    package var custom = JSONObject()
    /// What was wrong and therefore left out, each in one line.
    package var findings: [String] = []

    package enum Interruption: String, Sendable, Hashable {
        case passive
        case active
        case timeSensitive = "time-sensitive"
        case critical
    }

    /// Why nothing of the payload can be used.
    package enum Unusable: Error, Sendable, Hashable {
        case notJSON
        case noAps
        case empty
    }

    /// Something to read: only then a notification is drawn and the service extension asked.
    package var hasAlert: Bool { title != nil || subtitle != nil || body != nil }

    package init(_ bytes: [UInt8]) throws(Unusable) {
        guard let json = try? JSON.parse(bytes), let members = json.object else { throw .notJSON }
        if members.isEmpty { throw .empty }
        custom = members
        custom["aps"] = nil
        guard let aps = json["aps"]?.object else { throw .noAps }
        for member in aps { read(member.name, member.value) }
    }

    private mutating func read(_ name: String, _ value: JSON) {
        switch name {
        case "alert": readAlert(value)
        case "badge":
            badge = value.integer.flatMap { Int(exactly: $0) }
            if badge == nil || badge.map({ $0 < 0 }) == true {
                badge = nil
                complain("aps.badge is \(value.kind), but must be a whole number from 0")
            }
        case "sound":
            hasSound = value.string != nil || value.object != nil
            if !hasSound { complain("aps.sound is \(value.kind), but must be a text or an object") }
        case "thread-id": thread = text(value, "aps.thread-id")
        case "category": category = text(value, "aps.category")
        case "mutable-content": isMutable = flag(value, "aps.mutable-content")
        case "content-available": isContentAvailable = flag(value, "aps.content-available")
        case "interruption-level":
            guard let level = value.string.flatMap(Interruption.init(rawValue:)) else {
                return complain("aps.interruption-level is not one of passive, active, time-sensitive, critical")
            }
            interruption = level
        case "relevance-score":
            if value.double == nil { complain("aps.relevance-score is \(value.kind), but must be a number") }
        case "target-content-id", "filter-criteria": _ = text(value, "aps.\(name)")
        case "timestamp", "event", "content-state", "stale-date", "dismissal-date", "attributes-type", "attributes",
            "input-push-token", "input-push-channel":
            break
        default: complain("aps.\(name) is no key of Apple’s; the app’s own keys belong beside aps")
        }
    }

    private mutating func readAlert(_ value: JSON) {
        if let text = value.string {
            body = text.isEmpty ? nil : text
            return
        }
        guard value.object != nil else {
            return complain("aps.alert is \(value.kind), but must be a text or an object")
        }
        title = part(of: value, "title")
        subtitle = part(of: value, "subtitle")
        body = part(of: value, "body") ?? localised(value, "loc-key", "loc-args")
    }

    private mutating func part(of alert: JSON, _ name: String) -> String? {
        guard let value = alert[name] else { return localised(alert, "\(name)-loc-key", "\(name)-loc-args") }
        guard let text = value.string else {
            complain("aps.alert.\(name) is \(value.kind), but must be a text")
            return nil
        }
        return text.isEmpty ? nil : text
    }

    /// No app is here that could translate, so the key itself is shown, with what would be put into it.
    private func localised(_ alert: JSON, _ key: String, _ arguments: String) -> String? {
        guard let name = alert[key]?.string else { return nil }
        let values = (alert[arguments]?.array ?? []).compactMap(\.string)
        return values.isEmpty ? name : "\(name) (\(values.joined(separator: ", ")))"
    }

    private mutating func text(_ value: JSON, _ name: String) -> String? {
        if value.string == nil { complain("\(name) is \(value.kind), but must be a text") }
        return value.string
    }

    private mutating func flag(_ value: JSON, _ name: String) -> Bool {
        if value.integer == nil { complain("\(name) is \(value.kind), but must be 1") }
        return value.integer == 1
    }

    private mutating func complain(_ finding: String) { findings.append(finding) }

    // MARK: What apps agree on

    /// The picture that the service extension fetches: `picture` beside `aps`, or `data` → `attachment-url`.
    package var attachment: String? { custom["picture"]?.string ?? custom["data"]?["attachment-url"]?.string }

    /// Where a tap leads: the first of these keys beside `aps`, or inside `data`.
    package var link: String? {
        for name in Self.linkNames {
            if let link = custom[name]?.string ?? custom["data"]?[name]?.string { return link }
        }
        return nil
    }

    package static let linkNames = ["link", "deep-link", "deep_link", "url"]
}
