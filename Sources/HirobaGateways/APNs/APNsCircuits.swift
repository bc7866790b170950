/// Which ways are closed because the configuration is wrong, and when one message may try whether that is still so. Times
/// are milliseconds.
struct APNsCircuits {
    enum Way: Hashable {
        /// All of a route: one key in one environment.
        case route(Int)
        case app(String, route: Int)
    }

    enum Passage: Hashable {
        case free
        /// This message finds out whether the way is open again. Its end must be told by `probed`.
        case probe
        case closed(reason: String)
    }

    private struct Closed {
        let reason: String
        var probeAt: Int64
        var isProbing = false
    }

    /// How long a way stays closed before one message tries it.
    let pause: Int64
    private var closed: [Way: Closed] = [:]

    init(pause: Int64) { self.pause = pause }

    mutating func close(_ way: Way, reason: String, now: Int64) {
        closed[way] = Closed(reason: reason, probeAt: now + pause)
    }

    mutating func passage(route: Int, app: String, now: Int64) -> Passage {
        var passage = Passage.free
        for way in Self.ways(route, app) {
            guard let state = closed[way] else { continue }
            if state.isProbing || now < state.probeAt { return .closed(reason: state.reason) }
            passage = .probe
        }
        if passage == .probe { for way in Self.ways(route, app) { closed[way]?.isProbing = true } }
        return passage
    }

    /// - Parameter isOpen: whether the gateway took or refused the message for what it is; `nil` when there was no answer.
    ///   A way that was closed anew meanwhile stays closed.
    mutating func probed(route: Int, app: String, isOpen: Bool?) {
        for way in Self.ways(route, app) where closed[way]?.isProbing == true {
            if isOpen == true {
                closed[way] = nil
            } else {
                closed[way]?.isProbing = false
            }
        }
    }

    func reason(route: Int, app: String) -> String? {
        Self.ways(route, app).lazy.compactMap { closed[$0]?.reason }.first
    }

    mutating func openAll() { closed = [:] }

    var isEverythingOpen: Bool { closed.isEmpty }

    private static func ways(_ route: Int, _ app: String) -> [Way] { [.route(route), .app(app, route: route)] }
}

/// How many of the last answers said that the token is bad. A few do; many mean a wrong host or a wrong key, and then the
/// devices are not to blame.
struct APNsSuspicion {
    /// Bad ones are remembered for so many answers, and until as many more have come.
    private static let half = 200
    private static let most = 20

    private var now = (answers: 0, bad: 0)
    private var badBefore = 0

    /// - Returns: whether there are too many. Counting then starts anew.
    mutating func note(isBad: Bool) -> Bool {
        if now.answers == Self.half {
            badBefore = now.bad
            now = (0, 0)
        }
        now.answers += 1
        if isBad { now.bad += 1 }
        guard now.bad + badBefore >= Self.most else { return false }
        self = APNsSuspicion()
        return true
    }
}
