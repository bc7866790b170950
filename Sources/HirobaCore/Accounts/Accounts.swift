package import HirobaContract
internal import HirobaCrypto
internal import HirobaStore
internal import HirobaThreads

/// People: how they are known, and the sessions they come by.
package struct Accounts: Sendable {
    let desk: Desk
    /// Hashes run here, few at a time: a flood of sign-ins is refused and starves nobody else.
    let hashing: WorkerPool
}

// MARK: - Signing in

extension Accounts {
    /// The person who holds this device secret, made at its first use.
    ///
    /// The same secret is the same person, also when it arrives twice at once.
    /// - Returns: the new session, and whether the person is new.
    package func signInAnonymously(
        _ call: SignInAnonymously, by caller: Caller
    ) async throws(HirobaError) -> (signedIn: SignedIn, isNew: Bool) {
        let subject = try Credentials.deviceSubject(call.deviceSecret)
        let session = NewSession(for: caller, desk)
        let newUser = User.ID(rawValue: ObjectID.random())
        return try await desk.write { db in
            let known = try Self.user(by: .device, subject, in: db)
            if known == nil {
                let user = NewUser(id: newUser, name: nil, isAnonymous: true, createdAt: session.createdAt)
                guard try user.insert(in: db, as: .device, subject, passwordHash: nil) else {
                    throw HirobaError.unavailable("a device secret appeared during its first use")
                }
            }
            return (try session.begin(for: known ?? newUser, in: db, desk.limits), known == nil)
        }
    }

    package func signUp(_ call: SignUp, by caller: Caller) async throws(HirobaError) -> SignedIn {
        let email = try Credentials.email(call.email)
        let name = try Texts.line(call.name, field: "name", most: desk.limits.name)
        try Credentials.newPassword(call.password)
        let password = call.password
        let hash = try await hash { try Password.hash(password) }
        let session = NewSession(for: caller, desk)
        let id = User.ID(rawValue: ObjectID.random())
        return try await desk.write { db in
            let user = NewUser(id: id, name: name, isAnonymous: false, createdAt: session.createdAt)
            guard try user.insert(in: db, as: .email, email, passwordHash: hash) else { throw HirobaError.emailTaken }
            return try session.begin(for: id, in: db, desk.limits)
        }
    }

    /// An unknown address costs the same time and gets the same answer as a wrong password.
    package func signIn(_ call: SignIn, by caller: Caller) async throws(HirobaError) -> SignedIn {
        // What could never have been set is wrong without a look at it.
        guard let email = try? Credentials.email(call.email), Credentials.isHashable(call.password) else {
            throw .invalidCredentials
        }
        let known = try await desk.read { db in try Self.password(of: email, in: db) }
        let password = call.password
        let matches = try await hash { Password.verify(password, against: known?.hash) }
        guard matches, let known else { throw .invalidCredentials }
        let session = NewSession(for: caller, desk)
        return try await desk.write { db in
            // The password may have been changed while its hash was computed.
            guard try Self.password(of: email, in: db) == known else { throw HirobaError.invalidCredentials }
            return try session.begin(for: known.user, in: db, desk.limits)
        }
    }

    private func hash<Result: Sendable>(
        _ work: @escaping @Sendable () throws -> Result
    ) async throws(HirobaError) -> Result {
        do {
            return try await hashing.run(work)
        } catch is WorkerPool.Full {
            throw .busy
        } catch is Password.OutOfMemory {
            throw .unavailable("no memory for a password hash")
        } catch {
            throw HirobaError(error)
        }
    }

    private struct KnownPassword: Equatable {
        let user: User.ID
        let hash: String?
    }

    private static func password(of email: String, in db: Transaction) throws -> KnownPassword? {
        try db.first(
            "SELECT user_id, password_hash FROM identities WHERE kind = \(Identity.email.rawValue) AND subject = \(email)"
        ) { row in
            KnownPassword(user: User.ID(rawValue: try row.text(0)), hash: try row.optionalText(1))
        }
    }

    private static func user(by kind: Identity, _ subject: String, in db: Transaction) throws -> User.ID? {
        try db.first("SELECT user_id FROM identities WHERE kind = \(kind.rawValue) AND subject = \(subject)") { row in
            User.ID(rawValue: try row.text(0))
        }
    }
}

/// The ways to be recognised.
enum Identity: String {
    /// The hash of a secret that the device made.
    case device
    /// A normalised e-mail address, with a password.
    case email
}

private struct NewUser {
    let id: User.ID
    let name: String?
    let isAnonymous: Bool
    let createdAt: Int64

    /// False when somebody is known by this already; nothing may be kept then.
    func insert(in db: Transaction, as kind: Identity, _ subject: String, passwordHash: String?) throws -> Bool {
        try db.run(
            """
            INSERT INTO users (id, name, is_anonymous, created_at, updated_at, owner, version, acl_read, acl_write)
            VALUES (\(id.rawValue), \(.bound(name)), \(isAnonymous), \(createdAt), \(createdAt), \(id.rawValue), 1,
                \(AccessList.everyone), \(AccessList.only(id)))
            """)
        let inserted = try db.run(
            """
            INSERT INTO identities (kind, subject, user_id, password_hash, created_at)
            VALUES (\(kind.rawValue), \(subject), \(id.rawValue), \(.bound(passwordHash)), \(createdAt))
            ON CONFLICT (kind, subject) DO NOTHING
            """)
        guard inserted == 1 else { return false }
        try Event(.userCreated, id.rawValue, actor: id, read: .everyone, at: createdAt).append(in: db)
        return true
    }
}

// MARK: - People

extension Accounts {
    package func me(_ call: GetMe, by caller: Caller) async throws(HirobaError) -> Me {
        try await desk.read(caller) { db, visitor in try Self.me(try visitor.signedIn().user, in: db) }
    }

    /// Changes what the call names and nothing else.
    package func updateMe(_ call: UpdateMe, by caller: Caller) async throws(HirobaError) -> Me {
        let name: String? =
            if let name = call.name {
                try Texts.line(name, field: "name", most: desk.limits.name)
            } else {
                nil
            }
        let now = desk.clock.now()
        return try await desk.write(caller) { db, visitor in
            let member = try visitor.signedIn()
            if let name, name != member.name {
                let version = try db.first(
                    """
                    UPDATE users SET name = \(name), updated_at = \(now), version = version + 1
                    WHERE id = \(member.user.rawValue) RETURNING version
                    """
                ) { row in try row.integer(0) }
                try Event(
                    .userUpdated, member.user.rawValue, version: version ?? 1, actor: member.user, read: .everyone,
                    at: now
                ).append(in: db)
            }
            return try Self.me(member.user, in: db)
        }
    }

    package func user(_ call: GetUser, by caller: Caller) async throws(HirobaError) -> User {
        let id = try StoredID(call.user)
        return try await desk.read(caller) { db, visitor in
            let user = try db.first(
                """
                SELECT id, name, is_anonymous, created_at, updated_at FROM users
                WHERE id = \(id) AND \(visitor.access.condition(on: "acl_read"))
                """
            ) { row in
                User(
                    id: User.ID(rawValue: try row.text(0)), name: try row.optionalText(1),
                    isAnonymous: try row.bool(2), createdAt: try row.date(3), updatedAt: try row.date(4))
            }
            guard let user else { throw HirobaError.notFound }
            return user
        }
    }

    fileprivate static func me(_ id: User.ID, in db: Transaction) throws -> Me {
        let me = try db.first(
            """
            SELECT u.id, u.name, u.is_anonymous, u.created_at, u.updated_at, i.subject
            FROM users u LEFT JOIN identities i ON i.user_id = u.id AND i.kind = \(Identity.email.rawValue)
            WHERE u.id = \(id.rawValue)
            """
        ) { row in
            Me(
                id: User.ID(rawValue: try row.text(0)), name: try row.optionalText(1), email: try row.optionalText(5),
                isAnonymous: try row.bool(2), createdAt: try row.date(3), updatedAt: try row.date(4))
        }
        guard let me else { throw HirobaError.notFound }
        return me
    }
}

// MARK: - Sessions

extension Accounts {
    /// The person's living sessions, the one used last first.
    package func sessions(_ call: ListSessions, by caller: Caller) async throws(HirobaError) -> Page<Session> {
        let now = desk.clock.now()
        return try await desk.read(caller) { db, visitor in
            let member = try visitor.signedIn()
            let sessions = try db.rows(
                """
                SELECT id, device, created_at, last_used_at, expires_at FROM sessions
                WHERE user_id = \(member.user.rawValue) AND expires_at > \(now)
                ORDER BY last_used_at DESC, id DESC
                """
            ) { row in
                let id = try row.text(0)
                return Session(
                    id: Session.ID(rawValue: id), current: id == member.session.id, device: try row.optionalText(1),
                    createdAt: try row.date(2), lastUsedAt: try row.date(3), expiresAt: try row.date(4))
            }
            return Page(items: sessions, next: nil)
        }
    }

    /// Ends one session of the caller's, `current` being the one they came by. Somebody else's does not exist here.
    package func endSession(_ call: EndSession, by caller: Caller) async throws(HirobaError) {
        let named = call.session.rawValue
        let isCurrent = named == "current"
        let id = isCurrent ? nil : try StoredID(call.session)
        let now = desk.clock.now()
        try await desk.write(caller) { db, visitor in
            let member = try visitor.signedIn()
            let ended = try Self.end(
                "id = \(id?.text ?? member.session.id) AND user_id = \(member.user.rawValue)", of: member.user, in: db,
                at: now)
            guard ended > 0 else { throw HirobaError.notFound }
        }
    }

    /// Ends all sessions of the caller's, this one too.
    package func endAllSessions(_ call: EndAllSessions, by caller: Caller) async throws(HirobaError) {
        let now = desk.clock.now()
        try await desk.write(caller) { db, visitor in
            let member = try visitor.signedIn()
            _ = try Self.end("user_id = \(member.user.rawValue)", of: member.user, in: db, at: now)
        }
    }

    /// Ends the sessions that meet the condition and tells the live streams that came by them.
    fileprivate static func end(_ condition: SQL, of user: User.ID, in db: Transaction, at now: Int64) throws -> Int {
        let ended = try db.rows("DELETE FROM sessions WHERE \(condition) RETURNING id") { row in try row.text(0) }
        for session in ended {
            try Event(.sessionEnded, session, actor: user, read: .only(user), at: now).append(in: db)
        }
        return ended.count
    }

    /// Removes sessions that have expired. They let nobody in before that either.
    func pruneSessions() async throws(HirobaError) {
        let now = desk.clock.now()
        try await desk.inChunks { db, most in
            try db.run(
                """
                DELETE FROM sessions WHERE id IN
                (SELECT id FROM sessions WHERE expires_at <= \(now) ORDER BY expires_at LIMIT \(most))
                """)
        }
    }
}

/// A session about to begin. Made before the transaction, which may run twice.
private struct NewSession: Sendable {
    let id = ObjectID.random()
    let token = Token.random256()
    let device: String?
    let createdAt: Int64
    let expiresAt: Int64

    init(for caller: Caller, _ desk: Desk) {
        device = caller.device.flatMap { Texts.note($0) }
        createdAt = desk.clock.now()
        expiresAt = createdAt + desk.limits.sessionLifetime.milliseconds
    }

    func begin(for user: User.ID, in db: Transaction, _ limits: Limits) throws -> SignedIn {
        // Room for the new one: the sessions unused for longest end.
        _ = try Accounts.end(
            """
            id IN (SELECT id FROM sessions WHERE user_id = \(user.rawValue) ORDER BY last_used_at DESC, id DESC
                LIMIT \(limits.chunk) OFFSET \(limits.sessionsPerPerson - 1))
            """, of: user, in: db, at: createdAt)
        try db.run(
            """
            INSERT INTO sessions (id, token_hash, user_id, device, created_at, last_used_at, expires_at)
            VALUES (\(id), \(SessionToken.hash(token)), \(user.rawValue), \(.bound(device)), \(createdAt), \(createdAt),
                \(expiresAt))
            """)
        return SignedIn(user: try Accounts.me(user, in: db), token: token, expiresAt: .init(milliseconds: expiresAt))
    }
}
