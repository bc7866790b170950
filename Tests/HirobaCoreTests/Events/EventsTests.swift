import HirobaContract
import HirobaCrypto
import HirobaJSON
import HirobaStore
import HirobaThreads
import TestSupport
import Testing

@testable import HirobaCore

@Suite struct EventsTests {
    // MARK: The spine

    @Test("every change leaves one event, in the order of the changes")
    func oneEventPerChange() async throws {
        try await withForums { forum in
            let signedUp = try await forum.core.accounts.signUp(
                SignUp(email: "hana@example.org", password: "correct horse", name: "Hana"), by: Caller())
            let hana = Caller(credential: .session(token: signedUp.token))
            _ = try await forum.core.accounts.updateMe(UpdateMe(name: "花子"), by: hana)
            _ = try await forum.core.accounts.updateMe(UpdateMe(name: "花子"), by: hana)
            let file = try await forum.upload(PretendedPictures.picture("c"), by: hana)
            let topic = try await forum.topic(photo: file.id, by: hana)
            let comment = try await forum.comment(on: topic, by: hana)
            _ = await refusal {
                try await forum.core.community.deleteComment(DeleteComment(comment: comment.id), by: Caller())
            }
            try await forum.core.community.deleteComment(DeleteComment(comment: comment.id), by: hana)
            try await forum.core.files.delete(DeleteFile(file: file.id), by: hana)
            try await forum.core.community.deleteTopic(DeleteTopic(topic: topic.id), by: hana)
            try await forum.core.accounts.endSession(EndSession(), by: hana)

            try await forum.settle()
            let entries = try await forum.database.read { db in
                try Spine.entries(after: Position(xid: 0, seq: 0), most: 100, in: db)
            }
            #expect(
                entries.map(\.event.kind.name) == [
                    "user.created", "user.updated", "file.created", "topic.created", "comment.created",
                    "comment.deleted", "topic.updated", "file.deleted", "topic.deleted", "session.ended",
                ])
            #expect(entries.allSatisfy { $0.event.actor == signedUp.user.id })
            let told = Dictionary(entries.map { ($0.event.kind.name, $0.event) }) { first, _ in first }
            #expect(told["user.updated"]?.version == 2 && told["topic.updated"]?.version == 2)
            #expect(told["comment.created"]?.container == topic.id.rawValue)
            #expect(told["comment.deleted"]?.version == 2)
            #expect(told["session.ended"]?.read == .only(signedUp.user.id))
            #expect(entries.map(\.position) == entries.map(\.position).sorted())
        }
    }

    // MARK: Live streams

    @Test("a subscriber hears what happens, in order, with the item as it is read")
    func live() async throws {
        try await withLiveForums { forum in
            let hana = try await forum.person()
            let stream = try await forum.core.events.subscribe(Live(), from: nil, by: Caller())
            #expect(try await stream.take(1).map(\.name) == [.ready])
            let topic = try await forum.topic(by: hana)
            let told = try #require(try await stream.take(1).first)
            #expect(told.name == .topicCreated)
            #expect(try JSONCoding.decode(Topic.self, from: told.data) == topic)
            let comment = try await forum.comment("やあ \"you\"", on: topic, by: hana)
            let said = try #require(try await stream.take(1).first)
            #expect(said.name == .commentCreated)
            #expect(try JSONCoding.decode(HirobaContract.Comment.self, from: said.data) == comment)
        }
    }

    @Test("a deletion is told with the id and the topic")
    func deletions() async throws {
        try await withLiveForums { forum in
            let hana = try await forum.person()
            let topic = try await forum.topic(by: hana)
            let comment = try await forum.comment(on: topic, by: hana)
            try await forum.settle()
            let stream = try await forum.core.events.subscribe(Live(topic: topic.id), from: nil, by: Caller())
            try await forum.core.community.deleteComment(DeleteComment(comment: comment.id), by: hana)
            try await forum.core.community.deleteTopic(DeleteTopic(topic: topic.id), by: hana)
            let events = try await stream.take(3)
            #expect(events.map(\.name) == [.ready, .commentDeleted, .topicDeleted])
            #expect(
                try JSONCoding.decode(Deleted.self, from: events[1].data)
                    == Deleted(id: comment.id.rawValue, topic: topic.id))
            #expect(try JSONCoding.decode(Deleted.self, from: events[2].data) == Deleted(id: topic.id.rawValue))
        }
    }

    @Test("many writers at once: each subscriber hears every event once and in order")
    func gapless() async throws {
        try await withLiveForums { forum in
            var writers: [Caller] = []
            for _ in 0..<4 { writers.append(try await forum.person()) }
            let topic = try await forum.topic(by: writers[0])
            let perWriter = 15
            try await forum.settle()
            var streams: [LiveEvents] = []
            for _ in 0..<3 {
                streams.append(try await forum.core.events.subscribe(Live(topic: topic.id), from: nil, by: Caller()))
            }
            let all = streams
            try await withThrowingTaskGroup { group in
                for writer in writers {
                    group.addTask {
                        for number in 0..<perWriter {
                            _ = try await forum.core.community.createComment(
                                CreateComment(topic: topic.id, text: "\(number)"), by: writer)
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await forum.settle()
            let order = try await forum.database.read { db in
                try Spine.entries(after: Position(xid: 0, seq: 0), most: 1000, in: db)
                    .filter { $0.event.kind == .commentCreated }.map(\.event.subject)
            }
            #expect(order.count == writers.count * perWriter)
            for stream in all {
                let events = try await stream.take(order.count + 1).dropFirst()
                let told = try events.map {
                    try JSONCoding.decode(HirobaContract.Comment.self, from: $0.data).id.rawValue
                }
                #expect(told == order)
                #expect(Set(events.map(\.id)).count == order.count)
            }
        }
    }

    @Test("an event behind an older open transaction waits for it, and is told after it")
    func olderTransactionOpen() async throws {
        try await withPostgres(migrations: Schema.migrations) { database in
            let forum = Forum(database)
            try await forum.whileRunning {
                let hana = try await forum.person()
                let topic = try await forum.topic(by: hana)
                try await forum.settle()
                let stream = try await forum.core.events.subscribe(Live(topic: topic.id), from: nil, by: Caller())
                let (isOpen, mayEnd) = (Lock(false), Lock(false))
                async let older: Void = database.claim { db in
                    // Takes its transaction number and its sequence number now, and commits much later.
                    try Event(.topicDeleted, topic.id.rawValue, actor: nil, read: .everyone, at: 0).append(in: db)
                    isOpen.withLock { $0 = true }
                    while !mayEnd.withLock({ $0 }) {
                        _ = try db.first("SELECT 1 FROM pg_sleep(0.005)") { _ in true }
                    }
                }
                try await until { isOpen.withLock { $0 } }
                let comment = try await forum.comment(on: topic, by: hana)
                try await until { await forum.core.events.lag > .zero }
                mayEnd.withLock { $0 = true }
                try await older
                let events = try await stream.take(3)
                #expect(events.map(\.name) == [.ready, .topicDeleted, .commentCreated])
                #expect(String(decoding: events[2].data, as: UTF8.self).contains(comment.id.rawValue))
                try await until { await forum.core.events.lag == .zero }
            }
        }
    }

    @Test("nothing is told to those who may not read it")
    func accessIsChecked() async throws {
        try await withForums { forum in
            let (hana, ken) = (try await forum.person(), try await forum.person())
            let (mine, everyones) = (
                AccessList.only(try await forum.id(of: hana)), try await forum.topic("Open", by: hana)
            )
            let hidden = try await forum.topic("Hidden", by: hana)
            // The feed does not run yet, so that all of it is told after the rows were locked.
            let streams = [
                try await forum.core.events.subscribe(Live(), from: nil, by: hana),
                try await forum.core.events.subscribe(Live(), from: nil, by: ken),
                try await forum.core.events.subscribe(Live(), from: nil, by: Caller()),
            ]
            let inHidden = try await forum.comment("Under a hidden topic", on: hidden, by: hana)
            let hiddenComment = try await forum.comment("Hidden itself", on: everyones, by: hana)
            let late = try await forum.topic("Hidden before it was told", by: hana)
            let gone = try await forum.comment("Gone before it was told", on: everyones, by: hana)
            for id in [hidden.id.rawValue, late.id.rawValue] { try await forum.setAccess("topics", id, read: mine) }
            try await forum.setAccess("comments", hiddenComment.id.rawValue, read: mine)
            try await forum.core.community.deleteComment(DeleteComment(comment: gone.id), by: hana)
            try await forum.core.community.deleteTopic(DeleteTopic(topic: late.id), by: hana)
            let last = try await forum.topic("Last", by: hana)

            try await forum.whileRunning {
                let told = try await streams.mapAsync { stream in
                    try await stream.take(until: last.id.rawValue).map { String(decoding: $0.data, as: UTF8.self) }
                }
                for (listener, datas) in zip([hana, ken, Caller()], told) {
                    let isHana = listener.credential.token == hana.credential.token
                    for id in [inHidden.id, hiddenComment.id] {
                        #expect(datas.contains { $0.contains(id.rawValue) } == isHana)
                    }
                    #expect(!datas.contains { $0.contains("before it was told") })
                    // Its end is told to those who could see it last.
                    #expect(datas.contains { $0.contains(late.id.rawValue) } == isHana)
                }
            }
        }
    }

    @Test("a stream of one topic hears of that topic alone, and a hidden or missing topic has no stream")
    func oneTopic() async throws {
        try await withLiveForums { forum in
            let (hana, ken) = (try await forum.person(), try await forum.person())
            let (topic, other) = (try await forum.topic(by: hana), try await forum.topic(by: hana))
            try await forum.settle()
            let stream = try await forum.core.events.subscribe(Live(topic: topic.id), from: nil, by: ken)
            _ = try await forum.comment(on: other, by: hana)
            let comment = try await forum.comment(on: topic, by: hana)
            let events = try await stream.take(2)
            #expect(try JSONCoding.decode(HirobaContract.Comment.self, from: events[1].data) == comment)

            try await forum.setAccess("topics", other.id.rawValue, read: .only(try await forum.id(of: hana)))
            for id in [other.id, "0000000000000000", "x"] as [Topic.ID] {
                #expect(
                    await refusal { try await forum.core.events.subscribe(Live(topic: id), from: nil, by: ken) }?.code
                        == .notFound)
            }
        }
    }

    @Test("with its session a stream ends, others go on")
    func sessionEnds() async throws {
        try await withLiveForums { forum in
            let secret = Token.random256()
            let (one, two) = (try await forum.caller(secret: secret), try await forum.caller(secret: secret))
            try await forum.settle()
            let ending = try await forum.core.events.subscribe(Live(), from: nil, by: one)
            let staying = try await forum.core.events.subscribe(Live(), from: nil, by: two)
            try await forum.core.accounts.endSession(EndSession(), by: one)
            #expect(try await ending.waitForEnd())
            let topic = try await forum.topic(by: two)
            #expect(try await staying.take(until: topic.id.rawValue).count == 2)
            #expect(
                await refusal { try await forum.core.events.subscribe(Live(), from: nil, by: one) }?.code
                    == .unauthorized)
        }
    }

    // MARK: Coming back

    @Test("who comes back with the last position hears what was missed, once")
    func resume() async throws {
        try await withLiveForums { forum in
            let hana = try await forum.person()
            let before = try await forum.topic(by: hana)
            try await forum.settle()
            let first = try await forum.core.events.subscribe(Live(), from: nil, by: hana)
            let seen = try await forum.topic(by: hana)
            let position = try #require(try await first.take(until: seen.id.rawValue).last).id

            let (missed, deleted) = (try await forum.topic(by: hana), try await forum.topic(by: hana))
            try await forum.core.community.deleteTopic(DeleteTopic(topic: deleted.id), by: hana)
            let again = try await forum.core.events.subscribe(Live(), from: position, by: hana)
            let live = try await forum.topic(by: hana)
            let events = try await again.take(until: live.id.rawValue)
            #expect(events.map(\.name) == [.ready, .topicCreated, .topicDeleted, .topicCreated])
            let text = events.map { String(decoding: $0.data, as: UTF8.self) }
            #expect(text[1].contains(missed.id.rawValue) && text[2].contains(deleted.id.rawValue))
            #expect(!text.contains { $0.contains(seen.id.rawValue) || $0.contains(before.id.rawValue) })

            // `ready` is a position like any other, also when nothing has happened since.
            try await forum.settle()
            let once = try #require(try await forum.core.events.subscribe(Live(), from: nil, by: hana).take(1).first)
            let more = try await forum.topic(by: hana)
            let after = try await forum.core.events.subscribe(Live(), from: once.id, by: hana)
            #expect(try await after.take(until: more.id.rawValue).map(\.name) == [.ready, .topicCreated])
        }
    }

    @Test("an unknown position, too old a one, or too much missed is answered by resync")
    func resync() async throws {
        try await withLiveForums({
            $0.limits.liveReplay = 3; $0.limits.chunk = 2
        }) { forum in
            let hana = try await forum.person()
            try await forum.settle()
            let start = try #require(try await forum.core.events.subscribe(Live(), from: nil, by: hana).take(1).first)
                .id
            func names(from position: String) async throws -> [LiveEventName] {
                let stream = try await forum.core.events.subscribe(Live(), from: position, by: hana)
                let marker = try await forum.topic(by: hana)
                return try await stream.take(until: marker.id.rawValue).map(\.name)
            }
            let parts = start.split(separator: "-")
            for position in [
                "", "x", "1", "\(parts[0])-\(parts[1])", "\(parts[0])-0-99999999", "\(parts[0])-99999999999-1",
                "other-0-1", "\(start)-1", "\(parts[0])--1-0", String(repeating: "9", count: 5000),
            ] {
                #expect(try await names(from: position) == [.ready, .resync, .topicCreated], "\(position)")
            }
            // Far more than three things have happened since.
            #expect(try await names(from: start) == [.ready, .resync, .topicCreated])

            // Three days of silence, then a week: what was before is pruned, what was after is not.
            forum.time.advance(by: .seconds(3 * 24 * 3600))
            _ = try await forum.topic(by: hana)
            try await forum.settle()
            let place = try #require(
                try await forum.core.events.subscribe(Live(), from: nil, by: hana).take(1).first
            ).id
            forum.time.advance(by: .seconds(5 * 24 * 3600))
            try await forum.core.maintain()
            let left = try await forum.count("events")
            #expect(left == 1)
            #expect(try await names(from: place) == [.ready, .topicCreated])
            #expect(try await names(from: start) == [.ready, .resync, .topicCreated])

            // A month of silence: the newest event stays, and what comes goes on from it.
            try await forum.settle()
            let last = try #require(
                try await forum.core.events.subscribe(Live(), from: nil, by: hana).take(1).first
            ).id
            forum.time.advance(by: .seconds(30 * 24 * 3600))
            try await forum.core.maintain()
            let newest = try await forum.count("events")
            #expect(newest == 1)
            #expect(try await names(from: last) == [.ready, .topicCreated])
            #expect(try await names(from: place) == [.ready, .resync, .topicCreated])
        }
    }

    @Test("a subscriber who does not keep up is told to load again, and goes on from there")
    func slowSubscriber() async throws {
        try await withLiveForums({ $0.limits.liveBuffer = 3 }) { forum in
            let hana = try await forum.person()
            try await forum.settle()
            let slow = try await forum.core.events.subscribe(Live(), from: nil, by: hana)
            let keen = try await forum.core.events.subscribe(Live(), from: nil, by: hana)
            var topics: [Topic] = []
            for _ in 0..<6 {
                topics.append(try await forum.topic(by: hana))
                _ = try await keen.take(until: topics[topics.count - 1].id.rawValue)
            }
            // `ready` and two topics fitted, then all three made way; so did the topics after them.
            let resync = try #require(try await slow.take(1).first)
            #expect(resync.name == .resync)
            let next = try await forum.topic(by: hana)
            #expect(try await slow.take(until: next.id.rawValue).map(\.name) == [.topicCreated])
            let again = try await forum.core.events.subscribe(Live(), from: resync.id, by: hana)
            #expect(try await again.take(until: next.id.rawValue).map(\.name) == [.ready, .topicCreated])
        }
    }

    @Test("after a restore begins a new history: old positions mean nothing, old events do not block new ones")
    func restore() async throws {
        try await withForums { forum in
            let hana = try await forum.person()
            let old = try #require(try await forum.core.events.subscribe(Live(), from: nil, by: hana).take(1).first).id
            // As from a server that had counted much further.
            try await forum.database.write { db in
                if db.dialect == .postgres { try db.run("UPDATE events SET xid = xid + 1000000000") }
            }
            try await forum.core.maintain()
            if forum.database.dialect == .sqlite { try await forum.core.events.beginNewEpoch() }
            try await forum.whileRunning {
                let back = try await forum.core.events.subscribe(Live(), from: old, by: hana)
                #expect(try await back.take(2).map(\.name) == [.ready, .resync])
                // Once the feed has gone over to the new history, what happens is told.
                try await until {
                    let ready = try await forum.core.events.subscribe(Live(), from: nil, by: hana).take(1).first
                    return ready?.id.split(separator: "-").first != old.split(separator: "-").first
                }
                let stream = try await forum.core.events.subscribe(Live(), from: nil, by: hana)
                let topic = try await forum.topic(by: hana)
                let told = try #require(try await stream.take(until: topic.id.rawValue).last)
                let again = try await forum.core.events.subscribe(Live(), from: told.id, by: hana)
                #expect(try await again.take(1).map(\.id) == [told.id])
            }
        }
    }

    @Test("streams beyond the limit are refused, and a stream let go makes room")
    func manyStreams() async throws {
        try await withLiveForums({ $0.limits.liveStreams = 2 }) { forum in
            var streams: [LiveEvents] = []
            for _ in 0..<2 { streams.append(try await forum.core.events.subscribe(Live(), from: nil, by: Caller())) }
            #expect(
                await refusal { try await forum.core.events.subscribe(Live(), from: nil, by: Caller()) }?.code
                    == .tooManyRequests)
            streams.removeLast()
            streams.append(try await forum.core.events.subscribe(Live(), from: nil, by: Caller()))
        }
    }

    @Test("when the core stops its streams end")
    func stop() async throws {
        try await withForums { forum in
            let hana = try await forum.person()
            let stream = try await forum.core.events.subscribe(Live(), from: nil, by: hana)
            try await forum.whileRunning {
                let topic = try await forum.topic(by: hana)
                _ = try await stream.take(until: topic.id.rawValue)
            }
            #expect(try await stream.waitForEnd())
            #expect(
                await refusal { try await forum.core.events.subscribe(Live(), from: nil, by: hana) }?.code
                    == .unavailable)
        }
    }
}

// MARK: - Helpers

private func withLiveForums(
    _ change: (inout Core.Options) -> Void = { _ in }, _ body: (Forum) async throws -> Void
) async throws {
    try await withForums(change) { forum in try await forum.whileRunning { try await body(forum) } }
}

extension Forum {
    /// Waits until all that has happened may be told: on PostgreSQL a test beside this one can hold the newest back.
    fileprivate func settle() async throws {
        try await until {
            try await database.read { db in try !Spine.hasHeldBack(after: Spine.head(in: db), in: db) }
        }
    }

    /// Runs the core's workers as long as the body takes.
    fileprivate func whileRunning(_ body: () async throws -> Void) async throws {
        let run = Task { await core.run() }
        do { try await body() } catch {
            run.cancel()
            await run.value
            throw error
        }
        run.cancel()
        await run.value
    }
}

extension LiveEvents {
    /// The next events, or an error after half a minute.
    fileprivate func take(_ count: Int) async throws -> [LiveEvent] {
        try await take { $0.count == count }
    }

    /// The next events up to the one whose data holds the text.
    fileprivate func take(until text: String) async throws -> [LiveEvent] {
        try await take { String(decoding: $0.last?.data ?? [], as: UTF8.self).contains(text) }
    }

    private func take(_ isEnough: @escaping @Sendable ([LiveEvent]) -> Bool) async throws -> [LiveEvent] {
        try await withDeadline {
            var events: [LiveEvent] = []
            for await event in self {
                events.append(event)
                if isEnough(events) { return events }
            }
            throw TestSupportError("the stream ended after \(events.map(\.name))")
        }
    }

    fileprivate func waitForEnd() async throws -> Bool {
        try await withDeadline {
            for await _ in self {}
            return true
        }
    }
}

/// Half a minute for the work, so that a stream that stays silent fails its test instead of stopping the suite.
private func withDeadline<Result: Sendable>(_ work: @escaping @Sendable () async throws -> Result) async throws
    -> Result
{
    try await withThrowingTaskGroup { group in
        group.addTask { try await work() }
        group.addTask {
            try await Task.sleep(for: .seconds(30))
            throw TestSupportError("waited in vain for an event")
        }
        defer { group.cancelAll() }
        guard let result = try await group.next() else { throw CancellationError() }
        return result
    }
}

extension Credential {
    fileprivate var token: String? {
        if case .session(let token) = self { token } else { nil }
    }
}

extension Array {
    fileprivate func mapAsync<Result>(_ transform: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
