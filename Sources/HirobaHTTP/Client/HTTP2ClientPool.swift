/// What an HTTP/2 client decides: which request goes out on which connection and when, what has become of one that gets
/// no answer, when to connect, to ask for a sign of life and to give up.
///
/// Events go in with the time they happen at, and what is to be done lies in `actions` until the client takes it. There is
/// no socket here, no clock and no waiting.
struct HTTP2ClientPool {
    enum Action: Hashable {
        /// Find the server and agree on TLS with it.
        case connect(Int)
        /// Send a request on this stream. Its head is the next that is sent on the connection.
        case open(request: Int, connection: Int, stream: Int32)
        /// RST_STREAM with CANCEL.
        case cancel(connection: Int, stream: Int32)
        case ping(Int)
        /// Say goodbye and close the socket.
        case disconnect(Int)
        /// There will be no answer.
        case finish(request: Int, Ending)
    }

    enum Ending: Hashable {
        case notProcessed(HTTP2Outcome.NotProcessed)
        case unknown(HTTP2Outcome.Doubt)
    }

    private struct Request {
        /// What the client calls it.
        let number: Int
        /// Who came first.
        let order: Int
        let since: UInt64
        /// How many times it was sent and certainly not processed.
        var attempts = 0
    }

    private struct Connection {
        enum Phase {
            case connecting
            /// The server has yet to say how many streams it allows.
            case greeting
            case ready
            /// Nothing new is opened; what is open runs to its end.
            case draining
        }

        let number: Int
        var phase = Phase.connecting
        let startedAt: UInt64
        var limit = 0
        /// The server has taken our credentials.
        var isProven = false
        var streams = HTTP2OpenStreams<Request>()
        /// The last answer, or the time since when one is due.
        var heardAt: UInt64
        var pingedAt: UInt64?
        var hasAnswered = false

        mutating func open(_ request: Request, now: UInt64, deadline: UInt64) -> Int32 {
            // An idle connection has not been silent: nothing was asked.
            if streams.isEmpty { heardAt = now }
            let stream = streams.open(request, deadline: now + deadline)
            if streams.isExhausted { phase = .draining }
            return stream
        }

        mutating func answered(_ stream: Int32, proves: Bool, now: UInt64) -> Request? {
            guard let request = streams.take(stream) else { return nil }
            heardAt = now
            hasAnswered = true
            if proves { isProven = true }
            return request
        }
    }

    let rules: HTTP2ClientRules
    private(set) var actions: [Action] = []

    /// By number; they are few.
    private var connections: [Connection] = []
    private var nextConnection = 0
    private var nextOrder = 0
    private var queue = Deque<Request>()
    /// Certainly not processed; they go out before the queue.
    private var again: [Request] = []
    /// After a failure nothing is tried until then.
    private var pausedUntil: UInt64 = 0
    private var pause: UInt64 = 0
    private var lastFailure = ""
    private(set) var isStopping = false
    private var isSuspended = false
    private var isHeldBack = false

    init(rules: HTTP2ClientRules) { self.rules = rules }

    /// Exchanges the actions for an empty list, whose memory is used again.
    mutating func takeActions(into list: inout [Action]) { swap(&list, &actions) }

    var hasActions: Bool { !actions.isEmpty }

    /// Whether senders have to wait before they hand over another request.
    var isFull: Bool { queue.count + again.count >= rules.queue }

    var connectionCount: Int { connections.count }
    var openStreams: Int { connections.reduce(0) { $0 + $1.streams.count } }
    private var waiting: Int { queue.count + again.count }

    // MARK: Requests

    mutating func submit(_ request: Int, now: UInt64) {
        if isStopping { return finish(request, .notProcessed(.stopped)) }
        if isSuspended { return finish(request, .notProcessed(.suspended)) }
        if now < pausedUntil, !hasUsableConnection {
            return finish(request, .notProcessed(unreachable(now)))
        }
        nextOrder += 1
        queue.append(Request(number: request, order: nextOrder, since: now))
        dispatch(now)
    }

    /// - Parameter proves: whether the answer shows that the server takes our credentials. If not, nothing more is opened
    ///   before `goOn`, so that whoever gets the answer can stop everything first.
    /// - Returns: whose answer it is; `nil` when nobody waits for it any more.
    mutating func answered(_ number: Int, stream: Int32, proves: Bool, now: UInt64) -> Int? {
        guard let index = index(number),
            let request = connections[index].answered(stream, proves: proves, now: now)
        else { return nil }
        if proves {
            pause = 0
            pausedUntil = 0
        }
        endIfDrained(index)
        if proves { dispatch(now) } else { isHeldBack = true }
        return request.number
    }

    /// The sender has seen the answer that held everybody back.
    mutating func goOn(now: UInt64) {
        isHeldBack = false
        dispatch(now)
    }

    /// The stream ended without a whole answer.
    mutating func reset(_ number: Int, stream: Int32, code: UInt32, now: UInt64) {
        guard let index = index(number), let request = connections[index].streams.take(stream) else { return }
        connections[index].heardAt = now
        if code == Self.refusedStream {
            sendAgain([request])
        } else {
            finish(request.number, .unknown(.reset(code)))
        }
        endIfDrained(index)
        dispatch(now)
    }

    private static let refusedStream: UInt32 = 7

    private mutating func sendAgain(_ requests: [Request]) {
        for var request in requests {
            request.attempts += 1
            if isStopping || isSuspended {
                finish(request.number, .notProcessed(isStopping ? .stopped : .suspended))
            } else if request.attempts >= rules.attempts {
                finish(request.number, .notProcessed(.refused))
            } else {
                // The oldest goes first, so it lies on top.
                again.insert(request, at: again.firstIndex { $0.order < request.order } ?? again.count)
            }
        }
    }

    private mutating func finish(_ request: Int, _ ending: Ending) {
        actions.append(.finish(request: request, ending))
    }

    // MARK: Connections

    /// Connected, TLS included. The server speaks next.
    mutating func connected(_ number: Int, now: UInt64) {
        guard let index = index(number), connections[index].phase == .connecting else { return }
        connections[index].phase = .greeting
        connections[index].heardAt = now
    }

    /// SETTINGS: how many streams may be open from now on. Those that are open over the limit stay.
    mutating func limited(_ number: Int, to limit: Int, now: UInt64) {
        guard let index = index(number) else { return }
        connections[index].limit = min(limit, rules.streams)
        if connections[index].phase == .greeting {
            connections[index].phase = .ready
            connections[index].heardAt = now
        }
        dispatch(now)
    }

    /// GOAWAY: nothing above `last` was or will be processed (RFC 9113 section 6.8).
    mutating func goAway(_ number: Int, last: Int32, now: UInt64) {
        guard let index = index(number) else { return }
        sendAgain(connections[index].streams.take(above: last))
        connections[index].phase = .draining
        if !connections[index].hasAnswered {
            noteFailure("the server closed the connection before its first answer", now)
        }
        endIfDrained(index)
        dispatch(now)
    }

    /// The connection is gone, or never came to be.
    mutating func lost(_ number: Int, reason: String, now: UInt64) {
        guard let index = index(number) else { return }
        var connection = connections.remove(at: index)
        for request in connection.streams.take(above: 0) {
            finish(request.number, .unknown(.connectionLost(reason)))
        }
        if !connection.hasAnswered { noteFailure(reason, now) }
        dispatch(now)
    }

    /// Opens nothing more on this connection; another takes its place when it is needed. Ignored while it is young:
    /// connecting again and again looks like an attack.
    mutating func retire(_ number: Int, now: UInt64) {
        guard let index = index(number), connections[index].phase == .ready,
            now >= connections[index].startedAt + rules.leastLife
        else { return }
        connections[index].phase = .draining
        endIfDrained(index)
        dispatch(now)
    }

    /// Sends nothing more until `resume`, and closes every connection once what is open has ended.
    mutating func suspend(now: UInt64) {
        isSuspended = true
        failWaiting(.suspended)
        retireAll(now)
    }

    mutating func resume() { isSuspended = false }

    private mutating func retireAll(_ now: UInt64) {
        for index in connections.indices.reversed() {
            switch connections[index].phase {
            case .connecting, .greeting: close(index)
            case .ready:
                connections[index].phase = .draining
                endIfDrained(index)
            case .draining: break
            }
        }
    }

    private func index(_ number: Int) -> Int? {
        for index in connections.indices where connections[index].number == number { return index }
        return nil
    }

    private mutating func endIfDrained(_ index: Int) {
        if connections[index].phase == .draining, connections[index].streams.isEmpty { close(index) }
    }

    private mutating func close(_ index: Int) {
        actions.append(.disconnect(connections.remove(at: index).number))
    }

    private var hasUsableConnection: Bool { connections.contains { $0.phase != .draining } }

    private mutating func noteFailure(_ reason: String, _ now: UInt64) {
        lastFailure = reason
        pause = min(max(rules.firstPause, pause * 2), rules.longestPause)
        pausedUntil = now + pause
    }

    private func unreachable(_ now: UInt64) -> HTTP2Outcome.NotProcessed {
        .unreachable(lastFailure, retryAfter: .milliseconds(pausedUntil > now ? pausedUntil - now : 0))
    }

    // MARK: Who goes where

    private mutating func dispatch(_ now: UInt64) {
        if isHeldBack { return }
        while waiting > 0, let index = roomiest(), let request = again.popLast() ?? queue.popFirst() {
            let stream = connections[index].open(request, now: now, deadline: rules.deadline)
            actions.append(.open(request: request.number, connection: connections[index].number, stream: stream))
        }
        guard waiting > 0, !isStopping else { return }
        if hasUsableConnection {
            // More connections only when all there are work and are full.
            let others = connections.filter { $0.phase != .draining }
            guard now >= pausedUntil, others.count < rules.connections,
                others.allSatisfy({ $0.phase == .ready && isTrusted($0) })
            else { return }
            connect(now)
        } else if now >= pausedUntil {
            connect(now)
        } else {
            failWaiting(unreachable(now))
        }
    }

    private mutating func connect(_ now: UInt64) {
        nextConnection += 1
        connections.append(Connection(number: nextConnection, startedAt: now, heardAt: now))
        actions.append(.connect(nextConnection))
    }

    private mutating func failWaiting(_ reason: HTTP2Outcome.NotProcessed) {
        while let request = again.popLast() ?? queue.popFirst() { finish(request.number, .notProcessed(reason)) }
    }

    private func isTrusted(_ connection: Connection) -> Bool { connection.isProven || !rules.startsWithOne }

    /// How many more streams may be opened.
    private func room(_ index: Int) -> Int {
        guard connections[index].phase == .ready else { return 0 }
        let isTrusted = connections[index].isProven || !rules.startsWithOne
        let limit = isTrusted ? connections[index].limit : min(1, connections[index].limit)
        return limit - connections[index].streams.count
    }

    /// Where the fewest streams are open among those with room.
    private func roomiest() -> Int? {
        var best: Int?
        for index in connections.indices where room(index) > 0 {
            if let other = best, connections[other].streams.count <= connections[index].streams.count { continue }
            best = index
        }
        return best
    }

    // MARK: Time

    /// Does what is due.
    mutating func tick(now: UInt64) {
        for number in connections.map(\.number) { tick(number, now) }
        while let oldest = again.last, oldest.since + rules.queueTime <= now {
            again.removeLast()
            finish(oldest.number, .notProcessed(.busy))
        }
        while let first = queue.first, first.since + rules.queueTime <= now {
            _ = queue.popFirst()
            finish(first.number, .notProcessed(.busy))
        }
        dispatch(now)
    }

    private mutating func tick(_ number: Int, _ now: UInt64) {
        guard let index = index(number) else { return }
        switch connections[index].phase {
        case .connecting, .greeting:
            if connections[index].startedAt + rules.connectTime <= now {
                close(index)
                noteFailure("the server did not take the connection in time", now)
            }
            return
        case .ready, .draining: break
        }
        if let pingedAt = connections[index].pingedAt, pingedAt + rules.pingTime <= now {
            actions.append(.disconnect(number))
            return lost(number, reason: "the server did not answer a PING", now: now)
        }
        while let (stream, deadline) = connections[index].streams.first, deadline <= now,
            let request = connections[index].streams.take(stream)
        {
            actions.append(.cancel(connection: number, stream: stream))
            finish(request.number, .unknown(.deadline))
        }
        if connections[index].pingedAt == nil, let due = silence(of: index), due <= now {
            connections[index].pingedAt = now
            actions.append(.ping(number))
        }
        endIfDrained(index)
    }

    /// When a connection has been silent for so long that it must show that it is alive.
    private func silence(of index: Int) -> UInt64? {
        switch connections[index].phase {
        case .ready, .draining:
            connections[index].heardAt + (connections[index].streams.isEmpty ? rules.idlePing : rules.silence)
        case .connecting, .greeting: nil
        }
    }

    /// The answer to a PING came.
    mutating func pingAnswered(_ number: Int, now: UInt64) {
        guard let index = index(number) else { return }
        connections[index].pingedAt = nil
        connections[index].heardAt = now
    }

    /// When `tick` must be called next; never later than something is due.
    func nextTick() -> UInt64 {
        var next = queue.first.map { $0.since + rules.queueTime } ?? .max
        if let oldest = again.last { next = min(next, oldest.since + rules.queueTime) }
        for index in connections.indices {
            if let pingedAt = connections[index].pingedAt {
                next = min(next, pingedAt + rules.pingTime)
            } else if let due = silence(of: index) {
                next = min(next, due)
            } else {
                next = min(next, connections[index].startedAt + rules.connectTime)
            }
            if let first = connections[index].streams.first { next = min(next, first.deadline) }
        }
        return next
    }

    /// For tests: a connection that has served a billion requests.
    mutating func skipStreams(on number: Int, to stream: Int32) { connections[number - 1].streams.skip(to: stream) }

    // MARK: The end

    /// Takes no more requests; those that wait end, those that are open go on.
    mutating func stop(now: UInt64) {
        isStopping = true
        failWaiting(.stopped)
        retireAll(now)
    }

    /// Closes what is left.
    mutating func stopAtOnce(now: UInt64) {
        stop(now: now)
        for number in connections.map(\.number) {
            actions.append(.disconnect(number))
            lost(number, reason: "the client was stopped", now: now)
        }
    }
}
