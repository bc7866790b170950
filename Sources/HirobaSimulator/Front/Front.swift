package import HirobaHTTP
package import HirobaJSON

internal import HirobaCrypto
internal import HirobaThreads

/// What stands where Apple's servers stand: takes pushes over HTTP/2, looks at them as APNs does, and hands the good ones
/// to the phones.
package final class Front: Sendable {
    private let rules: Lock<FrontRules>
    private let phones: Phones
    private let clock: SimulatorClock
    /// From 0 to 1, for shares and jitter.
    private let random: @Sendable () -> Double
    private let state = Lock(State())

    private struct State {
        var switches = FrontSwitches()
        var lines: [UInt64: Line] = [:]
        /// When pushes to a device token came, while that is limited.
        var recent: [String: [Int64]] = [:]
        var counters = Counters()
    }

    /// One connection.
    fileprivate struct Line {
        let connection: HTTPConnection
        var memory = LineState()
        var requests = 0
        /// The highest stream that was looked at.
        var lastStream: Int32 = 0
        /// Requests above this stream are not looked at any more.
        var end: Int32?
        /// What the client was last told.
        var streamLimit: Int?

        init(_ connection: HTTPConnection) { self.connection = connection }
    }

    /// What was answered since the start.
    package struct Counters: Sendable, Hashable {
        package var accepted = 0
        package var refused: [Reason: Int] = [:]
        package var unanswered = 0
        package var connections = 0
    }

    package init(
        rules: FrontRules, phones: Phones, clock: SimulatorClock,
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) {
        self.rules = Lock(rules)
        self.phones = phones
        self.clock = clock
        self.random = random
    }

    package var switches: FrontSwitches { state.withLock { $0.switches } }
    package var counters: Counters { state.withLock { $0.counters } }
    package var connections: Int { state.withLock { $0.lines.count } }

    package func setSwitches(_ json: JSON) throws(FrontSwitches.Unusable) {
        try state.withLock { state throws(FrontSwitches.Unusable) in try state.switches.set(json) }
    }

    package func changeRules(_ change: (inout FrontRules) -> Void) { rules.withLock { change(&$0) } }

    /// Says GOAWAY on every connection, now.
    package func goAway(reason: String? = nil, isHard: Bool = false) {
        state.withLock { state in
            let reason = reason ?? state.switches.goAwayReason
            for id in state.lines.keys { state.lines[id]?.goAway(reason: reason, isHard: isHard) }
        }
    }

    /// For the server's `connectionClosed`.
    package func connectionClosed(_ connection: HTTPConnection) {
        state.withLock { $0.lines[connection.id] = nil }
    }

    // MARK: One request

    /// - Parameter environment: of the port that was asked; Apple's own host names say it better.
    package func answer(_ request: HTTPRequest, in environment: PushEnvironment) async -> HTTPResponse {
        guard let course = begin(request) else { return await silence() }
        guard let asked = await Self.read(request, environment) else { return HTTPResponse(.badRequest) }
        let isToken = asked.isForDevice && !asked.token.isEmpty
        let subject = isToken ? await phones.token(asked.token, in: asked.environment) : nil
        let id = asked["apns-id"].flatMap { UUIDText.isOne($0) ? $0 : nil } ?? UUIDText.random().uppercased()

        var refusal: Refusal?
        if let reason = course.misfortune {
            refusal = Refusal(reason)
        } else {
            switch check(asked, subject, request.connection) {
            case .refused(let found): refusal = found
            case .accepted(let push):
                let uniqueID = asked.environment == .sandbox ? UUIDText.random().uppercased() : nil
                await phones.receive(push.withID(id), uniqueID: uniqueID)
                await delay(course)
                return Self.accepted(id, uniqueID: uniqueID)
            }
        }
        let refused = refusal ?? Refusal(.internalServerError)
        await phones.noteRefusal(refused, id: id, token: asked.token, subject: subject, of: asked)
        await delay(course)
        return Self.refused(refused, id: id)
    }

    /// How a request will fare before anybody looks at what it says.
    private struct Course {
        var misfortune: Reason?
        var delay: Int
    }

    /// - Returns: `nil` for a request that is never answered.
    private func begin(_ request: HTTPRequest) -> Course? {
        let (chance, jitter) = (random(), random())
        return state.withLock { state in
            let switches = state.switches
            if let connection = request.connection {
                if state.lines[connection.id] == nil {
                    state.lines[connection.id] = Line(connection)
                    state.counters.connections += 1
                }
                guard state.lines[connection.id]?.begin(request.stream ?? 0, switches) == true else {
                    state.counters.unanswered += 1
                    return nil
                }
            }
            var course = Course(delay: switches.latency + Int(jitter * Double(switches.jitter)))
            var left = chance
            for (share, reason) in [
                (switches.share500, Reason.internalServerError), (switches.share503, .serviceUnavailable),
                (switches.share429, .tooManyRequests),
            ] {
                if left < share {
                    course.misfortune = reason
                    state.counters.refused[reason, default: 0] += 1
                    return course
                }
                left -= share
            }
            if left < switches.shareUnanswered {
                state.counters.unanswered += 1
                return nil
            }
            return course
        }
    }

    private enum Outcome {
        case accepted(Push)
        case refused(Refusal)
    }

    private func check(_ request: PushRequest, _ subject: DeviceToken?, _ connection: HTTPConnection?) -> Outcome {
        let rules = rules.withLock { $0 }
        let now = clock.now()
        return state.withLock { state in
            let line = connection.flatMap { state.lines[$0.id] }
            var examination = Examination(
                request: request, rules: rules, line: line?.memory ?? LineState(), subject: subject, now: now)
            if rules.pushesPerMinute != nil, let subject {
                state.recent[subject.text]?.removeAll { now - $0 >= 60_000 }
                examination.recentPushes = state.recent[subject.text]?.count ?? 0
            }
            let refusal = Checks.standard.run(&examination)
            if let connection {
                state.lines[connection.id]?.note(examination, refusal, state.switches)
            }
            if let refusal {
                state.counters.refused[refusal.reason, default: 0] += 1
                return .refused(refusal)
            }
            state.counters.accepted += 1
            if rules.pushesPerMinute != nil, let subject { state.recent[subject.text, default: []].append(now) }
            return .accepted(examination.push(id: ""))
        }
    }

    /// - Returns: `nil` when the client went away in the middle.
    private static func read(_ request: HTTPRequest, _ environment: PushEnvironment) async -> PushRequest? {
        // Twice the largest payload, so that a body a little too long is measured and not guessed.
        let body: PushRequest.Body
        do throws(HTTPBodyError) {
            body = .bytes(try await request.body.collect(upTo: 10 * 1024))
        } catch {
            guard error == .tooLarge else { return nil }
            body = .tooLong
        }
        return PushRequest(
            method: request.method.rawValue, path: request.path,
            fields: request.headers.map { ($0.name.lowercased(), $0.value) }, body: body,
            environment: self.environment(ofHost: request.headers["Host"] ?? "") ?? environment)
    }

    /// Who sends Apple's names here by his own name server need not care about ports.
    private static func environment(ofHost host: String) -> PushEnvironment? {
        switch host.prefix(while: { $0 != ":" }).lowercased() {
        case "api.push.apple.com": .production
        case "api.sandbox.push.apple.com", "api.development.push.apple.com": .sandbox
        default: nil
        }
    }

    // MARK: Answers

    private static func accepted(_ id: String, uniqueID: String?) -> HTTPResponse {
        var response = HTTPResponse(headers: ["apns-id": id])
        if let uniqueID { response.headers["apns-unique-id"] = uniqueID }
        return response
    }

    private static func refused(_ refusal: Refusal, id: String) -> HTTPResponse {
        var json = JSONWriter()
        json.beginObject()
        json.name("reason")
        json.string(refusal.reason.rawValue)
        if let timestamp = refusal.timestamp {
            json.name("timestamp")
            json.integer(timestamp)
        }
        json.endObject()
        return HTTPResponse(
            HTTPStatus(refusal.reason.status), headers: ["apns-id": id, "Content-Type": "application/json"],
            body: .bytes(json.bytes))
    }

    private func delay(_ course: Course) async {
        // Cancelled means that nobody waits for the answer any more.
        if course.delay > 0 { try? await Task.sleep(for: .milliseconds(course.delay)) }
    }

    /// Waits until the stream is gone.
    private func silence() async -> HTTPResponse {
        while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
        return HTTPResponse(.serviceUnavailable)
    }
}

extension Front.Line {
    /// - Returns: false when the request is not looked at.
    fileprivate mutating func begin(_ stream: Int32, _ switches: FrontSwitches) -> Bool {
        if let end, stream > end { return false }
        requests += 1
        if let most = switches.dropAfter, requests > most {
            end = lastStream
            connection.close()
            return false
        }
        lastStream = max(lastStream, stream)
        if let most = switches.goAwayAfter, requests == most {
            goAway(reason: switches.goAwayReason, isHard: switches.goAwayIsHard)
        }
        return true
    }

    fileprivate mutating func goAway(reason: String, isHard: Bool) {
        guard end == nil else { return }
        end = lastStream
        var json = JSONWriter()
        json.beginObject()
        json.name("reason")
        json.string(reason)
        json.endObject()
        connection.goAway(lastStream: lastStream, text: String(decoding: json.bytes, as: UTF8.self))
        if isHard { connection.close() }
    }

    /// Keeps what this request said about the connection, and moves its stream limit.
    fileprivate mutating func note(_ examination: Examination, _ refusal: Refusal?, _ switches: FrontSwitches) {
        if examination.isAuthenticated, let token = examination.token { memory.note(token, now: examination.now) }
        if let refusal {
            let isError = (400..<500).contains(refusal.reason.status) && refusal.reason.status != 410
            if switches.fallsBackToOneStream, isError { setStreamLimit(1) }
            if streamLimit == nil, examination.isAuthenticated { setStreamLimit(switches.streamLimit) }
        } else if streamLimit != switches.streamLimit {
            setStreamLimit(switches.streamLimit)
        }
    }

    private mutating func setStreamLimit(_ limit: Int) {
        guard streamLimit != limit else { return }
        streamLimit = limit
        connection.setStreamLimit(limit)
    }
}

extension Push {
    fileprivate func withID(_ id: String) -> Push {
        var push = self
        push.id = id
        return push
    }
}
