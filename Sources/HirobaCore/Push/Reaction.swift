internal import HirobaContract
internal import HirobaStore

/// One attempt to deliver: what was handed to the gateway, and what must be known when it answers.
struct PushAttempt: Sendable {
    let delivery: String
    let device: String
    let address: PushAddress
    /// This attempt included.
    let attempts: Int
    /// How many of those before ended in a way that nobody knows.
    let doubts: Int
    let expiresAt: Int64
    /// What the device's row said of the last verdict.
    let lastVerdict: String?
    let lastVerdictAt: Int64?
}

/// What a verdict does to its delivery and its device. All of it is in `init`.
struct PushReaction: Sendable, Equatable {
    enum Next: Sendable, Equatable {
        case over(PushDeliveryState)
        /// Again at this time. `counts`: the gateway really tried.
        case again(at: Int64, counts: Bool)
    }

    enum Mark: Sendable, Equatable {
        /// Its fault it was not.
        case none
        /// What was said is kept.
        case note
        /// The token is good, and from there.
        case proven(PushAddress.Environment)
        /// The token is dead, unless the app handed it in after `since`.
        case dead(since: Int64?)
        /// The token does not fit the app.
        case misfit
    }

    let next: Next
    let mark: Mark
    /// What is kept with the delivery.
    let reason: String?
    let isResent: Bool

    struct Rules: Sendable {
        var now: Int64
        /// When the next message that is held may be looked at again: they come one by one, for all of them wait for
        /// the same repair.
        var nextHeld: Int64
        /// Between 0 and 1.
        var chance: Double = 0

        static let heldFor: Int64 = 30_000
        static let betweenHeld: Int64 = 10
        static let longestDelay: Int64 = 3_600_000
        static let doubtDelay: Int64 = 10_000
        static let mostDoubts = 5
    }

    init(to verdict: Verdict, of attempt: PushAttempt, _ rules: inout Rules) {
        let note = Verdict.Note(verdict)
        switch verdict {
        case .accepted(let acceptance):
            self.init(.over(.accepted), .proven(acceptance.environment), nil, isResent: acceptance.isResent)
        case .gone(let since, let reason):
            self.init(.over(.gone), .dead(since: since), reason)
        case .refused(let reason, .device):
            self.init(.over(.refused), .misfit, reason)
        case .refused(let reason, .message):
            self.init(.over(.refused), .none, reason)
        case .retry(let after, _, let reason):
            let delay = Self.delay(max(1000, after.milliseconds), attempt.attempts, rules)
            self = Self.again(in: delay, attempt, note, orElse: reason, rules)
        case .unknown(let reason) where attempt.doubts + 1 >= Rules.mostDoubts:
            self.init(.over(.refused), .note, reason)
        case .unknown(let reason):
            let delay = Self.delay(Rules.doubtDelay, attempt.doubts + 1, rules)
            self = Self.again(in: delay, attempt, note, orElse: reason, rules, isResent: true)
        case .held(let reason):
            let at = max(rules.now + Rules.heldFor, rules.nextHeld)
            rules.nextHeld = at + Rules.betweenHeld
            self = Self.again(in: at - rules.now, attempt, note, orElse: reason, rules, counts: false)
        }
    }

    private init(_ next: Next, _ mark: Mark, _ reason: String?, isResent: Bool = false) {
        self.next = next
        self.mark = mark
        self.reason = reason
        self.isResent = isResent
    }

    /// Twice as long with each attempt, and up to a fifth more so that those who failed together do not come together.
    private static func delay(_ first: Int64, _ attempts: Int, _ rules: Rules) -> Int64 {
        let doubled = first << min(20, max(0, attempts - 1))
        let delay = max(first, min(doubled, Rules.longestDelay))
        return delay + Int64(Double(delay) / 5 * rules.chance)
    }

    private static func again(
        in delay: Int64, _ attempt: PushAttempt, _ note: Verdict.Note, orElse reason: String, _ rules: Rules,
        isResent: Bool = false, counts: Bool = true
    ) -> PushReaction {
        let at = rules.now + delay
        guard at < attempt.expiresAt else {
            return PushReaction(.over(.expired), .note, reason, isResent: isResent)
        }
        return PushReaction(.again(at: at, counts: counts), .note, note.text, isResent: isResent)
    }
}
