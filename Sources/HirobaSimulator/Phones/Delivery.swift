package import HirobaJSON

/// The story of one push, from the front to the screen, step by step.
package struct Delivery: Sendable, Hashable {
    /// Why a phone shows nothing.
    package enum Discard: String, Sendable, Hashable, CaseIterable {
        case notJSON = "not_json"
        case noAps = "no_aps"
        case empty = "empty_payload"
        case nothingToShow = "nothing_to_show"
        case permissionDenied = "permission_denied"
        case permissionNotAsked = "permission_not_asked"
        case inForeground = "app_in_foreground"
        case forceQuit = "app_not_running"
        case appRemoved = "app_removed"
        case notShownByPhones = "not_an_alert"
    }

    /// Why the service extension could not fetch the picture.
    package enum PictureFailure: String, Error, Sendable, Hashable, CaseIterable {
        case noAddress = "no_address"
        case notAllowed = "address_not_allowed"
        case unreachable = "unreachable"
        case refused = "refused_by_server"
        case tooLarge = "too_large"
        case notAPicture = "not_a_picture"
        case tooSlow = "too_slow"
    }

    package enum Step: Sendable, Hashable {
        /// The front refused it; nothing follows.
        case refused(Reason)
        /// The front answered 200.
        case accepted
        /// Kept by APNs because the phone is offline, until then (milliseconds).
        case stored(until: Int64)
        /// Kept because the phone saves power, until then.
        case held(until: Int64)
        /// A newer push took its place while it was kept.
        case overwritten
        /// It was not to be kept any longer, or not at all.
        case expired
        case delivered
        /// The app ran in the background for it.
        case woken
        case pictureAttached
        case pictureMissing(PictureFailure)
        case badge(Int)
        case shown
        /// It took the place of an older notification with its collapse id.
        case replaced
        case discarded(Discard)
        case tapped
        case dismissed
    }

    package struct Moment: Sendable, Hashable {
        /// Milliseconds since 1970.
        package var time: Int64
        package var step: Step
    }

    /// Counts up over all pushes; a push that was sent twice has two.
    package let number: Int
    package var apnsID: String
    /// Only in the sandbox.
    package var uniqueID: String?
    package var environment: PushEnvironment
    package var token: String
    package var bundle: String
    package var type: String
    package var priority: Int
    package var collapseID: String?
    package var phone: Phone.ID?
    /// What can be read of it.
    package var title: String?
    package var body: String?
    /// What is wrong with the payload although APNs took it.
    package var findings: [String] = []
    package var moments: [Moment] = []

    package func has(_ step: Step) -> Bool { moments.contains { $0.step == step } }

    /// Where the push is now, or how it ended.
    package var outcome: Step {
        for moment in moments.reversed() {
            switch moment.step {
            // Said on the way to something that matters more.
            case .pictureAttached, .pictureMissing, .badge, .delivered:
                if moments.count > 1, moments.contains(where: { $0.step.isEnd }) { continue }
                return moment.step
            default: return moment.step
            }
        }
        return .accepted
    }
}

extension Delivery.Step {
    package var name: String {
        switch self {
        case .refused: "refused"
        case .accepted: "accepted"
        case .stored: "stored"
        case .held: "held"
        case .overwritten: "overwritten"
        case .expired: "expired"
        case .delivered: "delivered"
        case .woken: "woken"
        case .pictureAttached: "picture_attached"
        case .pictureMissing: "picture_missing"
        case .badge: "badge"
        case .shown: "shown"
        case .replaced: "replaced"
        case .discarded: "discarded"
        case .tapped: "tapped"
        case .dismissed: "dismissed"
        }
    }

    var isEnd: Bool {
        switch self {
        case .shown, .replaced, .discarded, .tapped, .dismissed, .woken, .refused, .overwritten, .expired: true
        default: false
        }
    }

    /// What else there is to say: a reason, a time, a number.
    fileprivate var detail: (name: String, value: JSON)? {
        switch self {
        case .refused(let reason): ("reason", .string(reason.rawValue))
        case .discarded(let reason): ("reason", .string(reason.rawValue))
        case .pictureMissing(let reason): ("reason", .string(reason.rawValue))
        case .stored(let until), .held(let until): ("until", .integer(until))
        case .badge(let count): ("count", .integer(Int64(count)))
        default: nil
        }
    }
}

extension Delivery {
    package var json: JSON {
        func text(_ text: String?) -> JSON { text.map(JSON.string) ?? .null }
        return [
            "number": .integer(Int64(number)), "apnsId": .string(apnsID), "apnsUniqueId": text(uniqueID),
            "environment": .string(environment.rawValue), "token": .string(token), "bundle": .string(bundle),
            "pushType": .string(type), "priority": .integer(Int64(priority)), "collapseId": text(collapseID),
            "phone": text(phone), "title": text(title), "body": text(body),
            "findings": .array(findings.map(JSON.string)), "outcome": .string(outcome.name),
            "steps": .array(
                moments.map { moment in
                    var json: JSON = ["step": .string(moment.step.name), "at": .integer(moment.time)]
                    if let detail = moment.step.detail { json[detail.name] = detail.value }
                    return json
                }),
        ]
    }
}

/// The last deliveries, in order.
package struct DeliveryLog: Sendable {
    private var deliveries: [Delivery] = []
    /// The number of the first one that is kept.
    private var first = 1
    private let capacity: Int

    package init(capacity: Int) { self.capacity = max(1, capacity) }

    package var all: [Delivery] { deliveries }
    package var nextNumber: Int { first + deliveries.count }

    package mutating func append(_ delivery: Delivery) {
        deliveries.append(delivery)
        // In one go from time to time, so that each append stays cheap.
        if deliveries.count > capacity + capacity / 4 + 16 {
            let surplus = deliveries.count - capacity
            deliveries.removeFirst(surplus)
            first += surplus
        }
    }

    package subscript(_ number: Int) -> Delivery? {
        let index = number - first
        return deliveries.indices.contains(index) ? deliveries[index] : nil
    }

    package mutating func change(_ number: Int, _ change: (inout Delivery) -> Void) {
        let index = number - first
        if deliveries.indices.contains(index) { change(&deliveries[index]) }
    }

    package func deliveries(of apnsID: String) -> [Delivery] {
        deliveries.filter { $0.apnsID.lowercased() == apnsID.lowercased() || $0.uniqueID == apnsID }
    }

    package mutating func clear() {
        first += deliveries.count
        deliveries = []
    }
}
