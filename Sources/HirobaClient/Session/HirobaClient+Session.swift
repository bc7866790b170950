public import HirobaContract

/// What a check of the session found.
public enum SessionState: Sendable {
    /// The session lives; this is the person as the server knows them now.
    case valid(Me)
    /// The server said that the session is dead. It has been removed here; `checkAuth` signs in again, anonymously as
    /// the same person.
    case ended
    /// Nobody was signed in.
    case signedOut
    /// It could not be found out: no network, no time, a fault of the server. The session stays.
    case unknown(ClientError)
}

extension HirobaClient {
    /// Who was signed in when last heard of, without asking the server.
    public func storedUser() async throws(ClientError) -> Me? { try await keeper.signedIn()?.user }

    /// Makes sure that somebody is signed in: a stored person is answered at once and without a request, otherwise the
    /// device signs in anonymously. Cheap and safe to repeat at every return to the foreground.
    @discardableResult
    public func checkAuth() async throws(ClientError) -> Me {
        if let user = try await storedUser() { return user }
        return try await signInAnonymously()
    }

    /// Asks the server whether the session still lives. A stored person proves nothing: it was read back from this
    /// device.
    ///
    /// Only an answer that says the session is dead ends it. No network, no time left and faults of the server never
    /// do.
    public func checkSession() async -> SessionState {
        do {
            guard let token = try await keeper.signedIn()?.token else { return .signedOut }
            return try await check(token)
        } catch {
            return .unknown(error)
        }
    }

    private func check(_ token: String) async throws(ClientError) -> SessionState {
        var call = HirobaCall<GetMe, Me>(GetMe())
        call.token = token
        do {
            let me = try await send(call)
            try await keeper.update(me, token: token)
            return .valid(me)
        } catch {
            guard error.saysSessionEnded else { throw error }
            try await keeper.end(token: token)
            return .ended
        }
    }

    /// Signs in by this device's secret, without a name or a password. The same device is the same person each time.
    @discardableResult
    public func signInAnonymously() async throws(ClientError) -> Me {
        try await keeper.once { [self] in
            do throws(ClientError) {
                let secret = try await keeper.deviceSecret()
                return .success(try await begin(SignInAnonymously(deviceSecret: secret)))
            } catch {
                return .failure(error)
            }
        }
    }

    /// Creates an account and signs in.
    @discardableResult
    public func signUp(email: String, password: String, name: String) async throws(ClientError) -> Me {
        try await begin(SignUp(email: email, password: password, name: name))
    }

    /// Signs in by e-mail address and password.
    @discardableResult
    public func signIn(email: String, password: String) async throws(ClientError) -> Me {
        try await begin(SignIn(email: email, password: password))
    }

    /// Signs out. The session on this device ends whatever the server answers; if the server could not be told, that is
    /// thrown afterwards.
    public func signOut() async throws(ClientError) {
        guard let token = try await keeper.signedIn()?.token else { return }
        var call = HirobaCall<EndSession, NoContent>(EndSession())
        call.token = token
        try await keeper.end(token: token)
        _ = try await send(call)
    }

    private func begin<C: Call>(_ call: C) async throws(ClientError) -> Me where C.Answer == SignedIn {
        let signedIn = try await send(call)
        try await keeper.begin(signedIn)
        return signedIn.user
    }
}
