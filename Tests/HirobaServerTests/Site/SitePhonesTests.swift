import HirobaContract
import HirobaCore
import HirobaCrypto
import HirobaHTTP
import HirobaThreads
import Testing

@testable import HirobaServer

@Suite("The site beside the demo's phones")
struct SitePhonesTests {
    private static let serverKey = ServerKey.random()
    private let time = Lock<Int64>(1_800_000_000_000)

    private var phones: SitePhones {
        SitePhones(
            name: "hiroba.localhost", page: "/phones",
            links: SignInLinks(clock: Clock { [time] in time.withLock { $0 } }), serverKey: Self.serverKey)
    }

    @Test(
        "Only the page with the phones may show ours inside it",
        arguments: [
            ("hana.hiroba.localhost:8080", "http://hiroba.localhost:8080"),
            ("HANA.hiroba.localhost", "http://hiroba.localhost"), ("hiroba.localhost:8080", "'self'"),
            ("127.0.0.1:8080", "'self'"), ("evilhiroba.localhost", "'self'"), ("demo.example", "'self'"),
            ("a.hiroba.localhost:1 evil.example", "'self'"),
        ])
    func frames(host: String, ancestors: String) async throws {
        try await withSite(phones: phones) { site in
            let browser = Browser(site)
            browser.host = host
            for page in ["/", "/forum", "/nothing"] {
                let policy = try await browser.get(page).headers["Content-Security-Policy"]
                #expect(policy?.hasSuffix("; frame-ancestors \(ancestors)") == true, "\(page): \(policy ?? "none")")
            }
        }
    }

    @Test("The fourth door leads to the page with the phones, out of the frame")
    func door() async throws {
        try await withSite(phones: phones) { site in
            let page = try await Browser(site).get("/").text
            #expect(page.contains(#"<a href="/phones" target="_top">"#))
        }
    }

    @Test("A link signs a browser in once, on its own host, within a minute")
    func signInLinks() async throws {
        let phones = phones
        try await withSite(phones: phones) { site in
            let secret = Base64URL.encode(randomBytes(32))
            let signedIn = try await site.core.accounts.signInAnonymously(
                SignInAnonymously(deviceSecret: secret), by: Caller()
            ).signedIn
            let origin = "http://hana.hiroba.localhost:8080"
            func link(_ path: String = "/forum") -> String {
                let whole = phones.links.link(
                    to: path, on: origin, as: .init(deviceSecret: secret, session: signedIn.token))
                return String(whole.dropFirst(origin.count))
            }
            func enter(_ link: String, at host: String = "hana.hiroba.localhost:8080") async throws -> Browser {
                let browser = Browser(site)
                browser.host = host
                let answer = try await browser.get(link)
                #expect(answer.status == .seeOther)
                return browser
            }
            func isHana(_ browser: Browser) async throws -> Bool {
                try await browser.get("/forum").text.contains("data-me=\"\(signedIn.user.id)\"")
            }

            let first = link("/forum/abc")
            let browser = Browser(site)
            browser.host = "hana.hiroba.localhost:8080"
            #expect(try await browser.get(first).location == "/forum/abc")
            #expect(try await isHana(browser))
            #expect(try await !isHana(enter(first)), "used twice")
            #expect(try await !isHana(enter(link(), at: "sota.hiroba.localhost:8080")))
            #expect(try await !isHana(enter(link(), at: "hiroba.localhost:8080")))
            let late = link()
            time.withLock { $0 += SignInLinks.lifetime }
            #expect(try await !isHana(enter(late)))
            // What leads elsewhere leads to the front page.
            #expect(try await Browser(site).get("/enter/x//evil.example").location == "/")
            // Whose session has ended is the same person again.
            let again = try await enter(link())
            try await site.core.accounts.endAllSessions(
                EndAllSessions(), by: Caller(credential: .session(token: signedIn.token)))
            #expect(try await isHana(again))
        }
    }

    @Test("Without phones there is nothing to enter")
    func closed() async throws {
        try await withSite { site in
            let answer = try await Browser(site).get("/enter/x/forum")
            #expect(answer.status == .notFound)
        }
    }
}
