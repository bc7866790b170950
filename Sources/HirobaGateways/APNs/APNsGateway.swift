package import HirobaCore
import HirobaCrypto
package import HirobaHTTP
import HirobaJSON

/// Sends messages to Apple's devices.
///
/// How a push travels can be read by opening the files in this order: `APNsPayload`, `APNsRequest`, `APNsProviderToken`,
/// `HTTP2Client`, `APNsAnswer`, `APNsReaction`.
package final class APNsGateway: PushGateway, @unchecked Sendable {
    // Unchecked because the compiler cannot see that everything but `init`, `send`, `resume` and `stop` runs on the loop's
    // thread only.

    /// What somebody should know of besides verdicts.
    package enum Event: Sendable, Hashable {
        /// The gateway refused what we built, or said something that nobody has heard of.
        case alarm(reason: String, message: String, route: String)
        /// Nothing more is sent this way until the configuration is repaired.
        case stopped(reason: String, route: String)
        case connection(HTTP2Client.Event, route: String)
    }

    package struct Settings: Sendable {
        /// The time of day: milliseconds since 1970 in UTC.
        package var milliseconds: @Sendable () -> Int64
        /// How often a message is sent again in one attempt when it cannot be known whether it arrived.
        package var resends = 1
        /// How long a way that is closed by a wrong configuration stays so before one message tries it.
        package var probeAfter = Duration.seconds(5 * 60)

        package init(milliseconds: @escaping @Sendable () -> Int64) { self.milliseconds = milliseconds }
    }

    /// One message on its way.
    private final class Delivery: HTTP2ClientSender, @unchecked Sendable {
        // Unchecked because whoever made it hands it over to the loop and does not touch it again.
        let id: String
        let kind: PushMessage.Kind
        let priority: String
        let address: PushAddress
        var request: HTTP2ClientRequest
        let gateway: APNsGateway
        let then: Then
        var route: Int
        var isElsewhere = false
        /// It finds out whether a way that was closed is open again.
        var isProbe = false
        var tokenNumber = 0
        /// Why it cannot be known what became of the message when it was last sent.
        var doubt: HTTP2Outcome.Doubt?
        var resends = 0
        var hasRefreshed = false
        var reconnects = 0

        init(
            id: String, kind: PushMessage.Kind, priority: String, address: PushAddress, request: HTTP2ClientRequest,
            by gateway: APNsGateway, route: Int, then: Then
        ) {
            self.id = id
            self.kind = kind
            self.priority = priority
            self.address = address
            self.request = request
            self.gateway = gateway
            self.route = route
            self.then = then
        }

        func requestEnded(_ outcome: HTTP2Outcome) { gateway.requestEnded(self, outcome) }

        func end(_ verdict: Verdict) {
            switch then {
            case .resume(let continuation): continuation.resume(returning: verdict)
            case .call(let closure): closure(verdict)
            }
        }
    }

    /// Who waits for a verdict. Waiting takes a task for each push; the closure is for those who send too many for that.
    private enum Then {
        case resume(CheckedContinuation<Verdict, Never>)
        case call(@Sendable (Verdict) -> Void)
    }

    /// How sending by one route ended.
    private enum Attempt {
        case verdict(Verdict)
        /// The token is not known there.
        case suspect
    }

    package let loop: EventLoop

    private let routes: [APNsRoute]
    private let environments: [PushAddress.Environment]
    private let apps: [[String]]
    private let settings: Settings
    private let observe: @Sendable (Event) -> Void
    private var clients: [HTTP2Client] = []
    /// One for each key, however many routes use it.
    private var tokens: [APNsProviderToken] = []
    /// Which token a route uses.
    private let tokenOfRoute: [Int]
    private var sharedFields: [APNsSharedFields]
    private var circuits: APNsCircuits
    private var suspicions: [APNsSuspicion]

    /// - Parameters:
    ///   - loop: where the gateway and its connections live. It must be started, and outlive the gateway.
    ///   - observe: called on the loop; it must not block.
    package init(
        routes: [APNsRoute], loop: EventLoop, settings: Settings,
        observe: @escaping @Sendable (Event) -> Void = { _ in }
    ) throws {
        self.loop = loop
        self.routes = routes
        environments = routes.map(\.environment)
        apps = routes.map(\.apps)
        self.settings = settings
        self.observe = observe
        circuits = APNsCircuits(pause: settings.probeAfter.wholeMilliseconds)
        suspicions = routes.map { _ in APNsSuspicion() }
        sharedFields = routes.map { _ in APNsSharedFields() }
        let keys = routes.map { "\($0.key.team) \($0.key.id)" }
        let different = Set(keys).sorted()
        tokenOfRoute = keys.map { different.firstIndex(of: $0) ?? 0 }
        tokens = different.compactMap { keys.firstIndex(of: $0) }.map { APNsProviderToken(make: routes[$0].key.token) }
        // Not weak, which would make counting the references to a gateway slow: clients do not outlive it.
        clients = try routes.enumerated().map { [unowned self] index, route in
            try HTTP2Client(configuration: route.server, loop: loop, proves: Self.proves) { [unowned self] event in
                happened(event, index)
            }
        }
    }

    /// Whether an answer shows that Apple took the key. Only then does it allow more than one request at a time.
    private static func proves(_ status: Int) -> Bool {
        switch status {
        case 200, 400, 410, 413: true
        default: false
        }
    }

    // MARK: Sending

    package func send(_ message: PushMessage, to address: PushAddress) async -> Verdict {
        await withCheckedContinuation { send(message, to: address, .resume($0)) }
    }

    /// The same for those who send very many and need no task for each. `then` is called on the loop, or before this returns
    /// when the verdict is known at once; it must not block.
    package func send(
        _ message: PushMessage, to address: PushAddress, then: @escaping @Sendable (Verdict) -> Void
    ) {
        send(message, to: address, .call(then))
    }

    private func send(_ message: PushMessage, to address: PushAddress, _ then: Then) {
        switch delivery(of: message, to: address, then) {
        case .failure(let refusal):
            switch then {
            case .resume(let continuation): continuation.resume(returning: refusal.verdict)
            case .call(let closure): closure(refusal.verdict)
            }
        case .success(let delivery):
            if loop.isOnLoop {
                begin(delivery)
            } else {
                loop.execute { self.begin(delivery) }
            }
        }
    }

    private struct Refusal: Error {
        let verdict: Verdict
    }

    /// Whatever can be known before sending. Any thread.
    private func delivery(
        of message: PushMessage, to address: PushAddress, _ then: Then
    ) -> Result<Delivery, Refusal> {
        func refused(_ verdict: Verdict) -> Result<Delivery, Refusal> { .failure(Refusal(verdict: verdict)) }
        guard Self.isToken(address.token) else { return refused(.gone(since: nil, reason: "BadDeviceToken")) }
        guard UUIDText.isOne(message.id) else { return refused(.refused(reason: "BadMessageId", fault: .message)) }
        guard let route = route(to: address.app, in: address.environment) else {
            let environment = address.environment.rawValue
            return refused(.held(reason: "no key for \(address.app) in the \(environment) environment"))
        }
        guard let request = HTTP2ClientRequest.push(message, token: address.token) else {
            return refused(.refused(reason: "PayloadTooLarge", fault: .message))
        }
        return .success(
            Delivery(
                id: message.id, kind: message.kind, priority: message.priority, address: address, request: request,
                by: self, route: route, then: then))
    }

    /// Opens every way again, after the configuration was repaired.
    package func resume() async {
        await withCheckedContinuation { continuation in
            loop.perform {
                self.circuits.openAll()
                for client in self.clients { client.resume() }
                continuation.resume()
            }
        }
    }

    /// Lets what is on its way end for `grace`, then closes the connections.
    package func stop(grace: Duration) async {
        await withTaskGroup { group in
            for client in clients { group.addTask { await client.stop(grace: grace) } }
        }
    }

    private func route(to app: String, in environment: PushAddress.Environment) -> Int? {
        for index in routes.indices where environments[index] == environment && apps[index].contains(app) {
            return index
        }
        return nil
    }

    /// Hexadecimal digits of whole bytes, as many as a path may hold.
    private static func isToken(_ token: String) -> Bool {
        var token = token
        return token.withUTF8 { bytes in
            guard !bytes.isEmpty, bytes.count.isMultiple(of: 2), bytes.count <= 2048 else { return false }
            var others: UInt8 = 0
            // To the end whatever comes, and without a branch: so sixteen are looked at in one step.
            for byte in bytes {
                let isDigit: UInt8 = byte &- UInt8(ascii: "0") < 10 ? 1 : 0
                // The bit that tells small letters from capitals.
                let isLetter: UInt8 = (byte | 0x20) &- UInt8(ascii: "a") < 6 ? 1 : 0
                others |= (isDigit | isLetter) ^ 1
            }
            return others == 0
        }
    }

    // MARK: One way

    private func begin(_ delivery: Delivery) {
        // Nearly always.
        if circuits.isEverythingOpen { return transmit(delivery) }
        switch circuits.passage(route: delivery.route, app: delivery.address.app, now: settings.milliseconds()) {
        case .free: transmit(delivery)
        case .closed(let reason): end(delivery, .verdict(.held(reason: reason)))
        case .probe:
            delivery.isProbe = true
            clients[delivery.route].resume()
            transmit(delivery)
        }
    }

    private func end(_ delivery: Delivery, _ attempt: Attempt) {
        if delivery.isProbe {
            delivery.isProbe = false
            let isOpen: Bool? =
                switch attempt {
                case .verdict(.held): false
                case .verdict(.retry), .verdict(.unknown): nil
                case .verdict, .suspect: true
                }
            circuits.probed(route: delivery.route, app: delivery.address.app, isOpen: isOpen)
        }
        switch attempt {
        case .verdict(let verdict): delivery.end(verdict)
        case .suspect: tryElsewhere(delivery)
        }
    }

    /// Perhaps the token is of the other environment: apps from Xcode have other tokens than those from the store.
    private func tryElsewhere(_ delivery: Delivery) {
        if delivery.isElsewhere { return delivery.end(.gone(since: nil, reason: "BadDeviceToken")) }
        let address = delivery.address
        guard !address.isEnvironmentProven, let other = route(to: address.app, in: address.environment.other) else {
            return delivery.end(.refused(reason: "BadDeviceToken", fault: .device))
        }
        delivery.isElsewhere = true
        delivery.route = other
        begin(delivery)
    }

    private func transmit(_ delivery: Delivery) {
        let token = tokens[tokenOfRoute[delivery.route]].token(at: settings.milliseconds() / 1000)
        delivery.tokenNumber = token.number
        delivery.request.shared = sharedFields[delivery.route].fields(
            app: delivery.address.app, kind: delivery.kind, priority: delivery.priority, providerToken: token)
        clients[delivery.route].send(delivery)
    }

    private func requestEnded(_ delivery: Delivery, _ outcome: HTTP2Outcome) {
        switch outcome {
        case .answer(let answer): answered(delivery, answer)
        case .notProcessed(let reason):
            if let doubt = delivery.doubt {
                end(delivery, .verdict(.unknown(reason: doubt.description)))
            } else {
                end(delivery, .verdict(verdict(on: reason, delivery)))
            }
        case .unknown(let doubt):
            delivery.doubt = doubt
            guard delivery.resends < settings.resends else {
                return end(delivery, .verdict(.unknown(reason: doubt.description)))
            }
            delivery.resends += 1
            transmit(delivery)
        }
    }

    private func verdict(on reason: HTTP2Outcome.NotProcessed, _ delivery: Delivery) -> Verdict {
        switch reason {
        case .unreachable(let text, let after): .retry(after: after, of: .route, reason: text)
        case .busy: .retry(after: .seconds(1), of: .route, reason: "it waited too long for its turn")
        case .refused: .retry(after: .seconds(1), of: .route, reason: "the gateway refused the stream")
        case .stopped: .retry(after: .zero, of: .route, reason: "the server is stopping")
        case .suspended:
            if let reason = circuits.reason(route: delivery.route, app: delivery.address.app) {
                .held(reason: reason)
            } else {
                // Opened again in the meantime.
                .retry(after: .zero, of: .route, reason: "the way was closed for a moment")
            }
        }
    }

    // MARK: Answers

    private func answered(_ delivery: Delivery, _ raw: HTTP2Answer) {
        // Nearly always.
        if raw.status == 200 { return accepted(delivery, raw) }
        let answer = APNsAnswer(raw)
        let (reaction, isKnown) = APNsReaction.to(status: answer.status, reason: answer.reason)
        if !isKnown { alarm(answer.description, delivery) }
        note(reaction, delivery.route)
        let reason = answer.reason ?? answer.description
        switch reaction {
        case .accepted: accepted(delivery, raw)
        case .tokenIsDead:
            // Without the time a registration from now on must still count.
            let since = answer.timestamp ?? settings.milliseconds()
            end(delivery, .verdict(.gone(since: since, reason: reason)))
        case .tokenIsSuspect: end(delivery, .suspect)
        case .tokenIsElsewhere: end(delivery, .verdict(.refused(reason: reason, fault: .device)))
        case .drop:
            if isKnown { alarm(answer.description, delivery) }
            end(delivery, .verdict(.refused(reason: reason, fault: .message)))
        case .stop(let what): end(delivery, .verdict(stop(what, reason, delivery)))
        case .refreshProviderToken: refreshToken(delivery)
        case .useProviderTokenBefore:
            tokens[tokenOfRoute[delivery.route]].cameTooSoon(delivery.tokenNumber, at: settings.milliseconds() / 1000)
            end(delivery, .verdict(.retry(after: .seconds(60), of: .route, reason: reason)))
        case .reconnect:
            clients[delivery.route].retire(connection: raw.connection)
            guard delivery.reconnects < 2 else {
                return end(delivery, .verdict(.retry(after: .seconds(1), of: .route, reason: reason)))
            }
            delivery.reconnects += 1
            transmit(delivery)
        case .sendLater(let time, let scope, let replacesConnection):
            if replacesConnection { clients[delivery.route].retire(connection: raw.connection) }
            end(delivery, .verdict(.retry(after: time, of: scope, reason: reason)))
        }
    }

    private func accepted(_ delivery: Delivery, _ answer: HTTP2Answer) {
        note(.accepted, delivery.route)
        let headers = answer.headers
        let acceptance = Verdict.Acceptance(
            id: headers.has("apns-id", delivery.id) ? delivery.id : headers["apns-id"] ?? delivery.id,
            uniqueID: headers["apns-unique-id"], environment: environments[delivery.route],
            isResent: delivery.resends > 0)
        end(delivery, .verdict(.accepted(acceptance)))
    }

    private func refreshToken(_ delivery: Delivery) {
        let now = settings.milliseconds() / 1000
        guard !delivery.hasRefreshed,
            tokens[tokenOfRoute[delivery.route]].hasExpired(delivery.tokenNumber, at: now) == .sendAgain
        else { return end(delivery, .verdict(stop(.key, "ExpiredProviderToken: is the clock right?", delivery))) }
        delivery.hasRefreshed = true
        transmit(delivery)
    }

    // MARK: What is wrong

    private func note(_ reaction: APNsReaction, _ route: Int) {
        switch reaction {
        case .accepted, .tokenIsDead, .tokenIsSuspect:
            guard suspicions[route].note(isBad: reaction == .tokenIsSuspect) else { return }
            close(.route(route), "too many BadDeviceToken: is it the right host and key?", route)
        default: break
        }
    }

    private func stop(_ what: APNsReaction.Stop, _ reason: String, _ delivery: Delivery) -> Verdict {
        let (route, app) = (delivery.route, delivery.address.app)
        switch what {
        case .key: close(.route(route), reason, route)
        case .app: close(.app(app, route: route), "\(reason): \(app)", route)
        }
        return .held(reason: circuits.reason(route: route, app: app) ?? reason)
    }

    private func close(_ way: APNsCircuits.Way, _ reason: String, _ route: Int) {
        circuits.close(way, reason: reason, now: settings.milliseconds())
        observe(.stopped(reason: reason, route: routes[route].description))
        if case .route = way {
            // What waits would only be refused as well, and each refusal makes Apple slower.
            clients[route].suspend()
        }
    }

    private func alarm(_ reason: String, _ delivery: Delivery) {
        let route = routes[delivery.route].description
        observe(.alarm(reason: reason, message: delivery.id, route: route))
    }

    private func happened(_ event: HTTP2Client.Event, _ route: Int) {
        observe(.connection(event, route: routes[route].description))
        guard case .goAway(_, let debug) = event,
            let reason = try? JSON.parse(debug)["reason"]?.string,
            case .stop(.key) = APNsReaction.to(goAway: reason)
        else { return }
        close(.route(route), reason, route)
    }
}

extension HTTP2Outcome.Doubt {
    fileprivate var description: String {
        switch self {
        case .deadline: "no answer in time"
        case .reset(let code): "the gateway ended the stream with error \(code)"
        case .connectionLost(let reason): reason
        }
    }
}

extension Duration {
    fileprivate var wholeMilliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
