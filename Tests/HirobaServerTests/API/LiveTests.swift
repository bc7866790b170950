import HirobaContract
import HirobaJSON
import Testing

@testable import HirobaServer

@Suite("The live stream")
struct LiveTests {
    @Test("begins with ready, then tells what happens in order, to whoever listens")
    func telling() async throws {
        try await TestServer.onBoth { server async throws in
            let me = try await server.person("Me")
            let stream = try await LiveReader(server)
            #expect(await stream.head.lowercased().contains("content-type: text/event-stream"))
            #expect(try await stream.next()?.name == "ready")
            // One after the other: what is gone before it could be told is not told.
            let topic = try await server.send(CreateTopic(title: "生き物"), token: me.token)
            let created = try await stream.next("topic.created")
            #expect(created.json["id"]?.string == topic.id.rawValue)
            #expect(created.json["title"] == "生き物")
            #expect(created.id != nil)

            let comment = try await server.send(CreateComment(topic: topic.id, text: "犬\n猫"), token: me.token)
            let said = try await stream.next("comment.created")
            #expect(try JSONCoding.decode(Comment.self, from: Array(said.data.utf8), unknownFields: .refuse) == comment)

            _ = try await server.send(DeleteComment(comment: comment.id), token: me.token)
            let unsaid = try await stream.next("comment.deleted")
            #expect(unsaid.json["id"]?.string == comment.id.rawValue)
            #expect(unsaid.json["topic"]?.string == topic.id.rawValue)

            _ = try await server.send(DeleteTopic(topic: topic.id), token: me.token)
            #expect(try await stream.next("topic.deleted").json["id"]?.string == topic.id.rawValue)
        }
    }

    @Test("keeps to one topic when asked")
    func oneTopic() async throws {
        try await TestServer.onBoth { server async throws in
            let me = try await server.person("Me")
            let here = try await server.send(CreateTopic(title: "here"), token: me.token)
            let there = try await server.send(CreateTopic(title: "there"), token: me.token)
            let stream = try await LiveReader(server, "/v1/live?topic=\(here.id)")
            #expect(try await stream.next()?.name == "ready")
            _ = try await server.send(CreateComment(topic: there.id, text: "not for us"), token: me.token)
            _ = try await server.send(CreateComment(topic: here.id, text: "for us"), token: me.token)
            #expect(try await stream.next("comment.created").json["text"] == "for us")
        }
    }

    @Test("goes on after the position a client names, without a gap")
    func resuming() async throws {
        try await TestServer.onBoth { server async throws in
            let me = try await server.person("Me")
            let topic = try await server.send(CreateTopic(title: "t"), token: me.token)
            let first = try await LiveReader(server)
            #expect(try await first.next()?.name == "ready")
            _ = try await server.send(CreateComment(topic: topic.id, text: "1"), token: me.token)
            let position = try #require(try await first.next("comment.created").id)
            _ = try await server.send(CreateComment(topic: topic.id, text: "2"), token: me.token)
            _ = try await server.send(CreateComment(topic: topic.id, text: "3"), token: me.token)

            let second = try await LiveReader(server, "/v1/live", [("Last-Event-ID", position)])
            #expect(try await second.next()?.name == "ready")
            #expect(try await second.next("comment.created").json["text"] == "2")
            #expect(try await second.next("comment.created").json["text"] == "3")
        }
    }

    @Test("says so when a position is none of ours", arguments: ["nonsense", "0", "999999999999-1"])
    func resync(position: String) async throws {
        try await TestServer.onSQLite { server async throws in
            let stream = try await LiveReader(server, "/v1/live", [("Last-Event-ID", position)])
            #expect(try await stream.next()?.name == "ready")
            #expect(try await stream.next()?.name == "resync")
        }
    }

    @Test("ends when the session it was opened by ends")
    func endOfSession() async throws {
        try await TestServer.onBoth { server async throws in
            let me = try await server.person("Me")
            let stream = try await LiveReader(server, "/v1/live", [("Authorization", "Bearer \(me.token)")])
            #expect(try await stream.next()?.name == "ready")
            _ = try await server.send(EndAllSessions(), token: me.token)
            while try await stream.next() != nil {}
        }
    }

    @Test("lets the program stop in the middle of it")
    func stopping() async throws {
        try await TestServer.onSQLite { server async throws in
            let stream = try await LiveReader(server)
            #expect(try await stream.next()?.name == "ready")
            let start = ContinuousClock.now
            await server.app.stop()
            #expect(try await stream.next() == nil)
            // Not a measurement: well below the time after which streams would be cut by force.
            #expect(ContinuousClock.now - start < .seconds(7))
        }
    }
}
