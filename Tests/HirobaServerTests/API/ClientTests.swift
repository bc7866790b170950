import Foundation
import HirobaClient
import HirobaContract
import Testing

/// Our own client against our own server.
@Suite("The client")
struct ClientTests {
    private func client(_ server: TestServer) throws -> HirobaClient {
        HirobaClient(
            server: try #require(URL(string: "http://127.0.0.1:\(server.port)")), store: MemorySessionStore(),
            languages: ["ja"])
    }

    @Test("signs in, uploads, begins a topic, and hears another client comment")
    func conversation() async throws {
        try await TestServer.onBoth { server async throws in
            let (hanako, taro) = (try client(server), try client(server))
            let me = try await hanako.signInAnonymously()
            _ = try await taro.signInAnonymously()
            let photo = try await hanako.upload(.bytes(TestPictures.png), type: "image/png")
            let topic = try await hanako.send(CreateTopic(title: "犬", photo: photo.id))
            #expect(topic.author.id == me.id)
            let (type, bytes) = try await taro.download(DownloadFile(file: photo.id))
            #expect(type == "image/png")
            #expect(bytes == TestPictures.png)

            var comment: HirobaContract.Comment?
            for try await event in hanako.live(Live(topic: topic.id)) {
                switch event.content {
                case .ready: comment = try await taro.send(CreateComment(topic: topic.id, text: "かわいい"))
                case .commentCreated(let heard):
                    #expect(heard == comment)
                    return
                default: continue
                }
            }
            Issue.record("the stream ended before the comment came")
        }
    }

    @Test("is told in its language why it may not delete what is somebody else's")
    func refusal() async throws {
        try await TestServer.onBoth { server async throws in
            let (hanako, taro) = (try client(server), try client(server))
            _ = try await hanako.signInAnonymously()
            _ = try await taro.signInAnonymously()
            let topic = try await hanako.send(CreateTopic(title: "犬"))
            let error = await #expect(throws: ClientError.self) {
                _ = try await taro.send(DeleteTopic(topic: topic.id))
            }
            #expect(error?.failure?.code == "forbidden")
            #expect(error?.failure?.sentence == "この操作をする権限がありません。")
        }
    }
}
