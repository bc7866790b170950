import HirobaContract
import HirobaCore
import HirobaCrypto
import HirobaStore
import Testing

@Suite struct AccountsTests {
    private let secret = "3E1F6C0B-9A57-4D0E-8F51-6B2C7A94D013"
    private let signUp = SignUp(email: "Hana@Example.org", password: "correct horse", name: " Hana ")

    // MARK: Anonymous people

    @Test("the first use of a device secret makes a person, the next finds the same one")
    func sameSecretSamePerson() async throws {
        try await withForums { forum in
            let first = try await forum.core.accounts.signInAnonymously(.init(deviceSecret: secret), by: Caller())
            let second = try await forum.core.accounts.signInAnonymously(.init(deviceSecret: secret), by: Caller())
            #expect(first.isNew && !second.isNew)
            #expect(first.signedIn.user == second.signedIn.user)
            #expect(first.signedIn.user.isAnonymous && first.signedIn.user.name == nil)
            #expect(first.signedIn.token != second.signedIn.token)
        }
    }

    @Test("one secret used many times at once is one person")
    func sameSecretAtOnce() async throws {
        try await withForums { forum in
            let answers = try await withThrowingTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask {
                        try await forum.core.accounts.signInAnonymously(.init(deviceSecret: secret), by: Caller())
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(answers.map(\.signedIn.user.id)).count == 1)
            #expect(answers.count { $0.isNew } == 1)
            #expect(try await forum.count("users") == 1)
            #expect(try await forum.count("events") == 1)
        }
    }

    @Test("of secrets and tokens only hashes are stored")
    func nothingSecretStored() async throws {
        try await withForums { forum in
            let answer = try await forum.core.accounts.signInAnonymously(.init(deviceSecret: secret), by: Caller())
            let stored = try await forum.database.read { db in
                try db.rows("SELECT subject FROM identities UNION ALL SELECT token_hash FROM sessions") { row in
                    try row.text(0)
                }
            }
            #expect(stored.count == 2)
            #expect(!stored.contains { $0.contains(secret) || $0.contains(answer.signedIn.token) })
        }
    }

    // MARK: E-mail and password

    @Test("who signed up can sign in, whatever the case of the address")
    func signUpAndIn() async throws {
        try await withForums { forum in
            let made = try await forum.core.accounts.signUp(signUp, by: Caller())
            #expect(made.user.email == "hana@example.org" && made.user.name == "Hana" && !made.user.isAnonymous)
            let found = try await forum.core.accounts.signIn(
                SignIn(email: "HANA@example.org", password: "correct horse"), by: Caller())
            #expect(found.user == made.user)
            let me = try await forum.core.accounts.me(GetMe(), by: Caller(credential: .session(token: found.token)))
            #expect(me == made.user)
        }
    }

    @Test("the second of two accounts with one address is refused, also at the same time")
    func emailTaken() async throws {
        try await withForums { forum in
            let codes = await withTaskGroup { group in
                for address in ["hana@example.org", "HANA@example.org", "hana@Example.org"] {
                    group.addTask {
                        await refusal {
                            try await forum.core.accounts.signUp(
                                SignUp(email: address, password: "correct horse", name: "Hana"), by: Caller())
                        }?.code
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(codes.count { $0 == nil } == 1)
            #expect(codes.count { $0 == .emailTaken } == 2)
            let people = try await forum.count("users")
            #expect(people == 1)
        }
    }

    @Test("an unknown address and a wrong password are refused in the same words")
    func wrongCredentials() async throws {
        try await withForums { forum in
            _ = try await forum.core.accounts.signUp(signUp, by: Caller())
            for (email, password) in [
                ("hana@example.org", "wrong horse"), ("nobody@example.org", "correct horse"),
                ("nonsense", "correct horse"),
                ("hana@example.org", String(repeating: "x", count: 2000)), ("hana@example.org", ""),
            ] {
                let error = await refusal {
                    try await forum.core.accounts.signIn(SignIn(email: email, password: password), by: Caller())
                }
                #expect(error?.code == .invalidCredentials)
                #expect(error?.sentence == HirobaError.invalidCredentials.sentence)
                #expect(error?.field == nil)
            }
            #expect(try await forum.count("sessions") == 1)
        }
    }

    @Test("a flood of sign-ins is refused with a time to wait, and reading goes on")
    func hashingIsBounded() async throws {
        try await withForums({
            $0.limits.hashingThreads = 1; $0.limits.hashingQueue = 1
        }) { forum in
            let errors = await withTaskGroup { group in
                for _ in 0..<20 {
                    group.addTask {
                        await refusal {
                            try await forum.core.accounts.signIn(
                                SignIn(email: "nobody@example.org", password: "correct horse"), by: Caller())
                        }
                    }
                }
                #expect((try? await forum.core.community.topics(ListTopics(), by: Caller()))?.items.isEmpty == true)
                return await group.reduce(into: []) { $0.append($1) }
            }
            let refused = errors.filter { $0?.code == .tooManyRequests }
            #expect(!refused.isEmpty && refused.allSatisfy { $0?.retryAfter != nil })
            #expect(errors.contains { $0?.code == .invalidCredentials })
        }
    }

    // MARK: Sessions

    @Test("sessions are listed with their device, and their ids are no tokens")
    func listSessions() async throws {
        try await withForums { forum in
            let first = try await forum.caller(secret: secret)
            forum.time.advance(by: .seconds(1))
            let answer = try await forum.core.accounts.signInAnonymously(
                .init(deviceSecret: secret), by: Caller(device: "Test\u{0}phone"))
            _ = try await forum.person()
            let sessions = try await forum.core.accounts.sessions(ListSessions(), by: first).items
            #expect(sessions.map(\.current) == [false, true])
            #expect(sessions.map(\.device) == ["Testphone", nil])
            #expect(!sessions.contains { $0.id.rawValue == answer.signedIn.token })
            #expect(sessions.allSatisfy { $0.expiresAt > $0.createdAt })
        }
    }

    @Test("a session ends one by one, the current one, or all, and lets nobody in afterwards")
    func endSessions() async throws {
        try await withForums { forum in
            let accounts = forum.core.accounts
            let (one, two, three) = (
                try await forum.caller(secret: secret), try await forum.caller(secret: secret),
                try await forum.caller(secret: secret)
            )
            let other = try #require(try await accounts.sessions(ListSessions(), by: two).items.first { $0.current })
            try await accounts.endSession(EndSession(session: other.id), by: one)
            #expect(await refusal { try await accounts.me(GetMe(), by: two) }?.code == .unauthorized)

            try await accounts.endSession(EndSession(session: .current), by: one)
            // A sign-out with a dead session fails: the client hears that there is nothing left to end.
            #expect(await refusal { try await accounts.endSession(EndSession(), by: one) }?.code == .unauthorized)

            let four = try await forum.caller(secret: secret)
            try await accounts.endAllSessions(EndAllSessions(), by: three)
            for caller in [three, four] {
                #expect(await refusal { try await accounts.me(GetMe(), by: caller) }?.code == .unauthorized)
            }
            #expect(try await forum.count("sessions") == 0)
        }
    }

    @Test("somebody else's session does not exist, and stays")
    func othersSession() async throws {
        try await withForums { forum in
            let (hana, ken) = (try await forum.person(), try await forum.person())
            let session = try #require(try await forum.core.accounts.sessions(ListSessions(), by: hana).items.first)
            #expect(
                await refusal {
                    try await forum.core.accounts.endSession(EndSession(session: session.id), by: ken)
                }?.code == .notFound)
            _ = try await forum.core.accounts.me(GetMe(), by: hana)
        }
    }

    @Test("an unknown token is refused even where nobody need sign in")
    func unknownToken() async throws {
        try await withForums { forum in
            for token in ["", "x", Token.random256(), "' OR 1=1 --", "a\u{0}b"] {
                let caller = Caller(credential: .session(token: token))
                #expect(
                    await refusal { try await forum.core.community.topics(ListTopics(), by: caller) }?.code
                        == .unauthorized)
            }
            #expect(await refusal { try await forum.core.accounts.me(GetMe(), by: Caller()) }?.code == .unauthorized)
        }
    }

    @Test("a session lives on while it is used, is noted at most hourly, and expires when it is not")
    func slidingExpiry() async throws {
        try await withForums { forum in
            let caller = try await forum.person()
            let lifetime = Limits().sessionLifetime
            func lastUsed() async throws -> Int64? {
                try await forum.database.read { db in
                    try db.first("SELECT last_used_at FROM sessions") { row in try row.integer(0) }
                }
            }
            let begin = try await lastUsed()
            forum.time.advance(by: .seconds(3599))
            _ = try await forum.core.accounts.me(GetMe(), by: caller)
            #expect(try await lastUsed() == begin)

            // A read notes it as well as a write.
            forum.time.advance(by: .seconds(2))
            _ = try await forum.core.accounts.me(GetMe(), by: caller)
            #expect(try await lastUsed() == forum.time.now)
            forum.time.advance(by: lifetime - .seconds(1))
            _ = try await forum.topic(by: caller)
            #expect(try await lastUsed() == forum.time.now)

            forum.time.advance(by: lifetime + .seconds(1))
            #expect(await refusal { try await forum.core.accounts.me(GetMe(), by: caller) }?.code == .unauthorized)
        }
    }

    @Test("with one session too many the one unused for longest ends")
    func sessionsPerPerson() async throws {
        try await withForums({ $0.limits.sessionsPerPerson = 2 }) { forum in
            var callers: [Caller] = []
            for _ in 0..<3 {
                callers.append(try await forum.caller(secret: secret))
                forum.time.advance(by: .seconds(1))
            }
            #expect(await refusal { try await forum.core.accounts.me(GetMe(), by: callers[0]) }?.code == .unauthorized)
            _ = try await forum.core.accounts.me(GetMe(), by: callers[1])
            _ = try await forum.core.accounts.me(GetMe(), by: callers[2])
        }
    }

    // MARK: Profiles

    @Test("a name is set, kept when not named, and seen by everyone; an address is not")
    func profile() async throws {
        try await withForums { forum in
            let made = try await forum.core.accounts.signUp(signUp, by: Caller())
            let caller = Caller(credential: .session(token: made.token))
            forum.time.advance(by: .seconds(1))
            let changed = try await forum.core.accounts.updateMe(UpdateMe(name: "花子"), by: caller)
            #expect(changed.name == "花子" && changed.updatedAt > changed.createdAt)
            #expect(try await forum.core.accounts.updateMe(UpdateMe(), by: caller) == changed)
            let seen = try await forum.core.accounts.user(GetUser(user: changed.id), by: Caller())
            #expect(seen.name == "花子" && seen.id == changed.id)
            #expect(
                await refusal { try await forum.core.accounts.updateMe(UpdateMe(name: " "), by: caller) }?.field
                    == "name")
            #expect(
                await refusal { try await forum.core.accounts.updateMe(UpdateMe(name: "Eve"), by: Caller()) }?.code
                    == .unauthorized)
            #expect(
                await refusal { try await forum.core.accounts.user(GetUser(user: "0000000000000000"), by: Caller()) }?
                    .code == .notFound)
        }
    }
}
