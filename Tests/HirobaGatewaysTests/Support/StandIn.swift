import HirobaCore
import HirobaCrypto
import HirobaHTTP
import HirobaThreads
import TestSupport
import Testing

@testable import HirobaGateways
@testable import HirobaSimulator

/// The whole gateway and the whole stand-in for Apple's, with TLS between them. Each has a clock of its own.
struct StandIn: Sendable {
    let simulator: Simulator
    let gateway: APNsGateway
    private let simulatorTime: Lock<Int64>
    private let gatewayTime: Lock<Int64>
    private let observed: Lock<[APNsGateway.Event]>

    static let app = Simulator.firstBundle
    /// The provider's team owns it as well.
    static let otherApp = "jp.example.other"
    /// Nobody told the stand-in of these.
    static let strangeApps = ["jp.example.strange", "nonsense", ""]

    fileprivate init(
        _ simulator: Simulator, _ time: Lock<Int64>, key: APNsKey, loop: EventLoop, rules: HTTP2ClientRules,
        resends: Int
    ) throws {
        self.simulator = simulator
        simulatorTime = time
        let gatewayTime = Lock(time.withLock { $0 })
        self.gatewayTime = gatewayTime
        let observed = Lock<[APNsGateway.Event]>([])
        self.observed = observed
        var settings = APNsGateway.Settings { gatewayTime.withLock { $0 } }
        settings.resends = resends
        let routes = [
            (PushAddress.Environment.sandbox, simulator.sandboxPort), (.production, simulator.productionPort),
        ].map { environment, port in
            APNsRoute(
                environment: environment, key: key, apps: [Self.app, Self.otherApp] + Self.strangeApps,
                server: .init(
                    host: "localhost", port: port, trust: .authority(file: simulator.authorityFile), rules: rules))
        }
        gateway = try APNsGateway(routes: routes, loop: loop, settings: settings) { event in
            observed.withLock { $0.append(event) }
        }
    }

    var now: Int64 { simulatorTime.withLock { $0 } }
    func passAtApple(minutes: Int64) { simulatorTime.withLock { $0 += minutes * 60_000 } }
    func passHere(minutes: Int64) { gatewayTime.withLock { $0 += minutes * 60_000 } }

    private var events: [APNsGateway.Event] { observed.withLock { $0 } }
    var alarms: [String] { events.compactMap { if case .alarm(let reason, _, _) = $0 { reason } else { nil } } }
    var stops: Int { events.count { if case .stopped = $0 { true } else { false } } }
    var goAways: Int { events.count { if case .connection(.goAway, _) = $0 { true } else { false } } }
    /// Connections that were made.
    var connections: Int { events.count { if case .connection(.connected, _) = $0 { true } else { false } } }

    func set(_ change: (inout FrontSwitches) -> Void) throws {
        var switches = simulator.front.switches
        change(&switches)
        try simulator.front.setSwitches(switches.json)
    }

    /// A token of an app that is alive.
    func token(
        of app: String = app, environment: PushEnvironment = .sandbox
    ) async throws -> String {
        try #require(await simulator.phones.addCrowd(1, bundle: app, environment: environment).first)
    }

    /// Sends one push to a device whose token was good before.
    func send(
        _ message: PushMessage = makeMessage(), to token: String, app: String = app,
        environment: PushAddress.Environment = .sandbox, isProven: Bool = true
    ) async -> Verdict {
        await gateway.send(
            message, to: PushAddress(token: token, app: app, environment: environment, isEnvironmentProven: isProven))
    }

    // MARK: Many

    struct Tally: Sendable {
        var verdicts: [Verdict] = []
        /// By the id of the push.
        var verdictOfID: [String: Verdict] = [:]

        func count(_ isIt: (Verdict) -> Bool) -> Int { verdicts.count(where: isIt) }
        var accepted: Int { count { if case .accepted = $0 { true } else { false } } }
        var resent: Int { count { if case .accepted(let acceptance) = $0 { acceptance.isResent } else { false } } }
        var unknown: Int { count { if case .unknown = $0 { true } else { false } } }
    }

    /// Sends `count` pushes to the tokens in turn, `width` at a time.
    func sendMany(_ count: Int, to tokens: [String], width: Int = 200) async -> Tally {
        let next = Lock(0)
        return await withTaskGroup(of: [(String, Verdict)].self) { group in
            for _ in 0..<width {
                group.addTask {
                    var ended: [(String, Verdict)] = []
                    while true {
                        let number = next.withLock { next in
                            defer { next += 1 }
                            return next
                        }
                        guard number < count else { return ended }
                        let message = makeMessage()
                        ended.append((message.id, await send(message, to: tokens[number % tokens.count])))
                    }
                }
            }
            return await group.reduce(into: Tally()) { tally, ended in
                for (id, verdict) in ended {
                    tally.verdicts.append(verdict)
                    tally.verdictOfID[id] = verdict
                }
            }
        }
    }

    /// How often each push was taken at the other end.
    func arrivals() async -> [String: Int] {
        await simulator.phones.deliveries().reduce(into: [:]) { counts, delivery in
            if case .refused = delivery.outcome { return }
            counts[delivery.apnsID, default: 0] += 1
        }
    }
}

/// Runs `body` with a stand-in on free ports, and a gateway that sends to it with its key.
func withStandIn(
    firstStreamLimit: Int = 1, tokenUpdates: Int = 5, rules: (inout HTTP2ClientRules) -> Void = { _ in },
    resends: Int = 1, key: (APNsKey) -> APNsKey = { $0 }, _ body: (StandIn) async throws -> Void
) async throws {
    try await withTemporaryFolder { folder in
        let time = Lock<Int64>(1_800_000_000_000)
        var options = Simulator.Options(
            folder: folder, sandbox: .init(host: "127.0.0.1", port: 0), production: .init(host: "127.0.0.1", port: 0),
            clock: SimulatorClock { time.withLock { $0 } })
        options.bundles = [StandIn.app, StandIn.otherApp]
        options.firstStreamLimit = firstStreamLimit
        options.tokenUpdates = tokenUpdates
        let simulator = try await Simulator.start(options)
        let loop = try EventLoop()
        loop.start(name: "test-push")
        func end(_ gateway: APNsGateway?) async {
            await gateway?.stop(grace: .zero)
            await simulator.stop(grace: .zero)
            await withCheckedContinuation { continuation in loop.stop { continuation.resume() } }
        }
        let standIn: StandIn
        do {
            let pem = try #require(try SimulatorFolder(folder).text(ProviderKeys.fileName(ProviderKeys.firstKey)))
            let own = APNsKey(
                id: ProviderKeys.firstKey, team: ProviderKeys.firstTeam, key: try ES256.PrivateKey(pem: pem))
            var limits = HTTP2ClientRules()
            rules(&limits)
            standIn = try StandIn(simulator, time, key: key(own), loop: loop, rules: limits, resends: resends)
        } catch {
            await end(nil)
            throw error
        }
        do {
            try await body(standIn)
        } catch {
            await end(standIn.gateway)
            throw error
        }
        await end(standIn.gateway)
    }
}
