import HirobaCore

/// A gateway that says what a test tells it to say, and keeps what it was given. Without a word from the test it accepts,
/// as Apple's does: the id repeated, the environment named.
actor ScriptedGateway: PushGateway {
    struct Sent: Sendable {
        let message: PushMessage
        let address: PushAddress
    }

    /// What is said to a message; nil is nothing, until `answerRest`.
    typealias Script = @Sendable (Sent, _ number: Int) -> Verdict?

    private(set) var sent: [Sent] = []
    private var script: Script
    private var waiting: [(Sent, CheckedContinuation<Verdict, Never>)] = []

    init(_ script: @escaping Script = { sent, _ in .accepted(sent) }) { self.script = script }

    func say(_ script: @escaping Script) { self.script = script }

    /// How many wait for an answer.
    var open: Int { waiting.count }

    func send(_ message: PushMessage, to address: PushAddress) async -> Verdict {
        let sent = Sent(message: message, address: address)
        self.sent.append(sent)
        if let verdict = script(sent, self.sent.count) { return verdict }
        return await withCheckedContinuation { waiting.append((sent, $0)) }
    }

    func answerRest(_ verdict: @Sendable (Sent) -> Verdict = { .accepted($0) }) {
        for (sent, continuation) in waiting { continuation.resume(returning: verdict(sent)) }
        waiting = []
    }
}

extension Verdict {
    static func accepted(_ sent: ScriptedGateway.Sent) -> Verdict {
        .accepted(
            Acceptance(
                id: sent.message.id, uniqueID: "unique \(sent.message.id)", environment: sent.address.environment,
                isResent: false))
    }
}
