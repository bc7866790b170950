/// What became of one attempt to deliver a message. All but `retry`, `held` and `unknown` are final.
package enum Verdict: Sendable, Hashable {
    /// The gateway has it. Whether the device will is the gateway's business.
    case accepted(Acceptance)
    /// The token is dead. `since` is when the gateway last knew that, in milliseconds: a registration later than that is
    /// alive. Without it the token was never good.
    case gone(since: Int64?, reason: String)
    /// Later, at the earliest after `after`. Whoever keeps the queue doubles that with each attempt, adds some chance, and
    /// drops the message when it would come too late.
    case retry(after: Duration, of: Scope, reason: String)
    /// Never again, and why.
    case refused(reason: String, fault: Fault)
    /// Something must be set right by a person first. The message stays where it is, and so does everything else that
    /// would go the same way.
    case held(reason: String)
    /// It was sent, perhaps more than once, and no answer came. Sent again under the same id it shows once.
    case unknown(reason: String)

    package struct Acceptance: Sendable, Hashable {
        /// The message's id as the gateway repeats it.
        package var id: String
        /// What the gateway's own console calls the delivery, if it tells.
        package var uniqueID: String?
        /// Where the token turned out to be from. To be kept with the device.
        package var environment: PushAddress.Environment
        /// It was sent again after an attempt whose end is unknown, so the device may have got it twice.
        package var isResent: Bool

        package init(id: String, uniqueID: String?, environment: PushAddress.Environment, isResent: Bool) {
            self.id = id
            self.uniqueID = uniqueID
            self.environment = environment
            self.isResent = isResent
        }
    }

    /// What has to wait.
    package enum Scope: Sendable, Hashable {
        /// Messages to this device.
        case device
        /// Messages that go the same way.
        case route
    }

    package enum Fault: Sendable, Hashable {
        /// We built a message that the gateway does not take.
        case message
        /// The token does not fit: another app's, another kind's, or of the other environment. It may be good elsewhere.
        /// When many of a batch are refused so, the batch is wrong and not the devices.
        case device
    }
}
