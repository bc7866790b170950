import HirobaContract
import HirobaCore
import HirobaStore
import Testing

@Suite struct CommentsTests {
    @Test("a comment belongs to its topic, is read by everyone, and deleted by its author")
    func roundTrip() async throws {
        try await withForums { forum in
            let (hana, ken) = (try await forum.person(), try await forum.person())
            _ = try await forum.core.accounts.updateMe(UpdateMe(name: "Ken"), by: ken)
            let (topic, other) = (try await forum.topic(by: hana), try await forum.topic(by: hana))
            let first = try await forum.comment("First\nof all", on: topic, by: ken)
            let second = try await forum.comment("Second", on: topic, by: hana)
            #expect(first.topic == topic.id && first.text == "First\nof all")
            #expect(first.author == Person(id: try await forum.id(of: ken), name: "Ken"))
            let community = forum.core.community
            #expect(try await community.comments(ListComments(topic: topic.id), by: Caller()).items == [second, first])
            #expect(try await community.comments(ListComments(topic: other.id), by: Caller()).items.isEmpty)

            try await community.deleteComment(DeleteComment(comment: first.id), by: ken)
            #expect(try await community.comments(ListComments(topic: topic.id), by: Caller()).items == [second])
            #expect(
                await refusal { try await community.deleteComment(DeleteComment(comment: first.id), by: ken) }?.code
                    == .notFound)
        }
    }

    @Test("nobody comments, and nobody but the author deletes, the topic's author neither")
    func refusals() async throws {
        try await withForums { forum in
            let (hana, ken) = (try await forum.person(), try await forum.person())
            let topic = try await forum.topic(by: hana)
            let comment = try await forum.comment(on: topic, by: ken)
            let community = forum.core.community
            #expect(
                await refusal {
                    try await community.createComment(CreateComment(topic: topic.id, text: "Spam"), by: Caller())
                }?.code == .unauthorized)
            #expect(
                await refusal { try await community.deleteComment(DeleteComment(comment: comment.id), by: hana) }?.code
                    == .forbidden)
            #expect(
                await refusal { try await community.deleteComment(DeleteComment(comment: comment.id), by: Caller()) }?
                    .code == .unauthorized)
            for text in ["", " \n ", "a\u{0}", String(repeating: "話", count: 20_001)] {
                #expect(
                    await refusal {
                        try await community.createComment(CreateComment(topic: topic.id, text: text), by: ken)
                    }?.field == "text")
            }
            #expect(try await forum.count("comments") == 1)
        }
    }

    @Test("on a topic that is not there nothing is read or written")
    func missingTopic() async throws {
        try await withForums { forum in
            let hana = try await forum.person()
            let topic = try await forum.topic(by: hana)
            let comment = try await forum.comment(on: topic, by: hana)
            let community = forum.core.community
            try await community.deleteTopic(DeleteTopic(topic: topic.id), by: hana)
            #expect(
                await refusal { try await community.comments(ListComments(topic: topic.id), by: hana) }?.code
                    == .notFound)
            #expect(
                await refusal {
                    try await community.createComment(CreateComment(topic: topic.id, text: "Late"), by: hana)
                }?
                .code == .notFound)
            #expect(
                await refusal { try await community.deleteComment(DeleteComment(comment: comment.id), by: hana) }?.code
                    == .notFound)
            #expect(try await forum.count("comments") == 0)
        }
    }

    @Test("a comment that only some may read is in nobody else's list")
    func accessList() async throws {
        try await withForums { forum in
            let (hana, ken) = (try await forum.person(), try await forum.person())
            let topic = try await forum.topic(by: hana)
            let (open, hidden) = (
                try await forum.comment(on: topic, by: hana), try await forum.comment(on: topic, by: hana)
            )
            try await forum.setAccess("comments", hidden.id.rawValue, read: .only(try await forum.id(of: hana)))
            let community = forum.core.community
            for caller in [ken, Caller()] {
                #expect(try await community.comments(ListComments(topic: topic.id), by: caller).items == [open])
            }
            #expect(
                await refusal { try await community.deleteComment(DeleteComment(comment: hidden.id), by: ken) }?.code
                    == .notFound)
            #expect(try await community.comments(ListComments(topic: topic.id), by: hana).items == [hidden, open])
        }
    }

    @Test("comments of one topic are paged newest first")
    func paging() async throws {
        try await withForums { forum in
            let hana = try await forum.person()
            let (topic, other) = (try await forum.topic(by: hana), try await forum.topic(by: hana))
            var made: [HirobaContract.Comment] = []
            for number in 0..<5 {
                made.append(try await forum.comment("\(number)", on: topic, by: hana))
                _ = try await forum.comment("elsewhere", on: other, by: hana)
            }
            var (seen, after): ([HirobaContract.Comment], String?) = ([], nil)
            repeat {
                let page = try await forum.core.community.comments(
                    ListComments(topic: topic.id, limit: 2, after: after), by: Caller())
                seen += page.items
                after = page.next
            } while after != nil
            #expect(seen == made.reversed())
        }
    }

    @Test("comments and the end of their topic at the same time leave no comment behind")
    func commentsWhileDeleting() async throws {
        try await withForums { forum in
            let hana = try await forum.person()
            let topic = try await forum.topic(by: hana)
            await withTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask {
                        _ = await refusal {
                            try await forum.core.community.createComment(
                                CreateComment(topic: topic.id, text: "At once"), by: hana)
                        }
                    }
                }
                group.addTask {
                    _ = await refusal {
                        try await forum.core.community.deleteTopic(DeleteTopic(topic: topic.id), by: hana)
                    }
                }
            }
            // A comment that came through in between goes with the next look for leftovers.
            forum.time.advance(by: .seconds(2 * 3600))
            try await forum.core.maintain()
            let (comments, removed) = (try await forum.count("comments"), try await forum.count("removed_topics"))
            #expect(comments == 0 && removed == 0)
        }
    }
}
