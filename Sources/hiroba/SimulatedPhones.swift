import HirobaContract
import HirobaCore
import HirobaHTTP
import HirobaJSON
import HirobaServer
import HirobaSimulator
import HirobaThreads

/// The phones beside the demo's forum, and what the apps on them and the people who carry them do.
///
/// Each app does what an app does: it signs its person in, registers its token at launch and whenever it is another, and
/// reports what was opened.
final class SimulatedPhones: DemoPhones {
    private let simulator: Simulator
    private let place: DemoPlace
    private let people: People

    /// What the apps know of their people, and what opens their pages.
    private final class People: Sendable {
        private struct State {
            var stage: DemoStage?
            var persons: [Phone.ID: SignInLinks.Person] = [:]
            /// What each app last told the server.
            var registered: [Phone.ID: PutDevice] = [:]
        }

        private let state = Lock(State())
        /// Whether each phone's pages have a host, and so cookies, of their own.
        private let haveHosts: Bool

        init(haveHosts: Bool) { self.haveHosts = haveHosts }

        var stage: DemoStage? {
            get { state.withLock { $0.stage } }
            set { state.withLock { $0.stage = newValue } }
        }

        func signIn(_ person: DemoPerson, on stage: DemoStage) async throws -> User.ID {
            let signedIn = try await stage.core.accounts.signInAnonymously(
                SignInAnonymously(deviceSecret: person.deviceSecret), by: Caller(device: "\(person.name)’s iPhone")
            ).signedIn
            state.withLock { state in
                state.persons[person.id] = SignInLinks.Person(
                    deviceSecret: person.deviceSecret, session: signedIn.token)
            }
            return signedIn.user.id
        }

        /// Registers the app's token when it or the permission is another than before.
        func register(_ phone: Phone) async throws {
            guard let stage, let app = phone.app(Simulator.firstBundle), app.isInstalled, let caller = caller(phone.id)
            else { return }
            let call = PutDevice(
                device: SimulatedPhones.device(phone.id), token: app.token,
                environment: PushEnvironment(rawValue: app.environment.rawValue), app: app.bundle,
                permission: app.permission.asRegistered, language: SimulatedPhones.language(of: phone.id),
                timeZone: "Asia/Tokyo", appVersion: Program.version)
            let isNew = state.withLock { state in
                state.registered.updateValue(call, forKey: phone.id) != call
            }
            guard isNew else { return }
            do {
                _ = try await stage.core.push.register(call, by: caller)
            } catch {
                state.withLock { $0.registered[phone.id] = nil }
                throw error
            }
        }

        func caller(_ phone: Phone.ID) -> Caller? {
            state.withLock { $0.persons[phone] }.map { Caller(credential: .session(token: $0.session)) }
        }

        /// What the app does when it is opened: reports the push, and shows the page as its person.
        func open(_ phone: Phone, _ tap: PhoneBook.Tap?) async -> String? {
            guard let stage, let address = DeepLink.address(of: tap?.link ?? "/forum", for: phone) else { return nil }
            if let push = tap?.custom["push"]?.string {
                let report = ReportOpened(device: SimulatedPhones.device(phone.id), push: .init(push))
                do {
                    try await stage.core.push.report(report, by: caller(phone.id) ?? Caller())
                } catch {
                    stage.report("A phone of the demo cannot report what was opened: \(error.sentence.en)")
                }
            }
            guard haveHosts, let base = phone.webBase, address.hasPrefix(base + "/"),
                let person = state.withLock({ $0.persons[phone.id] })
            else { return address }
            return stage.links.link(to: String(address.dropFirst(base.count)), on: base, as: person)
        }
    }

    init(at place: DemoPlace) async throws {
        self.place = place
        let people = People(haveHosts: place.name != nil)
        self.people = people
        // Any free ports: only this program's own sender comes here.
        let anywhere = Simulator.Address(host: "127.0.0.1", port: 0)
        var options = Simulator.Options(folder: place.folder, sandbox: anywhere, production: anywhere)
        options.newPhones = place.people.map { person in
            Simulator.NewPhone(id: person.id, name: Self.name(of: person), person: person.name)
        }
        options.pages = PhonesWeb.Options { phone, tap in await people.open(phone, tap) }
        options.pages.prefix = place.page
        options.pages.pages = .frame
        options.pages.companion = PhonesWeb.Companion(english: "Forum", japanese: "掲示板", address: "/forum")
        options.pages.stories = "/push/"
        options.pages.name = place.name
        if let host = place.publicHost { options.pages.hosts = [host] }
        simulator = try await Simulator.start(options)
    }

    var apns: [APNsEntry] {
        [(PushAddress.Environment.sandbox, simulator.sandboxPort), (.production, simulator.productionPort)].map {
            APNsEntry(
                environment: $0, keyFile: simulator.keyFile, keyID: ProviderKeys.firstKey,
                teamID: ProviderKeys.firstTeam, apps: [Simulator.firstBundle], host: "localhost", port: $1,
                authorityFile: simulator.authorityFile)
        }
    }

    func register(on routes: inout Routes) { simulator.web.register(on: &routes) }

    func stop() async { await simulator.stop(grace: .zero) }

    // MARK: What happens on the phones

    func run(on stage: DemoStage) async {
        people.stage = stage
        let (listener, changes) = await simulator.phones.listen()
        do {
            try await prepare(stage)
        } catch {
            stage.report("The phones of the demo are not ready: \(Self.words(error))")
        }
        await withTaskGroup { group in
            group.addTask {
                for await _ in changes {
                    for id in await self.simulator.phones.takeChanges(for: listener).phones { await self.launch(id) }
                }
            }
            group.addTask {
                // What the gateway answers is on disk some moments later, and some of it after minutes.
                while !Task.isCancelled {
                    for person in self.place.people { await self.tellHealth(of: person.id, stage) }
                    try? await Task.sleep(for: .milliseconds(500))
                }
            }
        }
        await simulator.phones.stopListening(listener)
    }

    private func prepare(_ stage: DemoStage) async throws {
        // What the community said before there were phones rings on none of them.
        while !Task.isCancelled, try await stage.core.push.backlog().events > 0 {
            try await Task.sleep(for: .milliseconds(20))
        }
        let topics = try await stage.core.community.topics(ListTopics(limit: 1000), by: Caller()).items
        var threads: [Phone.ID: [Topic]] = [:]
        for person in place.people {
            let user = try await people.signIn(person, on: stage)
            let own = topics.filter { $0.author.id == user }
            threads[person.id] = own
            let base = place.name.map { "http://\(person.id).\($0):\(stage.port)" } ?? stage.address
            await simulator.phones.setWebBase(base, of: person.id)
            // Whoever leaves the app open after a tap shall see the next comment arrive as well.
            await simulator.phones.setShowsInFront(true, of: Simulator.firstBundle, on: person.id)
            await simulator.phones.setStarts(
                own.prefix(2).map { Phone.Start(title: $0.title, address: "/forum/\($0.id)") }, of: person.id)
        }
        let unlucky = place.people.last
        let isNew = try await isUnknown(unlucky?.id, stage)
        for person in place.people { await launch(person.id) }
        guard isNew, let unlucky, let first = place.people.first, let caller = people.caller(first.id),
            let topic = threads[unlucky.id]?.first
        else { return }
        // The app is taken off the phone, and with the next push the server learns of it.
        await simulator.phones.remove(Simulator.firstBundle, from: unlucky.id)
        _ = try await stage.core.community.createComment(
            CreateComment(topic: topic.id, text: "駅前に7時ですね。おにぎりを多めに持っていきます。"), by: caller)
    }

    private func isUnknown(_ phone: Phone.ID?, _ stage: DemoStage) async throws -> Bool {
        do {
            _ = try await stage.core.push.why(Self.device(phone ?? ""), by: Caller(credential: .local))
            return false
        } catch {
            guard error.code == .notFound else { throw error }
            return true
        }
    }

    private func launch(_ id: Phone.ID) async {
        guard let phone = await simulator.phones.phone(id) else { return }
        do {
            try await people.register(phone)
        } catch {
            people.stage?.report("A phone of the demo cannot register: \(Self.words(error))")
        }
    }

    /// Puts the sentence about the device's health below the phone.
    private func tellHealth(of id: Phone.ID, _ stage: DemoStage) async {
        var caller = Caller(credential: .local, language: .english)
        guard let english = try? await stage.core.push.why(Self.device(id), by: caller).device.health else { return }
        caller.language = .japanese
        guard let japanese = try? await stage.core.push.why(Self.device(id), by: caller).device.health else { return }
        let isBad = ![.well, .untried, .waiting].contains(english.condition)
        await simulator.phones.setNote(
            Phone.Note(english: english.sentence, japanese: japanese.sentence, isBad: isBad), of: id)
    }

    // MARK: Names

    private static func device(_ phone: Phone.ID) -> Device.ID { Device.ID("demo-\(phone)") }

    /// One phone speaks Japanese, the others English, so that one sees that pushes do.
    private static func language(of phone: Phone.ID) -> String { phone == "hana" ? "ja" : "en" }

    private static func name(of person: DemoPerson) -> String {
        "\(person.name)’s iPhone (\(language(of: person.id) == "ja" ? "日本語" : "English"))"
    }

    private static func words(_ error: any Error) -> String {
        (error as? HirobaError).map { $0.cause ?? $0.sentence.en } ?? "\(error)"
    }
}

extension InstalledApp.Permission {
    fileprivate var asRegistered: PushPermission {
        switch self {
        case .granted: .authorized
        case .denied: .denied
        case .notAsked: .notDetermined
        }
    }
}
