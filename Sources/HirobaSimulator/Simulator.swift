internal import Glibc
internal import HirobaHTTP
internal import HirobaJSON

/// The whole stand-in: both fronts, the phones behind them and the page that shows them.
package final class Simulator: Sendable {
    package struct Options: Sendable {
        /// Where authority, keys and phones are kept.
        package var folder: String
        /// Where the sandbox and the production front listen; port 0 takes any free one.
        package var sandbox: Address
        package var production: Address
        /// Where the page answers; `nil` when it is mounted in another server by `web`.
        package var web: Address?
        /// The apps that may be sent to, and that new phones have.
        package var bundles = [Simulator.firstBundle]
        package var appName = "Hiroba"
        /// Phones made when there are none yet.
        package var newPhones: [NewPhone] = [
            NewPhone(id: "hana", name: "Hana’s iPhone", person: "Hana"),
            NewPhone(id: "sota", name: "Sota’s iPhone", person: "Sota"),
        ]
        /// What taps open, when `pages.openURL` is not another: `http://127.0.0.1:8080`.
        package var webBase: String?
        package var pages = PhonesWeb.Options()
        /// Hosts besides this machine from which the service extension fetches pictures.
        package var pictureHosts: Set<String> = []
        /// 32 as on most phones, or 80.
        package var tokenBytes = 32
        /// New provider tokens a connection may bring within 20 minutes; 1 is strict.
        package var tokenUpdates = 5
        /// Streams a client may open before its first token was accepted.
        package var firstStreamLimit = 1
        package var switches = FrontSwitches()
        package var clock: SimulatorClock
        /// How many deliveries the log keeps.
        package var logCapacity = 20_000

        package init(
            folder: String, sandbox: Address = Address(host: "127.0.0.1", port: 2197),
            production: Address = Address(host: "127.0.0.1", port: 2198), clock: SimulatorClock = .system
        ) {
            self.folder = folder
            self.sandbox = sandbox
            self.production = production
            self.clock = clock
        }
    }

    package struct NewPhone: Sendable, Hashable {
        package var id: String
        package var name: String
        package var person: String?

        package init(id: String, name: String, person: String? = nil) {
            self.id = id
            self.name = name
            self.person = person
        }
    }

    package struct Address: Sendable, Hashable {
        package var host: String
        package var port: Int

        package init(host: String, port: Int) {
            self.host = host
            self.port = port
        }
    }

    package static let firstBundle = "app.hiroba.forum"

    package let front: Front
    package let phones: Phones
    /// The page, for mounting it in another server.
    package let web: PhonesWeb
    package let authorityFile: String
    /// The `.p8` file of the key made at first start.
    package let keyFile: String
    package let sandboxPort: Int
    package let productionPort: Int
    /// Of the page, when it has a server of its own.
    package let webPort: Int?

    private let servers: [HTTPServer]

    private init(
        front: Front, phones: Phones, web: PhonesWeb, authorityFile: String, keyFile: String, sandboxPort: Int,
        productionPort: Int, webPort: Int?, servers: [HTTPServer]
    ) {
        self.front = front
        self.phones = phones
        self.web = web
        self.authorityFile = authorityFile
        self.keyFile = keyFile
        self.sandboxPort = sandboxPort
        self.productionPort = productionPort
        self.webPort = webPort
        self.servers = servers
    }

    package static func start(_ options: Options) async throws -> Simulator {
        let folder = try SimulatorFolder(options.folder)
        let authority = try Authority(in: folder)
        let keys = try ProviderKeys(in: folder, bundles: options.bundles)
        let extensionOfApps = ServiceExtension(allowedHosts: options.pictureHosts)
        let phones = Phones(
            clock: options.clock, saved: try folder.json("phones.json"), tokenBytes: options.tokenBytes,
            logCapacity: options.logCapacity, pictureSource: { await extensionOfApps.fetch($0) },
            save: { await folder.save($0, to: "phones.json") })
        await makePhones(phones, options)

        var rules = FrontRules(keys: keys)
        rules.tokenUpdates = options.tokenUpdates
        let front = Front(rules: rules, phones: phones, clock: options.clock)
        try front.setSwitches(options.switches.json)
        let web = PhonesWeb(phones: phones, front: front, clock: options.clock, options: options.pages)

        var servers: [HTTPServer] = []
        do {
            let sandbox = try server(front, .sandbox, options.sandbox, authority, options)
            let sandboxPort = try await sandbox.start().port
            servers.append(sandbox)
            let production = try server(front, .production, options.production, authority, options)
            let productionPort = try await production.start().port
            servers.append(production)
            var webPort: Int?
            if let address = options.web {
                var routes = Routes()
                web.register(on: &routes)
                let page = try HTTPServer(
                    configuration: HTTPServerConfiguration(host: address.host, port: address.port, loops: 1)
                ) { [routes] request in
                    (try? await routes.handle(request)) ?? HTTPResponse(.internalServerError)
                }
                webPort = try await page.start().port
                servers.append(page)
            }
            return Simulator(
                front: front, phones: phones, web: web, authorityFile: authority.authorityFile,
                keyFile: folder.file(ProviderKeys.fileName(ProviderKeys.firstKey)), sandboxPort: sandboxPort,
                productionPort: productionPort, webPort: webPort, servers: servers)
        } catch {
            for server in servers { await server.stop(grace: .zero) }
            throw error
        }
    }

    private static func makePhones(_ phones: Phones, _ options: Options) async {
        guard await phones.all.isEmpty else {
            if let base = options.webBase {
                for phone in await phones.all { await phones.setWebBase(base, of: phone.id) }
            }
            return
        }
        for new in options.newPhones {
            await phones.add(Phone(id: new.id, name: new.name, person: new.person, webBase: options.webBase))
            for (index, bundle) in options.bundles.enumerated() {
                await phones.install(bundle, named: index == 0 ? options.appName : bundle, on: new.id)
            }
        }
    }

    private static func server(
        _ front: Front, _ environment: PushEnvironment, _ address: Address, _ authority: Authority, _ options: Options
    ) throws -> HTTPServer {
        var limits = HTTPLimits()
        limits.streamsPerConnection = 1000
        // A provider keeps its connection for days, and resets streams when it has waited too long for an answer.
        limits.idleTime = .seconds(24 * 3600)
        limits.streamResets = 2000
        limits.headBytes = 8000
        var configuration = HTTPServerConfiguration(
            host: address.host, port: address.port, tls: authority.files, loops: 1, limits: limits, serverName: nil)
        configuration.speaksHTTP2Only = true
        configuration.firstStreamLimit = options.firstStreamLimit
        configuration.connectionClosed = { front.connectionClosed($0) }
        return try HTTPServer(configuration: configuration) { await front.answer($0, in: environment) }
    }

    package func stop(grace: Duration = .seconds(2)) async {
        for server in servers { await server.stop(grace: grace) }
    }
}

extension SimulatorClock {
    package static let system = SimulatorClock {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
