import HirobaContract
import HirobaCore
import HirobaStore
import Testing

@Suite struct RelationsTests {
    @Test("following and unfollowing may be repeated, and each change is one event")
    func follow() async throws {
        try await withForums { forum in
            let (hana, ken) = (try await forum.person(), try await forum.person())
            let (kenID, community) = (try await forum.id(of: ken), forum.core.community)
            let before = try await forum.count("events") ?? 0
            for _ in 0..<2 { try await community.follow(FollowUser(user: kenID), by: hana) }
            #expect(try await forum.count("follows") == 1)
            for _ in 0..<2 { try await community.unfollow(UnfollowUser(user: kenID), by: hana) }
            #expect(try await forum.count("follows") == 0)
            #expect(try await forum.count("events") == before + 2)
        }
    }

    @Test("nobody follows or blocks themselves, somebody who is not there, or without having signed in")
    func refusals() async throws {
        try await withForums { forum in
            let hana = try await forum.person()
            let (me, community) = (try await forum.id(of: hana), forum.core.community)
            func calls(_ user: User.ID, _ caller: Caller) -> [() async throws -> Void] {
                [
                    { try await community.follow(FollowUser(user: user), by: caller) },
                    { try await community.unfollow(UnfollowUser(user: user), by: caller) },
                    { try await community.block(user, by: caller) }, { try await community.unblock(user, by: caller) },
                ]
            }
            for call in calls(me, hana) { #expect(await refusal(call)?.field == "user") }
            for call in calls("0000000000000000", hana) + calls("-", hana) {
                #expect(await refusal(call)?.code == .notFound)
            }
            for call in calls(me, Caller()) { #expect(await refusal(call)?.code == .unauthorized) }
        }
    }

    @Test("a block ends following in both directions, and the blocked find nobody to follow")
    func block() async throws {
        try await withForums { forum in
            let (hana, ken) = (try await forum.person(), try await forum.person())
            let (hanaID, kenID) = (try await forum.id(of: hana), try await forum.id(of: ken))
            let community = forum.core.community
            try await community.follow(FollowUser(user: kenID), by: hana)
            try await community.follow(FollowUser(user: hanaID), by: ken)
            for _ in 0..<2 { try await community.block(kenID, by: hana) }
            let (follows, blocks) = (try await forum.count("follows"), try await forum.count("blocks"))
            #expect(follows == 0 && blocks == 1)
            #expect(await refusal { try await community.follow(FollowUser(user: kenID), by: hana) }?.code == .notFound)
            #expect(await refusal { try await community.follow(FollowUser(user: hanaID), by: ken) }?.code == .notFound)
            // The other's unblocking changes nothing.
            try await community.unblock(hanaID, by: ken)
            #expect(await refusal { try await community.follow(FollowUser(user: hanaID), by: ken) }?.code == .notFound)
            try await community.unblock(kenID, by: hana)
            try await community.follow(FollowUser(user: hanaID), by: ken)
            #expect(try await forum.count("follows") == 1)
        }
    }

    @Test("settings are those of the guides until somebody chooses others")
    func settings() async throws {
        try await withForums { forum in
            let (hana, ken) = (try await forum.person(), try await forum.person())
            let community = forum.core.community
            let defaults = NotificationSettings(topicComments: .everyone, photoComments: .following, others: true)
            #expect(try await community.settings(GetSettings(), by: hana) == defaults)
            let chosen = NotificationSettings(topicComments: .off, photoComments: .everyone, others: false)
            for _ in 0..<2 { #expect(try await community.putSettings(PutSettings(chosen), by: hana) == chosen) }
            #expect(try await community.settings(GetSettings(), by: hana) == chosen)
            #expect(try await community.settings(GetSettings(), by: ken) == defaults)
            #expect(try await community.putSettings(PutSettings(defaults), by: hana) == defaults)
            #expect(try await community.settings(GetSettings(), by: hana) == defaults)
            #expect(
                await refusal {
                    try await community.putSettings(
                        PutSettings(topicComments: NotifiedBy("Off"), photoComments: .off, others: true), by: hana)
                }?.field == "topicComments")
            #expect(await refusal { try await community.settings(GetSettings(), by: Caller()) }?.code == .unauthorized)
        }
    }
}

extension NotifiedBy {
    fileprivate init(_ word: String) { self.init(rawValue: word) }
}
