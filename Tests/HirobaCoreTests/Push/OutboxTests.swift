import Foundation
import HirobaContract
import HirobaCore
import HirobaJSON
import HirobaStore
import Testing

@Suite struct OutboxTests {
    @Test("a comment is told to the owner of its topic, on each of their phones and in its language")
    func comment() async throws {
        try await withPushes { pushes in
            let hana = try await pushes.person("Hana", language: "ja-JP")
            let ken = try await pushes.person("Ken")
            try await pushes.register("second-phone", of: hana, language: "fr", environment: .sandbox)
            let photo = try await pushes.forum.upload(PretendedPictures.picture("c"), by: hana)
            let topic = try await pushes.forum.topic("朝の公園", photo: photo.id, by: hana)
            let comment = try await pushes.forum.comment("Well said", on: topic, by: ken)

            let story = try await pushes.story(of: comment)
            #expect(story.push.kind == "comment.created" && story.push.container == topic.id.rawValue)
            #expect(story.people.map(\.decision) == [.notified] && story.people.first?.name == "Hana")
            #expect(story.deliveries.count == 2 && story.deliveries.allSatisfy { $0.state == .accepted })
            #expect(story.push.sentence == "The gateway took 2 of 2.")

            let sent = await pushes.gateway.sent
            #expect(Set(sent.map(\.message.id)) == Set(story.deliveries.map(\.id.rawValue)))
            let first = try #require(sent.first { $0.address.token == PushForum.token(of: "phone-of-Hana") })
            #expect(first.message.title == "Kenさんが「朝の公園」にコメントしました" && first.message.body == "Well said")
            #expect(first.message.kind == .alert && first.message.urgency == .now)
            #expect(first.message.link == "/forum/\(topic.id)" && first.message.thread == topic.id.rawValue)
            #expect(first.message.picture == "https://forum.example.org/v1/files/\(photo.id)?size=800")
            #expect(first.message.collapseKey == comment.id.rawValue)
            #expect(first.message.data["push"] == .string(first.message.id))
            let end = comment.createdAt.addingTimeInterval(3 * 24 * 3600)
            #expect(first.message.lifetime == .until(Int64(end.timeIntervalSince1970)))
            #expect(first.address.app == PushForum.app && first.address.environment == .production)
            #expect(!first.address.isEnvironmentProven)
            let second = try #require(sent.first { $0.address.token == PushForum.token(of: "second-phone") })
            #expect(second.message.title == "Ken commented on “朝の公園”" && second.address.environment == .sandbox)

            let device = try await pushes.device("phone-of-Hana")
            #expect(device.health.condition == .well && device.lastVerdict == "accepted")
            _ = try await pushes.story(of: try await pushes.forum.comment(on: topic, by: ken))
            #expect(await pushes.gateway.sent.suffix(2).allSatisfy(\.address.isEnvironmentProven))
        }
    }

    @Test("nobody is told of what they did, or of what their settings and blocks keep away; the story says why")
    func decisions() async throws {
        try await withPushes { pushes in
            let (hana, ken) = (try await pushes.person("Hana"), try await pushes.person("Ken"))
            let (hanaID, kenID) = (try await pushes.forum.id(of: hana), try await pushes.forum.id(of: ken))
            let community = pushes.core.community
            let topic = try await pushes.forum.topic(by: hana)
            func decision(by caller: Caller) async throws -> PushDecision? {
                let comment = try await pushes.forum.comment(on: topic, by: caller)
                let people = try await pushes.story(of: comment).people
                return people.count == 1 && people.first?.user == hanaID ? people.first?.decision : nil
            }
            #expect(try await decision(by: hana) == .isActor)
            _ = try await community.putSettings(
                PutSettings(topicComments: .off, photoComments: .everyone, others: true), by: hana)
            #expect(try await decision(by: ken) == .settingOff)
            _ = try await community.putSettings(
                PutSettings(topicComments: .following, photoComments: .off, others: false), by: hana)
            #expect(try await decision(by: ken) == .notFollowing)
            try await community.follow(FollowUser(user: hanaID), by: ken)
            #expect(try await decision(by: ken) == .notFollowing)
            try await community.follow(FollowUser(user: kenID), by: hana)
            #expect(try await decision(by: ken) == .notified)
            _ = try await community.putSettings(PutSettings(NotificationSettings()), by: hana)
            try await community.block(kenID, by: hana)
            #expect(try await decision(by: ken) == .blocked)
            try await community.unblock(kenID, by: hana)
            try await community.block(hanaID, by: ken)
            #expect(try await decision(by: ken) == .blocked)
            try await community.unblock(hanaID, by: ken)
            #expect(try await decision(by: ken) == .notified)
            try await pushes.core.accounts.endSession(EndSession(), by: hana)
            #expect(try await decision(by: ken) == .noDevice)
            #expect(await pushes.gateway.sent.count == 2)
        }
    }

    @Test("a phone that can take no push is skipped, and the story says why")
    func skipped() async throws {
        try await withPushes { pushes in
            let (hana, ken) = (try await pushes.person("Hana"), try await pushes.person("Ken"))
            _ = try await pushes.core.push.register(
                PutDevice(device: "no-token", token: nil, environment: .production, app: "a", permission: .denied),
                by: hana)
            let topic = try await pushes.forum.topic(by: hana)
            await pushes.gateway.say { _, _ in .gone(since: nil, reason: "BadDeviceToken") }
            _ = try await pushes.story(of: try await pushes.forum.comment(on: topic, by: ken))
            #expect(try await pushes.device("phone-of-Hana").health.condition == .dead)
            let story = try await pushes.story(of: try await pushes.forum.comment(on: topic, by: ken))
            #expect(story.people.map(\.decision) == [.noDevice])
            #expect(story.deliveries.map(\.state) == [.skipped, .skipped])
            #expect(Set(story.deliveries.map(\.reason)) == ["no_token", "device_dead"])
            #expect(await pushes.gateway.sent.count == 1)
        }
    }

    @Test("what is deleted, blocked or signed out before it is sent is not sent")
    func dropped() async throws {
        try await withPushes { pushes in
            let (hana, ken) = (try await pushes.person("Hana"), try await pushes.person("Ken"))
            let topic = try await pushes.forum.topic(by: hana)
            let community = pushes.core.community
            let kenID = try await pushes.forum.id(of: ken)
            func reason(_ change: (HirobaContract.Comment) async throws -> Void) async throws -> String? {
                await pushes.gateway.say { _, _ in .retry(after: .seconds(60), of: .device, reason: "TooManyRequests") }
                let comment = try await pushes.forum.comment(on: topic, by: ken)
                try await until { try await pushes.story(comment.id.rawValue)?.deliveries.first?.reason != nil }
                await pushes.gateway.say { sent, _ in .accepted(sent) }
                try await change(comment)
                pushes.pass(.seconds(100))
                let delivery = try await pushes.story(of: comment).deliveries.first
                return delivery?.state == .dropped ? delivery?.reason : delivery?.state.rawValue
            }
            let (accepted, deleted) = (
                try await reason { _ in },
                try await reason { try await community.deleteComment(DeleteComment(comment: $0.id), by: ken) }
            )
            #expect(accepted == "accepted" && deleted == "subject_gone")
            let locked = try await reason {
                try await pushes.forum.setAccess("comments", $0.id.rawValue, read: .only(kenID))
            }
            let blocked = try await reason { _ in try await community.block(kenID, by: hana) }
            #expect(locked == "subject_gone" && blocked == "blocked")
            try await community.unblock(kenID, by: hana)
            // The phone goes on to somebody else, who is not told what was for its owner before.
            let moved = try await reason { _ in
                try await pushes.register("phone-of-Hana", of: try await pushes.forum.person())
            }
            try await pushes.register("phone-of-Hana", of: hana)
            let topicDeleted = try await reason { _ in
                try await community.deleteTopic(DeleteTopic(topic: topic.id), by: hana)
            }
            #expect(moved == "signed_out" && topicDeleted == "subject_gone")
        }
    }

    @Test("an event that is too old is told to nobody")
    func tooLate() async throws {
        try await withForums { forum in
            let pushes = PushForum(forum: forum, gateway: ScriptedGateway())
            let (hana, ken) = (try await pushes.person("Hana"), try await pushes.person("Ken"))
            let topic = try await forum.topic(by: hana)
            let comment = try await forum.comment(on: topic, by: ken)
            // Nobody has sent anything for days.
            forum.time.advance(by: .seconds(4 * 24 * 3600))
            let outbox = pushes.outbox()
            try await whileRunning({ await outbox.run() }) {
                let story = try await pushes.story(of: comment)
                #expect(story.people.map(\.decision) == [.tooLate])
            }
            #expect(await pushes.gateway.sent.isEmpty)
        }
    }

    @Test("more devices than fit into a transaction are told in several, each once")
    func chunks() async throws {
        try await withPushes({ $0.limits.chunk = 3 }) { pushes in
            let (hana, ken) = (try await pushes.person("Hana"), try await pushes.person("Ken"))
            for number in 0..<20 { try await pushes.register(Device.ID("phone-number-\(number)"), of: hana) }
            let topic = try await pushes.forum.topic(by: hana)
            var comments: [HirobaContract.Comment] = []
            for _ in 0..<5 { comments.append(try await pushes.forum.comment(on: topic, by: ken)) }
            for comment in comments {
                let story = try await pushes.story(of: comment)
                #expect(story.deliveries.count == 21 && story.deliveries.allSatisfy { $0.state == .accepted })
                #expect(Set(story.deliveries.map(\.device)).count == 21 && story.people.count == 1)
            }
            let sent = await pushes.gateway.sent
            #expect(sent.count == 105 && Set(sent.map(\.message.id)).count == 105)
        }
    }

    @Test("no more than a few deliveries are in hand, and all are sent in the end")
    func room() async throws {
        try await withPushes({ $0.limits.deliveriesInHand = 4 }, script: { _, _ in nil }) { pushes in
            let (hana, ken) = (try await pushes.person("Hana"), try await pushes.person("Ken"))
            for number in 0..<9 { try await pushes.register(Device.ID("phone-number-\(number)"), of: hana) }
            let topic = try await pushes.forum.topic(by: hana)
            let comment = try await pushes.forum.comment(on: topic, by: ken)
            for number in [4, 8, 10] {
                // Ten phones, four at a time.
                try await until { await pushes.gateway.sent.count == number }
                let story = try #require(try await pushes.story(comment.id.rawValue))
                #expect(story.deliveries.count { $0.state == .sending } <= 4)
                await pushes.gateway.answerRest()
            }
            #expect(try await pushes.story(of: comment).push.accepted == 10)
        }
    }
}
