import HirobaContract

/// The session in memory and in its store. The only place that reads or changes it.
actor SessionKeeper {
    private let store: any SessionStore
    private var loaded: StoredSession?
    private var signIn: Task<Result<Me, ClientError>, Never>?

    init(store: any SessionStore) { self.store = store }

    /// The session; on the very first start one with a new device secret, which is saved before it is used.
    private func session() throws(ClientError) -> StoredSession {
        if let loaded { return loaded }
        if let stored = try store.load() {
            loaded = stored
            return stored
        }
        let new = StoredSession(deviceSecret: Self.newSecret())
        try store.save(new)
        loaded = new
        return new
    }

    func deviceSecret() throws(ClientError) -> String { try session().deviceSecret }

    func signedIn() throws(ClientError) -> SignedIn? { try session().signedIn }

    func begin(_ signedIn: SignedIn) throws(ClientError) {
        var session = try session()
        session.signedIn = signedIn
        // In memory in any case: a store that cannot be written loses the session at the next start, not now.
        loaded = session
        try store.save(session)
    }

    /// Ends the session that has this token, if it is still the one. The device secret stays.
    func end(token: String) throws(ClientError) {
        var session = try session()
        guard session.signedIn?.token == token else { return }
        session.signedIn = nil
        loaded = session
        try store.save(session)
    }

    /// Notes what the server said about the person, if the session is still the one that was asked with.
    func update(_ user: Me, token: String) throws(ClientError) {
        var session = try session()
        guard session.signedIn?.token == token, session.signedIn?.user != user else { return }
        session.signedIn?.user = user
        loaded = session
        try store.save(session)
    }

    /// Runs a sign-in, or waits for the one that is running: two parts of an app that start at once make one request.
    func once(_ body: @escaping @Sendable () async -> Result<Me, ClientError>) async throws(ClientError) -> Me {
        if let signIn { return try await signIn.value.get() }
        let task = Task { await body() }
        signIn = task
        let result = await task.value
        signIn = nil
        return try result.get()
    }

    /// 256 random bits in hexadecimal digits.
    private static func newSecret() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<4).map { _ in
            let digits = String(generator.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
