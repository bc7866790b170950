import Foundation
import HirobaContract
import HirobaCore
import HirobaStore
import HirobaThreads
import TestSupport
import Testing

/// What a process leaves behind that is gone from one moment to the next: everything that was committed, claims among it,
/// and nothing else. Here its database is closed under it.
@Suite struct OutboxKillTests {
    /// One process after the other on the same data.
    private struct Lives {
        let location: Database.Location
        let time = ManualTime()

        func live(
            script: @escaping ScriptedGateway.Script = { sent, _ in .accepted(sent) },
            _ change: (inout Core.Options) -> Void = { _ in }, _ body: (PushForum) async throws -> Void
        ) async throws {
            var databaseOptions = Database.Options()
            (databaseOptions.readDeadline, databaseOptions.writeDeadline) = (.seconds(30), .seconds(30))
            let database = try await Database.open(location, migrations: Schema.migrations, options: databaseOptions)
            let gateway = ScriptedGateway(script)
            var options = Core.Options()
            change(&options)
            options.push = PushOptions(gateway: gateway, publicURL: PushForum.publicURL)
            let forum = Forum(database, options: options, time: time)
            let task = Task { await forum.core.run() }
            do {
                try await body(PushForum(forum: forum, gateway: gateway))
            } catch {
                task.cancel()
                await database.close()
                throw error
            }
            // Killed: nothing it does from now on reaches the disk.
            await database.close()
            await gateway.answerRest()
            task.cancel()
            await task.value
            // On PostgreSQL the others wait a while to be sure.
            time.advance(by: .seconds(21))
        }
    }

    private func onBoth(_ body: (Lives) async throws -> Void) async throws {
        try await withTemporaryFolder { try await body(Lives(location: .sqlite(path: $0 + "/test.db"))) }
        try await withPostgresAddress { try await body(Lives(location: .postgres(url: $0))) }
    }

    @Test("what was in hand is sent again under the same id and says so; what was confirmed is not")
    func inHand() async throws {
        try await onBoth { lives in
            var comments: [HirobaContract.Comment] = []
            try await lives.live(script: { _, number in number > 3 ? nil : .unknown(reason: "first") }) { pushes in
                let (hana, ken) = (try await pushes.person("Hana"), try await pushes.person("Ken"))
                let topic = try await pushes.forum.topic(by: hana)
                await pushes.gateway.say { sent, number in number <= 3 ? .accepted(sent) : nil }
                for number in 1...5 {
                    comments.append(try await pushes.forum.comment(on: topic, by: ken))
                    try await until { await pushes.gateway.sent.count == number }
                }
                for comment in comments.prefix(3) { _ = try await pushes.story(of: comment) }
            }
            try await lives.live { pushes in
                var stories: [PushStory] = []
                for comment in comments { stories.append(try await pushes.story(of: comment)) }
                let deliveries = stories.flatMap(\.deliveries)
                #expect(deliveries.allSatisfy { $0.state == .accepted })
                #expect(deliveries.map(\.isResent) == [false, false, false, true, true])
                #expect(deliveries.map(\.attempts) == [1, 1, 1, 2, 2])
                let sent = await pushes.gateway.sent
                #expect(Set(sent.map(\.message.id)) == Set(deliveries.suffix(2).map(\.id.rawValue)) && sent.count == 2)
            }
        }
    }

    @Test("a late verdict of somebody who was thought dead changes nothing")
    func lateVerdict() async throws {
        try await withPushes(script: { _, _ in nil }) { pushes in
            let (hana, ken) = (try await pushes.person("Hana"), try await pushes.person("Ken"))
            let topic = try await pushes.forum.topic(by: hana)
            let comment = try await pushes.forum.comment(on: topic, by: ken)
            try await until { await pushes.gateway.open == 1 }
            // Nobody has rung at the first worker's, so it has shown no life for this long.
            pushes.forum.time.advance(by: .seconds(21))
            let other = ScriptedGateway()
            let second = pushes.outbox(gateway: other)
            try await whileRunning({ await second.run() }) {
                let delivery = try #require(try await pushes.story(of: comment).deliveries.first)
                #expect(delivery.state == .accepted && delivery.isResent && delivery.attempts == 2)
                await pushes.gateway.answerRest { _ in .gone(since: nil, reason: "BadDeviceToken") }
                // The first worker's next round has looked at that answer.
                await pushes.gateway.say { sent, _ in .accepted(sent) }
                _ = try await pushes.story(of: try await pushes.forum.comment(on: topic, by: ken))
                let after = try #require(try await pushes.story(of: comment).deliveries.first)
                #expect(after == delivery)
                #expect(try await pushes.device("phone-of-Hana").health.condition == .well)
            }
        }
    }

    @Test("killed in the middle of an expansion, the next one goes on where it was")
    func expansion() async throws {
        try await onBoth { lives in
            var comment: HirobaContract.Comment?
            try await lives.live { pushes in
                let (hana, ken) = (try await pushes.person("Hana"), try await pushes.person("Ken"))
                for number in 0..<9 { try await pushes.register(Device.ID("phone-number-\(number)"), of: hana) }
                let topic = try await pushes.forum.topic(by: hana)
                comment = try await pushes.forum.comment(on: topic, by: ken)
                _ = try await pushes.story(of: try #require(comment))
                // As it was after the fourth device.
                try await pushes.forum.database.write { db in
                    let done = try db.rows("SELECT device_id, user_id FROM deliveries ORDER BY device_id LIMIT 4") {
                        row in (device: try row.text(0), user: try row.text(1))
                    }
                    let last = done[3]
                    try db.run("DELETE FROM deliveries WHERE device_id > \(last.device)")
                    try db.run(
                        "UPDATE notifications SET state = 'expanding', cursor = \("\(last.user) \(last.device)")")
                }
            }
            try await lives.live({ $0.limits.chunk = 2 }) { pushes in
                let story = try await pushes.story(of: try #require(comment))
                #expect(story.deliveries.count == 10 && story.push.accepted == 10 && story.people.count == 1)
                #expect(await pushes.gateway.sent.count == 6)
            }
        }
    }

    @Test("stopping waits a moment for answers and writes them down")
    func stop() async throws {
        try await withForums { forum in
            let pushes = PushForum(forum: forum, gateway: ScriptedGateway { _, _ in nil })
            let (hana, ken) = (try await pushes.person("Hana"), try await pushes.person("Ken"))
            let topic = try await forum.topic(by: hana)
            let comment = try await forum.comment(on: topic, by: ken)
            let outbox = pushes.outbox()
            let task = Task { await outbox.run() }
            try await until { await pushes.gateway.open == 1 }
            task.cancel()
            await pushes.gateway.answerRest()
            await task.value
            let answered = try await pushes.story(comment.id.rawValue)
            #expect(answered?.push.accepted == 1)
            #expect(try await forum.count("push_workers") == 0)
            // What is not answered by then is taken over without delay, and the same outbox can go on.
            let second = try await forum.comment(on: topic, by: ken)
            let again = Task { await outbox.run() }
            try await until { await pushes.gateway.open == 1 }
            again.cancel()
            await again.value
            let unanswered = try await pushes.story(second.id.rawValue)
            #expect(unanswered?.push.waiting == 1)
            let other = pushes.outbox(gateway: ScriptedGateway())
            try await whileRunning({ await other.run() }) {
                let delivery = try #require(try await pushes.story(of: second).deliveries.first)
                #expect(delivery.isResent && delivery.state == .accepted)
            }
            await pushes.gateway.answerRest()
        }
    }

    @Test("a round that fails is told of and loses nothing")
    func failingRound() async throws {
        let reported = Lock(0)
        try await withPushes({ $0.report = { _ in reported.withLock { $0 += 1 } } }, script: { _, _ in nil }) {
            pushes in
            let (hana, ken) = (try await pushes.person("Hana"), try await pushes.person("Ken"))
            let topic = try await pushes.forum.topic(by: hana)
            let first = try await pushes.forum.comment(on: topic, by: ken)
            try await until { await pushes.gateway.open == 1 }
            let before = reported.withLock { $0 }
            try await pushes.forum.database.write { db in
                try db.run("ALTER TABLE notification_people RENAME TO away")
            }
            let second = try await pushes.forum.comment(on: topic, by: ken)
            await pushes.gateway.answerRest()
            try await until { reported.withLock { $0 } > before }
            try await pushes.forum.database.write { db in
                try db.run("ALTER TABLE away RENAME TO notification_people")
            }
            await pushes.gateway.say { sent, _ in .accepted(sent) }
            for comment in [first, second] {
                let story = try await pushes.story(of: comment)
                #expect(story.push.accepted == 1 && story.deliveries.allSatisfy { !$0.isResent })
            }
            #expect(await pushes.gateway.sent.count == 2)
        }
    }

    @Test("two at once on one database share the work, and nothing is sent twice")
    func twoWorkers() async throws {
        try await withPostgres(migrations: Schema.migrations) { database in
            let forum = Forum(database)
            let gateways = [ScriptedGateway(), ScriptedGateway()]
            let pushes = PushForum(forum: forum, gateway: gateways[0])
            let (hana, ken) = (try await pushes.person("Hana"), try await pushes.person("Ken"))
            for number in 0..<9 { try await pushes.register(Device.ID("phone-number-\(number)"), of: hana) }
            let topic = try await forum.topic(by: hana)
            let outboxes = gateways.map { gateway in
                pushes.outbox({ ($0.chunk, $0.deliveriesInHand) = (7, 20) }, gateway: gateway)
            }
            try await whileRunning({ await outboxes[0].run() }) {
                try await whileRunning({ await outboxes[1].run() }) {
                    var comments: [HirobaContract.Comment] = []
                    for _ in 0..<60 { comments.append(try await forum.comment(on: topic, by: ken)) }
                    for comment in comments {
                        let story = try await pushes.story(of: comment)
                        #expect(story.push.accepted == 10 && story.deliveries.allSatisfy { !$0.isResent })
                    }
                }
            }
            let sent = [await gateways[0].sent, await gateways[1].sent].map { $0.map(\.message.id) }
            #expect(sent[0].count + sent[1].count == 600 && Set(sent[0] + sent[1]).count == 600)
            #expect(!sent[0].isEmpty && !sent[1].isEmpty)
        }
    }

    /// What the phones have: how often each delivery was shown, in all lives.
    private final class Phones: Sendable {
        private let shown = Lock<[String: Int]>([:])

        func show(_ id: String) { shown.withLock { $0[id, default: 0] += 1 } }
        var all: [String: Int] { shown.withLock { $0 } }
    }

    @Test("many kills among many deliveries: each device once, and a second time only what was in hand")
    func manyKills() async throws {
        let settings = ProcessInfo.processInfo.environment
        let comments = settings["HIROBA_PUSH_COMMENTS"].flatMap { Int($0) } ?? 60
        let kills = settings["HIROBA_PUSH_KILLS"].flatMap { Int($0) } ?? 8
        let (devices, inHand) = (20, 25)
        try await onBoth { lives in
            let phones = Phones()
            // A gateway as it is on a bad day. An unknown end may be either.
            let script: ScriptedGateway.Script = { sent, _ in
                switch Int.random(in: 0..<20) {
                case 0: return .retry(after: .seconds(1), of: .route, reason: "ServiceUnavailable")
                case 1: return .held(reason: "InvalidProviderToken")
                case 2: return nil
                default:
                    phones.show(sent.message.id)
                    return .accepted(sent)
                }
            }
            let options: (inout Core.Options) -> Void = {
                $0.limits.deliveriesInHand = inHand
                $0.limits.chunk = 30
            }
            try await withoutSending(lives) { pushes in
                let (hana, ken, forum) = (
                    try await pushes.person("Hana"), try await pushes.forum.person(), pushes.forum
                )
                for number in 1..<devices { try await pushes.register(Device.ID("phone-number-\(number)"), of: hana) }
                let topic = try await forum.topic(by: hana)
                for _ in 0..<comments { _ = try await forum.comment(on: topic, by: ken) }
            }
            var done = false
            var killed = 0
            while !done {
                try await lives.live(script: script, options) { pushes in
                    let goal = killed < kills ? Int.random(in: 1...(2 * comments * devices / kills)) : Int.max
                    var before = 0
                    try await until {
                        pushes.pass(.seconds(2))
                        let sent = await pushes.gateway.sent.count
                        defer { before = sent }
                        // Also the last ones, when nothing else happens any more.
                        let open = await pushes.gateway.open
                        if open > 10 || open > 0 && sent == before {
                            await pushes.gateway.answerRest { _ in .unknown(reason: "-") }
                        }
                        done = try await pushes.forum.isDone
                        return done || sent >= goal
                    }
                    killed += 1
                }
            }
            try await lives.live { pushes in
                let rows = try await pushes.forum.database.read { db in
                    try db.rows("SELECT id, device_id, notification_id, state, is_resent FROM deliveries") { row in
                        (
                            id: try row.text(0), device: try row.text(1), notification: try row.text(2),
                            state: try row.text(3), isResent: try row.bool(4)
                        )
                    }
                }
                let shown = phones.all
                #expect(rows.count == comments * devices)
                #expect(Set(rows.map { "\($0.device) \($0.notification)" }).count == rows.count)
                // Five attempts without an answer are given up; with one in twenty that is rare but may happen.
                #expect(rows.allSatisfy { $0.state == "accepted" || ($0.state == "refused" && $0.isResent) })
                #expect(rows.allSatisfy { $0.state != "accepted" || shown[$0.id] != nil })
                let twice = rows.filter { shown[$0.id, default: 0] > 1 }
                #expect(twice.allSatisfy { $0.isResent })
                let extra = twice.map { shown[$0.id, default: 0] - 1 }.reduce(0, +)
                #expect(extra <= killed * inHand)
            }
        }
    }

    /// A life in which nobody sends.
    private func withoutSending(_ lives: Lives, _ body: (PushForum) async throws -> Void) async throws {
        let database = try await Database.open(lives.location, migrations: Schema.migrations)
        do {
            try await body(PushForum(forum: Forum(database, time: lives.time), gateway: ScriptedGateway()))
        } catch {
            await database.close()
            throw error
        }
        await database.close()
    }
}

extension Forum {
    /// Whether nothing is waiting, being sent or to be expanded.
    fileprivate var isDone: Bool {
        get async throws {
            try await database.read { db in
                let rest = try db.first(
                    """
                    SELECT (SELECT count(*) FROM deliveries WHERE state IN ('waiting', 'sending'))
                        + (SELECT count(*) FROM events WHERE push IS NOT NULL)
                        + (SELECT count(*) FROM notifications WHERE state = 'expanding')
                    """
                ) { row in try row.integer(0) }
                return rest == 0
            }
        }
    }
}
