internal import HirobaCrypto
package import HirobaJSON
internal import HirobaThreads

/// The simulated phones: `PhoneBook` with its clock, its service extension and its listeners.
package actor Phones {
    /// Fetches what a push wants attached. Answers a picture, or why there is none.
    package typealias PictureSource = @Sendable (_ address: String) async -> Result<Picture, Delivery.PictureFailure>

    package struct Picture: Sendable, Hashable {
        package var type: String
        package var bytes: [UInt8]

        package init(type: String, bytes: [UInt8]) {
            self.type = type
            self.bytes = bytes
        }
    }

    /// What happened since a listener last asked.
    package struct Changes: Sendable, Hashable {
        package var phones: Set<Phone.ID> = []
        package var deliveries: Set<Int> = []
        /// The list of phones or the whole log is another one: look at everything.
        package var isEverything = false
    }

    private var book: PhoneBook
    private let clock: SimulatorClock
    private let pictureSource: PictureSource
    private let tokenBytes: Int
    /// Called with what is to be kept whenever that changed.
    private let save: (@Sendable (JSON) async -> Void)?
    private var pictures: [StoredPicture.ID: StoredPicture] = [:]
    private var listeners: [Int: (signal: AsyncStream<Void>.Continuation, changes: Changes)] = [:]
    private var lastListener = 0
    private var tokenChanged: (@Sendable (Phone, InstalledApp) async -> Void)?

    /// - Parameters:
    ///   - tokenBytes: 32 as on most phones, or 80: tokens have no fixed length.
    ///   - saved: what `save` was given last time.
    package init(
        clock: SimulatorClock, saved: JSON? = nil, tokenBytes: Int = 32, logCapacity: Int = 20_000,
        pictureSource: @escaping PictureSource = { _ in .failure(.notAllowed) },
        save: (@Sendable (JSON) async -> Void)? = nil
    ) {
        var book = PhoneBook(logCapacity: logCapacity)
        if let saved { book.restore(saved) }
        book.changedPhones = []
        self.book = book
        self.clock = clock
        self.tokenBytes = tokenBytes
        self.pictureSource = pictureSource
        self.save = save
    }

    /// Called whenever an app has a new token, as an app hands it to its server at launch.
    package func onTokenChange(_ call: @escaping @Sendable (Phone, InstalledApp) async -> Void) { tokenChanged = call }

    // MARK: Looking

    package var all: [Phone] { book.phones }
    package func phone(_ id: Phone.ID) -> Phone? { book.phone(id) }
    package func token(_ text: String, in environment: PushEnvironment) -> DeviceToken? {
        book.token(text, in: environment)
    }
    package var tokens: [DeviceToken] { book.allTokens }
    /// The newest first.
    package func deliveries(most: Int = .max) -> [Delivery] { book.log.all.suffix(most).reversed() }
    package func deliveries(of apnsID: String) -> [Delivery] { book.log.deliveries(of: apnsID) }
    package func delivery(_ number: Int) -> Delivery? { book.log[number] }
    package func picture(_ id: StoredPicture.ID) -> StoredPicture? { pictures[id] }

    // MARK: From the front

    package func receive(_ push: Push, uniqueID: String? = nil) {
        let errands = book.receive(push, uniqueID: uniqueID, now: clock.now())
        // The front's answer does not wait for a picture, just as APNs does not wait for the phone.
        start(errands)
        tellListeners()
    }

    package func noteRefusal(
        _ refusal: Refusal, id: String, token: String, subject: DeviceToken?, of request: PushRequest
    ) {
        book.noteRefusal(refusal, id: id, token: token, subject: subject, of: request, now: clock.now())
        tellListeners()
    }

    private func start(_ errands: [PhoneBook.Errand]) {
        for errand in errands { Task { await run(errand) } }
    }

    private func run(_ errand: PhoneBook.Errand) async {
        var result = Result<StoredPicture.ID, Delivery.PictureFailure>.failure(.noAddress)
        if let address = errand.picture { result = await pictureSource(address).map(keep) }
        book.finish(errand, with: result, now: clock.now())
        tellListeners()
    }

    private func keep(_ picture: Picture) -> StoredPicture.ID {
        if pictures.count > 200 {
            let used = book.picturesInUse
            pictures = pictures.filter { used.contains($0.key) }
        }
        let id = ObjectID.random()
        pictures[id] = StoredPicture(id: id, type: picture.type, bytes: picture.bytes)
        return id
    }

    // MARK: What people do with their phones

    @discardableResult
    package func add(_ phone: Phone) async -> Bool {
        let isNew = book.add(phone)
        await finishChange(isEverything: true)
        return isNew
    }

    /// - Returns: the app's new token.
    @discardableResult
    package func install(
        _ bundle: String, named name: String? = nil, environment: PushEnvironment = .sandbox, on id: Phone.ID
    ) async -> String? {
        let token = book.install(
            bundle, named: name, environment: environment, on: id, tokenBytes: tokenBytes, now: clock.now())
        await finishChange()
        if let tokenChanged, let phone = book.phone(id), let app = phone.app(bundle, in: environment) {
            await tokenChanged(phone, app)
        }
        return token
    }

    package func remove(_ bundle: String, from id: Phone.ID) async {
        book.remove(bundle, from: id, now: clock.now())
        await finishChange()
    }

    package func addCrowd(
        _ count: Int, bundle: String, environment: PushEnvironment = .sandbox
    ) async -> [String] {
        let tokens = book.addCrowd(count, bundle: bundle, environment: environment, tokenBytes: tokenBytes)
        await finishChange()
        return tokens
    }

    @discardableResult
    package func kill(token: String, in environment: PushEnvironment, asExpired: Bool = false) async -> Bool {
        let isKnown = book.kill(token: token, in: environment, asExpired: asExpired, now: clock.now())
        await finishChange()
        return isKnown
    }

    package func setState(_ state: InstalledApp.State, of bundle: String, on id: Phone.ID) {
        book.setState(state, of: bundle, on: id)
        tellListeners()
    }

    package func setPermission(_ permission: InstalledApp.Permission, of bundle: String, on id: Phone.ID) async {
        book.setPermission(permission, of: bundle, on: id)
        await finishChange()
    }

    package func setShowsInFront(_ shows: Bool, of bundle: String, on id: Phone.ID) async {
        book.setShowsInFront(shows, of: bundle, on: id)
        await finishChange()
    }

    package func setOnline(_ isOnline: Bool, of id: Phone.ID) async {
        start(book.setOnline(isOnline, of: id, now: clock.now()))
        await finishChange()
    }

    package func setLowPower(_ hasLowPower: Bool, of id: Phone.ID) async {
        start(book.setLowPower(hasLowPower, of: id, now: clock.now()))
        await finishChange()
    }

    package func setNote(_ note: Phone.Note?, of id: Phone.ID) {
        book.change(id) { $0.note = note }
        tellListeners()
    }

    package func setStarts(_ starts: [Phone.Start], of id: Phone.ID) {
        book.change(id) { $0.starts = starts }
        tellListeners()
    }

    package func setWebBase(_ base: String?, of id: Phone.ID) async {
        book.change(id) { $0.webBase = base }
        await finishChange()
    }

    /// Opens the app with its icon.
    package func open(_ bundle: String, on id: Phone.ID, page: String? = nil) {
        book.open(bundle, on: id, page: page)
        tellListeners()
    }

    package func tap(_ notification: Int, on id: Phone.ID) -> PhoneBook.Tap? {
        let tap = book.tap(notification, on: id, now: clock.now())
        tellListeners()
        return tap
    }

    package func dismiss(_ notification: Int, on id: Phone.ID) {
        book.dismiss(notification, on: id, now: clock.now())
        tellListeners()
    }

    package func dismissAll(on id: Phone.ID) {
        book.dismissAll(on: id, now: clock.now())
        tellListeners()
    }

    package func clearLog() {
        book.clearLog()
        tellListeners(isEverything: true)
    }

    private func finishChange(isEverything: Bool = false) async {
        tellListeners(isEverything: isEverything)
        await save?(book.saved)
    }

    // MARK: Listeners

    /// A signal for each time that `takeChanges` has something new; several changes may come as one.
    package func listen() -> (id: Int, signals: AsyncStream<Void>) {
        let (signals, signal) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        lastListener += 1
        listeners[lastListener] = (signal, Changes())
        return (lastListener, signals)
    }

    package func stopListening(_ id: Int) { listeners.removeValue(forKey: id)?.signal.finish() }

    package func takeChanges(for id: Int) -> Changes {
        defer { listeners[id]?.changes = Changes() }
        return listeners[id]?.changes ?? Changes()
    }

    private func tellListeners(isEverything: Bool = false) {
        let (phones, deliveries) = (book.changedPhones, book.changedDeliveries)
        book.changedPhones = []
        book.changedDeliveries = []
        guard isEverything || !phones.isEmpty || !deliveries.isEmpty else { return }
        for id in listeners.keys {
            listeners[id]?.changes.phones.formUnion(phones)
            listeners[id]?.changes.deliveries.formUnion(deliveries)
            if isEverything { listeners[id]?.changes.isEverything = true }
            listeners[id]?.signal.yield()
        }
    }
}

// MARK: - As JSON

extension Phone {
    package var json: JSON {
        func text(_ text: String?) -> JSON { text.map(JSON.string) ?? .null }
        return [
            "id": .string(id), "name": .string(name), "person": text(person), "isOnline": .bool(isOnline),
            "hasLowPower": .bool(hasLowPower), "apps": .array(apps.map(\.json)),
        ]
    }
}

extension InstalledApp {
    package var json: JSON {
        func text(_ text: String?) -> JSON { text.map(JSON.string) ?? .null }
        return [
            "bundle": .string(bundle), "name": .string(name), "environment": .string(environment.rawValue),
            "isInstalled": .bool(isInstalled), "token": .string(token), "state": .string(state.rawValue),
            "permission": .string(permission.rawValue), "showsInFront": .bool(showsInFront),
            "badge": .integer(Int64(badge)), "page": text(page), "held": text(held?.push.id),
            "notifications": .array(
                notifications.map { notification in
                    [
                        "number": .integer(Int64(notification.number)),
                        "delivery": .integer(Int64(notification.delivery)), "title": text(notification.title),
                        "subtitle": text(notification.subtitle), "body": text(notification.body),
                        "thread": text(notification.thread), "collapseId": text(notification.collapseID),
                        "picture": text(notification.picture), "link": text(notification.link),
                        "custom": .object(notification.custom), "shownAt": .integer(notification.shownAt),
                        "alerts": .integer(Int64(notification.alerts)),
                    ]
                }),
        ]
    }
}
