internal import HirobaContract
internal import HirobaCrypto
internal import HirobaStore

/// The way of every rule into the database: who asks is found in the same transaction that does the work, so that
/// "ended" means ended, and a rule cannot run without knowing its caller.
struct Desk: Sendable {
    let database: Database
    let clock: Clock
    let limits: Limits

    func read<Result: Sendable>(
        _ caller: Caller, _ body: @escaping @Sendable (Transaction, Visitor) throws -> Result
    ) async throws(HirobaError) -> Result {
        let (credential, now, recognised) = (caller.hashedCredential, clock.now(), caller.recognised)
        do {
            let (result, stale) = try await database.read { db in
                let visitor = try Visitor(credential, in: db, at: now)
                if let member = visitor.member { recognised?(member.user) }
                let result = try body(db, visitor)
                return (result, visitor.member.flatMap { limits.isStale($0.session, at: now) ? $0.session.id : nil })
            }
            if let stale {
                // A reading transaction cannot write. That the session was used is noted at most hourly, and when it
                // cannot be noted the next request will.
                try? await database.write { db in try slide(stale, in: db, at: now) }
            }
            return result
        } catch {
            throw HirobaError(error)
        }
    }

    /// `body` may run more than once: ids, tokens and times are made before.
    func write<Result: Sendable>(
        _ caller: Caller, _ body: @escaping @Sendable (Transaction, Visitor) throws -> Result
    ) async throws(HirobaError) -> Result {
        let (credential, now, recognised) = (caller.hashedCredential, clock.now(), caller.recognised)
        do {
            return try await database.write { db in
                let visitor = try Visitor(credential, in: db, at: now)
                if let member = visitor.member { recognised?(member.user) }
                if let session = visitor.member?.session, limits.isStale(session, at: now) {
                    try slide(session.id, in: db, at: now)
                }
                return try body(db, visitor)
            }
        } catch {
            throw HirobaError(error)
        }
    }

    /// For work that asks for nobody: signing in, and the workers.
    func write<Result: Sendable>(
        _ body: @escaping @Sendable (Transaction) throws -> Result
    ) async throws(HirobaError) -> Result {
        do { return try await database.write(body) } catch { throw HirobaError(error) }
    }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (Transaction) throws -> Result
    ) async throws(HirobaError) -> Result {
        do { return try await database.read(body) } catch { throw HirobaError(error) }
    }

    /// Repeats a small piece of work until it says that nothing is left, so that no other write waits for long.
    func inChunks(_ body: @escaping @Sendable (Transaction, _ most: Int) throws -> Int) async throws(HirobaError) {
        let most = limits.chunk
        while true {
            let done = try await write { db in try body(db, most) }
            if done < most { return }
        }
    }

    private func slide(_ session: String, in db: Transaction, at now: Int64) throws {
        _ = try db.run(
            """
            UPDATE sessions SET last_used_at = \(now), expires_at = \(now + limits.sessionLifetime.milliseconds)
            WHERE id = \(session) AND last_used_at < \(now)
            """)
    }
}

/// Who turned out to be asking.
struct Visitor: Sendable {
    /// Nobody, when the caller showed no credential.
    let member: Member?
    let access: Access
    /// What the key they came by opens.
    private let scopes: Set<ServerKey.Scope>

    /// - Throws: `HirobaError.sessionEnded` for a token that names no living session, `keyEnded` for a key that opens
    ///   nothing.
    init(_ credential: HashedCredential, in db: Transaction, at now: Int64) throws {
        switch credential {
        case .none: self.init(member: nil, access: .anyone)
        case .session(let hash): try self.init(session: hash, in: db, at: now)
        case .serverKey(let hash):
            self.init(member: nil, access: .anyone, scopes: try ServerKey.scopes(of: hash, in: db))
        case .local: self.init(member: nil, access: .anyone, scopes: Set(ServerKey.Scope.allCases))
        }
    }

    private init(member: Member?, access: Access, scopes: Set<ServerKey.Scope> = []) {
        self.member = member
        self.access = access
        self.scopes = scopes
    }

    private init(session tokenHash: String, in db: Transaction, at now: Int64) throws {
        let found = try db.first(Self.living.filled(with: [.text(tokenHash), .integer(now)])) { row in
            Member(
                user: User.ID(rawValue: try row.text(2)), name: try row.optionalText(3),
                session: .init(id: try row.text(0), lastUsedAt: try row.integer(1)))
        }
        guard let found else { throw HirobaError.sessionEnded }
        self.init(member: found, access: .person(found.user))
    }

    private static let living = SQLTemplate {
        """
        SELECT s.id, s.last_used_at, s.user_id, u.name FROM sessions s JOIN users u ON u.id = s.user_id
        WHERE s.token_hash = \(.given(.text)) AND s.expires_at > \(.given(.integer))
        """
    }

    /// The person, for what nobody may do.
    func signedIn() throws(HirobaError) -> Member {
        guard let member else { throw .unauthorized }
        return member
    }

    /// For what only a server key opens.
    ///
    /// - Throws: `unauthorized` for nobody in particular, else `forbidden`.
    func mustHold(_ scope: ServerKey.Scope) throws(HirobaError) {
        if scopes.contains(scope) { return }
        throw member == nil && scopes.isEmpty ? .keyMissing : .forbidden
    }

    /// Whether the visitor may change a row with these lists.
    ///
    /// - Throws: `notFound` for what they may not even see, `unauthorized` when signing in could help, else `forbidden`.
    func mustBeAbleToChange(read: AccessList, write: AccessList) throws(HirobaError) {
        guard access.matches(read) else { throw .notFound }
        if access.matches(write) { return }
        throw member == nil ? .unauthorized : .forbidden
    }
}

/// A person with the session they came by.
struct Member: Sendable {
    struct Session: Sendable {
        let id: String
        let lastUsedAt: Int64
    }

    let user: User.ID
    let name: String?
    let session: Session

    var person: Person { Person(id: user, name: name) }
}

/// A credential as it is looked up: hashed once, before the transaction.
enum HashedCredential: Sendable {
    case none
    case session(String)
    case serverKey(String)
    case local
}

extension Caller {
    fileprivate var hashedCredential: HashedCredential {
        switch credential {
        case .none: .none
        case .session(let token): .session(SessionToken.hash(token))
        case .serverKey(let key): .serverKey(ServerKey.hash(key))
        case .local: .local
        }
    }
}

/// A session's token: whoever holds it is the person.
enum SessionToken {
    /// Tokens are 256 random bits, so that a plain hash cannot be turned back.
    static func hash(_ token: String) -> String { Hex.encode(SHA256.hash(Array(token.utf8))) }
}

extension Duration {
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
