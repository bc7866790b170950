/// Whoever brings messages to devices of one kind: Apple's gateway, Google's, a browser's.
package protocol PushGateway: Sendable {
    /// Sends `message` to one device and waits for the gateway's answer. Where none comes that takes up to about a minute
    /// and a half: it waits for its turn and for the answer, and is sent once more. Many may be sent at once; senders beyond
    /// what the gateway takes are held back before that.
    ///
    /// Never throws: whatever happens is a verdict.
    func send(_ message: PushMessage, to address: PushAddress) async -> Verdict
}
