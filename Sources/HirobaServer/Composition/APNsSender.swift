import Glibc
import HirobaCore
import HirobaCrypto
import HirobaGateways
import HirobaHTTP
import HirobaJSON

/// The gateway to Apple as configured, with the event loop it lives on, and a count of its verdicts.
final class APNsSender: PushGateway {
    let verdicts = VerdictCounts()
    private let gateway: APNsGateway
    private let loop: EventLoop

    /// - Throws: `StartFailure` when a key cannot be used.
    init(_ entries: [APNsEntry], log: Log) throws {
        let routes = try entries.map(Self.route)
        loop = try EventLoop()
        loop.start(name: "push")
        do {
            gateway = try APNsGateway(
                routes: routes, loop: loop, settings: APNsGateway.Settings(milliseconds: Clock.system.now),
                observe: { Self.note($0, in: log) })
        } catch {
            loop.stop {}
            throw StartFailure("The connection to APNs cannot be set up: \(error).")
        }
    }

    func send(_ message: PushMessage, to address: PushAddress) async -> Verdict {
        let verdict = await gateway.send(message, to: address)
        verdicts.count(verdict)
        return verdict
    }

    /// Lets what is on its way end for `grace`. What is sent later ends at once, with a verdict that says to try again.
    func finish(grace: Duration) async { await gateway.stop(grace: grace) }

    /// When nobody sends any more.
    func stop() async {
        await gateway.stop(grace: .zero)
        await withCheckedContinuation { continuation in
            loop.stop { continuation.resume() }
        }
    }

    private static func route(_ entry: APNsEntry) throws(StartFailure) -> APNsRoute {
        let key: APNsKey
        do throws(ConfigurationError) {
            key = try Self.key(of: entry)
        } catch {
            throw StartFailure("\(error)")
        }
        var route = APNsRoute(environment: entry.environment, key: key, apps: entry.apps)
        if let host = entry.host { route.server.host = host }
        if let port = entry.port { route.server.port = port }
        if let file = entry.authorityFile { route.server.trust = .authority(file: file) }
        return route
    }

    /// - Throws: a whole sentence.
    static func key(of entry: APNsEntry) throws(ConfigurationError) -> APNsKey {
        guard let bytes = readFile(entry.keyFile) else {
            throw ConfigurationError("The APNs key \(entry.keyFile) cannot be read: \(systemError(errno)).")
        }
        do {
            let key = try ES256.PrivateKey(pem: String(decoding: bytes, as: UTF8.self))
            return APNsKey(id: entry.keyID, team: entry.teamID, key: key)
        } catch {
            throw ConfigurationError("The APNs key \(entry.keyFile) is no .p8 file as Apple gives them out.")
        }
    }

    /// Called on the loop: the log only takes the text and writes it elsewhere.
    private static func note(_ event: APNsGateway.Event, in log: Log) {
        switch event {
        case .alarm(let reason, let message, let route):
            log.note("APNs (\(route)) refused the message \(message): \(reason)")
        case .stopped(let reason, let route):
            log.note("Nothing is sent to APNs (\(route)) until this is set right: \(reason)")
        case .connection(.connected, _): break
        case .connection(.goAway(let code, let debug), let route):
            let reason = (try? JSON.parse(debug))?["reason"]?.string ?? "code \(code)"
            log.note("APNs (\(route)) takes no more requests on a connection: \(reason)")
        case .connection(.lost(let reason), let route):
            log.note("A connection to APNs (\(route)) is lost: \(reason)")
        }
    }
}
