/// Placeholder until the pool lands.
enum PostgresEngine {
    static func open(url: String, _ migrations: [Migration], _ options: Database.Options) async throws -> SQLiteEngine {
        throw StoreError(.unavailable, "PostgreSQL is not supported yet")
    }
}
