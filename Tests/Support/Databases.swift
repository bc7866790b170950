package import HirobaStore

/// Runs the same body on SQLite in a temporary folder and on PostgreSQL in a database of its own.
package func withDatabases(
    migrations: [Migration] = [], options: Database.Options = Database.Options(),
    _ body: (Database) async throws -> Void
) async throws {
    try await withTemporaryFolder { folder in
        let database = try await Database.open(
            .sqlite(path: folder + "/test.db"), migrations: migrations, options: options)
        do {
            try await body(database)
        } catch {
            await database.close()
            throw error
        }
        await database.close()
    }
}
