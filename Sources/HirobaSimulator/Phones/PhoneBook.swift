internal import HirobaCrypto
package import HirobaJSON

/// All phones, all tokens and the log, with the rules of what happens to a push. A plain value: time comes in, and what is
/// left to be done outside comes out as `Errand`s.
package struct PhoneBook: Sendable {
    /// Something that takes time: `finish(_:with:now:)` is told how it went.
    package struct Errand: Sendable, Hashable {
        /// What the service extension fetches.
        package var picture: String?
        var delivery: Int
        var push: Push
        var phone: Phone.ID
        var payload: Payload
    }

    private struct TokenKey: Hashable {
        var environment: PushEnvironment
        var text: String
    }

    package private(set) var phones: [Phone] = []
    package private(set) var log: DeliveryLog
    private var tokens: [TokenKey: DeviceToken] = [:]
    private var lastNotification = 0

    /// What changed since it was last emptied.
    package var changedPhones: Set<Phone.ID> = []
    package var changedDeliveries: Set<Int> = []

    /// At most thirty days, in milliseconds: what APNs keeps a push for when it does not say.
    private static let longestKept: Int64 = 30 * 24 * 3_600_000
    /// Notifications of one app on one phone.
    private static let mostShown = 50

    package init(logCapacity: Int = 20_000) { log = DeliveryLog(capacity: logCapacity) }

    // MARK: Tokens

    package func token(_ text: String, in environment: PushEnvironment) -> DeviceToken? {
        tokens[TokenKey(environment: environment, text: text)]
    }

    package var allTokens: [DeviceToken] { Array(tokens.values) }

    private mutating func newToken(
        _ bundle: String, _ environment: PushEnvironment, of phone: Phone.ID?, bytes: Int
    ) -> String {
        let text = Hex.encode(randomBytes(bytes))
        tokens[TokenKey(environment: environment, text: text)] =
            DeviceToken(text: text, environment: environment, bundle: bundle, phone: phone)
        return text
    }

    private mutating func setLife(_ life: DeviceToken.Life, of text: String, in environment: PushEnvironment) {
        tokens[TokenKey(environment: environment, text: text)]?.life = life
    }

    /// Tokens that take pushes and show nothing, for large numbers.
    package mutating func addCrowd(
        _ count: Int, bundle: String, environment: PushEnvironment = .sandbox, tokenBytes: Int = 32
    ) -> [String] {
        (0..<count).map { _ in newToken(bundle, environment, of: nil, bytes: tokenBytes) }
    }

    /// Marks any token dead, as if its app had gone or its activity had ended.
    /// - Returns: false when there is no such token.
    @discardableResult
    package mutating func kill(
        token text: String, in environment: PushEnvironment, asExpired: Bool = false, now: Int64
    ) -> Bool {
        guard let token = token(text, in: environment) else { return false }
        setLife(asExpired ? .expired(since: now) : .unregistered(since: now), of: text, in: environment)
        if let phone = token.phone { changedPhones.insert(phone) }
        return true
    }

    // MARK: Phones

    package func phone(_ id: Phone.ID) -> Phone? { phones.first { $0.id == id } }

    /// - Returns: false when the id is taken or cannot stand in an address.
    @discardableResult
    package mutating func add(_ phone: Phone) -> Bool {
        guard Phone.isUsable(phone.id), self.phone(phone.id) == nil else { return false }
        phones.append(phone)
        changedPhones.insert(phone.id)
        return true
    }

    package mutating func change(_ id: Phone.ID, _ change: (inout Phone) -> Void) {
        guard let index = phones.firstIndex(where: { $0.id == id }) else { return }
        let before = phones[index]
        change(&phones[index])
        if phones[index] != before { changedPhones.insert(id) }
    }

    private mutating func change(
        _ id: Phone.ID, _ bundle: String, _ environment: PushEnvironment? = nil, _ change: (inout InstalledApp) -> Void
    ) {
        self.change(id) { phone in
            guard
                let index = phone.apps.firstIndex(where: {
                    $0.bundle == bundle && (environment == nil || $0.environment == environment)
                })
            else { return }
            change(&phone.apps[index])
        }
    }

    /// Installs an app for the first time, or again: then it gets a new token, and the old one dies if it lived.
    /// - Returns: the token, or `nil` when there is no such phone.
    @discardableResult
    package mutating func install(
        _ bundle: String, named name: String? = nil, environment: PushEnvironment = .sandbox, on id: Phone.ID,
        tokenBytes: Int = 32, now: Int64
    ) -> String? {
        guard let phone = phone(id) else { return nil }
        let before = phone.app(bundle, in: environment)
        if before != nil { remove(bundle, environment, from: id, now: now) }
        let token = newToken(bundle, environment, of: id, bytes: tokenBytes)
        // The person answers the app's question as before.
        let app = InstalledApp(
            bundle: bundle, name: name ?? before?.name ?? bundle, environment: environment, token: token,
            permission: before?.permission ?? .granted)
        change(id) { phone in
            phone.apps.removeAll { $0.bundle == bundle && $0.environment == environment }
            phone.apps.append(app)
        }
        return token
    }

    /// Removes an app: its token is dead from now on.
    package mutating func remove(_ bundle: String, _ environment: PushEnvironment? = nil, from id: Phone.ID, now: Int64)
    {
        guard let app = phone(id)?.app(bundle, in: environment) else { return }
        if app.isInstalled { setLife(.unregistered(since: now), of: app.token, in: app.environment) }
        if let held = app.held { note(held.delivery, .discarded(.appRemoved), now) }
        change(id, bundle, app.environment) { app in
            app.isInstalled = false
            app.state = .killed
            app.badge = 0
            app.notifications = []
            app.held = nil
            app.page = nil
        }
    }

    /// Brings an app to the front, which sends the others behind it, and clears its badge as most apps do.
    package mutating func open(_ bundle: String, on id: Phone.ID, page: String? = nil) {
        guard phone(id)?.app(bundle)?.isInstalled == true else { return }
        change(id) { phone in
            for index in phone.apps.indices where phone.apps[index].state == .foreground {
                phone.apps[index].state = .background
            }
        }
        change(id, bundle) { app in
            app.state = .foreground
            app.badge = 0
            if let page { app.page = page }
        }
    }

    package mutating func setState(_ state: InstalledApp.State, of bundle: String, on id: Phone.ID) {
        guard phone(id)?.app(bundle)?.isInstalled == true else { return }
        if state == .foreground { return open(bundle, on: id) }
        change(id, bundle) { app in
            app.state = state
            if state == .killed { app.page = nil }
        }
    }

    package mutating func setPermission(_ permission: InstalledApp.Permission, of bundle: String, on id: Phone.ID) {
        change(id, bundle) { app in
            app.permission = permission
            if permission == .granted { return }
            app.notifications = []
            app.badge = 0
        }
    }

    package mutating func setShowsInFront(_ shows: Bool, of bundle: String, on id: Phone.ID) {
        change(id, bundle) { $0.showsInFront = shows }
    }

    /// Back online the phone gets what APNs has kept.
    package mutating func setOnline(_ isOnline: Bool, of id: Phone.ID, now: Int64) -> [Errand] {
        change(id) { $0.isOnline = isOnline }
        return isOnline ? releaseHeld(of: id, now: now) : []
    }

    package mutating func setLowPower(_ hasLowPower: Bool, of id: Phone.ID, now: Int64) -> [Errand] {
        change(id) { $0.hasLowPower = hasLowPower }
        return hasLowPower ? [] : releaseHeld(of: id, now: now)
    }

    private mutating func releaseHeld(of id: Phone.ID, now: Int64) -> [Errand] {
        guard let phone = phone(id), phone.isOnline else { return [] }
        var errands: [Errand] = []
        for app in phone.apps {
            guard let held = app.held, !(phone.hasLowPower && held.push.priority < 10) else { continue }
            change(id, app.bundle, app.environment) { $0.held = nil }
            if held.until <= now {
                note(held.delivery, .expired, now)
            } else {
                errands += deliver(held.push, held.delivery, to: id, now: now)
            }
        }
        return errands
    }

    // MARK: Pushes

    package mutating func noteRefusal(
        _ refusal: Refusal, id: String, token: String, subject: DeviceToken?, of request: PushRequest, now: Int64
    ) {
        let number = log.nextNumber
        var bytes: [UInt8] = []
        if case .bytes(let body) = request.body { bytes = body }
        let payload = try? Payload(bytes)
        log.append(
            Delivery(
                number: number, apnsID: id, environment: request.environment, token: token,
                bundle: subject?.bundle ?? request["apns-topic"] ?? "", type: request["apns-push-type"] ?? "",
                priority: request["apns-priority"].flatMap { Int($0) } ?? 10, collapseID: request["apns-collapse-id"],
                phone: subject?.phone, title: payload?.title, body: payload?.body,
                moments: [.init(time: now, step: .refused(refusal.reason))]))
        changedDeliveries.insert(number)
    }

    /// Takes a push that the front has accepted.
    package mutating func receive(_ push: Push, uniqueID: String? = nil, now: Int64) -> [Errand] {
        let number = log.nextNumber
        let token = token(push.token, in: push.environment)
        let payload = try? Payload(push.payload)
        log.append(
            Delivery(
                number: number, apnsID: push.id, uniqueID: uniqueID, environment: push.environment, token: push.token,
                bundle: push.bundle, type: push.type.rawValue, priority: push.priority, collapseID: push.collapseID,
                phone: token?.phone, title: payload?.title, body: payload?.body, findings: payload?.findings ?? [],
                moments: [.init(time: now, step: .accepted)]))
        changedDeliveries.insert(number)
        guard let id = token?.phone, let phone = phone(id), let app = phone.app(push.bundle, in: push.environment)
        else {
            note(number, .delivered, now)
            return []
        }
        // The rest of the way belongs to the phone, which may have lost the app in the meantime.
        guard app.isInstalled, app.token == push.token else {
            note(number, .discarded(.appRemoved), now)
            return []
        }
        if phone.isOnline, !(phone.hasLowPower && push.priority < 10) {
            return deliver(push, number, to: id, now: now)
        }
        keep(push, number, app, id, isOnline: phone.isOnline, now: now)
        return []
    }

    /// One push per app, the newest; what says 0 is never kept.
    private mutating func keep(
        _ push: Push, _ number: Int, _ app: InstalledApp, _ id: Phone.ID, isOnline: Bool, now: Int64
    ) {
        let latest = now + Self.longestKept
        // Seconds become milliseconds only once they are known to be few enough.
        let until = push.expiration.map { $0 > latest / 1000 ? latest : $0 * 1000 } ?? latest
        guard until > now else { return note(number, .expired, now) }
        if let older = app.held { note(older.delivery, .overwritten, now) }
        change(id, app.bundle, app.environment) { $0.held = HeldPush(push: push, delivery: number, until: until) }
        note(number, isOnline ? .held(until: until) : .stored(until: until), now)
    }

    private mutating func deliver(_ push: Push, _ number: Int, to id: Phone.ID, now: Int64) -> [Errand] {
        note(number, .delivered, now)
        let payload: Payload
        do {
            payload = try Payload(push.payload)
        } catch {
            let reason: Delivery.Discard =
                switch error {
                case .notJSON: .notJSON
                case .noAps: .noAps
                case .empty: .empty
                }
            note(number, .discarded(reason), now)
            return []
        }
        guard let app = phone(id)?.app(push.bundle, in: push.environment) else { return [] }
        switch push.type {
        case .background:
            note(number, app.state == .killed ? .discarded(.forceQuit) : .woken, now)
            return []
        case .alert: break
        default:
            note(number, .discarded(.notShownByPhones), now)
            return []
        }
        switch app.permission {
        case .granted: break
        case .denied:
            note(number, .discarded(.permissionDenied), now)
            return []
        case .notAsked:
            note(number, .discarded(.permissionNotAsked), now)
            return []
        }
        let errand = Errand(delivery: number, push: push, phone: id, payload: payload)
        guard payload.isMutable, payload.hasAlert else {
            show(errand, picture: nil, now: now)
            return []
        }
        guard let address = payload.attachment else {
            note(number, .pictureMissing(.noAddress), now)
            show(errand, picture: nil, now: now)
            return []
        }
        var withPicture = errand
        withPicture.picture = address
        return [withPicture]
    }

    /// The service extension is done: what it fetched is attached, and without it the push is shown as it came.
    package mutating func finish(
        _ errand: Errand, with picture: Result<StoredPicture.ID, Delivery.PictureFailure>, now: Int64
    ) {
        switch picture {
        case .success(let id):
            note(errand.delivery, .pictureAttached, now)
            show(errand, picture: id, now: now)
        case .failure(let failure):
            note(errand.delivery, .pictureMissing(failure), now)
            show(errand, picture: nil, now: now)
        }
    }

    private mutating func show(_ errand: Errand, picture: StoredPicture.ID?, now: Int64) {
        let (push, payload, number) = (errand.push, errand.payload, errand.delivery)
        // The extension took its time: look again.
        guard let app = phone(errand.phone)?.app(push.bundle, in: push.environment), app.isInstalled,
            app.token == push.token
        else { return note(number, .discarded(.appRemoved), now) }
        let isInFront = app.state == .foreground
        if isInFront, !app.showsInFront { return note(number, .discarded(.inForeground), now) }
        if let badge = payload.badge {
            change(errand.phone, app.bundle, app.environment) { $0.badge = badge }
            note(number, .badge(badge), now)
        }
        guard payload.hasAlert else {
            if payload.badge == nil { note(number, .discarded(.nothingToShow), now) }
            return
        }
        lastNotification += 1
        var notification = ShownNotification(
            number: lastNotification, delivery: number, title: payload.title, subtitle: payload.subtitle,
            body: payload.body, thread: payload.thread, collapseID: push.collapseID,
            isPassive: payload.interruption == .passive, picture: picture, link: payload.link, custom: payload.custom,
            shownAt: now)
        var isReplacement = false
        change(errand.phone, app.bundle, app.environment) { app in
            let older = push.collapseID.flatMap { id in app.notifications.firstIndex { $0.collapseID == id } }
            if let older {
                isReplacement = true
                notification.alerts = app.notifications[older].alerts + 1
                app.notifications[older] = notification
            } else {
                app.notifications.insert(notification, at: 0)
                app.notifications = Array(app.notifications.prefix(Self.mostShown))
            }
        }
        note(number, isReplacement ? .replaced : .shown, now)
    }

    /// What a tap gives the app.
    package struct Tap: Sendable, Hashable {
        package var phone: Phone
        package var bundle: String
        package var link: String?
        package var custom: JSONObject
    }

    /// Opens the app, and takes the notification away. `nil` when it is not there any more.
    package mutating func tap(_ number: Int, on id: Phone.ID, now: Int64) -> Tap? {
        guard let (app, notification) = find(number, on: id), let phone = phone(id) else { return nil }
        change(id, app.bundle, app.environment) { $0.notifications.removeAll { $0.number == number } }
        note(notification.delivery, .tapped, now)
        open(app.bundle, on: id)
        return Tap(phone: phone, bundle: app.bundle, link: notification.link, custom: notification.custom)
    }

    package mutating func dismiss(_ number: Int, on id: Phone.ID, now: Int64) {
        guard let (app, notification) = find(number, on: id) else { return }
        change(id, app.bundle, app.environment) { $0.notifications.removeAll { $0.number == number } }
        note(notification.delivery, .dismissed, now)
    }

    /// Takes everything off the lock screen.
    package mutating func dismissAll(on id: Phone.ID, now: Int64) {
        for notification in phone(id)?.apps.flatMap(\.notifications) ?? [] {
            dismiss(notification.number, on: id, now: now)
        }
    }

    private func find(_ number: Int, on id: Phone.ID) -> (InstalledApp, ShownNotification)? {
        for app in phone(id)?.apps ?? [] {
            if let notification = app.notifications.first(where: { $0.number == number }) { return (app, notification) }
        }
        return nil
    }

    private mutating func note(_ number: Int, _ step: Delivery.Step, _ now: Int64) {
        log.change(number) { $0.moments.append(.init(time: now, step: step)) }
        changedDeliveries.insert(number)
    }

    package mutating func clearLog() { log.clear() }

    /// Pictures that a notification on some phone still shows.
    package var picturesInUse: Set<StoredPicture.ID> {
        Set(phones.flatMap { $0.apps.flatMap { $0.notifications.compactMap(\.picture) } })
    }
}

// MARK: - Kept over a restart

extension PhoneBook {
    /// Phones, apps and tokens. What was shown or kept goes with the program, as with a phone that is switched off.
    package var saved: JSON {
        [
            "phones": .array(phones.map(Self.json)),
            "tokens": .array(
                tokens.values.sorted { $0.text < $1.text }.map { token in
                    var json: JSON = [
                        "token": .string(token.text), "environment": .string(token.environment.rawValue),
                        "bundle": .string(token.bundle), "kind": .string(token.kind.rawValue),
                    ]
                    json["phone"] = token.phone.map(JSON.string)
                    switch token.life {
                    case .alive: break
                    case .unregistered(let since): json["unregisteredSince"] = .integer(since)
                    case .expired(let since): json["expiredSince"] = .integer(since)
                    }
                    return json
                }),
        ]
    }

    private static func json(_ phone: Phone) -> JSON {
        var json: JSON = [
            "id": .string(phone.id), "name": .string(phone.name), "isOnline": .bool(phone.isOnline),
            "hasLowPower": .bool(phone.hasLowPower),
            "apps": .array(
                phone.apps.map { app in
                    [
                        "bundle": .string(app.bundle), "name": .string(app.name),
                        "environment": .string(app.environment.rawValue), "isInstalled": .bool(app.isInstalled),
                        "token": .string(app.token), "permission": .string(app.permission.rawValue),
                        "showsInFront": .bool(app.showsInFront),
                    ]
                }),
        ]
        json["person"] = phone.person.map(JSON.string)
        json["webBase"] = phone.webBase.map(JSON.string)
        return json
    }

    /// Takes over what `saved` wrote; what it cannot read it leaves out.
    package mutating func restore(_ json: JSON) {
        for item in json["tokens"]?.array ?? [] {
            guard let text = item["token"]?.string,
                let environment = item["environment"]?.string.flatMap(PushEnvironment.init(rawValue:)),
                let bundle = item["bundle"]?.string
            else { continue }
            let life: DeviceToken.Life =
                if let since = item["unregisteredSince"]?.integer {
                    .unregistered(since: since)
                } else if let since = item["expiredSince"]?.integer {
                    .expired(since: since)
                } else {
                    .alive
                }
            tokens[TokenKey(environment: environment, text: text)] = DeviceToken(
                text: text, environment: environment, bundle: bundle,
                kind: item["kind"]?.string.flatMap(DeviceToken.Kind.init(rawValue:)) ?? .device, life: life,
                phone: item["phone"]?.string)
        }
        for item in json["phones"]?.array ?? [] {
            guard let id = item["id"]?.string, let name = item["name"]?.string else { continue }
            var phone = Phone(id: id, name: name, person: item["person"]?.string, webBase: item["webBase"]?.string)
            phone.isOnline = item["isOnline"]?.bool ?? true
            phone.hasLowPower = item["hasLowPower"]?.bool ?? false
            for item in item["apps"]?.array ?? [] {
                guard let bundle = item["bundle"]?.string, let token = item["token"]?.string else { continue }
                var app = InstalledApp(
                    bundle: bundle, name: item["name"]?.string ?? bundle,
                    environment: item["environment"]?.string.flatMap(PushEnvironment.init(rawValue:)) ?? .sandbox,
                    token: token)
                app.isInstalled = item["isInstalled"]?.bool ?? true
                if !app.isInstalled { app.state = .killed }
                app.permission =
                    item["permission"]?.string.flatMap(InstalledApp.Permission.init(rawValue:)) ?? .granted
                app.showsInFront = item["showsInFront"]?.bool ?? false
                phone.apps.append(app)
            }
            add(phone)
        }
    }
}
