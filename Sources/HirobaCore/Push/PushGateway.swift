/// Whoever brings messages to devices of one kind: Apple's gateway, Google's, a browser's.
package protocol PushGateway: Sendable {
    /// Sends `message` to one device and waits for the gateway's answer, for less than a minute. Many may be sent at once;
    /// senders beyond what the gateway takes are held back.
    ///
    /// Never throws: whatever happens is a verdict.
    func send(_ message: PushMessage, to address: PushAddress) async -> Verdict
}
