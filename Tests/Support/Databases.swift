package import HirobaStore

/// Runs the same body on SQLite in a temporary folder and on PostgreSQL in a database of its own.
package func withDatabases(
    migrations: [Migration] = [], options: Database.Options = Database.Options(),
    _ body: (Database) async throws -> Void
) async throws {
    try await withSQLite(migrations: migrations, options: options, body)
    try await withPostgres(migrations: migrations, options: options, body)
}

package func withSQLite(
    migrations: [Migration] = [], options: Database.Options = Database.Options(),
    _ body: (Database) async throws -> Void
) async throws {
    try await withTemporaryFolder { folder in
        try await withDatabase(.sqlite(path: folder + "/test.db"), "SQLite", migrations, options, body)
    }
}

/// Does nothing when PostgreSQL is switched off.
package func withPostgres(
    migrations: [Migration] = [], options: Database.Options = Database.Options(),
    _ body: (Database) async throws -> Void
) async throws {
    try await withPostgresAddress { address in
        try await withDatabase(.postgres(url: address), "PostgreSQL", migrations, options, body)
    }
}

/// For tests that open the database themselves.
package func withPostgresAddress(_ body: (String) async throws -> Void) async throws {
    if try PostgresCluster.isSwitchedOff { return }
    let address = try await PostgresCluster.shared.takeDatabase()
    do {
        try await body(address)
    } catch {
        try await PostgresCluster.shared.giveBack(address)
        throw error
    }
    try await PostgresCluster.shared.giveBack(address)
}

private func withDatabase(
    _ location: Database.Location, _ name: String, _ migrations: [Migration], _ options: Database.Options,
    _ body: (Database) async throws -> Void
) async throws {
    var options = options
    // A laptop that builds something else at the same time must not make a test fail.
    let ordinary = Database.Options()
    if options.readDeadline == ordinary.readDeadline { options.readDeadline = .seconds(30) }
    if options.writeDeadline == ordinary.writeDeadline { options.writeDeadline = .seconds(30) }
    let database = try await Database.open(location, migrations: migrations, options: options)
    do {
        try await body(database)
    } catch {
        await database.close()
        throw TestSupportError("on \(name): \(error)")
    }
    await database.close()
}
