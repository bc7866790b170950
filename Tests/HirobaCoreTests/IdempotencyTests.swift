import HirobaContract
import HirobaCore
import HirobaStore
import Testing

@Suite struct IdempotencyTests {
    @Test("the same request with the same key is answered the same and done once")
    func repetition() async throws {
        try await withForums { forum in
            var hana = try await forum.person()
            hana.idempotencyKey = "tap-1"
            let community = forum.core.community
            let topic = try await community.createTopic(CreateTopic(title: "Once"), by: hana)
            forum.time.advance(by: .seconds(60))
            #expect(try await community.createTopic(CreateTopic(title: "Once"), by: hana) == topic)

            let comment = try await community.createComment(CreateComment(topic: topic.id, text: "Once"), by: hana)
            #expect(
                try await community.createComment(CreateComment(topic: topic.id, text: "Once"), by: hana) == comment)

            let picture = PretendedPictures.picture("m", "with metadata")
            let file = try await forum.upload(picture, by: hana)
            #expect(try await forum.upload(picture, by: hana) == file)
            #expect(forum.blobs.all.count == 1)

            for table in ["topics", "comments", "files"] as [SQL] { #expect(try await forum.count(table) == 1) }
        }
    }

    @Test("two taps at once make one thing")
    func atOnce() async throws {
        try await withForums { forum in
            var caller = try await forum.person()
            caller.idempotencyKey = "tap-1"
            let hana = caller
            let topics = try await withThrowingTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask { try await forum.core.community.createTopic(CreateTopic(title: "Once"), by: hana) }
                }
                return try await group.reduce(into: []) { $0.append($1.id) }
            }
            #expect(topics.count == 8 && Set(topics).count == 1)
            let (rows, events) = (
                try await forum.count("topics"), try await forum.count("events WHERE kind = 'topic.created'")
            )
            #expect(rows == 1 && events == 1)
        }
    }

    @Test("another request with the same key is a conflict and changes nothing")
    func conflict() async throws {
        try await withForums { forum in
            var hana = try await forum.person()
            hana.idempotencyKey = "tap-1"
            let community = forum.core.community
            _ = try await community.createTopic(CreateTopic(title: "One"), by: hana)
            for call in [CreateTopic(title: "Two"), CreateTopic(title: "One", text: "With a text")] {
                #expect(await refusal { try await community.createTopic(call, by: hana) }?.code == .idempotencyConflict)
            }
            _ = try await forum.upload(Array("one".utf8), by: hana)
            #expect(await refusal { try await forum.upload(Array("two".utf8), by: hana) }?.code == .idempotencyConflict)
            #expect(forum.blobs.all.count == 1)
            let topics = try await forum.count("topics")
            #expect(topics == 1)
        }
    }

    @Test("a key is one person's and one call's")
    func scope() async throws {
        try await withForums { forum in
            var (hana, ken) = (try await forum.person(), try await forum.person())
            hana.idempotencyKey = "tap-1"
            ken.idempotencyKey = "tap-1"
            let community = forum.core.community
            let topic = try await community.createTopic(CreateTopic(title: "One"), by: hana)
            #expect(try await community.createTopic(CreateTopic(title: "One"), by: ken).id != topic.id)
            _ = try await community.createComment(CreateComment(topic: topic.id, text: "One"), by: hana)
            hana.idempotencyKey = "Tap-1"
            #expect(try await community.createTopic(CreateTopic(title: "One"), by: hana).id != topic.id)
        }
    }

    @Test("a refused request leaves its key unused")
    func refusedRequest() async throws {
        try await withForums { forum in
            var hana = try await forum.person()
            hana.idempotencyKey = "tap-1"
            let call = CreateTopic(title: "One", photo: "0000000000000000")
            #expect(await refusal { try await forum.core.community.createTopic(call, by: hana) }?.field == "photo")
            _ = try await forum.core.community.createTopic(CreateTopic(title: "Another"), by: hana)
        }
    }

    @Test("what was made and deleted since is not made again")
    func deletedSince() async throws {
        try await withForums { forum in
            var hana = try await forum.person()
            hana.idempotencyKey = "tap-1"
            let community = forum.core.community
            let topic = try await community.createTopic(CreateTopic(title: "One"), by: hana)
            try await community.deleteTopic(DeleteTopic(topic: topic.id), by: hana)
            #expect(
                await refusal { try await community.createTopic(CreateTopic(title: "One"), by: hana) }?.code
                    == .notFound)
            let topics = try await forum.count("topics")
            #expect(topics == 0)
        }
    }

    @Test("a key is kept for a day")
    func expiry() async throws {
        try await withForums { forum in
            var hana = try await forum.person()
            hana.idempotencyKey = "tap-1"
            let topic = try await forum.core.community.createTopic(CreateTopic(title: "One"), by: hana)
            forum.time.advance(by: .seconds(24 * 3600))
            try await forum.core.maintain()
            #expect(try await forum.core.community.createTopic(CreateTopic(title: "One"), by: hana) == topic)
            forum.time.advance(by: .milliseconds(1))
            try await forum.core.maintain()
            #expect(try await forum.core.community.createTopic(CreateTopic(title: "One"), by: hana) != topic)
        }
    }

    @Test("a key is 1 to 200 visible ASCII characters")
    func malformedKeys() async throws {
        try await withForums { forum in
            var hana = try await forum.person()
            for key in ["", "a b", "a\u{0}", "鍵", String(repeating: "k", count: 201)] {
                hana.idempotencyKey = key
                let caller = hana
                #expect(
                    await refusal { try await forum.core.community.createTopic(CreateTopic(title: "One"), by: caller) }?
                        .field == "Idempotency-Key")
            }
            hana.idempotencyKey = String(repeating: "k", count: 200)
            _ = try await forum.core.community.createTopic(CreateTopic(title: "One"), by: hana)
        }
    }
}
