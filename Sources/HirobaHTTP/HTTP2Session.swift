final class HTTP2Session {
    func beginStopping() {}
    func connectionClosed() {}
    func tick() {}
}
