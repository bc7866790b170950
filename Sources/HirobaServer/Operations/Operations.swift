import Glibc
import HirobaCore
import HirobaHTTP
import HirobaStore

/// What those who run the program ask it: is it alive, can it work, how is it doing.
struct Operations: Sendable {
    private let database: Database
    private let blobs: String
    private let metrics: Metrics
    private let readers: TrustedProxies

    /// - Parameter verdicts: of what was handed to a gateway, if there is one.
    init(
        _ configuration: Configuration, database: Database, core: Core, metrics: Metrics, verdicts: VerdictCounts?
    ) {
        metrics.add(
            .init(name: "hiroba_database_waiting_writes", help: "Writes that wait for their turn.") {
                Double(database.waitingWrites)
            })
        metrics.add(
            .init(
                name: "hiroba_events_lag_seconds",
                help: "Age of the oldest event held back by an older transaction. Alarm above some seconds."
            ) {
                let (seconds, attoseconds) = await core.events.lag.components
                return Double(seconds) + Double(attoseconds) * 1e-18
            })
        if let verdicts { Self.addPush(to: metrics, core, verdicts) }
        self.database = database
        self.metrics = metrics
        blobs = configuration.blobsFolder
        readers = TrustedProxies(configuration.metricsReaders)
    }

    private static func addPush(to metrics: Metrics, _ core: Core, _ verdicts: VerdictCounts) {
        metrics.add(
            .init(
                name: "hiroba_push_verdicts_total", help: "Messages handed to a gateway, by how that ended.",
                label: "verdict", values: { verdicts.all }))
        metrics.add(
            .init(name: "hiroba_push_waiting_events", help: "What happened and is not made into deliveries yet.") {
                (try? await core.push.backlog()).map { Double($0.events) }
            })
        metrics.add(
            .init(name: "hiroba_push_waiting_deliveries", help: "Deliveries that are not over, 100000 at most.") {
                (try? await core.push.backlog()).map { Double($0.deliveries) }
            })
        metrics.add(
            .init(
                name: "hiroba_push_oldest_waiting_seconds",
                help: "Age of the oldest delivery that is not over. Alarm when it grows."
            ) {
                (try? await core.push.backlog()).map { Double($0.oldestAge.components.seconds) }
            })
    }

    func register(on routes: inout Routes) {
        // Alive: the loop answers. Restarting helps when it does not.
        let alive = Self.answer(.ok, "ok\n")
        routes.on(.get, "/healthz") { _, _ in alive }
        // Ready: database and files work. A balancer sends requests elsewhere while they do not.
        routes.on(.get, "/readyz") { _, _ in
            guard await database.isHealthy else {
                return Self.answer(.serviceUnavailable, "The database does not answer.\n")
            }
            guard canWriteFiles else { return Self.answer(.serviceUnavailable, "Files cannot be written.\n") }
            return Self.answer(.ok, "ready\n")
        }
        routes.on(.get, "/metrics") { request, _ in
            guard readers.contains(request.peer.ip) else { return try await Self.nothing(request) }
            var response = Self.answer(.ok, await metrics.text())
            response.headers["Content-Type"] = "text/plain; version=0.0.4; charset=utf-8"
            return response
        }
    }

    /// Two system calls that answer from memory, so they may run on the loop.
    private var canWriteFiles: Bool {
        var space = statvfs()
        guard access(blobs, W_OK) == 0, statvfs(blobs, &space) == 0 else { return false }
        // Less than 16 MiB: an upload would fail halfway.
        return UInt64(space.f_bavail) * UInt64(space.f_frsize) >= 16 << 20
    }

    private static func nothing(_ request: HTTPRequest) async throws -> HTTPResponse {
        answer(.notFound, "There is nothing here.\n")
    }

    private static func answer(_ status: HTTPStatus, _ text: String) -> HTTPResponse {
        var response = HTTPResponse.text(status, text)
        response.headers["Cache-Control"] = "no-store"
        return response
    }
}
