import HirobaContract
package import HirobaCore
import HirobaHTTP
import HirobaStore
import HirobaThreads

/// The running program: everything the configuration asks for, put together and started.
///
/// What each part needs arrives in its initialiser; this is the one place that knows them all.
package final class HirobaApp: Sendable {
    /// Where people reach it.
    package let address: String
    /// The port listened on, also when the system chose it.
    package let port: Int
    package let core: Core

    private let folder: DataFolder
    private let database: Database
    private let server: HTTPServer
    private let thumbnailer: Thumbnailer
    private let sender: APNsSender?
    private let phones: (any DemoPhones)?
    private let workers: Task<Void, Never>
    private let log: Log

    private init(
        address: String, port: Int, core: Core, folder: DataFolder, database: Database, server: HTTPServer,
        thumbnailer: Thumbnailer, sender: APNsSender?, phones: (any DemoPhones)?, links: SignInLinks, log: Log
    ) {
        self.address = address
        self.port = port
        self.core = core
        self.folder = folder
        self.database = database
        self.server = server
        self.thumbnailer = thumbnailer
        self.sender = sender
        self.phones = phones
        self.log = log
        let stage = DemoStage(core: core, port: port, address: address, links: links, report: { log.note($0) })
        workers = Task {
            async let people: Void? = phones?.run(on: stage)
            await core.run()
            await people
        }
    }

    /// Opens the data folder, brings the database up to date, and serves.
    package static func start(_ configuration: Configuration, log: Log) async throws -> HirobaApp {
        try await start(configuration, in: DataFolder(path: configuration.data), log: log)
    }

    /// `start` with an example community in the folder, which `fresh` empties first. A community that is there already is
    /// not mixed with it: nobody could sort them again.
    ///
    /// - Parameter phonesType: what stands beside the forum; without it nothing does.
    package static func demo(
        _ configuration: Configuration, fresh: Bool, log: Log, phones phonesType: (any DemoPhones.Type)? = nil
    ) async throws -> HirobaApp {
        let folder = try DataFolder(path: configuration.data)
        if fresh {
            guard configuration.database == nil, configuration.blobs == nil else {
                throw StartFailure(
                    "--fresh empties the demo's own folder only; it goes with neither --database nor --blobs.")
            }
            guard folder.isEmpty || folder.has(demoMark) else {
                throw StartFailure("The folder \(folder.path) was not made by the demo; --fresh will not empty it.")
            }
            try folder.empty()
        }
        let isNew = folder.isEmpty
        guard isNew || folder.has(demoMark) else {
            throw StartFailure(
                "The folder \(folder.path) was not made by the demo, which will not put its example community into it. "
                    + "Give --data another folder, or run hiroba serve.")
        }
        // A new folder can come with a database that is not new.
        let mayBeUsed = isNew && configuration.database != nil
        if isNew, !mayBeUsed { try folder.mark(demoMark) }
        var phones: (any DemoPhones)?
        do {
            phones = try await phonesType?.init(at: DemoPlace(configuration, people: folder.secret("demo")))
            return try await start(configuration, in: folder, log: log, phones: phones) { core in
                if mayBeUsed {
                    let topics = try await core(.system).community.topics(ListTopics(limit: 1), by: Caller())
                    guard topics.items.isEmpty else {
                        throw StartFailure(
                            "The database holds a community already; the demo will not put its example community into "
                                + "it. Give --database an empty one, or run hiroba serve.")
                    }
                    try folder.mark(demoMark)
                }
                do {
                    try await DemoCommunity.fill(secret: folder.secret("demo"), core: core)
                } catch let error as HirobaError {
                    throw StartFailure("The example community cannot be made: \(error.cause ?? error.sentence.en).")
                }
            }
        } catch {
            await phones?.stop()
            // What this start has left in the folder must not look like somebody's data at the next.
            if isNew, !folder.has(demoMark) { try? folder.empty() }
            throw error
        }
    }

    /// Brings the database up to date and goes away again.
    /// - Returns: the names of the steps that were missing.
    package static func migrate(_ configuration: Configuration) async throws -> [String] {
        let folder = try DataFolder(path: configuration.data)
        defer { folder.release() }
        // Opened without steps of our own, a database shows what it has and stays as it is.
        let before = try await openDatabase(configuration, migrations: [])
        let names = try await before.appliedMigrations()
        await before.close()
        let database = try await openDatabase(configuration)
        await database.close()
        return Schema.migrations.map(\.name).filter { !names.contains($0) }
    }

    private static let demoMark = "demo"

    /// What is done with a core, on a clock of one's own choice, before anybody is served.
    typealias Preparation = ((Clock) -> Core) async throws -> Void

    private static func start(
        _ configuration: Configuration, in folder: DataFolder, log: Log, phones: (any DemoPhones)? = nil,
        prepare: Preparation = { _ in }
    ) async throws -> HirobaApp {
        let database = try await openDatabase(configuration)
        return try await start(configuration, in: folder, database, log, phones: phones, prepare: prepare)
    }

    /// The rest of the way, with a database that is open. `stop()` closes it, and so does a failure here.
    static func start(
        _ configuration: Configuration, in folder: DataFolder, _ database: Database, _ log: Log,
        pictures: (any PictureMaker)? = nil, phones: (any DemoPhones)? = nil, prepare: Preparation = { _ in }
    ) async throws -> HirobaApp {
        let thumbnailer = Thumbnailer()
        var sender: APNsSender?
        do {
            allowManyFiles()
            let place = try takePlace(configuration)
            let ways = (phones?.apns ?? []) + configuration.apns
            if !ways.isEmpty { sender = try APNsSender(ways, log: log) }
            let blobs = try await FolderBlobStore.open(configuration.blobsFolder)
            var options = Core.Options()
            options.limits.uploadBytes = configuration.uploadBytes
            options.report = { error in log.note("A worker failed: \(error.cause ?? error.sentence.en)") }
            options.push = sender.map { sender in
                // The phones of the demo fetch pictures from this machine, whatever the public address is.
                var reached = configuration
                if phones != nil { reached.publicURL = nil }
                return PushOptions(gateway: sender, publicURL: reached.address(port: place.address.port))
            }
            let makeCore = { [options] clock in
                Core(
                    database: database, blobs: blobs, pictures: pictures ?? thumbnailer, clock: clock, options: options)
            }
            try await prepare(makeCore)

            let core = makeCore(.system)
            let serverKey = try folder.serverKey()
            try await core.admit(serverKey, name: DataFolder.serverKeyName, scopes: [.push])
            let links = SignInLinks()
            let beside = phones.map {
                Surface.Beside(
                    phones: $0,
                    site: SitePhones(
                        name: DemoPlace.name, page: DemoPlace.page, links: links, serverKey: serverKey))
            }
            let surface = try Surface(
                configuration, core: core, database: database, folder: folder, log: log, verdicts: sender?.verdicts,
                beside: beside)
            let server = try HTTPServer(
                configuration: serverConfiguration(configuration, surface), handler: { await surface.answer($0) })
            surface.metrics.add(
                .init(name: "hiroba_connections", help: "Connections open now.") { [weak server] in
                    server.map { Double($0.connections) }
                })
            let port = try await server.start(at: place).port
            return HirobaApp(
                address: configuration.address(port: port), port: port, core: core, folder: folder,
                database: database, server: server, thumbnailer: thumbnailer, sender: sender, phones: phones,
                links: links, log: log)
        } catch {
            thumbnailer.stop()
            await sender?.stop()
            await database.close()
            throw error
        }
    }

    /// Reads the TLS files again. A bad file is told in the log, and the old certificate stays in use.
    package func reloadCertificates() {
        do {
            try server.reloadCertificates()
            log.note("The certificate was read again.")
        } catch {
            log.note("The certificate could not be read again: \(error)")
        }
    }

    /// Accepts nobody any more, finishes what was begun, writes what was answered. Takes 8 seconds at most.
    package func stop() async {
        await server.stop(grace: .seconds(8))
        workers.cancel()
        // The workers wait for what they have handed over, and that ends with the gateway.
        async let finished: Void? = sender?.finish(grace: .seconds(1))
        await workers.value
        await finished
        await sender?.stop()
        await phones?.stop()
        thumbnailer.stop()
        await database.close()
        log.flush()
        folder.release()
    }

    // MARK: - Parts

    static func location(_ configuration: Configuration) -> Database.Location {
        configuration.database.map { .postgres(url: $0) } ?? .sqlite(path: configuration.databaseFile)
    }

    private static func openDatabase(
        _ configuration: Configuration, migrations: [Migration] = Schema.migrations
    ) async throws -> Database {
        do {
            return try await Database.open(location(configuration), migrations: migrations)
        } catch {
            throw StartFailure("The database cannot be opened: \(error).")
        }
    }

    private static func takePlace(_ configuration: Configuration) throws -> HTTPServer.Place {
        do {
            return try HTTPServer.Place(host: host(configuration), port: configuration.listen.port)
        } catch {
            throw StartFailure("\(error). Give another address with --listen.")
        }
    }

    private static func host(_ configuration: Configuration) -> String {
        configuration.listen.host.isEmpty ? everyAddress() : configuration.listen.host
    }

    private static func serverConfiguration(
        _ configuration: Configuration, _ surface: Surface
    ) -> HTTPServerConfiguration {
        var limits = HTTPLimits()
        limits.headBytes = configuration.headBytes
        limits.headTime = configuration.headTime
        limits.idleTime = configuration.idleTime
        limits.connections = configuration.connections
        limits.connectionsPerAddress = configuration.connectionsPerAddress
        var tls: HTTPServerConfiguration.TLSFiles?
        if let certificate = configuration.certificate, let key = configuration.key {
            tls = .init(certificate: certificate, key: key)
        }
        return HTTPServerConfiguration(
            host: host(configuration), port: configuration.listen.port,
            tls: tls, loops: configuration.loops ?? processors(), limits: limits, observe: surface.observe)
    }
}

/// Why the program did not start; a sentence for people.
package struct StartFailure: Error, Equatable, CustomStringConvertible {
    package var description: String

    init(_ description: String) { self.description = description }
}
