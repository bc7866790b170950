import HirobaCore
import HirobaCrypto
import HirobaHTTP

extension PushMessage.Kind {
    /// `apns-push-type`.
    var pushType: String {
        switch self {
        case .alert: "alert"
        case .background: "background"
        case .voip: "voip"
        }
    }

    /// What follows the bundle identifier in `apns-topic`.
    var topicSuffix: String {
        switch self {
        case .alert, .background: ""
        case .voip: ".voip"
        }
    }

    /// Bytes of JSON.
    var mostPayload: Int {
        switch self {
        case .alert, .background: 4096
        case .voip: 5120
        }
    }
}

extension PushMessage {
    /// `apns-priority`. A background push with 10 is an error.
    var priority: String {
        if kind == .background { return "5" }
        return switch urgency {
        case .now: "10"
        case .whenConvenient: "5"
        case .withNextWake: "1"
        }
    }

    /// `apns-expiration`; `nil` leaves it to Apple.
    var expiration: String? {
        switch lifetime {
        case .gatewayDecides: nil
        case .attemptOnce: "0"
        case .until(let time): String(max(1, time))
        }
    }

    /// `apns-collapse-id`. What shows something always has one: if it must be sent again because nobody knows whether it
    /// arrived, it still shows once.
    var collapseID: String? {
        guard let key = collapseKey else { return kind == .alert ? id : nil }
        // At most 64 bytes are allowed, and a field takes visible ASCII: other keys go by their hash, as long as that.
        let isPlain = key.utf8.count <= 64 && !key.isEmpty && key.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        return isPlain ? key : Hex.encode(SHA256.hash(Array(key.utf8)))
    }
}

extension HTTP2ClientRequest {
    /// What differs with each push is a literal: Apple's table for fields is small, and what is the same every time shall
    /// stay in it. That is in the shared fields, which are still to be set.
    /// - Returns: `nil` when the message is too large even without its texts.
    static func push(_ message: PushMessage, token: String) -> HTTP2ClientRequest? {
        var request = HTTP2ClientRequest(.post, path: "/3/device/", token, capacity: 640)
        request.add("apns-id", message.id, .literal)
        if let expiration = message.expiration { request.add("apns-expiration", expiration, .literal) }
        if let collapseID = message.collapseID { request.add("apns-collapse-id", collapseID, .literal) }
        var bytes = request.takeBytes()
        do {
            _ = try APNsPayload.append(message, to: &bytes)
        } catch {
            return nil
        }
        request.setBody(bytes)
        return request
    }
}

/// The fields that all pushes of one kind to one app have in common, as long as the provider token lasts.
struct APNsSharedFields {
    private struct Entry {
        let app: String
        let kind: PushMessage.Kind
        let priority: String
        let fields: HTTP2SharedFields
    }

    private static let most = 32

    private var tokenNumber = 0
    private var entries: [Entry] = []

    mutating func fields(
        app: String, kind: PushMessage.Kind, priority: String, providerToken: APNsProviderToken.Token
    ) -> HTTP2SharedFields {
        if providerToken.number != tokenNumber || entries.count > Self.most {
            tokenNumber = providerToken.number
            entries = []
        }
        for index in entries.indices
        where entries[index].kind == kind && entries[index].priority == priority && entries[index].app == app {
            return entries[index].fields
        }
        let fields = HTTP2SharedFields([
            ("authorization", "bearer " + providerToken.text), ("apns-topic", app + kind.topicSuffix),
            ("apns-push-type", kind.pushType), ("apns-priority", priority),
        ])
        entries.append(Entry(app: app, kind: kind, priority: priority, fields: fields))
        return fields
    }
}
