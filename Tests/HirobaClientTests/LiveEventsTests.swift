import Foundation
import HirobaContract
import HirobaHTTP
import HirobaJSON
import Testing

@testable import HirobaClient

private let comment = Comment(
    id: "pO9iU8yT7rE6wQ5a", topic: "aB3dE5fG7hJ9kL1m", text: "line\nline", author: Person(id: "p"),
    createdAt: Date(timeIntervalSince1970: 0), updatedAt: Date(timeIntervalSince1970: 0))

private func makeClient(_ server: URL) -> HirobaClient {
    HirobaClient(
        server: server, store: MemorySessionStore(), languages: [],
        retries: HirobaClient.Retries(delays: [], liveDelay: .milliseconds(1)))
}

private func event(_ id: String, _ name: LiveEventName, _ value: some Encodable) throws -> ServerSentEvent {
    ServerSentEvent(id: id, event: name.rawValue, data: String(decoding: try JSONCoding.encode(value), as: UTF8.self))
}

@Suite("Live events")
struct LiveEventsTests {
    @Test("go on after the last one seen when the connection is lost")
    func resume() async throws {
        try await TestServer.run({ seen, number in
            .events { sender in
                switch number {
                case 1:
                    try await sender.send(ServerSentEvent(id: "1", event: "ready"))
                    try await sender.send(event("2", .commentCreated, comment))
                    throw CancellationError()
                case 2: return
                default:
                    try await sender.send(
                        event("3", .commentDeleted, Deleted(id: comment.id.rawValue, topic: comment.topic)))
                    try await sender.send(ServerSentEvent(id: "4", event: "market.opened", data: "{}"))
                    try await sender.send(ServerSentEvent(event: "topic.created", data: "not JSON"))
                    try await Task.sleep(for: .seconds(60))
                }
            }
        }) { server in
            var events: [LiveEvent] = []
            for try await event in makeClient(server.url).live(Live(topic: comment.topic)) {
                events.append(event)
                if events.count == 5 { break }
            }
            #expect(
                events.map(\.name.rawValue) == [
                    "ready", "comment.created", "comment.deleted", "market.opened", "topic.created",
                ])
            #expect(events.map(\.position) == ["1", "2", "3", "4", "4"])
            guard case .ready = events[0].content, case .commentCreated(let told) = events[1].content,
                case .commentDeleted(comment.id, comment.topic) = events[2].content, case .other = events[3].content,
                case .other = events[4].content
            else {
                Issue.record("\(events)")
                return
            }
            #expect(told == comment)
            #expect(server.requests.map { $0.headers["Last-Event-ID"] } == [nil, "2", "2"])
            #expect(server.requests[0].target == "/v1/live?topic=aB3dE5fG7hJ9kL1m")
            #expect(server.requests[0].headers["Accept"] == "text/event-stream")
        }
    }

    @Test("begin after a position that was kept")
    func position() async throws {
        try await TestServer.run({ _, _ in
            .events { sender in
                try await sender.send(ServerSentEvent(id: "9", event: "resync"))
                try await Task.sleep(for: .seconds(60))
            }
        }) { server in
            for try await event in makeClient(server.url).live(after: "7") {
                guard case .resync = event.content else {
                    Issue.record("\(event)")
                    return
                }
                break
            }
            #expect(server.requests.map { $0.headers["Last-Event-ID"] } == ["7"])
        }
    }

    @Test("end with an error when the server refuses them")
    func refused() async throws {
        let problem = Problem(status: 404, title: "Not Found", code: .notFound)
        try await TestServer.run({ _, _ in .json(.notFound, problem) }) { server in
            let error = await #expect(throws: ClientError.self) {
                for try await _ in makeClient(server.url).live(Live(topic: "gone")) {}
            }
            #expect(error?.failure?.problem?.code == .notFound)
            #expect(server.requests.count == 1)
        }
    }

    @Test("end when the task is cancelled, while reading and while waiting to connect")
    func cancel() async throws {
        try await TestServer.run({ _, _ in
            .events { sender in
                try await sender.send(ServerSentEvent(id: "1", event: "ready"))
                try await Task.sleep(for: .seconds(60))
            }
        }) { server in
            let client = makeClient(server.url)
            let (seen, tell) = AsyncStream.makeStream(of: Void.self)
            let task = Task {
                for try await _ in client.live() { tell.yield() }
                return true
            }
            for await _ in seen { break }
            task.cancel()
            let ended = try await task.value
            #expect(ended)
        }
        let nowhere = HirobaClient(
            server: try await addressWithoutServer(), store: MemorySessionStore(), languages: [],
            retries: HirobaClient.Retries(delays: [], liveDelay: .seconds(60)))
        let task = Task {
            for try await _ in nowhere.live() {}
            return true
        }
        task.cancel()
        let ended = try await task.value
        #expect(ended)
    }

    @Test("wait longer after each loss, and never all for the same time")
    func delays() {
        let delays = LiveDelays(first: .seconds(1), longest: .seconds(30))
        for (losses, longest) in [(1, 1), (2, 2), (3, 4), (5, 16), (6, 30), (1_000, 30)] {
            for _ in 0..<100 {
                let wait = delays.wait(afterLoss: losses, asked: nil)
                #expect(wait >= .seconds(longest) / 2 && wait <= .seconds(longest))
            }
        }
        #expect(delays.wait(afterLoss: 1, asked: 100) <= .milliseconds(100))
        #expect(delays.wait(afterLoss: 1, asked: .max) <= .seconds(60))
    }
}

@Suite("Reading an event stream")
struct EventStreamParserTests {
    private typealias Event = EventStreamParser.Event

    @Test("follows the standard, in whole and byte by byte")
    func standard() throws {
        let stream =
            "\u{FEFF}: a comment\n\nid: 1\nevent: a\ndata: x\n\ndata: y\r\ndata:z\r\n\r\ndata\rdata\r\rdata:  two blanks\n\n"
            + "event: without data\n\nid\ndata: no id\n\nid: nul\u{0}\ndata: q\nretry: 250\nretry: x\nunknown: 1\n\ndata: 日本\u{301}:語\n\n"
            + "data: unfinished"
        let events = [
            Event(id: "1", name: "a", data: "x"), Event(id: "1", name: "message", data: "y\nz"),
            Event(id: "1", name: "message", data: "\n"), Event(id: "1", name: "message", data: " two blanks"),
            Event(id: "", name: "message", data: "no id"), Event(id: "", name: "message", data: "q"),
            Event(id: "", name: "message", data: "日本\u{301}:語"),
        ]
        var whole = EventStreamParser()
        #expect(try whole.take(Array(stream.utf8)) == events)
        #expect(whole.retryMilliseconds == 250)
        var pieces = EventStreamParser()
        #expect(try stream.utf8.flatMap { try pieces.take([$0]) } == events)
    }

    @Test("gives up on a line without end")
    func tooLong() throws {
        var parser = EventStreamParser(longestLine: 10)
        #expect(try parser.take(Array("data: 1234\n\n".utf8)).count == 1)
        #expect(throws: EventStreamParser.TooLong.self) { try parser.take(Array("data: 12345".utf8)) }
    }
}
