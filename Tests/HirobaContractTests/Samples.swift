import Foundation
import HirobaContract
import HirobaJSON
import Testing

/// One call with every kind of field filled in, and an answer to it.
struct Sample: Sendable, CustomTestStringConvertible {
    var name: String
    var call: any CallDescription.Type
    var encode: @Sendable () throws -> EncodedCall
    /// Sends the call there and back: decodes what was encoded, and compares.
    var comesBack: @Sendable () throws -> Bool
    /// The answer after it was encoded, decoded and encoded again; nil where there is no JSON.
    var answer: @Sendable () throws -> JSON?

    var testDescription: String { name }

    private init<C: CallDescription & Equatable>(
        name: String?, _ call: C, answer: @escaping @Sendable () throws -> JSON?
    ) {
        self.name = name ?? C.name
        self.call = C.self
        encode = { try CallCoding.encode(call) }
        comesBack = {
            let encoded = try CallCoding.encode(call)
            return try decode(C.self, encoded) == call
        }
        self.answer = answer
    }

    init<C: Call & Equatable>(_ call: C, named name: String? = nil, answer: C.Answer) where C.Answer: Equatable {
        self.init(name: name, call) {
            if answer is NoContent { return nil }
            let bytes = try JSONCoding.encode(answer)
            let back = try JSONCoding.decode(C.Answer.self, from: bytes, unknownFields: .refuse)
            return back == answer ? try JSON.parse(bytes) : "the answer did not come back the same"
        }
    }

    init<C: UploadCall & Equatable>(_ call: C, named name: String? = nil, answer: C.Answer) {
        self.init(name: name, call) { try JSON.parse(JSONCoding.encode(answer)) }
    }

    init<C: DownloadCall & Equatable>(_ call: C, named name: String? = nil) { self.init(name: name, call) { nil } }
    init<C: StreamCall & Equatable>(_ call: C, named name: String? = nil) { self.init(name: name, call) { nil } }
}

/// What a server does with a request: find the values of the template's names, then decode.
func decode<C: CallDescription>(_ type: C.Type, _ encoded: EncodedCall) throws -> C {
    var parameters: [String: String] = [:]
    for (part, value) in zip(C.route.fullTemplate.split(separator: "/"), encoded.path.split(separator: "/"))
    where part.hasPrefix("{") {
        parameters[String(part.dropFirst().dropLast())] = URIText.unescaped(value, plusIsSpace: false)
    }
    return try CallCoding.decode(type, pathParameters: parameters, query: encoded.query, body: encoded.body ?? [])
}

enum Samples {
    static let early = Date(milliseconds: 1_935_662_405_060)
    static let late = Date(milliseconds: 1_935_748_800_000)

    static let me = Me(
        id: "Hq3vT9wLx0bRk2Zs", name: "花子", email: "hanako@example.org", isAnonymous: false, createdAt: early,
        updatedAt: late)
    static let stranger = Me(id: "Qn8sD1cYp5mVt7Ke", isAnonymous: true, createdAt: early, updatedAt: early)
    static let topic = Topic(
        id: "aB3dE5fG7hJ9kL1m", title: "朝の公園", text: "Who was there \"early\"?\n☀️", photo: "Zx9Yw8Vu7Ts6Rq5P",
        author: Person(id: me.id, name: me.name), createdAt: early, updatedAt: late)
    static let bareTopic = Topic(
        id: "mN2bV4cX6zL8kJ0h", title: "t", text: "", author: Person(id: stranger.id), createdAt: early,
        updatedAt: early)
    static let comment = Comment(
        id: "pO9iU8yT7rE6wQ5a", topic: topic.id, text: "I was.", author: Person(id: stranger.id), createdAt: late,
        updatedAt: late)
    static let file = StoredFile(
        id: "Zx9Yw8Vu7Ts6Rq5P", type: "image/jpeg", size: 48_213, width: 1_200, height: 800, createdAt: early)
    static let session = Session(
        id: "Lk4Jh3Gf2Ds1Aq0W", current: true, device: "Hanako's phone", createdAt: early, lastUsedAt: late,
        expiresAt: late)
    static let device = Device(
        id: "0F3C2A7B-E1D0-4586-A0B7-C9D2E4F61835", user: me.id, platform: .ios, environment: .sandbox,
        app: "org.example.Forum", permission: .authorized, language: "ja-JP", timeZone: "Asia/Tokyo",
        appVersion: "1.0 (7)", hasToken: true, registeredAt: early, lastVerdict: "accepted", lastVerdictAt: late,
        health: DeviceHealth(condition: .well, sentence: "The gateway took the last push."), createdAt: early,
        updatedAt: late)
    static let bareDevice = Device(
        id: "phone_of_nobody-1", platform: .ios, environment: .production, app: "org.example.Forum",
        permission: .denied, hasToken: false,
        health: DeviceHealth(condition: .noToken, sentence: "トークンがまだ届いていません。"), createdAt: early,
        updatedAt: early)
    static let push = PushSummary(
        id: "Bv7Cx9Zl2Kj4Hg6F", kind: "comment.created", subject: comment.id.rawValue,
        container: topic.id.rawValue, actor: stranger.id, sentence: "s", deliveries: 3, waiting: 1, accepted: 2,
        opened: 1, happenedAt: early, createdAt: late, expiresAt: late)
    static let delivery = PushDelivery(
        id: "8f14e45f-ceea-467f-9b8e-2f6a1d3c5b70", push: push.id, device: device.id, user: me.id, state: .accepted,
        reason: "accepted", sentence: "s", attempts: 2, isResent: true, createdAt: early, dueAt: late, sentAt: late,
        endedAt: late, gatewayID: "8f14e45f-ceea-467f-9b8e-2f6a1d3c5b70",
        uniqueID: "3f1c2b4a-9d8e-4f60-8a7b-6c5d4e3f2a1b", openedAt: late)
    static let token = "nR0yXb1cTq8vW5zK3jH7mP2sL9dF4gA6eU0iO1kQ5tY"

    static let all: [Sample] = [
        Sample(
            SignInAnonymously(deviceSecret: "3f9c2a7be1d04586a0b7c9d2e4f61835"),
            answer: SignedIn(user: stranger, token: token, expiresAt: late)),
        Sample(
            SignUp(email: "hanako@example.org", password: "correct horse \"battery\"", name: "花子"),
            answer: SignedIn(user: me, token: token, expiresAt: late)),
        Sample(
            SignIn(email: "hanako+forum@example.org", password: "пароль & 密码"),
            answer: SignedIn(user: me, token: token, expiresAt: late)),
        Sample(ListSessions(), answer: Page(items: [session])),
        Sample(EndSession(), answer: NoContent()),
        Sample(EndSession(session: session.id), named: "EndSession-other", answer: NoContent()),
        Sample(EndAllSessions(), answer: NoContent()),
        Sample(GetMe(), answer: me),
        Sample(UpdateMe(name: "Hana / 花"), answer: me),
        Sample(UpdateMe(), named: "UpdateMe-nothing", answer: me),
        Sample(
            GetUser(user: me.id),
            answer: User(id: me.id, name: me.name, isAnonymous: false, createdAt: early, updatedAt: late)),
        Sample(UploadFile(), answer: file),
        Sample(DownloadFile(file: file.id)),
        Sample(DownloadFile(file: file.id, size: 320), named: "DownloadFile-small"),
        Sample(DeleteFile(file: file.id), answer: NoContent()),
        Sample(ListTopics(), answer: Page(items: [topic, bareTopic])),
        Sample(
            ListTopics(limit: 2, after: "b64:eyJhIjoxfQ==&x/y?z+1 é"), named: "ListTopics-next",
            answer: Page(items: [topic, bareTopic], next: "b64:eyJhIjoyfQ==")),
        Sample(CreateTopic(title: topic.title, text: topic.text, photo: topic.photo), answer: topic),
        Sample(CreateTopic(title: "t"), named: "CreateTopic-bare", answer: bareTopic),
        Sample(GetTopic(topic: topic.id), answer: topic),
        Sample(DeleteTopic(topic: topic.id), answer: NoContent()),
        Sample(ListComments(topic: topic.id, limit: 50, after: "c1"), answer: Page(items: [comment])),
        Sample(CreateComment(topic: topic.id, text: "I was."), answer: comment),
        Sample(DeleteComment(comment: comment.id), answer: NoContent()),
        Sample(
            PutDevice(
                device: device.id, token: "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0",
                environment: .sandbox, app: "org.example.Forum", permission: .authorized, language: "ja-JP",
                timeZone: "Asia/Tokyo", appVersion: "1.0 (7)"), answer: device),
        Sample(
            PutDevice(
                device: bareDevice.id, token: nil, environment: .production, app: "org.example.Forum",
                permission: .denied), named: "PutDevice-bare", answer: bareDevice),
        Sample(ReportOpened(device: device.id, push: delivery.id), answer: NoContent()),
        Sample(ListDevices(limit: 2, after: "d1"), answer: Page(items: [device, bareDevice], next: "d2")),
        Sample(ListPushes(limit: 50, after: "p1"), answer: Page(items: [push])),
        Sample(
            GetPush(push: push.id),
            answer: PushStory(
                push: push,
                people: [
                    PushRecipient(user: me.id, name: me.name, decision: .notified, sentence: "s"),
                    PushRecipient(user: stranger.id, decision: .isActor, sentence: "s"),
                ], deliveries: [delivery], isWhole: true)),
        Sample(
            GetPush(push: PushSummary.ID(delivery.id.rawValue)), named: "GetPush-delivery",
            answer: PushStory(push: push, people: [], deliveries: [], isWhole: false)),
        Sample(FollowUser(user: me.id), answer: NoContent()),
        Sample(UnfollowUser(user: me.id), answer: NoContent()),
        Sample(GetSettings(), answer: NotificationSettings()),
        Sample(
            PutSettings(topicComments: .following, photoComments: .off, others: false),
            answer: NotificationSettings(topicComments: .following, photoComments: .off, others: false)),
        Sample(Live()),
        Sample(Live(topic: topic.id), named: "Live-topic"),
    ]
}
