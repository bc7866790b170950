import HirobaContract
@testable import HirobaCore
import HirobaCrypto
import HirobaStore
import Testing

@Suite struct TopicsTests {
    @Test("a topic is created, read by everyone, and deleted by its author")
    func roundTrip() async throws {
        try await withForums { forum in
            let hana = try await forum.person()
            let topic = try await forum.core.community.createTopic(
                CreateTopic(title: " 広場の話 ", text: "一行目\n二行目"), by: hana)
            #expect(topic.title == "広場の話" && topic.text == "一行目\n二行目" && topic.photo == nil)
            #expect(topic.author.id == (try await forum.id(of: hana)))
            #expect(try await forum.core.community.topic(GetTopic(topic: topic.id), by: Caller()) == topic)
            #expect(try await forum.core.community.topics(ListTopics(), by: Caller()).items == [topic])

            try await forum.core.community.deleteTopic(DeleteTopic(topic: topic.id), by: hana)
            #expect(
                await refusal { try await forum.core.community.topic(GetTopic(topic: topic.id), by: hana) }?.code
                    == .notFound)
            #expect(try await forum.core.community.topics(ListTopics(), by: Caller()).items.isEmpty)
            #expect(
                await refusal { try await forum.core.community.deleteTopic(DeleteTopic(topic: topic.id), by: hana) }?
                    .code
                    == .notFound)
        }
    }

    @Test("nobody creates, and nobody but the author deletes")
    func refusals() async throws {
        try await withForums { forum in
            let (hana, ken) = (try await forum.person(), try await forum.person())
            let topic = try await forum.topic(by: hana)
            let community = forum.core.community
            #expect(
                await refusal { try await community.createTopic(CreateTopic(title: "Spam"), by: Caller()) }?.code
                    == .unauthorized)
            #expect(
                await refusal { try await community.deleteTopic(DeleteTopic(topic: topic.id), by: ken) }?.code
                    == .forbidden)
            #expect(
                await refusal { try await community.deleteTopic(DeleteTopic(topic: topic.id), by: Caller()) }?.code
                    == .unauthorized)
            #expect(try await community.topics(ListTopics(), by: Caller()).items == [topic])
        }
    }

    @Test("the access list decides: who is on it may delete, and who may not read finds nothing")
    func accessList() async throws {
        try await withForums { forum in
            let (hana, ken) = (try await forum.person(), try await forum.person())
            let (secret, shared) = (
                try await forum.topic("Secret", by: hana), try await forum.topic("Shared", by: hana)
            )
            let community = forum.core.community
            try await forum.setAccess("topics", secret.id.rawValue, read: .only(try await forum.id(of: hana)))
            try await forum.setAccess(
                "topics", shared.id.rawValue, write: .only(try await forum.id(of: ken)))

            for caller in [ken, Caller()] {
                #expect(try await community.topics(ListTopics(), by: caller).items == [shared])
                for work in [
                    { _ = try await community.topic(GetTopic(topic: secret.id), by: caller) },
                    { _ = try await community.comments(ListComments(topic: secret.id), by: caller) },
                ] { #expect(await refusal(work)?.code == .notFound) }
            }
            #expect(
                await refusal { try await community.deleteTopic(DeleteTopic(topic: secret.id), by: ken) }?.code
                    == .notFound)
            #expect(
                await refusal {
                    try await community.createComment(CreateComment(topic: secret.id, text: "Hello"), by: ken)
                }?.code == .notFound)
            #expect(try await community.topics(ListTopics(), by: hana).items == [shared, secret])

            #expect(
                await refusal { try await community.deleteTopic(DeleteTopic(topic: shared.id), by: hana) }?.code
                    == .forbidden)
            try await community.deleteTopic(DeleteTopic(topic: shared.id), by: ken)
        }
    }

    @Test("pages go newest first, without a gap or a repetition while topics appear")
    func paging() async throws {
        try await withForums { forum in
            let hana = try await forum.person()
            var made: [Topic] = []
            for number in 0..<7 { made.append(try await forum.topic("Topic \(number)", by: hana)) }
            // Two of the same millisecond are told apart by their id.
            for title in ["Twin", "Twin"] {
                made.append(try await forum.core.community.createTopic(CreateTopic(title: title), by: hana))
            }
            var (seen, after): ([Topic], String?) = ([], nil)
            repeat {
                let page = try await forum.core.community.topics(ListTopics(limit: 2, after: after), by: Caller())
                #expect(page.items.count <= 2)
                seen += page.items
                after = page.next
                _ = try await forum.topic("Newer", by: hana)
            } while after != nil
            #expect(Set(seen.map(\.id)) == Set(made.map(\.id)) && seen.count == made.count)
            #expect(seen.map(\.createdAt) == seen.map(\.createdAt).sorted(by: >))
        }
    }

    @Test("a page has as many items as asked for, within bounds")
    func pageSizes() async throws {
        try await withForums({
            $0.limits.page = 3; $0.limits.largestPage = 5
        }) { forum in
            let hana = try await forum.person()
            for _ in 0..<4 { _ = try await forum.topic(by: hana) }
            let community = forum.core.community
            #expect(try await community.topics(ListTopics(), by: hana).items.count == 3)
            let all = try await community.topics(ListTopics(limit: 4), by: hana)
            #expect(all.items.count == 4 && all.next == nil)
            for limit in [0, -1, 6, Int.max] {
                #expect(
                    await refusal { try await community.topics(ListTopics(limit: limit), by: hana) }?.field == "limit")
            }
        }
    }

    @Test("what is no cursor of this list is refused as `after`")
    func badCursors() async throws {
        try await withForums { forum in
            let hana = try await forum.person()
            let topics = [try await forum.topic(by: hana), try await forum.topic(by: hana)]
            for _ in 0..<2 { for topic in topics { _ = try await forum.comment(on: topic, by: hana) } }
            let community = forum.core.community
            let next = try #require(try await community.topics(ListTopics(limit: 1), by: hana).next)
            let other = try #require(
                try await community.comments(ListComments(topic: topics[0].id, limit: 1), by: hana).next)
            let changed = (next.first == "B" ? "C" : "B") + next.dropFirst()
            for cursor in [
                "", "x", changed, String(next.dropLast()), next + "A", other, "a\u{0}b",
                String(repeating: "A", count: 5000),
            ] {
                let error = await refusal { try await community.topics(ListTopics(after: cursor), by: hana) }
                #expect(error?.code == .invalidField && error?.field == "after", "\(cursor)")
            }
            let error = await refusal {
                try await community.comments(ListComments(topic: topics[1].id, after: other), by: hana)
            }
            #expect(error?.field == "after")
        }
    }

    @Test("a title is one line of at most 200 characters, a text has at most 20,000")
    func texts() async throws {
        try await withForums { forum in
            let hana = try await forum.person()
            func field(_ title: String, _ text: String?) async -> String? {
                await refusal {
                    try await forum.core.community.createTopic(CreateTopic(title: title, text: text), by: hana)
                }?.field
            }
            #expect(await field("", nil) == "title")
            #expect(await field(" \u{3000}\n", nil) == "title")
            #expect(await field("one\ntwo", nil) == "title")
            #expect(await field(String(repeating: "話", count: 201), nil) == "title")
            #expect(await field("ok", String(repeating: "話", count: 20_001)) == "text")
            #expect(await field("ok", "a\u{0}b") == "text")
            #expect(await field(String(repeating: "話", count: 200), String(repeating: "話", count: 20_000)) == nil)
            #expect(await field("ok", "") == nil)
        }
    }

    @Test("an id that cannot be one of ours names nothing")
    func strangeIDs() async throws {
        try await withForums { forum in
            for id in ["", "x", "a\u{0}b", "' OR 1=1 --", String(repeating: "a", count: 100_000), "ABCDEFGHIJKLMNOé"] {
                #expect(
                    await refusal { try await forum.core.community.topic(GetTopic(topic: .init(id)), by: Caller()) }?
                        .code
                        == .notFound)
            }
        }
    }

    @Test("the photo must be a picture of one's own")
    func photo() async throws {
        try await withForums { forum in
            let (hana, ken) = (try await forum.person(), try await forum.person())
            let picture = try await forum.upload(PretendedPictures.picture("c"), by: hana)
            let text = try await forum.upload(Array("only text".utf8), by: hana)
            #expect(try await forum.topic(photo: picture.id, by: hana).photo == picture.id)
            for (photo, caller) in [
                (picture.id, ken), (text.id, hana), ("0000000000000000", hana), ("x", hana),
            ] as [(StoredFile.ID, Caller)] {
                let error = await refusal { try await forum.topic(photo: photo, by: caller) }
                #expect(error?.code == .invalidField && error?.field == "photo")
            }
        }
    }

    @Test("with a topic go its comments and its picture, but no picture that another topic shows")
    func deletionTakesAll() async throws {
        try await withForums({ $0.limits.chunk = 2 }) { forum in
            let (hana, ken) = (try await forum.person(), try await forum.person())
            let (mine, shared) = (
                try await forum.upload(PretendedPictures.picture("c", "mine"), by: hana),
                try await forum.upload(PretendedPictures.picture("c", "shared"), by: hana)
            )
            _ = try await forum.core.files.open(DownloadFile(file: mine.id, size: 100), by: Caller())
            let first = try await forum.topic(photo: mine.id, by: hana)
            let second = try await forum.topic(photo: shared.id, by: hana)
            let third = try await forum.topic(photo: shared.id, by: hana)
            for _ in 0..<5 { _ = try await forum.comment(on: first, by: ken) }
            let kept = try await forum.comment(on: second, by: ken)

            try await forum.core.community.deleteTopic(DeleteTopic(topic: first.id), by: hana)
            #expect(try await forum.count("comments") == 1)
            #expect(try await forum.count("files") == 1)
            #expect(try await forum.count("thumbnails") == 0)
            #expect(forum.blobs.all.count == 1)

            try await forum.core.community.deleteTopic(DeleteTopic(topic: third.id), by: hana)
            #expect(try await forum.count("files") == 1)
            #expect(
                try await forum.core.community.comments(ListComments(topic: second.id), by: hana).items == [kept])
            try await forum.core.community.deleteTopic(DeleteTopic(topic: second.id), by: hana)
            #expect(try await forum.count("files") == 0)
            #expect(forum.blobs.all.isEmpty)
        }
    }

    @Test("lists are read in the order of the rows, without sorting")
    func queryPlans() async throws {
        try await withForums { forum in
            guard forum.database.dialect == .sqlite else { return }
            let id = ObjectID.random()
            let cursor = Cursor(createdAt: 1, id: id).text(of: "list")
            let lists = [
                Community.list(try PageRequest("list", limit: 20, after: cursor, Limits()), .person("x")),
                Community.list(try PageRequest("list", limit: 20, after: nil, Limits()), .anyone),
                Community.list(of: id, try PageRequest("list", limit: 20, after: cursor, Limits()), .anyone),
            ]
            for list in lists {
                let plan = try await forum.database.read { db in
                    try db.rows("EXPLAIN QUERY PLAN \(list)") { row in try row.text(3) }
                }
                #expect(!plan.contains { $0.contains("TEMP B-TREE") || $0 == "SCAN u" || $0 == "SCAN c" }, "\(plan)")
                // A whole page of topics is a scan from the newest on; everything else begins with a search.
                #expect(
                    plan.contains {
                        $0 == "SCAN t" || $0.hasPrefix("SEARCH c USING PRIMARY KEY (topic=?")
                            || $0.hasPrefix("SEARCH t USING PRIMARY KEY (")
                    }, "\(plan)")
            }
        }
    }
}
