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
        Migration("2026-12 push", push),
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
        ) \(.inKeyOrder)
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
        // The rows of a page lie beside each other, in the order in which the lists show them.
        """
        CREATE TABLE topics (
            id \(.key) NOT NULL,
            title TEXT NOT NULL,
            text TEXT NOT NULL,
            photo \(.key),
            \(common),
            PRIMARY KEY (created_at, id)
        ) \(.inKeyOrder)
        """,
        "CREATE UNIQUE INDEX topics_by_id ON topics (id)",
        "CREATE INDEX topics_by_photo ON topics (photo) WHERE photo IS NOT NULL",
        // No foreign key to the topic: the comments of a big topic go after it, in small transactions.
        """
        CREATE TABLE comments (
            id \(.key) NOT NULL,
            topic \(.key) NOT NULL,
            text TEXT NOT NULL,
            \(common),
            PRIMARY KEY (topic, created_at, id)
        ) \(.inKeyOrder)
        """,
        "CREATE UNIQUE INDEX comments_by_id ON comments (id)",
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
        // an event is (transaction, sequence). SQLite has one writer, so the sequence alone is the order; it counts on from
        // the newest event, which therefore is never pruned.
        """
        CREATE TABLE events (
            seq \(SQL.byDialect(sqlite: "INTEGER PRIMARY KEY", postgres: "BIGINT GENERATED BY DEFAULT AS IDENTITY")),
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

    private static let push: [SQL] = [
        // Marks what a strategy wants to tell and nobody has taken up yet.
        "ALTER TABLE events ADD COLUMN push \(.flag)",
        "CREATE INDEX events_to_push ON events (seq) WHERE push IS NOT NULL",
        // Keys of other servers and of the operator. As with sessions, only the hash is kept.
        """
        CREATE TABLE server_keys (
            id \(.key) NOT NULL PRIMARY KEY,
            key_hash \(.key) NOT NULL UNIQUE,
            name TEXT NOT NULL,
            scopes \(.key) NOT NULL,
            created_at \(.integer) NOT NULL,
            revoked_at \(.integer)
        )
        """,
        """
        CREATE TABLE follows (
            follower \(.key) NOT NULL,
            followed \(.key) NOT NULL,
            created_at \(.integer) NOT NULL,
            PRIMARY KEY (follower, followed)
        ) \(.inKeyOrder)
        """,
        "CREATE INDEX follows_by_followed ON follows (followed, follower)",
        """
        CREATE TABLE blocks (
            blocker \(.key) NOT NULL,
            blocked \(.key) NOT NULL,
            created_at \(.integer) NOT NULL,
            PRIMARY KEY (blocker, blocked)
        ) \(.inKeyOrder)
        """,
        // No row is as good as the defaults.
        """
        CREATE TABLE notification_settings (
            user_id \(.key) NOT NULL PRIMARY KEY,
            topic_comments \(.key) NOT NULL,
            photo_comments \(.key) NOT NULL,
            others \(.flag) NOT NULL,
            updated_at \(.integer) NOT NULL
        ) \(.inKeyOrder)
        """,
        // A device belongs to the person of the session it last registered by, for as long as that lives: whatever ends
        // the session detaches the device, without a further write. `registered_at` is when the app last handed its
        // token in; a gateway that calls the token dead since before that is wrong.
        """
        CREATE TABLE devices (
            id \(.key) NOT NULL PRIMARY KEY,
            session_id \(.key),
            platform \(.key) NOT NULL,
            token \(.key),
            environment \(.key) NOT NULL,
            is_environment_proven \(.flag) NOT NULL,
            app \(.key) NOT NULL,
            permission \(.key) NOT NULL,
            language \(.key),
            time_zone \(.key),
            app_version TEXT,
            registered_at \(.integer),
            died_at \(.integer),
            problem \(.key),
            last_verdict \(.key),
            last_verdict_at \(.integer),
            created_at \(.integer) NOT NULL,
            updated_at \(.integer) NOT NULL,
            version \(.integer) NOT NULL
        ) \(.inKeyOrder)
        """,
        "CREATE UNIQUE INDEX devices_by_token ON devices (app, token) WHERE token IS NOT NULL",
        "CREATE INDEX devices_by_session ON devices (session_id, id) WHERE session_id IS NOT NULL",
        "CREATE INDEX devices_by_age ON devices (created_at, id)",
        // One for each event that a strategy tells. The cursor says up to whom it has been made into deliveries.
        """
        CREATE TABLE notifications (
            id \(.key) NOT NULL PRIMARY KEY,
            kind \(.key) NOT NULL,
            subject \(.key) NOT NULL,
            container \(.key),
            actor \(.key),
            event_at \(.integer) NOT NULL,
            created_at \(.integer) NOT NULL,
            expires_at \(.integer) NOT NULL,
            cursor \(.key),
            state \(.key) NOT NULL
        ) \(.inKeyOrder)
        """,
        "CREATE INDEX notifications_by_age ON notifications (created_at, id)",
        "CREATE INDEX notifications_by_subject ON notifications (subject)",
        "CREATE INDEX notifications_expanding ON notifications (created_at, id) WHERE state = 'expanding'",
        """
        CREATE TABLE notification_people (
            notification_id \(.key) NOT NULL,
            user_id \(.key) NOT NULL,
            decision \(.key) NOT NULL,
            PRIMARY KEY (notification_id, user_id)
        ) \(.inKeyOrder)
        """,
        // The id is the one that gateways are told: a UUID, the same in every attempt.
        """
        CREATE TABLE deliveries (
            id \(.key) NOT NULL PRIMARY KEY,
            notification_id \(.key) NOT NULL,
            device_id \(.key) NOT NULL,
            user_id \(.key) NOT NULL,
            state \(.key) NOT NULL,
            reason \(.key),
            attempts \(.integer) NOT NULL,
            doubts \(.integer) NOT NULL,
            is_resent \(.flag) NOT NULL,
            worker \(.key),
            created_at \(.integer) NOT NULL,
            due_at \(.integer),
            sent_at \(.integer),
            ended_at \(.integer),
            gateway_id \(.key),
            unique_id \(.key),
            opened_at \(.integer),
            UNIQUE (notification_id, device_id)
        ) \(.inKeyOrder)
        """,
        // What is over is in none of the two, so that they stay small.
        "CREATE INDEX deliveries_due ON deliveries (due_at, id) WHERE state = 'waiting'",
        "CREATE INDEX deliveries_sending ON deliveries (worker, id) WHERE state = 'sending'",
        "CREATE INDEX deliveries_by_device ON deliveries (device_id, created_at)",
        // Who sends, with a sign of life while there is something to send.
        """
        CREATE TABLE push_workers (
            id \(.key) NOT NULL PRIMARY KEY,
            seen_at \(.integer) NOT NULL
        ) \(.inKeyOrder)
        """,
    ]
}
