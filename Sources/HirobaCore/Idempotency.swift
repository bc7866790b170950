internal import HirobaContract
internal import HirobaCrypto
internal import HirobaJSON
internal import HirobaStore

/// A creating request that may arrive twice: its key, and what it asked for.
///
/// The key is kept in the transaction that makes the thing, so that of several requests at once one makes it and the
/// others answer the same.
struct Repeatable: Sendable {
    private let key: String
    private let call: String
    private let requestHash: String

    /// Nil when the caller gave no key.
    ///
    /// - Parameter request: everything that makes two requests differ.
    init?(_ caller: Caller, _ call: String, _ request: some Encodable) throws(HirobaError) {
        guard let key = caller.idempotencyKey else { return nil }
        guard (1...200).contains(key.utf8.count), key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .invalid(
                HirobaError.idempotencyKeyField,
                Sentence(
                    en: "An idempotency key has 1 to 200 visible ASCII characters.",
                    ja: "冪等キーはASCIIの可視文字1〜200文字です。"))
        }
        self.key = key
        self.call = call
        do {
            requestHash = Hex.encode(SHA256.hash(try JSONCoding.encode(request)))
        } catch {
            throw .internal("\(error)")
        }
    }

    /// What the first request with this key made, when there was one.
    ///
    /// - Throws: `idempotencyConflict` when that request asked for something else.
    func earlierSubject(of user: User.ID, in db: Transaction) throws -> String? {
        let earlier = try db.first(
            """
            SELECT request_hash, subject FROM idempotency_keys
            WHERE user_id = \(user.rawValue) AND call = \(call) AND idempotency_key = \(key)
            """
        ) { row in (hash: try row.text(0), subject: try row.text(1)) }
        guard let earlier else { return nil }
        guard earlier.hash == requestHash else { throw HirobaError.idempotencyConflict }
        return earlier.subject
    }

    func remember(_ subject: String, of user: User.ID, in db: Transaction, at now: Int64) throws {
        // Two at once on PostgreSQL: the later one cannot see the row it meets, so it fails to serialise, runs again and
        // finds the earlier one's key.
        let kept = try db.run(
            """
            INSERT INTO idempotency_keys (user_id, call, idempotency_key, request_hash, subject, created_at)
            VALUES (\(user.rawValue), \(call), \(key), \(requestHash), \(subject), \(now))
            ON CONFLICT (user_id, call, idempotency_key) DO NOTHING
            """)
        guard kept == 1 else { throw HirobaError.unavailable("an idempotency key appeared during its first use") }
    }

    static func prune(_ desk: Desk) async throws(HirobaError) {
        let before = desk.clock.now() - desk.limits.idempotencyKeys.milliseconds
        try await desk.inChunks { db, most in
            let old = try db.rows(
                """
                SELECT user_id, call, idempotency_key FROM idempotency_keys
                WHERE created_at < \(before) ORDER BY created_at LIMIT \(most)
                """
            ) { row in (user: try row.text(0), call: try row.text(1), key: try row.text(2)) }
            for entry in old {
                try db.run(
                    """
                    DELETE FROM idempotency_keys
                    WHERE user_id = \(entry.user) AND call = \(entry.call) AND idempotency_key = \(entry.key)
                    """)
            }
            return old.count
        }
    }
}
