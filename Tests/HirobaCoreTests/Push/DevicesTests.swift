import HirobaContract
import HirobaCore
import HirobaStore
import Testing

@Suite struct DevicesTests {
    private static let app = "org.example.Forum"

    private func call(
        _ device: Device.ID, _ token: String?, environment: PushEnvironment = .sandbox,
        permission: PushPermission = .authorized
    ) -> PutDevice {
        PutDevice(
            device: device, token: token, environment: environment, app: Self.app, permission: permission,
            language: "ja-JP", timeZone: "Asia/Tokyo", appVersion: "1.0 (7)")
    }

    @Test("a device belongs to whoever is signed in on it, and to nobody once the session has ended")
    func ownership() async throws {
        try await withForums { forum in
            let (hana, push) = (try await forum.person(), forum.core.push)
            let (hanaID, first) = (
                try await forum.id(of: hana), try await push.register(call("phone-0001", "00Fc13AD"), by: hana)
            )
            #expect(first.user == hanaID && first.hasToken && first.language == "ja-JP")
            #expect(first.registeredAt == first.createdAt && first.health.condition == .untried)
            try await forum.core.accounts.endSession(EndSession(), by: hana)
            let signedOut = try #require(try await forum.devices().first)
            #expect(signedOut.user == nil && signedOut.health.condition == .signedOut && signedOut.hasToken)
            // A session that expires does the same.
            let ken = try await forum.person()
            let second = try await push.register(call("phone-0001", "00fc13ad"), by: ken)
            let kenID = try await forum.id(of: ken)
            #expect(second.user == kenID)
            forum.time.advance(by: Limits().sessionLifetime)
            #expect(try await forum.devices().map(\.user) == [nil])
            // Nobody in particular may register as well.
            #expect(try await push.register(call("phone-0001", nil), by: Caller()).health.condition == .noToken)
        }
    }

    @Test("somebody else's device is taken over only by showing its token")
    func takingOver() async throws {
        try await withForums { forum in
            let (hana, ken, push) = (try await forum.person(), try await forum.person(), forum.core.push)
            _ = try await push.register(call("phone-0001", "00fc13ad"), by: hana)
            for (caller, token) in [(ken, "aa"), (ken, nil), (Caller(), "aa"), (Caller(), nil)] {
                #expect(
                    await refusal { try await push.register(call("phone-0001", token), by: caller) }?.code == .forbidden
                )
            }
            let (hanaID, kenID) = (try await forum.id(of: hana), try await forum.id(of: ken))
            #expect(try await push.register(call("phone-0001", "aa"), by: hana).user == hanaID)
            #expect(try await push.register(call("phone-0001", "AA"), by: ken).user == kenID)
            #expect(try await push.register(call("phone-0001", "aa"), by: Caller()).user == nil)
            // Now nobody is signed in on it.
            #expect(try await push.register(call("phone-0001", "bb"), by: hana).hasToken)
        }
    }

    @Test("a token is on one device of an app: the one that came with it last")
    func movingToken() async throws {
        try await withForums { forum in
            let (hana, ken, push) = (try await forum.person(), try await forum.person(), forum.core.push)
            _ = try await push.register(call("phone-0001", "00fc13ad"), by: hana)
            let other = PutDevice(
                device: "phone-0003", token: "00fc13ad", environment: .sandbox, app: "org.example.Other",
                permission: .authorized)
            _ = try await push.register(other, by: hana)
            forum.time.advance(by: .seconds(1))
            _ = try await push.register(call("phone-0002", "00FC13AD"), by: ken)
            let devices = Dictionary(uniqueKeysWithValues: try await forum.devices().map { ($0.id, $0) })
            #expect(devices["phone-0002"]?.hasToken == true && devices["phone-0003"]?.hasToken == true)
            let left = try #require(devices["phone-0001"])
            #expect(!left.hasToken && left.health.condition == .noToken)
            #expect(left.health.sentence.contains("Another device"))
        }
    }

    @Test("two devices that come with one token at the same time do not both have it")
    func tokenAtOnce() async throws {
        try await withForums { forum in
            let push = forum.core.push
            try await withThrowingTaskGroup { group in
                for number in 0..<12 {
                    group.addTask {
                        _ = try await push.register(call(Device.ID("phone-00\(10 + number)"), "00fc13ad"), by: Caller())
                    }
                }
                try await group.waitForAll()
            }
            let devices = try await forum.devices()
            #expect(devices.count == 12 && devices.count { $0.hasToken } == 1)
        }
    }

    @Test("what cannot be a device is refused by the name of the field")
    func refusals() async throws {
        try await withForums { forum in
            let (hana, push) = (try await forum.person(), forum.core.push)
            for token in ["", "0", "abc", "zz", "00 1", "00fc13adff785122b4ad28809a342098234124142134809787g", "ｆｆ"]
                + [String(repeating: "a", count: 402)]
            {
                #expect(
                    await refusal { try await push.register(call("phone-0001", token), by: hana) }?.field == "token")
            }
            for size in [2, 64, 160, 400] {
                _ = try await push.register(call("phone-0001", String(repeating: "f", count: size)), by: hana)
            }
            let good = call("phone-0001", "aa")
            let bad: [(String, (inout PutDevice) -> Void)] = [
                ("device", { $0.device = "phone" }), ("platform", { $0.platform = DevicePlatform(rawValue: "pager") }),
                ("environment", { $0.environment = PushEnvironment(rawValue: "staging") }),
                ("permission", { $0.permission = PushPermission(rawValue: "perhaps") }), ("app", { $0.app = "" }),
                ("app", { $0.app = "a b" }), ("app", { $0.app = ".." }), ("language", { $0.language = "ja JP" }),
                ("timeZone", { $0.timeZone = "" }), ("appVersion", { $0.appVersion = "1\n2" }),
            ]
            for (field, spoil) in bad {
                var call = good
                spoil(&call)
                let error = await refusal { try await push.register(call, by: hana) }
                #expect(error?.field == field)
            }
            #expect(try await forum.count("devices") == 1)
        }
    }

    @Test("a person with more devices than people have keeps those used last")
    func manyDevices() async throws {
        try await withForums({ $0.limits.devicesPerPerson = 3 }) { forum in
            let (hana, push) = (try await forum.person(), forum.core.push)
            let person = try await forum.id(of: hana)
            for number in 0..<5 {
                forum.time.advance(by: .seconds(1))
                _ = try await push.register(call(Device.ID("phone-000\(number)"), "aa0\(number)"), by: hana)
            }
            let devices = try await forum.devices()
            #expect(devices.filter { $0.user == person }.map(\.id) == ["phone-0004", "phone-0003", "phone-0002"])
        }
    }

    @Test("the permission shows in the health, in the caller's language")
    func permission() async throws {
        try await withForums { forum in
            var hana = try await forum.person()
            let push = forum.core.push
            let denied = try await push.register(call("phone-0001", "aa", permission: .denied), by: hana)
            #expect(denied.health.condition == .notPermitted && denied.health.sentence.contains("settings"))
            hana.language = .japanese
            let notAsked = try await push.register(call("phone-0001", "aa", permission: .notDetermined), by: hana)
            #expect(notAsked.health.condition == .notPermitted && notAsked.health.sentence.contains("許可を求めて"))
            #expect(
                try await push.register(call("phone-0001", "aa", permission: .provisional), by: hana).health.condition
                    == .untried)
        }
    }

    @Test("devices and pushes are read with a server key and by nobody else")
    func serverKey() async throws {
        try await withForums { forum in
            let (hana, core) = (try await forum.person(), forum.core)
            _ = try await core.push.register(call("phone-0001", "aa"), by: hana)
            let key = ServerKey.random()
            #expect(ServerKey.isOne(key))
            let other = Caller(credential: .serverKey(key))
            func reads(_ caller: Caller) -> [() async throws -> Void] {
                [
                    { _ = try await core.push.devices(ListDevices(), by: caller) },
                    { _ = try await core.push.notifications(ListPushes(), by: caller) },
                    { _ = try await core.push.story(GetPush(push: "0000000000000000"), by: caller) },
                    { _ = try await core.push.why("phone-0001", by: caller) },
                ]
            }
            for (caller, code) in [(Caller(), ErrorCode.unauthorized), (hana, .forbidden), (other, .unauthorized)] {
                for read in reads(caller) { #expect(await refusal(read)?.code == code) }
            }
            try await core.admit(key, name: "the operator's", scopes: [])
            #expect(await refusal { try await core.push.devices(ListDevices(), by: other) }?.code == .unauthorized)
            try await core.admit(key, name: "the operator's", scopes: [.push])
            try await core.admit(key, name: "the operator's", scopes: [.push])
            #expect(try await forum.count("server_keys") == 1)
            #expect(try await core.push.devices(ListDevices(), by: other).items.map(\.id) == ["phone-0001"])
            #expect(try await core.push.notifications(ListPushes(), by: other).items.isEmpty)
            #expect(try await core.push.why("phone-0001", by: other).device.id == "phone-0001")
            for id in ["0000000000000000", "phone-0001"] {
                #expect(
                    await refusal { try await core.push.story(GetPush(push: PushSummary.ID(id)), by: other) }?.code
                        == .notFound)
            }
            // A key is nobody: it may do what everyone may, and no more.
            #expect(try await core.community.topics(ListTopics(), by: other).items.isEmpty)
            #expect(
                await refusal { try await core.community.createTopic(CreateTopic(title: "t"), by: other) }?.code
                    == .unauthorized)
            try await forum.database.write { db in try db.run("UPDATE server_keys SET revoked_at = 1") }
            #expect(await refusal { try await core.push.devices(ListDevices(), by: other) }?.code == .unauthorized)
        }
    }

    @Test("devices are paged, newest first")
    func paging() async throws {
        try await withForums { forum in
            let push = forum.core.push
            for number in 0..<5 {
                _ = try await push.register(call(Device.ID("phone-000\(number)"), "aa0\(number)"), by: Caller())
                if number.isMultiple(of: 2) { forum.time.advance(by: .seconds(1)) }
            }
            var (seen, after): ([Device.ID], String?) = ([], nil)
            repeat {
                let page = try await push.devices(ListDevices(limit: 2, after: after), by: Caller(credential: .local))
                seen += page.items.map(\.id)
                after = page.next
            } while after != nil
            #expect(seen == ["phone-0004", "phone-0003", "phone-0002", "phone-0001", "phone-0000"])
        }
    }
}

extension Forum {
    /// All devices, newest first, as the operator reads them.
    func devices() async throws -> [Device] {
        try await core.push.devices(ListDevices(), by: Caller(credential: .local)).items
    }
}
