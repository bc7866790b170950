import HirobaJSON
import HirobaThreads
import Testing

@testable import HirobaSimulator

@Suite struct PhonesTests {
    @Test("the picture that a push names is fetched, kept and shown; the front does not wait for it")
    func picture() async throws {
        let asked = Lock<[String]>([])
        let phones = Phones(
            clock: TestClock().clock,
            pictureSource: { address in
                asked.withLock { $0.append(address) }
                return .success(.init(type: "image/png", bytes: [1, 2, 3]))
            })
        await phones.add(Phone(id: "hana", name: "Hana"))
        let token = try #require(await phones.install("org.example.forum", on: "hana"))
        let (listener, signals) = await phones.listen()
        let payload = #"{"aps":{"alert":"x","mutable-content":1},"data":{"attachment-url":"http://127.0.0.1/p"}}"#
        await phones.receive(
            Push(id: "id", token: token, bundle: "org.example.forum", payload: Array(payload.utf8)))
        var shown: ShownNotification?
        for await _ in signals {
            _ = await phones.takeChanges(for: listener)
            shown = await phones.phone("hana")?.apps.first?.notifications.first
            if shown != nil { break }
        }
        #expect(asked.withLock { $0 } == ["http://127.0.0.1/p"])
        #expect(await phones.picture(shown?.picture ?? "")?.bytes == [1, 2, 3])
    }

    @Test("listeners are told what changed since they last asked, and only that")
    func listeners() async throws {
        let phones = Phones(clock: TestClock().clock)
        await phones.add(Phone(id: "hana", name: "Hana"))
        await phones.add(Phone(id: "sota", name: "Sota"))
        let (first, _) = await phones.listen()
        let (second, _) = await phones.listen()
        await phones.setOnline(false, of: "hana")
        #expect(await phones.takeChanges(for: first).phones == ["hana"])
        await phones.setOnline(false, of: "sota")
        await phones.setOnline(false, of: "sota")
        #expect(await phones.takeChanges(for: first).phones == ["sota"])
        #expect(await phones.takeChanges(for: second).phones == ["hana", "sota"])
        #expect(await phones.takeChanges(for: second) == Phones.Changes())
        await phones.stopListening(first)
        await phones.setOnline(true, of: "hana")
        #expect(await phones.takeChanges(for: first) == Phones.Changes())
    }

    @Test("an app with a new token hands it on, as it would at its launch")
    func tokenChange() async throws {
        let phones = Phones(clock: TestClock().clock, tokenBytes: 80)
        let told = Lock<[String]>([])
        await phones.onTokenChange { phone, app in told.withLock { $0.append("\(phone.id) \(app.token)") } }
        await phones.add(Phone(id: "hana", name: "Hana"))
        let first = try #require(await phones.install("org.example.forum", on: "hana"))
        let second = try #require(await phones.install("org.example.forum", on: "hana"))
        #expect(told.withLock { $0 } == ["hana \(first)", "hana \(second)"])
        #expect(first.utf8.count == 160)
    }
}
