import HirobaHTTP
import HirobaJSON
import Testing

@testable import HirobaSimulator

/// The page's routes without a socket.
private struct Browser {
    let clock = TestClock()
    let phones: Phones
    let routes: Routes
    let prefix: String
    let bundle = "org.example.forum"

    init(
        prefix: String = "", pages: PhonesWeb.Pages = .tab, _ change: (inout PhonesWeb.Options) -> Void = { _ in }
    ) async {
        phones = Phones(clock: clock.clock)
        var options = PhonesWeb.Options()
        options.prefix = prefix
        options.pages = pages
        change(&options)
        self.prefix = prefix
        let provider = Provider()
        let front = Front(rules: provider.rules, phones: phones, clock: clock.clock)
        var routes = Routes()
        PhonesWeb(phones: phones, front: front, clock: clock.clock, options: options).register(on: &routes)
        self.routes = routes
        await phones.add(Phone(id: "hana", name: "Hana <b>", webBase: "http://hana.localhost:8080"))
        await phones.install(bundle, named: "Forum", on: "hana")
    }

    var app: InstalledApp? { get async { await phones.phone("hana")?.app(bundle) } }

    func push(_ payload: String) async throws {
        let token = try #require(await app?.token)
        await phones.receive(Push(id: "id", token: token, bundle: bundle, payload: Array(payload.utf8)))
    }

    func get(_ path: String, _ headers: HTTPHeaders = [:]) async throws -> HTTPResponse {
        var headers = headers
        if headers["Host"] == nil { headers["Host"] = "127.0.0.1:8070" }
        return try await routes.handle(HTTPRequest(method: .get, target: prefix + path, headers: headers))
    }

    func post(_ path: String, _ body: String, _ headers: HTTPHeaders = [:]) async throws -> HTTPResponse {
        var headers = headers
        if headers["Host"] == nil { headers["Host"] = "127.0.0.1:8070" }
        return try await routes.handle(
            HTTPRequest(
                method: .post, target: prefix + path, headers: headers, body: HTTPRequestBody(Array(body.utf8))))
    }

    func act(_ action: String, _ form: String, _ headers: HTTPHeaders = [:]) async throws -> HTTPResponse {
        try await post("/devices/hana/\(action)", form, headers)
    }
}

private func text(_ response: HTTPResponse) -> String {
    if case .bytes(let bytes) = response.body { String(decoding: bytes, as: UTF8.self) } else { "" }
}

@Suite struct PhonesWebTests {
    @Test("the page shows phones, notifications and the log, with everything escaped")
    func page() async throws {
        let browser = await Browser()
        try await browser.push(#"{"aps":{"alert":{"title":"<script>","body":"x"},"badge":4}}"#)
        let page = text(try await browser.get("/", ["Accept-Language": "en"]))
        #expect(page.contains("Hana &lt;b&gt;"))
        #expect(page.contains("&lt;script&gt;"))
        #expect(!page.contains("<script>"))
        #expect(page.contains(">4</span>"))
        #expect(page.contains("It was shown on Hana"))
        let japanese = text(try await browser.get("/", ["Accept-Language": "fr, ja;q=0.8, en;q=0.5"]))
        #expect(japanese.contains("lang=\"ja\"") && japanese.contains("に表示されました"))
        let chosen = text(try await browser.get("/", ["Accept-Language": "ja", "Cookie": "hiroba_language=en"]))
        #expect(chosen.contains("lang=\"en\""))
    }

    @Test("mounted under a path, every address of the page begins with it")
    func prefix() async throws {
        let browser = await Browser(prefix: "/phones")
        try await browser.push(#"{"aps":{"alert":"x"}}"#)
        let response = try await browser.get("")
        #expect(response.status == .ok)
        for match in text(response).matches(of: /(?:href|src|action|data-live)="([^"]*)"/) {
            #expect(match.1.hasPrefix("/phones/") || match.1.hasPrefix("#"), "\(match.1)")
        }
        let file = try #require(text(response).firstMatch(of: /href="\/phones(\/static\/[^"]*\.css)"/))
        #expect(try await browser.get(String(file.1)).status == .ok)
    }

    @Test("a tap in a tab leads on to the link, in a frame it stays and the phone shows the page")
    func tap() async throws {
        for pages in [PhonesWeb.Pages.tab, .frame] {
            let browser = await Browser(pages: pages)
            try await browser.push(#"{"aps":{"alert":"x"},"link":"/forum/1"}"#)
            let number = try #require(await browser.app?.notifications.first?.number)
            let response = try await browser.act("tap", "notification=\(number)")
            #expect(response.status == .seeOther)
            let address = "http://hana.localhost:8080/forum/1"
            #expect(response.headers["Location"] == (pages == .tab ? address : "/"))
            #expect(await browser.app?.state == .foreground)
            #expect(await browser.app?.page == address)
            let page = text(try await browser.get("/"))
            #expect(page.contains("<iframe") == (pages == .frame))
        }
    }

    @Test(
        "forms set what they say",
        arguments: [
            ("state", "value=killed&bundle=org.example.forum"), ("permission", "value=denied&bundle=org.example.forum"),
            ("shows-in-front", "value=on&bundle=org.example.forum"), ("online", "value=off"), ("low-power", "value=on"),
            ("install", "bundle=org.example.forum"), ("remove", "bundle=org.example.forum"),
        ])
    func forms(_ action: String, _ form: String) async throws {
        let browser = await Browser()
        let before = await browser.phones.phone("hana")
        #expect(try await browser.act(action, form).status == .seeOther)
        #expect(await browser.phones.phone("hana") != before)
        let json = try await browser.act(action, form, ["Accept": "application/json"])
        #expect(text(json) == #"{"location":null}"#)
    }

    @Test("the page may show and send to the phones' own pages, and nobody else's")
    func contentPolicy() async throws {
        let browser = await Browser { $0.pageOrigins = ["http://other.localhost:1"] }
        let policy = try #require(try await browser.get("/").headers["Content-Security-Policy"])
        let origins = "http://hana.localhost:8080 http://other.localhost:1"
        #expect(policy.contains("form-action 'self' \(origins);") && policy.contains("frame-src 'self' \(origins);"))
        #expect(policy.contains("frame-ancestors 'self';"))
    }

    @Test("beside a companion the phones say where to begin, and each push where its whole story is")
    func companion() async throws {
        let browser = await Browser(prefix: "/phones") { options in
            options.companion = PhonesWeb.Companion(english: "Forum", japanese: "掲示板", address: "/forum")
            options.stories = "/push/"
        }
        await browser.phones.setStarts([Phone.Start(title: "Cats & dogs", address: "/forum/1")], of: "hana")
        try await browser.push(#"{"aps":{"alert":"x"}}"#)
        let page = text(try await browser.get("", ["Accept-Language": "en"]))
        #expect(page.contains(#"<iframe title="Forum" name="companion" src="/forum">"#))
        #expect(page.contains(#"<a href="/forum/1" target="companion">Cats &amp; dogs</a>"#))
        #expect(page.contains(#"<a href="/push/id">"#))
        #expect(page.contains(#"<a href="/phones">Look again</a>"#))
        let alone = await Browser()
        await alone.phones.setStarts([Phone.Start(title: "Cats", address: "/forum/1")], of: "hana")
        #expect(!text(try await alone.get("/")).contains("/forum/1"))
    }

    @Test("with a name of its own the page leads there whoever comes by another name of this machine")
    func ownName() async throws {
        let browser = await Browser(prefix: "/phones") { options in
            options.name = "hiroba.localhost"
            options.hosts = ["demo.example"]
        }
        for (host, address) in [
            ("127.0.0.1:8080", "http://hiroba.localhost:8080/phones"),
            ("[::1]:80", "http://hiroba.localhost:80/phones"), ("localhost", "http://hiroba.localhost/phones"),
            ("hana.hiroba.localhost:1", "http://hiroba.localhost:1/phones"),
        ] {
            let response = try await browser.get("", ["Host": host])
            #expect(response.status == .seeOther && response.headers["Location"] == address, "\(host)")
        }
        for host in ["hiroba.localhost:8080", "hiroba.localhost", "demo.example"] {
            #expect(try await browser.get("", ["Host": host]).status == .ok, "\(host)")
        }
    }

    @Test("on a phone without pages a tap opens the app and leads nowhere")
    func noPages() async throws {
        let browser = await Browser()
        await browser.phones.setWebBase(nil, of: "hana")
        try await browser.push(#"{"aps":{"alert":"x"},"link":"https://example.org/"}"#)
        #expect(!text(try await browser.get("/")).contains("target="))
        let number = try #require(await browser.app?.notifications.first?.number)
        #expect(try await browser.act("tap", "notification=\(number)").headers["Location"] == "/")
        #expect(await browser.app?.state == .foreground)
    }

    @Test("notifications are taken away one by one or all together")
    func dismiss() async throws {
        let browser = await Browser()
        for _ in 1...3 { try await browser.push(#"{"aps":{"alert":"x"}}"#) }
        let number = try #require(await browser.app?.notifications.first?.number)
        _ = try await browser.act("dismiss", "notification=\(number)")
        #expect(await browser.app?.notifications.count == 2)
        _ = try await browser.act("clear", "")
        #expect(await browser.app?.notifications.count == 0)
        #expect(await browser.phones.deliveries().map(\.outcome) == [.dismissed, .dismissed, .dismissed])
    }

    @Test("what another site sends, or what comes by a stranger's name, is refused")
    func strangers() async throws {
        let browser = await Browser()
        let bad: [HTTPHeaders] = [
            ["Origin": "http://evil.example"], ["Sec-Fetch-Site": "cross-site"], ["Host": "evil.example"],
            ["Host": "evil.example", "Origin": "http://evil.example"], ["Origin": "null"],
        ]
        for headers in bad {
            #expect(try await browser.act("online", "value=off", headers).status == .forbidden, "\(headers)")
            #expect(try await browser.post("/front/goaway", "{}", headers).status == .forbidden)
        }
        #expect(try await browser.get("/", ["Host": "evil.example"]).status == .forbidden)
        #expect(try await browser.get("/devices", ["Host": "evil.example"]).status == .forbidden)
        #expect(await browser.phones.phone("hana")?.isOnline == true)
        let good: HTTPHeaders = ["Origin": "http://127.0.0.1:8070", "Sec-Fetch-Site": "same-origin"]
        #expect(try await browser.act("online", "value=off", good).status == .seeOther)
    }

    @Test("what is not there, or not readable, is told")
    func nothing() async throws {
        let browser = await Browser()
        #expect(try await browser.post("/devices/nobody/online", "value=on").status == .notFound)
        #expect(try await browser.act("explode", "").status == .notFound)
        #expect(try await browser.act("online", "value=%zz").status == .badRequest)
        #expect(try await browser.get("/log/none").status == .notFound)
        #expect(try await browser.get("/devices/nobody").status == .notFound)
        #expect(try await browser.get("/pictures/none").status == .notFound)
        #expect(try await browser.post("/devices", "{").status == .badRequest)
        #expect(try await browser.post("/devices", #"{"id":"a/b"}"#).status == .conflict)
        #expect(try await browser.post("/crowd", #"{"count":0,"bundle":"a.b"}"#).status == .badRequest)
        #expect(try await browser.post("/front/switches", #"{"speed":1}"#).status == .badRequest)
        #expect(try await browser.post("/dead-tokens", #"{"token":"00"}"#).status == .notFound)
    }

    @Test("tests read and set the same by JSON")
    func data() async throws {
        let browser = await Browser()
        let made = try await browser.post(
            "/devices", #"{"id":"mio","name":"Mio","apps":[{"bundle":"org.example.shop","environment":"production"}]}"#)
        #expect(made.status == .created)
        #expect(try JSON.parse(text(made))["apps"]?[0]?["token"]?.string?.utf8.count == 64)
        let crowd = try await browser.post("/crowd", #"{"count":3,"bundle":"org.example.forum"}"#)
        let tokens = try JSON.parse(text(crowd))["tokens"]?.array ?? []
        #expect(tokens.count == 3)
        let dead = try await browser.post("/dead-tokens", "{\"token\":\(tokens[0])}")
        #expect(dead.status == .noContent)
        try await browser.push(#"{"aps":{"alert":"x"}}"#)
        let story = try JSON.parse(text(try await browser.get("/log/id")))
        let steps = story["deliveries"]?[0]?["steps"]?.array?.compactMap { $0["step"]?.string }
        #expect(steps == ["accepted", "delivered", "shown"])
        let front = try JSON.parse(text(try await browser.get("/front")))
        #expect(front["accepted"] == 0)
    }

    @Test("every step and reason has words in both languages")
    func words() {
        let steps: [Delivery.Step] =
            [
                .accepted, .stored(until: 1), .held(until: 1), .overwritten, .expired, .delivered, .woken,
                .pictureAttached,
                .badge(0), .badge(2), .shown, .replaced, .tapped, .dismissed, .refused(.unregistered),
            ]
            + Delivery.Discard.allCases.map { .discarded($0) }
            + Delivery.PictureFailure.allCases.map { .pictureMissing($0) }
        for language in PhonesLanguage.allCases {
            let texts = PhonesTexts.of(language)
            #expect(Set(steps.map { texts.sentence($0, "A") }).count == steps.count)
        }
    }
}
