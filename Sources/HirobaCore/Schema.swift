package import HirobaStore

/// The tables of the core, as the steps that made them.
///
/// A released step is never edited. Everything has an id, the times it was made and last changed (milliseconds), its
/// owner, a version that grows with each change, and who may read and write it (`AccessList`).
package enum Schema {
    package static let migrations: [Migration] = [
        Migration("2026-12 accounts", accounts),
        Migration("2026-12 files", files),
        Migration("2026-12 community", community),
        Migration("2026-12 spine", spine),
    ]

    private static let common: SQL = """
        created_at \(.integer) NOT NULL,
        updated_at \(.integer) NOT NULL,
        owner \(.key) NOT NULL,
        version \(.integer) NOT NULL,
        acl_read \(.key) NOT NULL,
        acl_write \(.key) NOT NULL
        """

    private static let accounts: [SQL] = [
        """
        CREATE TABLE users (
            id \(.key) NOT NULL PRIMARY KEY,
            name TEXT,
            is_anonymous \(.flag) NOT NULL,
            \(common)
        )
        """,
        // How a person is recognised: `device` with the hash of a secret, `email` with the normalised address. The
        // key makes the same secret the same person, however many sign in at once.
        """
        CREATE TABLE identities (
            kind \(.key) NOT NULL,
            subject \(.key) NOT NULL,
            user_id \(.key) NOT NULL REFERENCES users (id),
            password_hash \(.key),
            created_at \(.integer) NOT NULL,
            PRIMARY KEY (kind, subject)
        )
        """,
        "CREATE INDEX identities_by_user ON identities (user_id)",
        // A stolen copy of this table signs nobody in: of the token only the hash is kept.
        """
        CREATE TABLE sessions (
            id \(.key) NOT NULL PRIMARY KEY,
            token_hash \(.key) NOT NULL UNIQUE,
            user_id \(.key) NOT NULL REFERENCES users (id),
            device TEXT,
            created_at \(.integer) NOT NULL,
            last_used_at \(.integer) NOT NULL,
            expires_at \(.integer) NOT NULL
        )
        """,
        "CREATE INDEX sessions_by_user ON sessions (user_id, last_used_at)",
        "CREATE INDEX sessions_by_expiry ON sessions (expires_at)",
    ]

    private static let files: [SQL] = [
        """
        CREATE TABLE files (
            id \(.key) NOT NULL PRIMARY KEY,
            type \(.key) NOT NULL,
            size \(.integer) NOT NULL,
            width \(.integer),
            height \(.integer),
            hash \(.key) NOT NULL,
            blob \(.key) NOT NULL UNIQUE,
            \(common)
        )
        """,
        // No foreign key: whoever deletes the file takes these rows in the same transaction, because the bytes of
        // each must be deleted after it.
        """
        CREATE TABLE thumbnails (
            file_id \(.key) NOT NULL,
            side \(.integer) NOT NULL,
            type \(.key) NOT NULL,
            size \(.integer) NOT NULL,
            blob \(.key) NOT NULL UNIQUE,
            PRIMARY KEY (file_id, side)
        )
        """,
    ]

    private static let community: [SQL] = [
        """
        CREATE TABLE topics (
            id \(.key) NOT NULL PRIMARY KEY,
            title TEXT NOT NULL,
            text TEXT NOT NULL,
            photo \(.key),
            \(common)
        )
        """,
        "CREATE INDEX topics_by_age ON topics (created_at, id)",
        "CREATE INDEX topics_by_photo ON topics (photo) WHERE photo IS NOT NULL",
        // No foreign key to the topic: the comments of a big topic go after it, in small transactions.
        """
        CREATE TABLE comments (
            id \(.key) NOT NULL PRIMARY KEY,
            topic \(.key) NOT NULL,
            text TEXT NOT NULL,
            \(common)
        )
        """,
        "CREATE INDEX comments_by_age ON comments (topic, created_at, id)",
        // Topics that are gone and whose comments may not all be.
        """
        CREATE TABLE removed_topics (
            topic \(.key) NOT NULL PRIMARY KEY,
            at \(.integer) NOT NULL
        )
        """,
    ]

    private static let spine: [SQL] = [
        """
        CREATE TABLE idempotency_keys (
            user_id \(.key) NOT NULL,
            call \(.key) NOT NULL,
            idempotency_key \(.key) NOT NULL,
            request_hash \(.key) NOT NULL,
            subject \(.key) NOT NULL,
            created_at \(.integer) NOT NULL,
            PRIMARY KEY (user_id, call, idempotency_key)
        )
        """,
        "CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at)",
        // PostgreSQL hands out sequence numbers before it commits, and commits in another order: there the place of
        // an event is (transaction, sequence). SQLite has one writer, so the sequence alone is the order.
        """
        CREATE TABLE events (
            seq \(SQL.byDialect(sqlite: "INTEGER PRIMARY KEY AUTOINCREMENT", postgres: "BIGINT GENERATED BY DEFAULT AS IDENTITY")),
            xid \(.integer) NOT NULL,
            kind \(.key) NOT NULL,
            subject \(.key) NOT NULL,
            container \(.key),
            actor \(.key),
            version \(.integer) NOT NULL,
            acl_read \(.key) NOT NULL,
            at \(.integer) NOT NULL\(SQL.byDialect(sqlite: "", postgres: ", PRIMARY KEY (xid, seq)"))
        )
        """,
        // One row. The epoch names this history of events: after a restore it is another one, and no position of the
        // old one means anything. Everything up to the floor has been pruned.
        """
        CREATE TABLE spine (
            epoch \(.key) NOT NULL,
            floor_xid \(.integer) NOT NULL,
            floor_seq \(.integer) NOT NULL
        )
        """,
        """
        INSERT INTO spine (epoch, floor_xid, floor_seq) VALUES (\(SQL.byDialect(
            sqlite: "lower(hex(randomblob(6)))",
            postgres: "substr(md5(CAST(clock_timestamp() AS text) || CAST(random() AS text)), 1, 12)")), 0, 0)
        """,
    ]
}
