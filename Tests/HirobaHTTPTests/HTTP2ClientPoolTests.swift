import Testing

@testable import HirobaHTTP

/// Every decision of the client, without a socket or a clock: events in, actions out.
@Suite struct HTTP2ClientPoolTests {
    private typealias Action = HTTP2ClientPool.Action

    private func rules(_ change: (inout HTTP2ClientRules) -> Void = { _ in }) -> HTTP2ClientRules {
        var rules = HTTP2ClientRules()
        rules.startsWithOne = false
        change(&rules)
        return rules
    }

    /// A pool whose first connection stands and allows `limit` streams.
    private func connected(limit: Int = 100, _ change: (inout HTTP2ClientRules) -> Void = { _ in }) -> Pool {
        let pool = Pool(rules(change))
        pool.submit(0, now: 0)
        pool.connected(1, now: 0)
        pool.limited(1, to: limit, now: 0)
        _ = pool.answered(1, stream: 1, proves: true, now: 0)
        _ = pool.takeActions()
        return pool
    }

    private func opened(_ pool: Pool) -> [Int] {
        pool.takeActions().compactMap { if case .open(let request, _, _) = $0 { request } else { nil } }
    }

    // MARK: Connecting

    @Test("the first request connects, and goes out once the server has said how many streams it allows")
    func first() {
        let pool = Pool(rules())
        #expect(pool.takeActions() == [])
        pool.submit(10, now: 0)
        #expect(pool.takeActions() == [.connect(1)])
        pool.connected(1, now: 5)
        #expect(pool.takeActions() == [], "no number of streams is assumed")
        pool.limited(1, to: 100, now: 6)
        #expect(pool.takeActions() == [.open(request: 10, connection: 1, stream: 1)])
        pool.submit(11, now: 7)
        #expect(pool.takeActions() == [.open(request: 11, connection: 1, stream: 3)])
        #expect(pool.answered(1, stream: 3, proves: true, now: 8) == 11)
        #expect(pool.answered(1, stream: 1, proves: true, now: 9) == 10)
        #expect(pool.answered(1, stream: 1, proves: true, now: 9) == nil)
        #expect(pool.openStreams == 0)
    }

    @Test("no connection: who waits is told when it is tried again, and until then so is everybody at once")
    func unreachable() {
        let pool = Pool(rules())
        pool.submit(1, now: 0)
        pool.submit(2, now: 0)
        _ = pool.takeActions()
        pool.lost(1, reason: "refused", now: 100)
        let second = HTTP2ClientPool.Ending.notProcessed(.unreachable("refused", retryAfter: .seconds(1)))
        #expect(pool.takeActions() == [.finish(request: 1, second), .finish(request: 2, second)])
        pool.submit(3, now: 600)
        #expect(
            pool.takeActions() == [
                .finish(request: 3, .notProcessed(.unreachable("refused", retryAfter: .milliseconds(500))))
            ])
        pool.submit(4, now: 1100)
        #expect(pool.takeActions() == [.connect(2)])
        pool.lost(2, reason: "refused", now: 1200)
        #expect(
            pool.takeActions() == [
                .finish(request: 4, .notProcessed(.unreachable("refused", retryAfter: .seconds(2))))
            ], "the pause doubles")
        for round in 0..<10 {
            pool.submit(5, now: 1_000_000 * UInt64(round + 1))
            #expect(pool.takeActions() == [.connect(3 + round)])
            pool.lost(3 + round, reason: "refused", now: 1_000_000 * UInt64(round + 1))
            _ = pool.takeActions()
        }
        pool.submit(6, now: 10_000_000)
        #expect(
            pool.takeActions() == [
                .finish(request: 6, .notProcessed(.unreachable("refused", retryAfter: .seconds(60))))
            ], "up to a minute")
    }

    @Test("an answer ends the pauses")
    func recovers() {
        let pool = Pool(rules())
        pool.submit(1, now: 0)
        pool.lost(1, reason: "refused", now: 0)
        pool.submit(2, now: 1000)
        pool.connected(2, now: 1000)
        pool.limited(2, to: 100, now: 1000)
        #expect(pool.answered(2, stream: 1, proves: true, now: 1001) == 2)
        pool.lost(2, reason: "gone", now: 1002)
        _ = pool.takeActions()
        pool.submit(3, now: 1003)
        #expect(pool.takeActions() == [.connect(3)], "a connection that did its work is replaced at once")
    }

    @Test("a connection that ends before its first answer counts as a failure, lest we connect in circles")
    func endsAtOnce() {
        for isPolite in [false, true] {
            let pool = Pool(rules())
            pool.submit(1, now: 0)
            pool.connected(1, now: 0)
            pool.limited(1, to: 100, now: 0)
            _ = pool.takeActions()
            if isPolite {
                pool.goAway(1, last: 0, now: 0)
                #expect(pool.takeActions().contains(.disconnect(1)))
            } else {
                pool.lost(1, reason: "gone", now: 0)
            }
            pool.submit(2, now: 10)
            #expect(!pool.takeActions().contains(.connect(2)))
            pool.submit(3, now: 1000)
            #expect(pool.takeActions() == [.connect(2)])
        }
    }

    @Test("a connection that does not come to be in time is given up", arguments: [false, true])
    func tooSlow(isConnected: Bool) {
        let pool = Pool(rules())
        pool.submit(1, now: 0)
        if isConnected { pool.connected(1, now: 1) }
        #expect(pool.nextTick() == 10_000)
        pool.tick(now: 9_999)
        #expect(pool.takeActions() == [.connect(1)])
        pool.tick(now: 10_000)
        let actions = pool.takeActions()
        #expect(actions.first == .disconnect(1))
        guard case .finish(request: 1, .notProcessed(.unreachable)) = actions.last else {
            Issue.record("\(actions)")
            return
        }
    }

    @Test("more connections only when all that are there work and are full, one at a time, up to the rule")
    func grows() {
        let pool = connected(limit: 2) { $0.connections = 3 }
        for request in 1...2 { pool.submit(request, now: 1) }
        #expect(opened(pool) == [1, 2])
        pool.submit(3, now: 2)
        #expect(pool.takeActions() == [.connect(2)])
        pool.submit(4, now: 2)
        #expect(pool.takeActions() == [], "the second is still being made")
        pool.connected(2, now: 3)
        pool.limited(2, to: 2, now: 3)
        #expect(
            pool.takeActions() == [
                .open(request: 3, connection: 2, stream: 1), .open(request: 4, connection: 2, stream: 3),
            ])
        pool.submit(5, now: 4)
        #expect(pool.takeActions() == [.connect(3)])
        pool.connected(3, now: 4)
        pool.limited(3, to: 1, now: 4)
        pool.submit(6, now: 5)
        #expect(opened(pool) == [5])
        #expect(pool.connectionCount == 3)
    }

    @Test("a second connection that fails costs nobody his request")
    func growthFails() {
        let pool = connected(limit: 1) { $0.connections = 2 }
        pool.submit(1, now: 1)
        pool.submit(2, now: 1)
        #expect(pool.takeActions() == [.open(request: 1, connection: 1, stream: 3), .connect(2)])
        pool.lost(2, reason: "refused", now: 2)
        #expect(pool.takeActions() == [], "neither lost nor tried again at once")
        #expect(pool.answered(1, stream: 3, proves: true, now: 3) == 1)
        #expect(opened(pool) == [2])
    }

    @Test("streams go where the fewest are open")
    func spreads() {
        let pool = connected(limit: 1) { $0.connections = 2 }
        pool.submit(1, now: 1)
        pool.submit(2, now: 1)
        pool.connected(2, now: 1)
        pool.limited(2, to: 100, now: 1)
        pool.limited(1, to: 100, now: 1)
        _ = pool.takeActions()
        for request in 3...8 { pool.submit(request, now: 2) }
        let counts = pool.takeActions().reduce(into: [1: 0, 2: 0]) { counts, action in
            if case .open(_, let connection, _) = action { counts[connection, default: 0] += 1 }
        }
        #expect(counts == [1: 3, 2: 3])
    }

    // MARK: The stream limit

    @Test("the limit is kept as the server moves it: down, up and to nothing")
    func movingLimit() {
        let pool = connected(limit: 3)
        for request in 1...6 { pool.submit(request, now: 1) }
        #expect(opened(pool) == [1, 2, 3])
        pool.limited(1, to: 1, now: 2)
        #expect(pool.takeActions() == [], "what is open stays open")
        #expect(pool.answered(1, stream: 3, proves: true, now: 3) == 1)
        #expect(pool.answered(1, stream: 5, proves: true, now: 3) == 2)
        #expect(opened(pool) == [], "one is still open, and one is allowed")
        #expect(pool.answered(1, stream: 7, proves: true, now: 3) == 3)
        #expect(opened(pool) == [4])
        pool.limited(1, to: 0, now: 4)
        #expect(pool.answered(1, stream: 9, proves: true, now: 5) == 4)
        #expect(opened(pool) == [])
        pool.limited(1, to: 1000, now: 6)
        #expect(opened(pool) == [5, 6])
    }

    @Test("we have a limit of our own")
    func ownLimit() {
        let pool = connected(limit: 1_000_000) { $0.streams = 2 }
        for request in 1...3 { pool.submit(request, now: 1) }
        #expect(opened(pool) == [1, 2])
    }

    @Test("one request goes alone until an answer shows that the server takes our credentials")
    func alone() {
        let pool = Pool(
            rules {
                $0.startsWithOne = true; $0.connections = 4
            })
        for request in 1...5 { pool.submit(request, now: 0) }
        pool.connected(1, now: 0)
        pool.limited(1, to: 1000, now: 0)
        #expect(
            pool.takeActions() == [.connect(1), .open(request: 1, connection: 1, stream: 1)],
            "and no second connection is made for the others")
        #expect(pool.answered(1, stream: 1, proves: false, now: 1) == 1)
        pool.submit(6, now: 1)
        #expect(opened(pool) == [], "whoever got the answer may want to stop everything")
        pool.goOn(now: 1)
        #expect(opened(pool) == [2])
        #expect(pool.answered(1, stream: 3, proves: true, now: 2) == 2)
        #expect(opened(pool) == [3, 4, 5, 6])
    }

    // MARK: What is not answered

    @Test("a refused stream goes out again, before what came later")
    func refused() {
        let pool = connected(limit: 2)
        for request in 1...4 { pool.submit(request, now: 1) }
        #expect(opened(pool) == [1, 2])
        pool.limited(1, to: 1, now: 2)
        pool.reset(1, stream: 3, code: 7, now: 2)
        pool.reset(1, stream: 5, code: 7, now: 2)
        #expect(opened(pool) == [1])
        #expect(pool.answered(1, stream: 7, proves: true, now: 3) == 1)
        #expect(opened(pool) == [2])
    }

    @Test("a request that is refused for ever is given up, and known not to be done")
    func refusedForEver() {
        let pool = connected { $0.attempts = 3 }
        pool.submit(1, now: 1)
        for stream: Int32 in [3, 5, 7] {
            #expect(pool.takeActions() == [.open(request: 1, connection: 1, stream: stream)])
            pool.reset(1, stream: stream, code: 7, now: 2)
        }
        #expect(pool.takeActions() == [.finish(request: 1, .notProcessed(.refused))])
    }

    @Test("any other reset leaves it open what the server did")
    func reset() {
        let pool = connected()
        pool.submit(1, now: 1)
        pool.reset(1, stream: 3, code: 2, now: 2)
        #expect(pool.takeActions().last == .finish(request: 1, .unknown(.reset(2))))
        #expect(pool.openStreams == 0)
    }

    @Test("a connection that breaks leaves it open what the server did, and is replaced for those who wait")
    func broken() {
        let pool = connected(limit: 2)
        for request in 1...3 { pool.submit(request, now: 1) }
        _ = pool.takeActions()
        pool.lost(1, reason: "gone", now: 2)
        #expect(
            pool.takeActions() == [
                .finish(request: 1, .unknown(.connectionLost("gone"))),
                .finish(request: 2, .unknown(.connectionLost("gone"))), .connect(2),
            ])
    }

    // MARK: GOAWAY

    @Test("after GOAWAY the streams above go out elsewhere, those below end, and nothing new is opened")
    func goAway() {
        let pool = connected(limit: 4)
        for request in 1...4 { pool.submit(request, now: 1) }
        #expect(opened(pool) == [1, 2, 3, 4])
        pool.goAway(1, last: 5, now: 2)
        #expect(pool.takeActions() == [.connect(2)], "a new connection at once")
        pool.submit(5, now: 3)
        #expect(pool.answered(1, stream: 3, proves: true, now: 3) == 1)
        #expect(pool.answered(1, stream: 7, proves: true, now: 3) == nil, "it is on its way elsewhere")
        #expect(pool.takeActions() == [], "nothing new on the old connection, though it has room")
        pool.connected(2, now: 4)
        pool.limited(2, to: 100, now: 4)
        #expect(
            pool.takeActions() == [
                .open(request: 3, connection: 2, stream: 1), .open(request: 4, connection: 2, stream: 3),
                .open(request: 5, connection: 2, stream: 5),
            ], "in the old order")
        #expect(pool.answered(1, stream: 5, proves: true, now: 5) == 2)
        #expect(pool.takeActions() == [.disconnect(1)], "drained")
    }

    @Test("a graceful GOAWAY names the last stream only at the second time")
    func goAwayTwice() {
        let pool = connected()
        for request in 1...3 { pool.submit(request, now: 1) }
        _ = pool.takeActions()
        pool.goAway(1, last: .max, now: 2)
        #expect(pool.takeActions() == [])
        pool.goAway(1, last: 3, now: 3)
        #expect(pool.takeActions() == [.connect(2)])
        #expect(pool.answered(1, stream: 3, proves: true, now: 4) == 1)
        #expect(pool.takeActions() == [.disconnect(1)])
    }

    @Test("what GOAWAY left open and then breaks off stays in doubt")
    func goAwayAndGone() {
        let pool = connected()
        pool.submit(1, now: 1)
        pool.submit(2, now: 1)
        _ = pool.takeActions()
        pool.goAway(1, last: 3, now: 2)
        pool.lost(1, reason: "gone", now: 3)
        let actions = pool.takeActions()
        #expect(actions.contains(.finish(request: 1, .unknown(.connectionLost("gone")))))
        #expect(!actions.contains { if case .finish(request: 2, _) = $0 { true } else { false } })
    }

    @Test("a connection is replaced on request, but not a young one")
    func retire() {
        let pool = connected()
        pool.submit(1, now: 100)
        _ = pool.takeActions()
        pool.retire(1, now: 29_999)
        pool.submit(2, now: 29_999)
        #expect(opened(pool) == [2])
        pool.retire(1, now: 30_000)
        pool.submit(3, now: 30_000)
        #expect(pool.takeActions() == [.connect(2)])
        #expect(pool.answered(1, stream: 3, proves: true, now: 30_001) == 1)
        #expect(pool.answered(1, stream: 5, proves: true, now: 30_001) == 2)
        #expect(pool.takeActions() == [.disconnect(1)])
    }

    @Test("when the numbers of a connection's streams are used up it drains")
    func exhausted() {
        let pool = connected()
        pool.skipStreams(on: 1, to: Int32.max - 2)
        pool.submit(1, now: 1)
        #expect(pool.takeActions() == [.open(request: 1, connection: 1, stream: Int32.max - 2)])
        pool.submit(2, now: 1)
        #expect(pool.takeActions() == [.connect(2)])
        #expect(pool.answered(1, stream: Int32.max - 2, proves: true, now: 2) == 1)
        #expect(pool.takeActions() == [.disconnect(1)])
    }

    // MARK: Time

    @Test("a request without an answer is cancelled at its deadline, the others go on")
    func deadline() {
        let pool = connected { $0.silence = 1_000_000 }
        pool.submit(1, now: 1000)
        pool.submit(2, now: 2000)
        pool.submit(3, now: 3000)
        _ = pool.takeActions()
        #expect(pool.answered(1, stream: 3, proves: true, now: 3000) == 1)
        #expect(pool.nextTick() == 17_000)
        pool.tick(now: 16_999)
        #expect(pool.takeActions() == [])
        pool.tick(now: 17_000)
        #expect(
            pool.takeActions() == [
                .cancel(connection: 1, stream: 5), .finish(request: 2, .unknown(.deadline)),
            ])
        #expect(pool.answered(1, stream: 5, proves: true, now: 17_001) == nil)
        #expect(pool.answered(1, stream: 7, proves: true, now: 17_001) == 3)
    }

    @Test("silence while streams are open is answered by a PING, and silence after that by the end")
    func watchdog() {
        let pool = connected()
        pool.tick(now: 20_000)
        #expect(pool.takeActions() == [], "an idle connection may be silent")
        pool.submit(1, now: 20_000)
        _ = pool.takeActions()
        #expect(pool.nextTick() == 30_000)
        pool.tick(now: 29_999)
        #expect(pool.takeActions() == [])
        pool.tick(now: 30_000)
        #expect(pool.takeActions() == [.ping(1)])
        #expect(pool.nextTick() == 35_000)
        pool.tick(now: 34_999)
        #expect(pool.takeActions() == [])
        pool.tick(now: 35_000)
        let actions = pool.takeActions()
        #expect(actions.first == .disconnect(1))
        guard case .finish(request: 1, .unknown(.connectionLost)) = actions.last else {
            Issue.record("\(actions)")
            return
        }
    }

    @Test("an answer to the PING, or to anything else, puts the watchdog to rest")
    func alive() {
        let pool = connected { $0.deadline = 1_000_000 }
        pool.submit(1, now: 0)
        pool.submit(2, now: 0)
        pool.tick(now: 10_000)
        #expect(pool.takeActions().last == .ping(1))
        pool.pingAnswered(1, now: 12_000)
        pool.tick(now: 21_000)
        #expect(pool.takeActions() == [])
        #expect(pool.answered(1, stream: 3, proves: true, now: 21_000) == 1)
        pool.tick(now: 30_999)
        #expect(pool.takeActions() == [])
        pool.tick(now: 31_000)
        #expect(pool.takeActions() == [.ping(1)])
    }

    @Test("an idle connection is asked once an hour")
    func idle() {
        let pool = connected()
        #expect(pool.nextTick() == 3_600_000)
        pool.tick(now: 3_600_000)
        #expect(pool.takeActions() == [.ping(1)])
        pool.pingAnswered(1, now: 3_600_001)
        pool.tick(now: 7_200_000)
        #expect(pool.takeActions() == [])
    }

    @Test("who waits too long for a stream is told so")
    func busy() {
        let pool = connected(limit: 1) {
            $0.deadline = 1_000_000; $0.silence = 1_000_000
        }
        for request in 1...3 { pool.submit(request, now: UInt64(request)) }
        _ = pool.takeActions()
        #expect(pool.nextTick() == 30_002)
        pool.tick(now: 30_002)
        #expect(pool.takeActions() == [.finish(request: 2, .notProcessed(.busy))])
    }

    @Test("who was refused and gets no other stream is told so as soon as who never had one")
    func busyAgain() {
        let pool = connected(limit: 1)
        pool.submit(1, now: 10)
        _ = pool.takeActions()
        pool.limited(1, to: 0, now: 20)
        pool.reset(1, stream: 3, code: 7, now: 30)
        #expect(pool.takeActions() == [])
        #expect(pool.nextTick() == 30_010)
        pool.tick(now: 30_009)
        #expect(pool.takeActions() == [])
        pool.tick(now: 30_010)
        #expect(pool.takeActions() == [.finish(request: 1, .notProcessed(.busy))])
    }

    @Test("a full queue holds senders back")
    func full() {
        let pool = connected(limit: 1) { $0.queue = 2 }
        pool.submit(1, now: 1)
        #expect(!pool.isFull)
        pool.submit(2, now: 1)
        pool.submit(3, now: 1)
        #expect(pool.isFull)
        #expect(pool.answered(1, stream: 3, proves: true, now: 2) == 1)
        #expect(!pool.isFull)
    }

    // MARK: The end

    @Test("stopping ends who waits, lets who is open finish, and closes")
    func stops() {
        let pool = connected(limit: 1)
        for request in 1...2 { pool.submit(request, now: 1) }
        _ = pool.takeActions()
        pool.stop(now: 2)
        #expect(pool.takeActions() == [.finish(request: 2, .notProcessed(.stopped))])
        pool.submit(3, now: 3)
        #expect(pool.takeActions() == [.finish(request: 3, .notProcessed(.stopped))])
        #expect(pool.answered(1, stream: 3, proves: true, now: 4) == 1)
        #expect(pool.takeActions() == [.disconnect(1)])
        #expect(pool.connectionCount == 0)
    }

    @Test("while suspended nobody is sent or waits, and connections close; afterwards a new one is made")
    func suspends() {
        let pool = connected(limit: 1)
        for request in 1...2 { pool.submit(request, now: 1) }
        _ = pool.takeActions()
        pool.suspend(now: 2)
        pool.submit(3, now: 3)
        #expect(
            pool.takeActions() == [
                .finish(request: 2, .notProcessed(.suspended)), .finish(request: 3, .notProcessed(.suspended)),
            ])
        #expect(pool.answered(1, stream: 3, proves: true, now: 4) == 1)
        #expect(pool.takeActions() == [.disconnect(1)])
        pool.resume()
        pool.submit(4, now: 5)
        #expect(pool.takeActions() == [.connect(2)])
    }

    @Test("stopping at once leaves in doubt what was open")
    func stopsAtOnce() {
        let pool = connected()
        pool.submit(1, now: 1)
        _ = pool.takeActions()
        pool.stopAtOnce(now: 2)
        #expect(
            pool.takeActions() == [
                .disconnect(1), .finish(request: 1, .unknown(.connectionLost("the client was stopped"))),
            ])
    }

    // MARK: All together

    @Test("whatever happens, every request ends exactly once", arguments: 0..<200)
    func everyRequestEnds(seed: Int) {
        var random = Dice(seed: UInt64(seed))
        let pool = Pool(
            rules { rules in
                rules.connections = 1 + seed % 3
                rules.queue = 1_000_000
                rules.startsWithOne = seed % 2 == 0
            })
        var now: UInt64 = 0
        var submitted = 0
        var ended: [Int: Int] = [:]
        var open: [Int: [Int32: Int]] = [:]
        var live: Set<Int> = []
        func settle() {
            for action in pool.takeActions() {
                switch action {
                case .connect(let number): live.insert(number)
                case .open(let request, let connection, let stream):
                    #expect(live.contains(connection))
                    open[connection, default: [:]][stream] = request
                case .cancel(let connection, let stream): open[connection]?[stream] = nil
                case .ping: break
                case .disconnect(let number):
                    live.remove(number)
                    open[number] = nil
                case .finish(let request, _): ended[request, default: 0] += 1
                }
            }
        }
        for _ in 0..<600 {
            now += UInt64(random.roll(400))
            let connection = live.sorted().randomElement(using: &random) ?? 0
            let stream = open[connection]?.keys.sorted().randomElement(using: &random) ?? 1
            switch random.roll(13) {
            case 0...3:
                submitted += 1
                pool.submit(submitted, now: now)
            case 4: pool.connected(connection, now: now)
            case 5, 6: pool.limited(connection, to: random.roll(6), now: now)
            case 7...9:
                if let request = pool.answered(connection, stream: stream, proves: random.roll(2) == 0, now: now) {
                    ended[request, default: 0] += 1
                    open[connection]?[stream] = nil
                    pool.goOn(now: now)
                }
            case 10:
                pool.reset(connection, stream: stream, code: UInt32(7 + random.roll(2)), now: now)
                open[connection]?[stream] = nil
            case 11:
                if random.roll(3) == 0 {
                    pool.goAway(connection, last: stream, now: now)
                    open[connection] = open[connection]?.filter { $0.key <= stream }
                } else if random.roll(3) == 0, live.contains(connection) {
                    live.remove(connection)
                    open[connection] = nil
                    pool.lost(connection, reason: "gone", now: now)
                }
            default: pool.tick(now: now)
            }
            settle()
            #expect(pool.openStreams == open.values.reduce(0) { $0 + $1.count })
        }
        pool.stopAtOnce(now: now)
        settle()
        #expect(ended.count == submitted)
        #expect(ended.values.allSatisfy { $0 == 1 })
        #expect(pool.connectionCount == 0)
    }
}

/// `#expect` calls no mutating methods.
private final class Pool {
    private var pool: HTTP2ClientPool

    init(_ rules: HTTP2ClientRules) { pool = HTTP2ClientPool(rules: rules) }

    var isFull: Bool { pool.isFull }
    var connectionCount: Int { pool.connectionCount }
    var openStreams: Int { pool.openStreams }
    func takeActions() -> [HTTP2ClientPool.Action] {
        var actions: [HTTP2ClientPool.Action] = []
        pool.takeActions(into: &actions)
        return actions
    }
    func submit(_ request: Int, now: UInt64) { pool.submit(request, now: now) }
    func connected(_ connection: Int, now: UInt64) { pool.connected(connection, now: now) }
    func limited(_ connection: Int, to limit: Int, now: UInt64) { pool.limited(connection, to: limit, now: now) }
    func answered(_ connection: Int, stream: Int32, proves: Bool, now: UInt64) -> Int? {
        pool.answered(connection, stream: stream, proves: proves, now: now)
    }
    func reset(_ connection: Int, stream: Int32, code: UInt32, now: UInt64) {
        pool.reset(connection, stream: stream, code: code, now: now)
    }
    func goAway(_ connection: Int, last: Int32, now: UInt64) { pool.goAway(connection, last: last, now: now) }
    func lost(_ connection: Int, reason: String, now: UInt64) { pool.lost(connection, reason: reason, now: now) }
    func retire(_ connection: Int, now: UInt64) { pool.retire(connection, now: now) }
    func pingAnswered(_ connection: Int, now: UInt64) { pool.pingAnswered(connection, now: now) }
    func goOn(now: UInt64) { pool.goOn(now: now) }
    func tick(now: UInt64) { pool.tick(now: now) }
    func nextTick() -> UInt64 { pool.nextTick() }
    func suspend(now: UInt64) { pool.suspend(now: now) }
    func resume() { pool.resume() }
    func stop(now: UInt64) { pool.stop(now: now) }
    func stopAtOnce(now: UInt64) { pool.stopAtOnce(now: now) }
    func skipStreams(on connection: Int, to stream: Int32) { pool.skipStreams(on: connection, to: stream) }
}

/// The same throws for the same seed.
private struct Dice: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }

    mutating func roll(_ sides: Int) -> Int { Int(next() >> 33) % sides }
}
