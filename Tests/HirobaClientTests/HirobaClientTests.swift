import Foundation
import HirobaClient
import HirobaContract
import HirobaHTTP
import HirobaJSON
import Testing

private let file = StoredFile(
    id: "Zx9Yw8Vu7Ts6Rq5P", type: "image/png", size: 3, createdAt: Date(timeIntervalSince1970: 0))
private let topic = Topic(
    id: "aB3dE5fG7hJ9kL1m", title: "t", text: "", author: Person(id: "p"), createdAt: Date(timeIntervalSince1970: 0),
    updatedAt: Date(timeIntervalSince1970: 0))

private func makeClient(_ server: URL, tries: Int = 1) -> HirobaClient {
    HirobaClient(
        server: server, store: MemorySessionStore(), languages: [],
        retries: HirobaClient.Retries(delays: Array(repeating: .zero, count: tries - 1)))
}

@Suite("The client of a Hiroba server")
struct HirobaClientTests {
    @Test("sends calls as the contract says, and answers what their types name")
    func send() async throws {
        try await TestServer.run({ seen, _ in
            seen.method == "DELETE" ? HTTPResponse(.noContent) : .json(Page(items: [topic], next: "n"))
        }) { server in
            let client = makeClient(server.url)
            let page = try await client.send(ListTopics(limit: 1, after: "a&b"))
            #expect(page == Page(items: [topic], next: "n"))
            _ = try await client.send(DeleteTopic(topic: topic.id))
            #expect(server.requests.map(\.target) == ["/v1/topics?limit=1&after=a%26b", "/v1/topics/aB3dE5fG7hJ9kL1m"])
            #expect(server.requests.allSatisfy { $0.headers["Idempotency-Key"] == nil })
        }
    }

    @Test("hands on the server's problem with its code and its field")
    func problems() async throws {
        let problem = Problem(
            status: 400, title: "Bad Request", code: .invalidField, detail: "タイトルを入力してください。", field: "title")
        try await TestServer.run({ _, _ in .json(.badRequest, problem) }) { server in
            let error = await #expect(throws: ClientError.self) {
                try await makeClient(server.url, tries: 3).send(CreateTopic(title: ""))
            }
            #expect(error?.failure?.problem == problem)
            #expect(error?.description == "タイトルを入力してください。")
            // The server has spoken: there is nothing to try again.
            #expect(server.requests.count == 1)
        }
    }

    @Test("tries a lost request again with the same key, so that it is carried out once")
    func retries() async throws {
        try await TestServer.run({ _, number in number < 3 ? .lost : .json(.created, topic) }) { server in
            let client = makeClient(server.url, tries: 3)
            #expect(try await client.send(CreateTopic(title: "t")) == topic)
            let keys = server.requests.map { $0.headers["Idempotency-Key"] }
            #expect(keys.count == 3)
            #expect(Set(keys).count == 1)
            #expect(keys[0]?.isEmpty == false)
            _ = try await client.send(CreateTopic(title: "t"))
            #expect(server.requests.last?.headers["Idempotency-Key"] != keys[0])
        }
    }

    @Test("gives up after its last try")
    func givesUp() async throws {
        try await TestServer.run({ _, _ in .lost }) { server in
            let error = await #expect(throws: ClientError.self) {
                try await makeClient(server.url, tries: 2).send(CreateTopic(title: "t"))
            }
            #expect(error?.isNetwork == true)
            #expect(server.requests.count == 2)
        }
    }

    @Test("uploads bytes and files as they are, and tells how far it is")
    func upload() async throws {
        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try await withFolder { folder in
            let path = folder.appendingPathComponent("photo.jpg")
            try Data(bytes).write(to: path)
            try await TestServer.run({ _, _ in .json(.created, file) }) { server in
                let client = makeClient(server.url)
                let (progress, told) = AsyncStream.makeStream(of: (Int64, Int64).self)
                let first = try await client.upload(.file(path), type: "image/jpeg") { told.yield(($0, $1)) }
                let second = try await client.upload(.bytes(bytes))
                #expect(first == file)
                #expect(second == file)
                told.finish()
                for seen in server.requests {
                    #expect(seen.method == "POST")
                    #expect(seen.target == "/v1/files")
                    #expect(seen.body == bytes)
                    #expect(seen.headers["Idempotency-Key"] != nil)
                }
                #expect(
                    server.requests.map { $0.headers["Content-Type"] } == ["image/jpeg", "application/octet-stream"])
                var last: (Int64, Int64)?
                for await step in progress {
                    #expect(step.0 >= last?.0 ?? 0)
                    last = step
                }
                #expect(last?.0 == 3_000_000)
            }
        }
    }

    @Test("says when a file to upload cannot be read")
    func missingFile() async throws {
        try await TestServer.run({ _, _ in .json(.created, file) }) { server in
            let error = await #expect(throws: ClientError.self) {
                try await makeClient(server.url).upload(.file(URL(fileURLWithPath: "/nothing/here.jpg")))
            }
            guard case .local? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(server.requests.isEmpty)
        }
    }

    @Test("downloads into memory and into a file")
    func download() async throws {
        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 17) }
        try await withFolder { folder in
            try await TestServer.run({ _, _ in
                HTTPResponse(.ok, headers: ["Content-Type": "image/png"], body: .bytes(bytes))
            }) { server in
                let client = makeClient(server.url)
                let small = try await client.download(DownloadFile(file: file.id, size: 320))
                #expect(small.type == "image/png")
                #expect(small.bytes == bytes)
                let path = folder.appendingPathComponent("photo.png")
                try Data("old".utf8).write(to: path)
                let (progress, told) = AsyncStream.makeStream(of: (Int64, Int64?).self)
                let type = try await client.download(DownloadFile(file: file.id), to: path) { told.yield(($0, $1)) }
                #expect(type == "image/png")
                told.finish()
                #expect(try Data(contentsOf: path) == Data(bytes))
                #expect(server.requests.map(\.target) == ["/v1/files/\(file.id)?size=320", "/v1/files/\(file.id)"])
                var last: (Int64, Int64?)?
                for await step in progress { last = step }
                #expect(last?.0 == 3_000_000)
                #expect(last?.1 == 3_000_000)
            }
        }
    }

    @Test("leaves an old file alone when a download fails, and no part of the new one")
    func brokenDownload() async throws {
        try await withFolder { folder in
            let path = folder.appendingPathComponent("photo.png")
            try Data("old".utf8).write(to: path)
            for answer in [HTTPResponse.lost, .json(.notFound, "{}")] {
                try await TestServer.run({ _, _ in answer }) { server in
                    await #expect(throws: ClientError.self) {
                        try await makeClient(server.url).download(DownloadFile(file: file.id), to: path)
                    }
                }
            }
            #expect(try Data(contentsOf: path) == Data("old".utf8))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["photo.png"])
        }
    }
}
