import HirobaContract
import HirobaCore
import HirobaJSON
import HirobaStore
import TestSupport
import Testing

@testable import HirobaServer

@Suite("The demo's community")
struct DemoCommunityTests {
    @Test("It is filled in once, on both databases, and completed when it was interrupted")
    func fill() async throws {
        try await withSites { site in
            let now = Clock.system.now()
            func fill() async throws {
                try await DemoCommunity.fill(secret: SiteUnderTest.secret, now: Clock { now }) { clock in
                    site.core(at: clock)
                }
            }
            try await fill()
            let topics = try await site.core.community.topics(ListTopics(limit: 100), by: Caller()).items
            #expect(topics.count == DemoScript.threads.count && (12...20).contains(topics.count))
            #expect(topics.filter { $0.photo != nil }.count >= 8)
            #expect(topics.contains { $0.author.name == nil } && topics.contains { $0.author.name != nil })
            let times = topics.compactMap(\.createdAt.milliseconds)
            #expect(times == times.sorted(by: >) && times.allSatisfy { $0 < now })
            let comments = try await site.count("comments")
            #expect(comments == Int64(DemoScript.threads.map(\.comments.count).reduce(0, +)))

            let people = try await site.count("users")
            try await fill()
            #expect(try await site.count("topics") == Int64(topics.count))
            #expect(try await site.count("comments") == comments)
            #expect(try await site.count("users") == people)

            try await site.database.write { db in _ = try db.run("DELETE FROM comments WHERE text = '麦茶派です。'") }
            try await fill()
            #expect(try await site.count("comments") == comments)
        }
    }

    @Test("Every picture it names is part of the program, and small")
    func pictures() {
        for thread in DemoScript.threads {
            guard let picture = thread.picture else { continue }
            let bytes = EmbeddedFile.bytes(folder: "pictures", name: "\(picture).jpg")
            #expect(bytes.starts(with: [0xFF, 0xD8, 0xFF]) && bytes.count <= 25_000, "\(picture)")
        }
    }
}
