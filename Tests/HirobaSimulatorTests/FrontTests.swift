import HirobaCrypto
import HirobaHTTP
import HirobaJSON
import HirobaThreads
import Testing

@testable import HirobaSimulator

/// A front without a socket, and one phone behind it.
private struct Desk {
    let provider = Provider()
    let clock = TestClock()
    let phones: Phones
    let front: Front
    let token: String

    init(chance: Double = 0) async throws {
        phones = Phones(clock: clock.clock)
        front = Front(rules: provider.rules, phones: phones, clock: clock.clock, random: { chance })
        await phones.add(Phone(id: "hana", name: "Hana"))
        token = try #require(await phones.install(Provider.bundle, on: "hana"))
    }

    func send(
        _ fields: [(String, String)] = [], token: String? = nil, environment: PushEnvironment = .sandbox,
        host: String = "localhost", payload: String = #"{"aps":{"alert":"hello"}}"#
    ) async -> HTTPResponse {
        var headers: HTTPHeaders = [
            "Host": host, "authorization": "bearer \(provider.jwt())", "apns-topic": Provider.bundle,
            "apns-push-type": "alert",
        ]
        for (name, value) in fields { headers[name] = value }
        return await front.answer(
            HTTPRequest(
                method: .post, target: "/3/device/\(token ?? self.token)", headers: headers,
                body: HTTPRequestBody(Array(payload.utf8))), in: environment)
    }
}

private func text(_ response: HTTPResponse) -> String {
    if case .bytes(let bytes) = response.body { String(decoding: bytes, as: UTF8.self) } else { "" }
}

@Suite struct FrontTests {
    @Test("a good push gets an empty 200 with its id as it was written, and in the sandbox another to look it up by")
    func accepted() async throws {
        let desk = try await Desk()
        let id = "123e4567-e89b-12d3-A456-426655440000"
        let response = await desk.send([("apns-id", id)])
        #expect(response.status == .ok)
        #expect(text(response) == "")
        #expect(response.headers["apns-id"] == id)
        let unique = try #require(response.headers["apns-unique-id"])
        let story = await desk.phones.deliveries(of: unique)
        #expect(story.map(\.apnsID) == [id])
        #expect(story.first?.outcome == .shown)
        #expect(await desk.phones.phone("hana")?.apps.first?.notifications.first?.body == "hello")
    }

    @Test("without an id one is made, in capitals, for refusals too")
    func madeID() async throws {
        let desk = try await Desk()
        for response in [
            await desk.send(), await desk.send([("apns-topic", "x")]), await desk.send([("apns-id", "no")]),
        ] {
            let id = try #require(response.headers["apns-id"])
            #expect(UUIDText.isOne(id) && id == id.uppercased())
        }
    }

    @Test("a refusal is JSON with the reason alone; with 410 also the time of death in milliseconds")
    func refused() async throws {
        let desk = try await Desk()
        let bad = await desk.send(token: "00")
        #expect(bad.status == .badRequest)
        #expect(bad.headers["Content-Type"] == "application/json")
        #expect(text(bad) == #"{"reason":"BadDeviceToken"}"#)
        desk.clock.advance(seconds: 5)
        await desk.phones.remove(Provider.bundle, from: "hana")
        let gone = await desk.send()
        #expect(gone.status == .gone)
        #expect(text(gone) == #"{"reason":"Unregistered","timestamp":\#(desk.clock.now)}"#)
        await desk.phones.kill(token: desk.token, in: .sandbox, asExpired: true)
        #expect(text(await desk.send()) == #"{"reason":"ExpiredToken","timestamp":\#(desk.clock.now)}"#)
        #expect(
            await desk.phones.deliveries().map(\.outcome) == [
                .refused(.expiredToken), .refused(.unregistered), .refused(.badDeviceToken),
            ])
    }

    @Test("the environments know nothing of each other's tokens; Apple's names tell them apart on either port")
    func environments() async throws {
        let desk = try await Desk()
        #expect(text(await desk.send(environment: .production)) == #"{"reason":"BadDeviceToken"}"#)
        let token = await desk.phones.install(Provider.secondBundle, environment: .production, on: "hana")
        let fields = [("apns-topic", Provider.secondBundle)]
        let production = await desk.send(fields, token: token, environment: .production)
        #expect(production.status == .ok)
        #expect(production.headers["apns-unique-id"] == nil)
        #expect(await desk.send(fields, token: token, host: "api.push.apple.com:443").status == .ok)
        #expect(await desk.send(environment: .production, host: "api.sandbox.push.apple.com").status == .ok)
    }

    @Test("a body that no phone can read is answered 200")
    func unreadable() async throws {
        let desk = try await Desk()
        #expect(await desk.send(payload: "nonsense").status == .ok)
        #expect(await desk.send(payload: "{}").status == .ok)
        #expect(await desk.phones.deliveries().map(\.outcome) == [.discarded(.empty), .discarded(.notJSON)])
    }

    @Test("a body of more than the front reads is too large")
    func large() async throws {
        let desk = try await Desk()
        let response = await desk.send(payload: String(repeating: "x", count: 20_000))
        #expect(text(response) == #"{"reason":"PayloadTooLarge"}"#)
    }

    @Test(
        "shares of requests fare badly, and are not delivered",
        arguments: [
            ("share500", 500, "InternalServerError"), ("share503", 503, "ServiceUnavailable"),
            ("share429", 429, "TooManyRequests"),
        ])
    func shares(_ name: String, _ status: Int, _ reason: String) async throws {
        let lucky = try await Desk(chance: 0.25)
        try lucky.front.setSwitches(.object([name: 0.25]))
        #expect(await lucky.send().status == .ok)
        let unlucky = try await Desk(chance: 0.2499)
        try unlucky.front.setSwitches(.object([name: 0.25]))
        let response = await unlucky.send()
        #expect(response.status.rawValue == status)
        #expect(text(response) == #"{"reason":"\#(reason)"}"#)
        #expect(await unlucky.phones.phone("hana")?.apps.first?.notifications == [])
    }

    @Test("a request that is never answered waits until its client goes, and is not delivered")
    func unanswered() async throws {
        let desk = try await Desk()
        try desk.front.setSwitches(["shareUnanswered": 1])
        let task = Task { await desk.send() }
        while desk.front.counters.unanswered == 0 { await Task.yield() }
        #expect(await desk.phones.deliveries() == [])
        task.cancel()
        _ = await task.value
    }

    @Test("a push is delivered at once, and its answer takes the latency and a share of the jitter", arguments: [0, 1])
    func latency(chance: Double) async throws {
        let tenMinutes: JSON = 600_000
        for switches: JSON in [["latency": tenMinutes], ["jitter": tenMinutes]] {
            let desk = try await Desk(chance: chance)
            try desk.front.setSwitches(switches)
            let hasAnswer = Lock(false)
            let task = Task {
                _ = await desk.send()
                hasAnswer.withLock { $0 = true }
            }
            while await desk.phones.deliveries().isEmpty { await Task.yield() }
            if switches["jitter"] != nil, chance == 0 {
                await task.value
            } else {
                #expect(!hasAnswer.withLock { $0 })
                task.cancel()
                await task.value
            }
        }
    }

    @Test("pushes to one token can be limited to so many a minute")
    func rate() async throws {
        let desk = try await Desk()
        desk.front.changeRules { $0.pushesPerMinute = 2 }
        #expect(await desk.send().status == .ok)
        #expect(await desk.send().status == .ok)
        #expect(text(await desk.send()) == #"{"reason":"TooManyRequests"}"#)
        desk.clock.advance(seconds: 60)
        #expect(await desk.send().status == .ok)
    }

    @Test("a switch that does not exist, or a value it cannot take, changes nothing")
    func switches() async throws {
        let desk = try await Desk()
        try desk.front.setSwitches(["latency": 5, "goAwayAfter": 10, "goAwayReason": "Shutdown"])
        let before = desk.front.switches
        for bad: JSON in [
            ["speed": 1], ["latency": "x"], ["latency": -1], ["share500": 2], ["latency": 7, "jitter": []], 7,
        ] {
            #expect(throws: FrontSwitches.Unusable.self) { try desk.front.setSwitches(bad) }
        }
        #expect(desk.front.switches == before)
        try desk.front.setSwitches(["goAwayAfter": nil])
        #expect(desk.front.switches.goAwayAfter == nil)
        var copy = FrontSwitches()
        try copy.set(before.json)
        #expect(copy == before)
    }
}
