package import HirobaHTTP

internal import HirobaJSON

/// The page with the phones, and what tests and scripts ask by JSON. It is mounted under any path of any server.
package struct PhonesWeb: Sendable {
    package struct Options: Sendable {
        /// What stands before every path, such as `/phones`; empty when the page is alone.
        package var prefix = ""
        /// Where a tap shows the app's page.
        package var pages = Pages.tab
        /// Origins (scheme, host and port) of those pages besides the phones' own, which the page's content policy must know.
        package var pageOrigins: [String] = []
        /// A page shown beside the phones, such as the forum whose comments arrive on them.
        package var companion: Companion?
        /// Where somebody else tells more about a push: the address to which its `apns-id` is added, such as `/push/`.
        package var stories: String?
        /// Hosts (with port, if it is not the usual one) that the page is asked by, besides this machine's own names.
        package var hosts: Set<String> = []
        /// The name of this machine under which the page must be looked at, such as `hiroba.localhost`: whoever comes by
        /// another is led there. Phones whose pages lie below it then belong to the same site, without which browsers send
        /// them no cookies inside a frame.
        package var name: String?
        /// What becomes of a link that was tapped: the address to open as that phone's person. `nil` opens nothing.
        package var openURL: OpenURL

        package init(openURL: @escaping OpenURL = { phone, tap in DeepLink.address(of: tap?.link, for: phone) }) {
            self.openURL = openURL
        }
    }

    /// `tap` is `nil` when not a notification was tapped but the app's icon.
    package typealias OpenURL = @Sendable (_ phone: Phone, _ tap: PhoneBook.Tap?) async -> String?

    package enum Pages: Sendable, Hashable {
        /// In a tab of its own for each phone.
        case tab
        /// Inside the phone. The page must allow to be framed, and each phone's should have an origin of its own, or two
        /// phones share their cookies.
        case frame
    }

    package struct Companion: Sendable, Hashable {
        package var english: String
        package var japanese: String
        package var address: String

        package init(english: String, japanese: String, address: String) {
            self.english = english
            self.japanese = japanese
            self.address = address
        }
    }

    let phones: Phones
    let front: Front?
    let clock: SimulatorClock
    let options: Options
    let files = PhonesFiles()

    package init(phones: Phones, front: Front? = nil, clock: SimulatorClock, options: Options = Options()) {
        self.phones = phones
        self.front = front
        self.clock = clock
        self.options = options
    }

    // MARK: Routes

    package func register(on routes: inout Routes) {
        let prefix = options.prefix
        routes.on(.get, prefix.isEmpty ? "/" : prefix) { request, _ in await page(request) }
        routes.on(.get, "\(prefix)/live") { request, _ in await guarded(request) { live(request) } }
        routes.on(.get, "\(prefix)/static/{version}/{name}") { _, parameters in file(parameters) }
        routes.on(.get, "\(prefix)/pictures/{id}") { _, parameters in await picture(parameters) }
        routes.on(.post, "\(prefix)/language") { request, _ in await setLanguage(request) }
        routes.on(.post, "\(prefix)/devices/{phone}/{action}") { request, parameters in
            await act(request, parameters)
        }
        routes.on(.post, "\(prefix)/log/clear") { request, _ in
            await acting(request) { _ in
                await phones.clearLog()
                return nil
            }
        }
        registerData(on: &routes)
    }

    /// Refuses what another site made a browser ask, and what comes by a name that is not ours: a page of a stranger
    /// whose name leads to this machine.
    func isOurs(_ request: HTTPRequest) -> Bool {
        guard let host = request.headers["Host"]?.lowercased(), isKnown(host) else { return false }
        if request.method == .get || request.method == .head { return true }
        if let site = request.headers["Sec-Fetch-Site"], site != "same-origin", site != "none" { return false }
        guard let origin = request.headers["Origin"]?.lowercased() else { return true }
        return origin == "http://\(host)" || origin == "https://\(host)"
    }

    private func isKnown(_ host: String) -> Bool {
        if options.hosts.contains(host) { return true }
        guard let address = PictureAddress("http://\(host)/") else { return false }
        return PictureAddress.isThisMachine(address.host)
    }

    func guarded(_ request: HTTPRequest, _ answer: () async -> HTTPResponse) async -> HTTPResponse {
        guard isOurs(request) else { return .text(.forbidden, "This was not sent by the page with the phones.\n") }
        return await answer()
    }

    private func file(_ parameters: PathParameters) -> HTTPResponse {
        guard let file = files[parameters["name"] ?? ""] else { return .text(.notFound, "There is nothing here.\n") }
        let isCurrent = parameters["version"] == files.version
        return HTTPResponse(
            headers: [
                "Content-Type": file.type,
                "Cache-Control": isCurrent ? "public, max-age=31536000, immutable" : "no-store",
                "X-Content-Type-Options": "nosniff",
                "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
            ], body: .bytes(file.bytes))
    }

    private func picture(_ parameters: PathParameters) async -> HTTPResponse {
        guard let picture = await phones.picture(parameters["id"] ?? "") else {
            return .text(.notFound, "There is nothing here.\n")
        }
        return HTTPResponse(
            headers: [
                "Content-Type": picture.type, "Cache-Control": "private, max-age=86400",
                "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox",
            ], body: .bytes(picture.bytes))
    }

    // MARK: The page

    func context(_ request: HTTPRequest) -> PhonesContext {
        PhonesContext(
            texts: PhonesTexts.of(PhonesLanguage(of: request)), prefix: options.prefix, version: files.version,
            now: clock.now(), pages: options.pages, companion: options.companion, stories: options.stories)
    }

    static let deliveriesShown = 60

    private func page(_ request: HTTPRequest) async -> HTTPResponse {
        await guarded(request) {
            if let address = addressOfOurName(request) {
                return HTTPResponse(.seeOther, headers: ["Location": address, "Cache-Control": "no-store"])
            }
            let all = await phones.all
            let page = HTML.phonesPage(
                context(request), phones: all, deliveries: await phones.deliveries(most: Self.deliveriesShown))
            return HTTPResponse(
                headers: [
                    "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": contentPolicy(all),
                    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
                    "Cache-Control": "private, no-cache", "Vary": "Accept-Language, Cookie",
                ], body: .bytes(page.documentBytes))
        }
    }

    /// The page's address under `options.name`; nil when that was asked for, or when the visitor is at another machine.
    private func addressOfOurName(_ request: HTTPRequest) -> String? {
        guard let name = options.name, let host = request.headers["Host"]?.lowercased(), !options.hosts.contains(host),
            let asked = PictureAddress("http://\(host)/"), asked.host != name
        else { return nil }
        let port = host.hasSuffix(":\(asked.port)") ? ":\(asked.port)" : ""
        return "\(request.isSecure ? "https" : "http")://\(name)\(port)\(home)"
    }

    private func contentPolicy(_ phones: [Phone]) -> String {
        let known = Set(options.pageOrigins + phones.compactMap { $0.webBase.map(PhonesProgram.origin) })
        let origins = known.sorted().map { " \($0)" }.joined()
        return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
            + "form-action 'self'\(origins); frame-src 'self'\(origins); frame-ancestors 'self'; base-uri 'none'"
    }

    /// Pieces of the page, drawn anew, as they change.
    private func live(_ request: HTTPRequest) -> HTTPResponse {
        let context = context(request)
        return .events { sender in
            let (id, signals) = await phones.listen()
            do {
                try await sender.send(ServerSentEvent(event: "ready"))
                for await _ in signals {
                    try await send(await phones.takeChanges(for: id), to: sender, context)
                }
            } catch {
                await phones.stopListening(id)
                throw error
            }
            await phones.stopListening(id)
        }
    }

    private func send(
        _ changes: Phones.Changes, to sender: ServerSentEventSender, _ context: PhonesContext
    ) async throws {
        // So many at once are seen best all together.
        guard !changes.isEverything, changes.deliveries.count <= Self.deliveriesShown else {
            return try await sender.send(ServerSentEvent(event: "reload"))
        }
        var context = context
        context.now = clock.now()
        for id in changes.phones.sorted() {
            guard let phone = await phones.phone(id) else { continue }
            try await sender.send(Self.event("phone", HTML.phone(context, phone)))
        }
        for number in changes.deliveries.sorted() {
            guard let delivery = await phones.delivery(number) else { continue }
            let phone: Phone? = if let id = delivery.phone { await phones.phone(id) } else { nil }
            try await sender.send(Self.event("delivery", HTML.delivery(context, delivery, phone: phone)))
        }
    }

    private static func event(_ name: String, _ html: HTML) -> ServerSentEvent {
        ServerSentEvent(event: name, data: String(decoding: html.bytes, as: UTF8.self))
    }

    // MARK: Acting

    private func setLanguage(_ request: HTTPRequest) async -> HTTPResponse {
        await guarded(request) {
            guard let form = await PhonesForm(request), let language = PhonesLanguage(rawValue: form["language"]) else {
                return .text(.badRequest, "There is no such language.\n")
            }
            let secure = request.isSecure ? "; Secure" : ""
            return HTTPResponse(
                .seeOther,
                headers: [
                    "Location": home,
                    "Set-Cookie":
                        "\(PhonesLanguage.cookie)=\(language.rawValue); Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax\(secure)",
                ])
        }
    }

    private var home: String { options.prefix.isEmpty ? "/" : options.prefix }

    /// Does what a form of the page says, and goes back to the page or on to an address.
    func acting(_ request: HTTPRequest, _ act: (PhonesForm) async -> String?) async -> HTTPResponse {
        await guarded(request) {
            guard let form = await PhonesForm(request) else { return .text(.badRequest, "The form is not readable.\n") }
            let address = await act(form)
            if request.headers["Accept"]?.hasPrefix("application/json") == true {
                return Self.json(["location": address.map(JSON.string) ?? .null])
            }
            return HTTPResponse(.seeOther, headers: ["Location": address ?? home])
        }
    }

    static func json(_ json: JSON, _ status: HTTPStatus = .ok) -> HTTPResponse {
        HTTPResponse(
            status, headers: ["Content-Type": "application/json", "Cache-Control": "no-store"],
            body: .bytes(json.bytes()))
    }

    private func act(_ request: HTTPRequest, _ parameters: PathParameters) async -> HTTPResponse {
        let id = parameters["phone"] ?? ""
        guard let phone = await phones.phone(id) else { return .text(.notFound, "There is no such phone.\n") }
        let action = parameters["action"] ?? ""
        guard let perform = actions[action] else { return .text(.notFound, "A phone cannot do that.\n") }
        return await acting(request) { form in await perform(phone, form) }
    }

    private typealias Action = @Sendable (Phone, PhonesForm) async -> String?

    /// What a person can do with a phone. Each answers an address to go on to, or none.
    private var actions: [String: Action] {
        [
            "tap": { phone, form in await tap(Int(form["notification"]) ?? 0, on: phone) },
            "dismiss": { phone, form in
                await phones.dismiss(Int(form["notification"]) ?? 0, on: phone.id)
                return nil
            },
            "clear": { phone, _ in
                await phones.dismissAll(on: phone.id)
                return nil
            },
            "open": { phone, form in await open(form["bundle"], on: phone) },
            "state": { phone, form in
                guard let state = InstalledApp.State(rawValue: form["value"]) else { return nil }
                await phones.setState(state, of: form["bundle"], on: phone.id)
                return nil
            },
            "permission": { phone, form in
                guard let permission = InstalledApp.Permission(rawValue: form["value"]) else { return nil }
                await phones.setPermission(permission, of: form["bundle"], on: phone.id)
                return nil
            },
            "shows-in-front": { phone, form in
                await phones.setShowsInFront(form["value"] == "on", of: form["bundle"], on: phone.id)
                return nil
            },
            "online": { phone, form in
                await phones.setOnline(form["value"] == "on", of: phone.id)
                return nil
            },
            "low-power": { phone, form in
                await phones.setLowPower(form["value"] == "on", of: phone.id)
                return nil
            },
            "install": { phone, form in
                let app = phone.app(form["bundle"])
                await phones.install(
                    form["bundle"], named: app?.name, environment: app?.environment ?? .sandbox, on: phone.id)
                return nil
            },
            "remove": { phone, form in
                await phones.remove(form["bundle"], from: phone.id)
                return nil
            },
        ]
    }

    private func tap(_ notification: Int, on phone: Phone) async -> String? {
        guard let tap = await phones.tap(notification, on: phone.id), phone.webBase != nil else { return nil }
        return await show(await options.openURL(tap.phone, tap), of: tap.bundle, on: phone)
    }

    private func open(_ bundle: String, on phone: Phone) async -> String? {
        guard phone.app(bundle)?.isInstalled == true else { return nil }
        await phones.open(bundle, on: phone.id)
        guard phone.webBase != nil else { return nil }
        return await show(await options.openURL(phone, nil), of: bundle, on: phone)
    }

    private func show(_ address: String?, of bundle: String, on phone: Phone) async -> String? {
        guard let address else { return nil }
        await phones.open(bundle, on: phone.id, page: address)
        return options.pages == .tab ? address : nil
    }
}

/// Where a link of a push leads.
package enum DeepLink {
    /// A link without a host, or with a scheme of the app's own, is a path of the phone's web base: `/forum/1`,
    /// `hiroba://forum/1` and `hiroba:///forum/1` mean the same. A web address stays as it is. Without a link, the base.
    package static func address(of link: String?, for phone: Phone) -> String? {
        let base = phone.webBase.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
        guard let link, !link.isEmpty else { return base.map { $0 + "/" } }
        let lowercased = link.lowercased()
        if lowercased.hasPrefix("http://") || lowercased.hasPrefix("https://") { return link }
        guard let base else { return nil }
        var path = link[...]
        if let scheme = link.range(of: "://") { path = link[scheme.upperBound...] }
        guard path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }) else { return base + "/" }
        return base + "/" + path.drop { $0 == "/" }
    }
}

extension String {
    /// The first place of `text` in this string.
    fileprivate func range(of text: String) -> Range<String.Index>? { firstRange(of: text) }
}

/// The fields of a form that was sent.
struct PhonesForm: Sendable {
    private var fields: [String: String] = [:]

    /// The field's text; empty when it is absent.
    subscript(name: String) -> String { fields[name] ?? "" }

    /// `nil` unless it is a readable `application/x-www-form-urlencoded` body.
    init?(_ request: HTTPRequest) async {
        let type = request.headers["Content-Type"]?.split(separator: ";").first.map { $0.lowercased() }
        guard type == nil || type == "application/x-www-form-urlencoded",
            let bytes = try? await request.body.collect(upTo: 16 * 1024)
        else { return nil }
        for pair in bytes.split(separator: UInt8(ascii: "&")) {
            let halves = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(halves[0]), let value = Self.decoded(halves.count > 1 ? halves[1] : []) else {
                return nil
            }
            fields[name] = value
        }
    }

    private static func decoded(_ bytes: some Collection<UInt8>) -> String? {
        PercentCoding.decode(bytes.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 })
    }
}
