import CPostgres
import Glibc

/// A PostgreSQL cluster of this test process alone: in a temporary folder, on a unix socket, without fsync.
///
/// A shell watches over it. It waits on a pipe that ends with this process, however that comes about, then stops the
/// cluster and removes the folder.
package actor PostgresCluster {
    package static let shared = PostgresCluster()

    /// Whether `HIROBA_TEST_POSTGRES=off` was asked for. Under `CI` that is not allowed: half the suite would be missing.
    package static var isSwitchedOff: Bool {
        get throws {
            guard let value = getenv("HIROBA_TEST_POSTGRES"), String(cString: value) == "off" else { return false }
            guard getenv("CI") == nil else { throw TestSupportError("HIROBA_TEST_POSTGRES=off is not for CI") }
            return true
        }
    }

    private var starting: Task<String, any Error>?
    private var count = 0

    /// The address of a new empty database. The cluster is started on the first call.
    package func makeDatabase() async throws -> String {
        let task = starting ?? Task { try await Self.start() }
        starting = task
        let folder = try await task.value
        count += 1
        let name = "test\(count)"
        try Self.run("CREATE DATABASE \(name)", in: folder)
        return "postgres://postgres@/\(name)?host=\(folder)"
    }

    /// Runs one statement outside of any transaction, on a connection of its own, as the superuser.
    package func administer(_ statement: String) async throws {
        guard let starting else { throw TestSupportError("the cluster is not running") }
        try Self.run(statement, in: try await starting.value)
    }

    package func dropDatabase(_ address: String) async throws {
        guard let name = address.split(separator: "?").first?.split(separator: "/").last else { return }
        try await administer("DROP DATABASE \(name) WITH (FORCE)")
    }

    private static func run(_ statement: String, in folder: String) throws {
        let connection = PQconnectdb("host=\(folder) user=postgres dbname=postgres")
        defer { PQfinish(connection) }
        let result = PQexec(connection, statement)
        defer { PQclear(result) }
        guard PQresultStatus(result) == PGRES_COMMAND_OK else {
            throw TestSupportError("\(statement): \(String(cString: PQerrorMessage(connection)))")
        }
    }

    private static func start() async throws -> String {
        let folder = try makeTemporaryFolder()
        // The "e" keeps the pipe out of other child processes, which would hold it open after our end.
        guard popen("HIROBA_FOLDER='\(folder)'; \(supervisor)", "we") != nil else {
            throw TestSupportError("cannot start a shell: error \(errno)")
        }
        for _ in 0..<600 {
            if PQping("host=\(folder) user=postgres dbname=postgres") == PQPING_OK { return folder }
            if access(folder + "/failed", F_OK) == 0 {
                throw TestSupportError(
                    """
                    PostgreSQL did not start: see \(folder)/log. Without PostgreSQL here, install it with \
                    scripts/install-dependencies --tests, or run with HIROBA_TEST_POSTGRES=off.
                    """)
            }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw TestSupportError("PostgreSQL did not answer within 30 s: see \(folder)/log")
    }

    /// The collation is that of a language, not of bytes, so that a query that relies on the order of bytes shows.
    private static let supervisor = """
        exec >"$HIROBA_FOLDER/log" 2>&1
        trap '' INT HUP TERM
        cd /
        folder=$HIROBA_FOLDER
        for bin in "$(dirname "$(command -v initdb || echo /)")" /usr/lib/postgresql/*/bin; do
            [ -x "$bin/initdb" ] && binaries=$bin
        done
        as=''
        if [ "$(id -u)" = 0 ]; then
            user=postgres
            id $user >/dev/null || user=nobody
            chown $user "$folder"
            as="runuser -u $user --"
        fi
        $as "$binaries/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --no-sync \\
            --locale=C.UTF-8 --locale-provider=icu --icu-locale=und &&
        $as "$binaries/pg_ctl" start -D "$folder/data" -l "$folder/postgres.log" -W -o "-k $folder -c listen_addresses='' \\
            -c fsync=off -c shared_buffers=32MB -c max_connections=300 -c autovacuum=off" </dev/null ||
            touch "$folder/failed"
        read -r end
        if [ -e "$folder/failed" ]; then exit 1; fi
        $as "$binaries/pg_ctl" stop -D "$folder/data" -m immediate -w
        rm -rf "$folder"
        """
}
