import Foundation
import HirobaContract
import HirobaCore
import HirobaStore
import Testing

/// What each thing that a gateway can say does to the delivery and to the device.
@Suite struct VerdictTests {
    /// A comment whose push is on its way, and what was answered to it.
    private struct Sent {
        let pushes: PushForum
        let hana: Caller
        let ken: Caller
        let topic: Topic
        let comment: HirobaContract.Comment
        let firstSent: Int64

        /// The one delivery there is, once the verdict is in the table.
        func delivery(where condition: (PushDelivery) -> Bool) async throws -> PushDelivery {
            var found: PushDelivery?
            try await until {
                found = try await pushes.story(comment.id.rawValue)?.deliveries.first.flatMap {
                    condition($0) ? $0 : nil
                }
                return found != nil
            }
            return try #require(found)
        }

        var device: Device { get async throws { try await pushes.device("phone-of-Hana") } }
    }

    private func sending(
        environment: PushEnvironment = .production, _ script: @escaping ScriptedGateway.Script,
        _ body: (Sent) async throws -> Void
    ) async throws {
        try await withPushes(script: script) { pushes in
            let (hana, ken) = (try await pushes.person("Hana"), try await pushes.person("Ken"))
            try await pushes.register("phone-of-Hana", of: hana, environment: environment)
            let topic = try await pushes.forum.topic(by: hana)
            let comment = try await pushes.forum.comment(on: topic, by: ken)
            try await body(
                Sent(
                    pushes: pushes, hana: hana, ken: ken, topic: topic, comment: comment,
                    firstSent: pushes.forum.time.now))
        }
    }

    @Test("accepted: over, with the ids of the gateway; the device is proven where the gateway says it is")
    func accepted() async throws {
        try await sending(environment: .sandbox) { sent, _ in
            .accepted(
                Verdict.Acceptance(
                    id: sent.message.id.uppercased(), uniqueID: "u-1", environment: .production, isResent: true))
        } _: { sent in
            let delivery = try await sent.delivery { $0.state == .accepted }
            #expect(delivery.gatewayID == delivery.id.rawValue.uppercased() && delivery.uniqueID == "u-1")
            #expect(delivery.isResent && delivery.attempts == 1 && delivery.endedAt != nil && delivery.dueAt == nil)
            #expect(try await sent.device.environment == .production)
            // The app goes on to call it a sandbox's; as long as the token is the same, the gateway knows better.
            let again = try await sent.pushes.register("phone-of-Hana", of: sent.hana, environment: .sandbox)
            #expect(again.environment == .production && again.health.condition == .well)
            let fresh = try await sent.pushes.register(
                "phone-of-Hana", of: sent.hana, token: "abcd", environment: .sandbox)
            #expect(fresh.environment == .sandbox && fresh.health.condition == .untried)
        }
    }

    @Test("gone: the token is dead, if the app has not handed it in since", arguments: [-1, 0, 1])
    func gone(late: Int64) async throws {
        try await sending { _, _ in
            nil
        } _: { sent in
            try await until { await sent.pushes.gateway.open == 1 }
            sent.pushes.forum.time.advance(by: .seconds(5))
            let registeredAt = sent.pushes.forum.time.now
            try await sent.pushes.register("phone-of-Hana", of: sent.hana)
            sent.pushes.forum.time.advance(by: .seconds(5))
            await sent.pushes.gateway.answerRest { _ in .gone(since: registeredAt + late, reason: "Unregistered") }
            let delivery = try await sent.delivery { $0.state == .gone }
            #expect(delivery.reason == "Unregistered" && delivery.endedAt != nil)
            let device = try await sent.device
            #expect((device.health.condition == .dead) == (late >= 0))
            // The same token handed in again revives it.
            #expect(
                try await sent.pushes.register("phone-of-Hana", of: sent.hana).health.condition != .dead)
        }
    }

    @Test("gone without a time: the token was never good")
    func neverGood() async throws {
        try await sending { _, _ in
            .gone(since: nil, reason: "BadDeviceToken")
        } _: { sent in
            _ = try await sent.delivery { $0.state == .gone }
            let device = try await sent.device
            #expect(device.health.condition == .dead && device.lastVerdict == "gone: BadDeviceToken")
            #expect(device.health.sentence.contains("neither in production nor in the sandbox"))
        }
    }

    @Test("gone, but the app has another token by now: the message goes to that one, and the device lives")
    func goneMeanwhile() async throws {
        try await sending { sent, _ in
            sent.address.token == "abcd" ? .accepted(sent) : nil
        } _: { sent in
            try await until { await sent.pushes.gateway.open == 1 }
            try await sent.pushes.register("phone-of-Hana", of: sent.hana, token: "abcd")
            await sent.pushes.gateway.answerRest { _ in .gone(since: nil, reason: "Unregistered") }
            let delivery = try await sent.delivery { $0.state == .accepted }
            #expect(delivery.attempts == 2 && !delivery.isResent)
            #expect(Set(await sent.pushes.gateway.sent.map(\.message.id)).count == 1)
            #expect(try await sent.device.health.condition == .well)
        }
    }

    @Test("refused: over; the device has a problem only when it is its fault", arguments: [true, false])
    func refused(isDevice: Bool) async throws {
        try await sending { _, _ in
            isDevice
                ? .refused(reason: "DeviceTokenNotForTopic", fault: .device)
                : .refused(reason: "SomethingNew", fault: .message)
        } _: { sent in
            let delivery = try await sent.delivery { $0.state == .refused }
            #expect(delivery.reason == (isDevice ? "DeviceTokenNotForTopic" : "SomethingNew"))
            let device = try await sent.device
            #expect(device.health.condition == (isDevice ? .refused : .untried))
            if isDevice { #expect(device.health.sentence.contains(PushForum.app)) }
            // It is neither dead nor left out.
            await sent.pushes.gateway.say { sent, _ in .accepted(sent) }
            let next = try await sent.pushes.forum.comment(on: sent.topic, by: sent.ken)
            #expect(try await sent.pushes.story(of: next).push.accepted == 1)
            #expect(try await sent.device.health.condition == .well)
        }
    }

    @Test("retry: later, twice as long each time up to an hour, with some chance; then it is too late")
    func retry() async throws {
        try await sending { _, _ in
            .retry(after: .seconds(900), of: .route, reason: "ServiceUnavailable")
        } _: { sent in
            var (attempts, delays): (Int, [Int64]) = (0, [])
            while true {
                attempts += 1
                let at = sent.pushes.forum.time.now
                let delivery = try await sent.delivery { $0.attempts == attempts && $0.state != .sending }
                guard let due = delivery.dueAt, delivery.state == .waiting else {
                    #expect(delivery.state == .expired && delivery.reason == "ServiceUnavailable")
                    break
                }
                #expect(delivery.reason == "retry: ServiceUnavailable" && delivery.endedAt == nil)
                delays.append(Int64(due.timeIntervalSince1970 * 1000) - at)
                // Not a moment early: another comment, two milliseconds later, finds it waiting.
                sent.pushes.pass(.milliseconds(delays[delays.count - 1] - 3))
                let mark = try await sent.pushes.forum.topic(by: sent.ken)
                let other = try await sent.pushes.forum.comment(on: mark, by: sent.ken)
                _ = try await sent.pushes.story(of: other)
                #expect(try await sent.delivery { _ in true }.attempts == attempts)
                sent.pushes.pass(.milliseconds(1))
            }
            #expect((900_000...1_080_000).contains(delays[0]) && (1_800_000...2_160_000).contains(delays[1]))
            #expect(delays.dropFirst(2).allSatisfy { (3_600_000...4_320_000).contains($0) })
            // Three days of life.
            #expect((60...75).contains(attempts))
            #expect(try await sent.device.health.condition == .waiting)
            #expect(!(try await sent.delivery { _ in true }.isResent))
        }
    }

    @Test("unknown: again under the same id and told to be a second time, five times at most")
    func unknown() async throws {
        try await sending { _, _ in
            .unknown(reason: "no answer in time")
        } _: { sent in
            for attempt in 1...4 {
                let delivery = try await sent.delivery { $0.attempts == attempt && $0.state == .waiting }
                #expect(delivery.isResent && delivery.reason == "unknown: no answer in time")
                sent.pushes.pass(.seconds(200))
            }
            let delivery = try await sent.delivery { $0.state == .refused }
            #expect(delivery.attempts == 5 && delivery.reason == "no answer in time")
            let ids = await sent.pushes.gateway.sent.map(\.message.id)
            #expect(ids.count == 5 && Set(ids).count == 1)
        }
    }

    @Test("held: it waits as long as it takes, and counts for nothing; a new start tries at once")
    func held() async throws {
        try await sending { _, _ in
            .held(reason: "InvalidProviderToken")
        } _: { sent in
            for _ in 0..<10 {
                let at = sent.pushes.forum.time.now
                let delivery = try await sent.delivery { delivery in
                    delivery.state == .waiting
                        && delivery.dueAt.map { $0 > Date(timeIntervalSince1970: Double(at) / 1000) } == true
                }
                #expect(delivery.attempts == 0 && !delivery.isResent && delivery.reason == "held: InvalidProviderToken")
                #expect(try await sent.device.health.condition == .waiting)
                sent.pushes.pass(.milliseconds(30_100))
            }
            _ = try await sent.delivery { delivery in
                delivery.state == .waiting
                    && delivery.dueAt.map { $0.timeIntervalSince1970 * 1000 > Double(sent.pushes.forum.time.now) }
                        == true
            }
            let other = ScriptedGateway()
            let next = sent.pushes.outbox(gateway: other)
            try await whileRunning({ await next.run() }) {
                let delivery = try await sent.delivery { $0.state == .accepted }
                #expect(delivery.attempts == 1)
            }
        }
    }

    @Test("what is held comes one by one, so that many wait for a repair without many tries")
    func manyHeld() async throws {
        try await sending { _, _ in
            .held(reason: "InvalidProviderToken")
        } _: { sent in
            for number in 0..<49 {
                try await sent.pushes.register(Device.ID("phone-number-\(number)"), of: sent.hana)
            }
            let comment = try await sent.pushes.forum.comment(on: sent.topic, by: sent.ken)
            var due: [Date] = []
            try await until {
                let story = try await sent.pushes.story(comment.id.rawValue)
                due = story?.deliveries.compactMap { $0.reason == nil ? nil : $0.dueAt } ?? []
                return due.count == 50
            }
            #expect(Set(due).count == 50)
            let first = try #require(due.min())
            #expect(try #require(due.max()).timeIntervalSince(first) < 1)
        }
    }
}
