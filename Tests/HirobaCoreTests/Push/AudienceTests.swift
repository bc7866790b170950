import HirobaContract
import HirobaCore
import HirobaStore
import Testing

/// Who is told, over communities made by chance, beside a model that is written the other way round.
@Suite struct AudienceTests {
    private struct Dice: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }

    private struct Pair: Hashable {
        let one: Int
        let other: Int
    }

    @Test("one push for each device of the owner; never to the actor, past a block or past a setting", arguments: 1...4)
    func audience(seed: Int) async throws {
        try await withPushes({ $0.limits.chunk = 5 }) { pushes in
            var dice = Dice(state: UInt64(seed))
            let people = 5
            var callers: [Caller] = []
            var ids: [User.ID] = []
            var phones: [[Device.ID]] = []
            for number in 0..<people {
                let caller = try await pushes.forum.person()
                callers.append(caller)
                ids.append(try await pushes.forum.id(of: caller))
                phones.append((0..<Int.random(in: 0...3, using: &dice)).map { Device.ID("phone-\(number)-of-\($0)") })
                for phone in phones[number] { try await pushes.register(phone, of: caller) }
            }
            var topics: [Topic] = []
            for caller in callers { topics.append(try await pushes.forum.topic(by: caller)) }
            var (blocks, follows): (Set<Pair>, Set<Pair>) = ([], [])
            var settings = [NotifiedBy](repeating: .everyone, count: people)
            let community = pushes.core.community
            for _ in 0..<40 {
                let (one, other) = (Int.random(in: 0..<people, using: &dice), Int.random(in: 0..<people, using: &dice))
                let pair = Pair(one: one, other: other)
                let isBlocked = blocks.contains(pair) || blocks.contains(Pair(one: other, other: one))
                switch Int.random(in: 0..<6, using: &dice) {
                case 0 where one != other:
                    try await community.block(ids[other], by: callers[one])
                    blocks.insert(pair)
                    follows.subtract([pair, Pair(one: other, other: one)])
                case 1 where one != other:
                    try await community.unblock(ids[other], by: callers[one])
                    blocks.remove(pair)
                case 2 where one != other && !isBlocked:
                    try await community.follow(FollowUser(user: ids[other]), by: callers[one])
                    follows.insert(pair)
                case 3:
                    settings[one] = NotifiedBy.known.randomElement(using: &dice) ?? .off
                    _ = try await community.putSettings(
                        PutSettings(topicComments: settings[one], photoComments: .off, others: false), by: callers[one])
                default:
                    // `one` comments on the topic of `other`.
                    let before = await pushes.gateway.sent.count
                    let comment = try await pushes.forum.comment(on: topics[other], by: callers[one])
                    let story = try await pushes.story(of: comment)
                    let wants =
                        settings[other] == .everyone
                        || settings[other] == .following && follows.contains(Pair(one: other, other: one))
                    let isTold = one != other && !isBlocked && wants
                    let sent = await pushes.gateway.sent.dropFirst(before).map(\.address.token).sorted()
                    #expect(sent == (isTold ? phones[other].map(PushForum.token(of:)).sorted() : []))
                    #expect(story.people.map(\.user) == [ids[other]])
                    #expect((story.people.first?.decision == .notified) == (isTold && !phones[other].isEmpty))
                }
            }
        }
    }

    @Test("stories are kept for a while, and go in small pieces")
    func prune() async throws {
        try await withPushes({ $0.limits.chunk = 2 }) { pushes in
            let (hana, ken) = (try await pushes.person("Hana"), try await pushes.person("Ken"))
            for number in 0..<4 { try await pushes.register(Device.ID("phone-number-\(number)"), of: hana) }
            let topic = try await pushes.forum.topic(by: hana)
            let old = try await pushes.forum.comment(on: topic, by: ken)
            _ = try await pushes.story(of: old)
            pushes.forum.time.advance(by: Limits().pushes)
            let new = try await pushes.forum.comment(on: topic, by: ken)
            _ = try await pushes.story(of: new)
            try await pushes.core.maintain()
            #expect(try await pushes.story(old.id.rawValue) == nil)
            #expect(try await pushes.story(of: new).deliveries.count == 5)
            let counts = [
                try await pushes.forum.count("deliveries"), try await pushes.forum.count("notification_people"),
                try await pushes.forum.count("notifications"),
            ]
            #expect(counts == [5, 1, 1])
        }
    }
}
