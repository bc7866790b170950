/// The values of `apns-push-type` and what each demands.
package enum PushType: String, Sendable, Hashable, CaseIterable {
    case alert
    case background
    case location
    case voip
    case complication
    case fileprovider
    case mdm
    case liveactivity
    case pushtotalk
    case widgets
    case controls

    /// What follows the bundle id in the topic.
    package var topicSuffix: String {
        switch self {
        case .alert, .background, .mdm: ""
        case .location: ".location-query"
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileprovider: ".pushkit.fileprovider"
        case .liveactivity: ".push-type.liveactivity"
        case .pushtotalk: ".voip-ptt"
        case .widgets: ".push-type.widgets"
        case .controls: ".push-type.controls"
        }
    }

    /// Bytes of the largest payload.
    package var payloadLimit: Int { self == .voip ? 5120 : 4096 }

    /// Which of an app's tokens it is sent to.
    package var tokenKind: DeviceToken.Kind {
        switch self {
        case .voip: .voip
        case .liveactivity: .liveActivity
        case .pushtotalk: .pushToTalk
        default: .device
        }
    }

    func allows(priority: Int) -> Bool {
        switch self {
        case .background: priority != 10
        case .liveactivity: priority != 1
        default: true
        }
    }
}

/// A topic taken apart.
struct Topic: Sendable, Hashable {
    var bundle: String
    var suffix: String

    /// Letters, digits, hyphens and dots, in two parts at least, none of them empty.
    static func isWellFormed(_ text: String) -> Bool {
        guard text.utf8.count <= 255 else { return false }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count >= 2
            && parts.allSatisfy { part in
                !part.isEmpty
                    && part.utf8.allSatisfy { byte in
                        switch byte {
                        case 0x61...0x7A, 0x41...0x5A, 0x30...0x39, 0x2D: true
                        default: false
                        }
                    }
            }
    }

    /// - Parameter bundles: ids that are whole even where they end like a suffix.
    init(_ text: String, bundles: Set<String>) {
        let suffix =
            bundles.contains(text)
            ? "" : PushType.allCases.map(\.topicSuffix).first { !$0.isEmpty && text.hasSuffix($0) } ?? ""
        self.bundle = String(text.dropLast(suffix.count))
        self.suffix = suffix
    }
}
