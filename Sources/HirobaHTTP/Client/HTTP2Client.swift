import Glibc

/// Sends requests to one server by HTTP/2, over as many connections as the rules allow, and keeps them for hours.
///
/// Follow a request by opening the files in this order: `HTTP2ClientRequest`, `HTTP2ClientPool` (what is decided),
/// `HTTP2ClientConnection`, `HTTP2ClientSession`, `HTTP2Outcome`.
package final class HTTP2Client: @unchecked Sendable {
    // Unchecked because the compiler cannot see that everything but `send` and `stop` runs on the loop's thread only.

    package struct Configuration: Sendable {
        package enum Trust: Sendable, Hashable {
            /// The authorities the system trusts.
            case system
            /// Those in a PEM file, and nobody else.
            case authority(file: String)
            /// No TLS at all: HTTP/2 by prior knowledge, for tests on one machine.
            case clear
        }

        /// A name, which the server's certificate must be for, or an address.
        package var host: String
        package var port: Int
        package var trust: Trust
        package var rules: HTTP2ClientRules

        package init(host: String, port: Int, trust: Trust = .system, rules: HTTP2ClientRules = HTTP2ClientRules()) {
            self.host = host
            self.port = port
            self.trust = trust
            self.rules = rules
        }
    }

    /// What happens besides answers.
    package enum Event: Sendable, Hashable {
        case connected
        /// The server will take no more requests on a connection. `debug` is whatever it gave as its reason.
        case goAway(code: UInt32, debug: [UInt8])
        /// A connection ended, or could not be made.
        case lost(String)
    }

    /// Whom a client's connections go to.
    struct Server {
        let host: String
        let port: Int
        let authority: String
        let origin: HTTP2SharedFields
        let tls: TLSContext?
    }

    private enum Place {
        case free(next: Int)
        case taken(any HTTP2ClientSender)
    }

    package let loop: EventLoop

    private let server: Server
    private let observe: @Sendable (Event) -> Void
    private let proves: @Sendable (Int) -> Bool
    private var pool: HTTP2ClientPool
    /// Requests that have not ended; the pool knows them by their place here.
    private var places: [Place] = []
    private var firstFree = -1
    private var connections: [Int: HTTP2ClientConnection] = [:]
    private var actions: [HTTP2ClientPool.Action] = []
    private var isPerforming = false
    /// Senders that are held back because the queue is full.
    private var held = Deque<any HTTP2ClientSender>()
    private var timer: HTTP2ClientTimer?
    private var stopped: [CheckedContinuation<Void, Never>] = []

    /// - Parameters:
    ///   - loop: where the client lives. It must be started, and outlive the client.
    ///   - proves: whether an answer with this status shows that the server takes our credentials; see
    ///     `HTTP2ClientRules.startsWithOne`.
    ///   - observe: called on the loop; it must not block.
    package init(
        configuration: Configuration, loop: EventLoop, proves: @escaping @Sendable (Int) -> Bool = { $0 < 400 },
        observe: @escaping @Sendable (Event) -> Void = { _ in }
    ) throws {
        // A server that is gone must be an error of the write, not a signal; OpenSSL writes without MSG_NOSIGNAL.
        signal(SIGPIPE, SIG_IGN)
        let isClear = configuration.trust == .clear
        let name = configuration.host.utf8.contains(UInt8(ascii: ":")) ? "[\(configuration.host)]" : configuration.host
        let usualPort = isClear ? 80 : 443
        let authority = configuration.port == usualPort ? name : "\(name):\(configuration.port)"
        server = Server(
            host: configuration.host, port: configuration.port, authority: authority,
            origin: HTTP2SharedFields([(":scheme", isClear ? "http" : "https"), (":authority", authority)]),
            tls: isClear ? nil : try TLSContext(trusting: configuration.trust))
        self.loop = loop
        self.proves = proves
        self.observe = observe
        pool = HTTP2ClientPool(rules: configuration.rules)
    }

    // MARK: Sending

    /// Sends a request and waits for what becomes of it. It ends by itself, at the latest after the times of the rules;
    /// cancelling the task changes nothing. While the queue is full the sender is held back before that.
    package func send(_ request: HTTP2ClientRequest) async -> HTTP2Outcome {
        await withCheckedContinuation { continuation in
            loop.perform { self.send(WaitingSender(request: request, continuation: continuation)) }
        }
    }

    private final class WaitingSender: HTTP2ClientSender {
        let request: HTTP2ClientRequest
        private let continuation: CheckedContinuation<HTTP2Outcome, Never>

        init(request: HTTP2ClientRequest, continuation: CheckedContinuation<HTTP2Outcome, Never>) {
            self.request = request
            self.continuation = continuation
        }

        func requestEnded(_ outcome: HTTP2Outcome) { continuation.resume(returning: outcome) }
    }

    /// The same for those who are on the loop. A client that takes no requests says so from within this call.
    package func send(_ sender: any HTTP2ClientSender) {
        if pool.isFull, !pool.isStopping {
            held.append(sender)
        } else {
            submit(sender)
            perform()
        }
    }

    private func submit(_ sender: any HTTP2ClientSender) {
        let place: Int
        if firstFree >= 0, case .free(let next) = places[firstFree] {
            place = firstFree
            firstFree = next
            places[place] = .taken(sender)
        } else {
            place = places.count
            places.append(.taken(sender))
        }
        pool.submit(place, now: loop.now)
    }

    private func finish(_ place: Int, _ outcome: HTTP2Outcome) {
        guard case .taken(let sender) = places[place] else { return }
        places[place] = .free(next: firstFree)
        firstFree = place
        sender.requestEnded(outcome)
    }

    /// On the loop. Opens no more streams on the connection that brought an answer, and replaces it.
    package func retire(connection: Int) {
        pool.retire(connection, now: loop.now)
        perform()
    }

    /// On the loop. Sends nothing until `resume`: whoever waits or comes is told so. What is open ends, and every connection
    /// is closed. For credentials that the server no longer takes.
    package func suspend() {
        pool.suspend(now: loop.now)
        perform()
    }

    /// On the loop.
    package func resume() { pool.resume() }

    /// Takes no more requests, lets those that are open end for `grace`, and closes every connection.
    package func stop(grace: Duration) async {
        let limit = Task {
            do { try await Task.sleep(for: grace) } catch { return }
            loop.perform {
                self.pool.stopAtOnce(now: self.loop.now)
                self.perform()
            }
        }
        await withCheckedContinuation { continuation in
            loop.perform {
                self.stopped.append(continuation)
                self.pool.stop(now: self.loop.now)
                self.perform()
            }
        }
        limit.cancel()
    }

    // MARK: What the pool decided

    private func perform() {
        // Whatever an action brings about is dealt with by the outermost call.
        if isPerforming { return }
        isPerforming = true
        repeat {
            actions.removeAll(keepingCapacity: true)
            pool.takeActions(into: &actions)
            for action in actions { perform(action) }
            while !held.isEmpty, !pool.isFull || pool.isStopping, let sender = held.popFirst() { submit(sender) }
        } while pool.hasActions
        isPerforming = false
        if pool.connectionCount == 0, !stopped.isEmpty {
            timer?.end()
            timer = nil
            for continuation in stopped { continuation.resume() }
            stopped = []
        } else {
            arm()
        }
    }

    private func perform(_ action: HTTP2ClientPool.Action) {
        switch action {
        case .open(let place, let number, let stream):
            guard let connection = connections[number], case .taken(let sender) = places[place],
                connection.open(sender.request, as: stream)
                // A stream that could not be opened is as good as refused by the server.
            else { return pool.goAway(number, last: stream - 1, now: loop.now) }
        case .finish(let place, let ending):
            switch ending {
            case .notProcessed(let reason): finish(place, .notProcessed(reason))
            case .unknown(let doubt): finish(place, .unknown(doubt))
            }
        case .connect(let number):
            let connection = HTTP2ClientConnection(number: number, server: server, loop: loop, client: self)
            connections[number] = connection
            connection.start()
        case .cancel(let number, let stream): connections[number]?.cancel(stream)
        case .ping(let number): connections[number]?.ping()
        case .disconnect(let number): connections.removeValue(forKey: number)?.disconnect()
        }
    }

    // MARK: What happened

    // From connections. What they tell together is acted on at `eventsEnd`.

    func connected(_ number: Int) {
        observe(.connected)
        pool.connected(number, now: loop.now)
    }

    func lost(_ number: Int, reason: String) {
        connections[number] = nil
        observe(.lost(reason))
        pool.lost(number, reason: reason, now: loop.now)
    }

    func happened(_ event: HTTP2ClientSession.Event, on number: Int) {
        let now = loop.now
        switch event {
        case .answered(let id, let stream):
            let answer = stream.answer(on: number)
            let isProof = proves(answer.status)
            guard let place = pool.answered(number, stream: id, proves: isProof, now: now) else { return }
            finish(place, .answer(answer))
            // Whoever got the answer may have stopped everything.
            if !isProof { loop.execute { [self] in goOn() } }
        case .reset(let stream, let code): pool.reset(number, stream: stream, code: code, now: now)
        case .limited(let limit): pool.limited(number, to: limit, now: now)
        case .pingAnswered: pool.pingAnswered(number, now: now)
        case .goAway(let last, let code, let debug):
            observe(.goAway(code: code, debug: debug))
            pool.goAway(number, last: last, now: now)
        }
    }

    func eventsEnd() { perform() }

    private func goOn() {
        pool.goOn(now: loop.now)
        perform()
    }

    // MARK: Time

    private func arm() {
        let next = pool.nextTick()
        guard next < .max, let timer = timer ?? makeTimer() else { return }
        timer.set(next)
    }

    private func makeTimer() -> HTTP2ClientTimer? {
        timer = HTTP2ClientTimer(loop: loop) { [unowned self] in
            pool.tick(now: loop.now)
            perform()
        }
        return timer
    }
}

/// A place on the loop's timer wheel.
private final class HTTP2ClientTimer: LoopMember, @unchecked Sendable {
    // Unchecked because it is touched on the loop's thread only.
    private let loop: EventLoop
    private let fire: () -> Void
    private var token: UInt64?
    private var armed: UInt64 = .max

    init(loop: EventLoop, fire: @escaping () -> Void) {
        self.loop = loop
        self.fire = fire
        token = loop.add(self)
    }

    func set(_ time: UInt64) {
        guard time < armed, let token else { return }
        armed = time
        loop.setTimer(token, at: time)
    }

    func timerFired(_ time: UInt64) {
        guard time == armed else { return }
        armed = .max
        fire()
    }

    func end() {
        if let token { loop.remove(token) }
        token = nil
    }

    func ready(_ events: UInt32) {}
}
