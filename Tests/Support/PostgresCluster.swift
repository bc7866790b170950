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
    /// Databases that a test has left. Emptying one is twenty times quicker than making another, so there are only a few and
    /// tests wait for them: do not take two in one test.
    private var free: [String] = []
    private var waiting: [CheckedContinuation<String, Never>] = []
    private static let most = 4

    /// The address of an empty database. The cluster is started on the first call.
    package func takeDatabase() async throws -> String {
        let task = starting ?? Task { try await Self.start() }
        starting = task
        let folder = try await task.value
        if let name = free.popLast() { return Self.address(name, folder) }
        if count == Self.most {
            return Self.address(await withCheckedContinuation { waiting.append($0) }, folder)
        }
        count += 1
        let name = "test\(count)"
        try Self.run("CREATE DATABASE \(name)", in: folder)
        return Self.address(name, folder)
    }

    /// Gives a database back, whatever is in it and whoever is still connected.
    package func giveBack(_ address: String) async throws {
        guard let starting, let name = address.split(separator: "?").first?.split(separator: "/").last.map(String.init)
        else { return }
        let folder = try await starting.value
        try await dropConnections(to: name)
        try Self.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public", in: folder, database: name)
        if waiting.isEmpty {
            free.append(name)
        } else {
            waiting.removeFirst().resume(returning: name)
        }
    }

    private static func address(_ name: String, _ folder: String) -> String {
        "postgres://postgres@/\(name)?host=\(folder)"
    }

    /// Runs one statement outside of any transaction, on a connection of its own, as the superuser.
    package func administer(_ statement: String) async throws {
        guard let starting else { throw TestSupportError("the cluster is not running") }
        try Self.run(statement, in: try await starting.value)
    }

    /// Ends every connection to the database of this name, as a restart of the server would.
    package func dropConnections(to name: String) async throws {
        try await administer(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '\(name)'")
    }

    private static func run(_ statement: String, in folder: String, database: String = "postgres") throws {
        let connection = PQconnectdb(
            "host=\(folder) user=postgres dbname=\(database) options='-c client_min_messages=error'")
        defer { PQfinish(connection) }
        let result = PQexec(connection, statement)
        defer { PQclear(result) }
        guard [PGRES_COMMAND_OK, PGRES_TUPLES_OK].contains(PQresultStatus(result)) else {
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
