import HirobaCore
import HirobaCrypto
import HirobaHTTP
import HirobaThreads

@testable import HirobaGateways

/// A gateway against servers of the test, with a clock that the test moves.
final class TestGateway: Sendable {
    let gateway: APNsGateway
    private let time: Lock<Int64>
    private let observed: Lock<[APNsGateway.Event]>

    static let app = "jp.example.hiroba"
    static let key = APNsKey(id: "ABC123DEFG", team: "DEF123GHIJ", key: .generate())

    init(
        production: Int, sandbox: Int?, host: String, trust: HTTP2Client.Configuration.Trust, rules: HTTP2ClientRules,
        apps: [String], loop: EventLoop, resends: Int
    ) throws {
        let time = Lock<Int64>(1_800_000_000_000)
        self.time = time
        let observed = Lock<[APNsGateway.Event]>([])
        self.observed = observed
        var settings = APNsGateway.Settings { time.withLock { $0 } }
        settings.resends = resends
        func route(_ environment: PushAddress.Environment, _ port: Int) -> APNsRoute {
            APNsRoute(
                environment: environment, key: Self.key, apps: apps,
                server: .init(host: host, port: port, trust: trust, rules: rules))
        }
        var routes = [route(.production, production)]
        if let sandbox { routes.append(route(.sandbox, sandbox)) }
        gateway = try APNsGateway(routes: routes, loop: loop, settings: settings) { event in
            observed.withLock { $0.append(event) }
        }
    }

    var now: Int64 { time.withLock { $0 } }
    func pass(minutes: Int64) { time.withLock { $0 += minutes * 60_000 } }

    var events: [APNsGateway.Event] { observed.withLock { $0 } }
    var alarms: [String] { events.compactMap { if case .alarm(let reason, _, _) = $0 { reason } else { nil } } }
    var stops: [String] { events.compactMap { if case .stopped(let reason, _) = $0 { reason } else { nil } } }

    /// Sends one push to a device whose token was good before.
    func send(
        _ message: PushMessage = makeMessage(), token: String = "0a1b2c3d", app: String = TestGateway.app,
        isProven: Bool = true
    ) async -> Verdict {
        await gateway.send(
            message,
            to: PushAddress(token: token, app: app, environment: .production, isEnvironmentProven: isProven))
    }

    /// Sends so many at once.
    /// - Returns: their verdicts by their ids.
    func sendMany(_ count: Int) async -> [String: Verdict] {
        await withTaskGroup(of: (String, Verdict).self) { group in
            for _ in 0..<count {
                group.addTask {
                    let message = makeMessage()
                    return (message.id, await self.send(message))
                }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }
}

/// Runs `body` with a gateway whose loop ends with it, and so do the servers.
func withGateway(
    to production: ScriptedServer, sandbox: ScriptedServer? = nil, host: String = "127.0.0.1",
    trust: HTTP2Client.Configuration.Trust = .clear, apps: [String] = [TestGateway.app], resends: Int = 1,
    rules: (inout HTTP2ClientRules) -> Void = { _ in }, _ body: (TestGateway) async throws -> Void
) async throws {
    defer {
        production.stop()
        sandbox?.stop()
    }
    try await withGateway(
        to: production.port, sandbox: sandbox?.port, host: host, trust: trust, apps: apps, resends: resends,
        rules: rules,
        body)
}

/// The same for servers of any kind, by their ports.
func withGateway(
    to production: Int, sandbox: Int? = nil, host: String = "127.0.0.1",
    trust: HTTP2Client.Configuration.Trust = .clear, apps: [String] = [TestGateway.app], resends: Int = 1,
    rules: (inout HTTP2ClientRules) -> Void = { _ in }, _ body: (TestGateway) async throws -> Void
) async throws {
    let loop = try EventLoop()
    loop.start(name: "test-push")
    var limits = HTTP2ClientRules()
    rules(&limits)
    let gateway = try TestGateway(
        production: production, sandbox: sandbox, host: host, trust: trust, rules: limits, apps: apps, loop: loop,
        resends: resends)
    func end() async {
        await gateway.gateway.stop(grace: .zero)
        await withCheckedContinuation { continuation in loop.stop { continuation.resume() } }
    }
    do {
        try await body(gateway)
    } catch {
        await end()
        throw error
    }
    await end()
}

func makeMessage(_ body: String = "I was there too") -> PushMessage {
    PushMessage(id: UUIDText.random(), title: "Hana", body: body, sound: "default")
}

/// Waits until `condition` holds, for at most ten seconds.
func eventually(_ condition: () async -> Bool) async -> Bool {
    let deadline = ContinuousClock.now + .seconds(10)
    while await !condition() {
        guard ContinuousClock.now < deadline else { return false }
        do { try await Task.sleep(for: .milliseconds(2)) } catch { return false }
    }
    return true
}
