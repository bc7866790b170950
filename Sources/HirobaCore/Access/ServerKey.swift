internal import HirobaCrypto
internal import HirobaStore

/// What other servers and the operator show instead of a session: a secret that opens certain things and is nobody.
package enum ServerKey {
    /// What a key can open.
    package enum Scope: String, Sendable, CaseIterable {
        /// Reading pushes and devices.
        case push
    }

    /// Tells a key from a session's token, for both travel in the same header field.
    private static let prefix = "hk_"

    /// A new key.
    package static func random() -> String { prefix + Token.random256() }

    /// Whether the text is a key's and not a token's. It need not be a key of ours.
    package static func isOne(_ text: String) -> Bool { text.hasPrefix(prefix) }

    static func hash(_ key: String) -> String { Hex.encode(SHA256.hash(Array(key.utf8))) }

    /// - Throws: `keyEnded`.
    static func scopes(of hash: String, in db: Transaction) throws -> Set<Scope> {
        let scopes = try db.first("SELECT scopes FROM server_keys WHERE key_hash = \(hash) AND revoked_at IS NULL") {
            row in try row.text(0)
        }
        guard let scopes else { throw HirobaError.keyEnded }
        // A younger program may have given it more.
        return Set(scopes.split(separator: " ").compactMap { Scope(rawValue: String($0)) })
    }
}

extension Core {
    /// Lets the key open `scopes` from now on; one that was taken back, again.
    ///
    /// - Parameter name: what the operator calls it.
    package func admit(_ key: String, name: String, scopes: Set<ServerKey.Scope>) async throws(HirobaError) {
        let (id, now) = (ObjectID.random(), desk.clock.now())
        let list = scopes.map(\.rawValue).sorted().joined(separator: " ")
        _ = try await desk.write { db in
            try db.run(
                """
                INSERT INTO server_keys (id, key_hash, name, scopes, created_at)
                VALUES (\(id), \(ServerKey.hash(key)), \(name), \(list), \(now))
                ON CONFLICT (key_hash) DO UPDATE SET name = excluded.name, scopes = excluded.scopes, revoked_at = NULL
                """)
        }
    }
}
