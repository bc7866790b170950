/// Brings a schema up to date, one transaction a step, and refuses a database this program must not run on.
///
/// The table `schema_steps` holds what was applied, and with each step the position below which a program is too old.
struct Migrator {
    private let migrations: [Migration]

    init(_ migrations: [Migration]) { self.migrations = migrations }

    private struct Applied {
        let name: String
        let oldestProgram: Int
    }

    /// What one look at the table, under a lock, decides.
    enum Next {
        case apply(Migration, position: Int)
        case done
    }

    static let table: SQL = """
        CREATE TABLE IF NOT EXISTS schema_steps (
            position \(.integer) PRIMARY KEY, name TEXT NOT NULL UNIQUE, oldest_program \(.integer) NOT NULL) \(.strict)
        """

    /// Inside a transaction that nobody else can be in at the same time: applies the next step. False when there is none.
    func step(_ db: Transaction) throws -> Bool {
        // Whoever brings no steps only wants to look.
        guard !migrations.isEmpty else { return false }
        try db.run(Self.table)
        let applied = try db.rows("SELECT name, oldest_program FROM schema_steps ORDER BY position") { row in
            Applied(name: try row.text(0), oldestProgram: Int(try row.integer(1)))
        }
        guard case .apply(let migration, let position) = try next(after: applied) else { return false }
        for statement in migration.statements(db.dialect) { try db.run(statement) }
        let oldest = migration.keepsOlderPrograms ? applied.last?.oldestProgram ?? 0 : position
        try db.run(
            "INSERT INTO schema_steps (position, name, oldest_program) VALUES (\(position), \(migration.name), \(oldest))"
        )
        return true
    }

    static func applied(_ db: Transaction) throws -> [String] {
        try db.run(table)
        return try names(db)
    }

    static func names(_ db: Transaction) throws -> [String] {
        try db.rows("SELECT name FROM schema_steps ORDER BY position") { row in try row.text(0) }
    }

    private func next(after applied: [Applied]) throws(StoreError) -> Next {
        for (migration, step) in zip(migrations, applied) where migration.name != step.name {
            throw StoreError(
                .schema,
                "the database has the schema step \"\(step.name)\" where this program has \"\(migration.name)\"")
        }
        if applied.count < migrations.count {
            return .apply(migrations[applied.count], position: applied.count + 1)
        }
        if let last = applied.last, last.oldestProgram > migrations.count {
            throw StoreError(
                .schema,
                "the database was written by a newer version (schema \(applied.count), this program knows "
                    + "\(migrations.count)); install that version again, or restore a backup made before")
        }
        return .done
    }

    func run(on connection: SQLiteConnection) throws {
        var isDone = false
        while !isDone {
            try connection.execute("BEGIN IMMEDIATE")
            do {
                let transaction = Transaction(on: connection)
                isDone = try !step(transaction)
                try connection.execute("COMMIT")
            } catch {
                if connection.isInTransaction { try? connection.execute("ROLLBACK") }
                throw error
            }
        }
    }
}
