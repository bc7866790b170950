import HirobaJSON
import Testing

@testable import HirobaSimulator

/// One phone with one app, and a provider who sends to it.
private final class Town {
    var book = PhoneBook()
    var now: Int64 = 1_800_000_000_000
    let bundle = "org.example.forum"
    private var last = 0

    init() {
        book.add(Phone(id: "hana", name: "Hana"))
        book.install(bundle, named: "Forum", on: "hana", now: now)
    }

    var app: InstalledApp { book.phone("hana")?.app(bundle) ?? InstalledApp(bundle: "", name: "", token: "") }
    var titles: [String?] { app.notifications.map(\.title) }

    /// - Returns: the number of the delivery, and what is left to do for it.
    @discardableResult
    func send(
        _ payload: JSON, type: PushType = .alert, priority: Int = 10, expiration: Int64? = nil, collapse: String? = nil,
        token: String? = nil
    ) -> (number: Int, errands: [PhoneBook.Errand]) {
        let number = book.log.nextNumber
        let push = Push(
            id: "id-\(number)", token: token ?? app.token, bundle: bundle, type: type, priority: priority,
            expiration: expiration, collapseID: collapse, payload: payload.bytes())
        return (number, book.receive(push, now: now))
    }

    func send(title: String, collapse: String? = nil, expiration: Int64? = nil, thread: String? = nil) -> Int {
        var aps: JSON = ["alert": ["title": .string(title)]]
        aps["thread-id"] = thread.map(JSON.string)
        return send(["aps": aps], expiration: expiration, collapse: collapse).number
    }

    func steps(_ number: Int) -> [Delivery.Step] { book.log[number]?.moments.map(\.step) ?? [] }
}

@Suite struct PhoneBookTests {
    @Test("a push to a phone in the pocket is shown, and the log tells each step")
    func shown() {
        let town = Town()
        let number = town.send(title: "hello")
        #expect(town.titles == ["hello"])
        #expect(town.steps(number) == [.accepted, .delivered, .shown])
        #expect(town.book.log[number]?.outcome == .shown)
    }

    @Test("in front the app is shown nothing, unless it asks for a banner")
    func foreground() {
        let town = Town()
        town.book.setState(.foreground, of: town.bundle, on: "hana")
        let hidden = town.send(["aps": ["alert": "a", "badge": 3]]).number
        #expect(town.steps(hidden) == [.accepted, .delivered, .discarded(.inForeground)])
        #expect(town.app.badge == 0)
        town.book.setShowsInFront(true, of: town.bundle, on: "hana")
        let shown = town.send(["aps": ["alert": "b"]]).number
        #expect(town.steps(shown) == [.accepted, .delivered, .shown])
    }

    @Test("closed, the app's alerts are still shown; a background push does not start it")
    func killed() {
        let town = Town()
        town.book.setState(.killed, of: town.bundle, on: "hana")
        #expect(town.steps(town.send(title: "a")).last == .shown)
        let background: JSON = ["aps": ["content-available": 1]]
        #expect(town.steps(town.send(background, type: .background, priority: 5).number).last == .discarded(.forceQuit))
        town.book.setState(.background, of: town.bundle, on: "hana")
        #expect(town.steps(town.send(background, type: .background, priority: 5).number).last == .woken)
    }

    @Test("without permission the phone discards, and what was shown goes")
    func permission() {
        let town = Town()
        _ = town.send(title: "before")
        town.book.setPermission(.denied, of: town.bundle, on: "hana")
        #expect(town.titles == [])
        #expect(town.steps(town.send(title: "a")).last == .discarded(.permissionDenied))
        town.book.setPermission(.notAsked, of: town.bundle, on: "hana")
        #expect(town.steps(town.send(title: "a")).last == .discarded(.permissionNotAsked))
        #expect(town.book.token(town.app.token, in: .sandbox)?.life == .alive, "the token stays good")
    }

    @Test("offline, the newest push of an app is kept, the older overwritten; back online it is delivered")
    func offline() {
        let town = Town()
        _ = town.book.setOnline(false, of: "hana", now: town.now)
        let first = town.send(title: "first")
        let second = town.send(title: "second")
        #expect(town.titles == [])
        #expect(town.steps(first).last == .overwritten)
        #expect(town.steps(second) == [.accepted, .stored(until: town.now + 30 * 24 * 3_600_000)])
        _ = town.book.setOnline(true, of: "hana", now: town.now)
        #expect(town.titles == ["second"])
        #expect(town.steps(second).suffix(2) == [.delivered, .shown])
        _ = town.book.setOnline(false, of: "hana", now: town.now)
        _ = town.book.setOnline(true, of: "hana", now: town.now)
        #expect(town.titles == ["second"], "it is delivered once")
    }

    @Test("one push is kept for each app, not for each phone")
    func offlineApps() {
        let town = Town()
        let other = town.book.install("org.example.shop", on: "hana", now: town.now)
        _ = town.book.setOnline(false, of: "hana", now: town.now)
        _ = town.send(title: "forum")
        _ = town.book.receive(
            Push(
                id: "x", token: other ?? "", bundle: "org.example.shop",
                payload: Array(#"{"aps":{"alert":"shop"}}"#.utf8)), now: town.now)
        _ = town.book.setOnline(true, of: "hana", now: town.now)
        #expect(town.titles == ["forum"])
        #expect(town.book.phone("hana")?.app("org.example.shop")?.notifications.count == 1)
    }

    @Test("what expires while the phone is away is dropped, and 0 is never kept")
    func expiration() {
        let town = Town()
        _ = town.book.setOnline(false, of: "hana", now: town.now)
        #expect(town.steps(town.send(title: "now or never", expiration: 0)) == [.accepted, .expired])
        let number = town.send(title: "an hour", expiration: town.now / 1000 + 3600)
        #expect(town.steps(number).last == .stored(until: town.now + 3_600_000))
        town.now += 3_600_000
        _ = town.book.setOnline(true, of: "hana", now: town.now)
        #expect(town.steps(number).last == .expired)
        #expect(town.titles == [])
        #expect(town.steps(town.send(title: "online", expiration: 0)).last == .shown, "one attempt is made")
    }

    @Test("an expiration beyond thirty days, or beyond all numbers, is thirty days")
    func longExpiration() {
        let town = Town()
        _ = town.book.setOnline(false, of: "hana", now: town.now)
        let number = town.send(title: "late", expiration: .max)
        #expect(town.steps(number).last == .stored(until: town.now + 30 * 24 * 3_600_000))
    }

    @Test("saving power, the phone takes what is urgent and has the rest wait")
    func lowPower() {
        let town = Town()
        _ = town.book.setLowPower(true, of: "hana", now: town.now)
        #expect(town.steps(town.send(["aps": ["alert": "urgent"]], priority: 10).number).last == .shown)
        let held = town.send(["aps": ["alert": "later"]], priority: 5).number
        #expect(town.steps(held).last == .held(until: town.now + 30 * 24 * 3_600_000))
        _ = town.book.setLowPower(false, of: "hana", now: town.now)
        #expect(town.steps(held).last == .shown)
    }

    @Test("the same collapse id takes the place of the shown one and alerts again")
    func collapse() {
        let town = Town()
        _ = town.send(title: "goal 1", collapse: "match")
        _ = town.send(title: "other")
        let number = town.send(title: "goal 2", collapse: "match")
        #expect(town.titles == ["other", "goal 2"])
        #expect(town.app.notifications.last?.alerts == 2)
        #expect(town.steps(number).last == .replaced)
    }

    @Test("notifications group by thread, the stack with the newest first")
    func groups() {
        let town = Town()
        _ = town.send(title: "a1", thread: "a")
        _ = town.send(title: "b1", thread: "b")
        _ = town.send(title: "a2", thread: "a")
        let groups = town.book.phone("hana").map { NotificationGroup.groups(on: $0) } ?? []
        #expect(groups.map { $0.notifications.map(\.title) } == [["a2", "a1"], ["b1"]])
    }

    @Test("the badge is what the push says, 0 takes it away, silence leaves it")
    func badge() {
        let town = Town()
        let number = town.send(["aps": ["badge": 5]]).number
        #expect(town.app.badge == 5)
        #expect(town.steps(number) == [.accepted, .delivered, .badge(5)])
        _ = town.send(title: "x")
        #expect(town.app.badge == 5)
        town.send(["aps": ["badge": 0]])
        #expect(town.app.badge == 0)
    }

    @Test(
        "what APNs takes and a phone cannot show",
        arguments: [
            ("[1]", Delivery.Discard.notJSON), ("{", .notJSON), ("{}", .empty), (#"{"a":1}"#, .noAps),
            (#"{"aps":{}}"#, .nothingToShow), (#"{"aps":{"alert":7}}"#, .nothingToShow),
            (#"{"aps":{"badge":"3"}}"#, .nothingToShow),
        ])
    func unusable(_ payload: String, _ reason: Delivery.Discard) {
        let town = Town()
        let number = town.book.log.nextNumber
        _ = town.book.receive(
            Push(id: "x", token: town.app.token, bundle: town.bundle, payload: Array(payload.utf8)), now: town.now)
        #expect(town.steps(number).last == .discarded(reason))
    }

    @Test("wrong types and strange keys are left out and told")
    func findings() {
        let town = Town()
        let number = town.send(["aps": ["alert": "a", "badge": "3", "order": 7]]).number
        #expect(town.steps(number).last == .shown)
        #expect(town.book.log[number]?.findings.count == 2)
    }

    @Test("with mutable-content the service extension is asked for the picture, and what it brings is shown")
    func picture() {
        let town = Town()
        let payload: JSON = [
            "aps": ["alert": "a", "mutable-content": 1], "data": ["attachment-url": "http://127.0.0.1/a.png"],
        ]
        let (number, errands) = town.send(payload)
        #expect(errands.map(\.picture) == ["http://127.0.0.1/a.png"])
        #expect(town.titles == [], "it waits for the extension")
        for errand in errands { town.book.finish(errand, with: .success("p1"), now: town.now) }
        #expect(town.app.notifications.first?.picture == "p1")
        #expect(town.steps(number) == [.accepted, .delivered, .pictureAttached, .shown])

        let beside: JSON = ["aps": ["alert": "a", "mutable-content": 1], "picture": "http://127.0.0.1/b.png"]
        #expect(town.send(beside).errands.map(\.picture) == ["http://127.0.0.1/b.png"])

        let (failed, more) = town.send(payload)
        for errand in more { town.book.finish(errand, with: .failure(.tooSlow), now: town.now) }
        #expect(town.steps(failed) == [.accepted, .delivered, .pictureMissing(.tooSlow), .shown])
    }

    @Test("the extension is not asked without mutable-content, nor without something to read, nor without permission")
    func noExtension() {
        let town = Town()
        let data: JSON = ["attachment-url": "http://127.0.0.1/a.png"]
        #expect(town.send(["aps": ["alert": "a"], "data": data]).errands == [])
        #expect(town.send(["aps": ["badge": 1, "mutable-content": 1], "data": data]).errands == [])
        let (number, errands) = town.send(["aps": ["alert": "a", "mutable-content": 1]])
        #expect(errands == [])
        #expect(town.steps(number) == [.accepted, .delivered, .pictureMissing(.noAddress), .shown])
        town.book.setPermission(.denied, of: town.bundle, on: "hana")
        #expect(town.send(["aps": ["alert": "a", "mutable-content": 1], "data": data]).errands == [])
    }

    @Test("an app that goes while its extension runs shows nothing")
    func removedMeanwhile() {
        let town = Town()
        let (number, errands) = town.send([
            "aps": ["alert": "a", "mutable-content": 1], "data": ["attachment-url": "http://127.0.0.1/a.png"],
        ])
        town.book.remove(town.bundle, from: "hana", now: town.now)
        for errand in errands { town.book.finish(errand, with: .success("p1"), now: town.now) }
        #expect(town.steps(number).last == .discarded(.appRemoved))
    }

    @Test("a tap opens the app with link and custom keys, takes the notification away and clears the badge")
    func tap() {
        let town = Town()
        let number = town.send(["aps": ["alert": "a", "badge": 2], "link": "/forum/1", "price": "9.99"]).number
        let tap = town.book.tap(town.app.notifications[0].number, on: "hana", now: town.now)
        #expect(tap?.link == "/forum/1")
        #expect(tap?.custom["price"] == "9.99")
        #expect(town.app.state == .foreground)
        #expect(town.app.badge == 0)
        #expect(town.titles == [])
        #expect(town.steps(number).last == .tapped)
        #expect(town.book.tap(1, on: "hana", now: town.now) == nil, "it is gone")
    }

    @Test("reinstalled, the app has a new token and the old one is dead since then; removed likewise")
    func reinstall() {
        let town = Town()
        let old = town.app.token
        town.now += 1000
        town.book.install(town.bundle, on: "hana", now: town.now)
        #expect(town.app.token != old)
        #expect(town.app.name == "Forum")
        #expect(town.book.token(old, in: .sandbox)?.life == .unregistered(since: town.now))
        #expect(town.book.token(town.app.token, in: .sandbox)?.life == .alive)
        town.now += 1000
        town.book.remove(town.bundle, from: "hana", now: town.now)
        #expect(town.book.token(town.app.token, in: .sandbox)?.life == .unregistered(since: town.now))
        town.now += 1000
        town.book.install(town.bundle, on: "hana", now: town.now)
        #expect(town.book.token(old, in: .sandbox)?.life == .unregistered(since: town.now - 2000), "it died once")
    }

    @Test("tokens are 32 bytes, or 80, each only in its environment, and a known one can be marked expired")
    func tokens() {
        let town = Town()
        #expect(town.app.token.utf8.count == 64)
        #expect(town.book.token(town.app.token, in: .production) == nil)
        let long = town.book.install(
            "org.example.long", environment: .production, on: "hana", tokenBytes: 80, now: town.now)
        #expect(long?.utf8.count == 160)
        #expect(town.book.token(long ?? "", in: .production)?.bundle == "org.example.long")
        let isKilled = town.book.kill(token: town.app.token, in: .sandbox, asExpired: true, now: 7)
        #expect(isKilled)
        #expect(town.book.token(town.app.token, in: .sandbox)?.life == .expired(since: 7))
        let isKnown = town.book.kill(token: "00", in: .sandbox, now: 7)
        #expect(!isKnown)
    }

    @Test("the crowd's tokens take pushes and show nothing")
    func crowd() {
        let town = Town()
        let tokens = town.book.addCrowd(3, bundle: town.bundle)
        #expect(Set(tokens).count == 3)
        let number = town.send(["aps": ["alert": "a"]], token: tokens[0]).number
        #expect(town.steps(number) == [.accepted, .delivered])
    }

    @Test("phones, apps and dead tokens survive a restart")
    func saved() throws {
        let town = Town()
        let old = town.app.token
        town.book.install(town.bundle, on: "hana", now: 5)
        town.book.setPermission(.denied, of: town.bundle, on: "hana")
        _ = town.book.setOnline(false, of: "hana", now: 5)
        var copy = PhoneBook()
        copy.restore(try JSON.parse(town.book.saved.bytes()))
        #expect(copy.phones == town.book.phones)
        #expect(copy.token(old, in: .sandbox)?.life == .unregistered(since: 5))
        #expect(copy.token(town.app.token, in: .sandbox)?.phone == "hana")
    }

    @Test("the log keeps the last deliveries and finds each by its number")
    func log() {
        var log = DeliveryLog(capacity: 100)
        for number in 1...1000 {
            log.append(
                Delivery(
                    number: number, apnsID: "\(number)", environment: .sandbox, token: "", bundle: "", type: "",
                    priority: 10))
        }
        #expect((100...150).contains(log.all.count))
        #expect(log[1000]?.apnsID == "1000")
        #expect(log[1] == nil)
        #expect(log.nextNumber == 1001)
        #expect(log.deliveries(of: "999").count == 1)
    }

    @Test(
        "links and pages",
        arguments: [
            ("/forum/1", "http://a.localhost:8080/forum/1"), ("forum/1", "http://a.localhost:8080/forum/1"),
            ("hiroba://forum/1", "http://a.localhost:8080/forum/1"), ("https://example.org/x", "https://example.org/x"),
            ("", "http://a.localhost:8080/"), ("/a b", "http://a.localhost:8080/"),
            ("//evil.example/x", "http://a.localhost:8080/evil.example/x"),
            ("javascript:alert(1)", "http://a.localhost:8080/javascript:alert(1)"),
        ])
    func links(_ link: String, _ address: String) {
        let phone = Phone(id: "a", name: "A", webBase: "http://a.localhost:8080/")
        #expect(DeepLink.address(of: link, for: phone) == address)
    }
}
