import HirobaHTTP
import HirobaStore
import TestSupport
import Testing

@testable import HirobaServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@Suite("The site")
struct SiteTests {
    @Test("The front page has four doors; three lead on, one says that it is not open")
    func doors() async throws {
        try await withSite { site in
            let browser = Browser(site)
            browser.language = "en-GB,ja;q=0.5"
            let page = try await browser.get("/").text
            #expect(page.ranges(of: "<article").count == 4)
            for door in ["Forum", "Photos", "Typed client", "Push"] { #expect(page.contains(door)) }
            #expect(page.ranges(of: "Not open yet").count == 1)
            let addresses = page.matches(of: /<h2><a href="([^"]+)"/).map { String($0.output.1) }
            #expect(addresses == ["/forum", "/typed-client", "/push"])
            for address in addresses { #expect(try await browser.get(address).status == .ok) }
        }
    }

    @Test("The third door shows the example that is built, whole")
    func typedClient() async throws {
        try await withSite { site in
            let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
            let example = try String(
                contentsOf: folder.appending(path: "Examples/Marvel/App/main.swift"), encoding: .utf8)
            let page = try await Browser(site).get("/typed-client").text
            #expect(page.contains(String(decoding: HTML(text: example).bytes, as: UTF8.self)))
            let guide = try String(contentsOf: folder.appending(path: "Examples/Marvel/README.md"), encoding: .utf8)
            let command = try #require(guide.firstMatch(of: /```\n(swift run[^`]+)\n```/)).output.1
            #expect(page.contains(String(decoding: HTML(text: String(command)).bytes, as: UTF8.self)))
        }
    }

    @Test("Nothing but our own files may run on a page, and a page is nobody else's to keep")
    func headers() async throws {
        try await withSite { site in
            let answer = try await Browser(site).get("/forum")
            #expect(
                answer.headers["Content-Security-Policy"]
                    == "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
                    + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
            #expect(answer.headers["Cache-Control"] == "private, no-cache")
            #expect(answer.headers["X-Content-Type-Options"] == "nosniff")
            #expect(answer.text.firstMatch(of: /<script(?! type="(module" src=|application\/json"))/) == nil)
            #expect(answer.text.firstMatch(of: /[ ](style|on[a-z]+)=/) == nil)
        }
    }

    @Test("Whatever a page or a module points at is there, and may be kept for ever")
    func files() async throws {
        try await withSite { site in
            let browser = Browser(site)
            var seen: Set<String> = []
            for page in ["/", "/forum", "/forum/new", "/typed-client"] {
                for match in try await browser.get(page).text.matches(of: /"(\/static\/[^"#]+)/) {
                    seen.insert(String(match.output.1))
                }
            }
            #expect(seen.count >= 7)
            var open = seen
            while let address = open.popFirst() {
                let answer = try await browser.get(address)
                #expect(answer.status == .ok, "\(address)")
                #expect(answer.headers["Cache-Control"] == "public, max-age=31536000, immutable", "\(address)")
                for match in answer.text.matches(of: /from '\.\/([a-z]+\.js)'/) {
                    let next = address.prefix { $0 != "?" }.split(separator: "/").dropLast().joined(separator: "/")
                    let module = "/\(next)/\(match.output.1)"
                    if seen.insert(module).inserted { open.insert(module) }
                }
            }
            #expect(seen.contains { $0.hasSuffix("live.js") })
            #expect(try await browser.get("/static/other/site.css").headers["Cache-Control"] == "no-store")
            #expect(try await browser.get("/static/other/secret.txt").status == .notFound)
        }
    }

    @Test("Cookies cannot be read by scripts, and over TLS go nowhere else")
    func cookies() async throws {
        try await withSite { site in
            let cookie = try await Browser(site).get("/").headers["Set-Cookie"]
            #expect(cookie?.hasPrefix("hiroba_device=") == true)
            #expect(cookie?.hasSuffix("; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax") == true)
        }
        try await withSite(publicURL: "https://hiroba.example") { site in
            let browser = Browser(site)
            _ = try await browser.thread("朝の市")
            #expect(browser.cookies.keys.sorted() == ["__Host-hiroba_device", "__Host-hiroba_session"])
            let cookie = try await Browser(site).get("/").headers["Set-Cookie"]
            #expect(cookie?.hasSuffix("; HttpOnly; SameSite=Lax; Secure") == true)
        }
    }

    @Test("A form that another site sends does nothing")
    func foreignForms() async throws {
        try await withSite { site in
            let (victim, attacker) = (Browser(site), Browser(site))
            _ = try await victim.thread("朝の市")
            let page = try await attacker.get("/forum").text
            let foreign = try #require(page.firstMatch(of: /name="csrf" value="([^"]+)"/)).output.1
            for token in [nil, "", "x", String(foreign)] as [String?] {
                #expect(try await victim.newThread("偽物", token: .some(token)).status == .forbidden)
                #expect(try await victim.submit("/language", on: "/", [], token: .some(token)).status == .forbidden)
            }
            for field in [
                ("Origin", "https://evil.example"), ("Origin", "null"),
                ("Origin", "https://hiroba.example.evil.example"),
                ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Site", "same-site"),
            ] {
                victim.headers = [field]
                #expect(try await victim.newThread("偽物").status == .forbidden, "\(field)")
            }
            victim.headers = [("Origin", "http://hiroba.example"), ("Sec-Fetch-Site", "same-origin")]
            #expect(try await victim.newThread("本物").status == .seeOther)
            #expect(try await site.count("topics") == 2)

            // Without the cookie a token is worth nothing.
            victim.cookies = [:]
            victim.headers = []
            let answer = try await victim.submit(
                "/language", on: "/", [("language", "en")], token: .some(String(foreign)))
            #expect(answer.status == .forbidden && answer.text.contains("Cookie"))
        }
    }

    @Test("The language is the browser's until the reader chooses one")
    func languages() async throws {
        try await withSite { site in
            let browser = Browser(site)
            for (wish, language) in [
                ("ja", "ja"), ("ja-JP,ja;q=0.9,en;q=0.8", "ja"), ("en;q=0.3, ja;q=0.7", "ja"), ("fr, de", "en"),
                ("", "en"),
                ("ja;q=0", "en"), ("fr, ja;q=0.1", "ja"),
            ] {
                browser.language = wish
                #expect(try await browser.get("/forum").text.contains("<html lang=\"\(language)\">"), "\(wish)")
            }
            browser.language = "ja"
            let chosen = try await browser.submit(
                "/language", on: "/forum", [("return", "/forum?after=x"), ("language", "en")])
            #expect(chosen.location == "/forum?after=x")
            #expect(try await browser.get("/forum").text.contains("<html lang=\"en\">"))
        }
    }

    @Test("After a change of language nobody is sent to another host")
    func returnAddresses() {
        for bad in ["//evil.example", "https://evil.example", "/\\evil.example", "", "forum", "/a b", "/\u{1}"] {
            #expect(Site.localAddress(bad) == "/", "\(bad)")
        }
        #expect(Site.localAddress("/forum?after=1#x") == "/forum?after=1#x")
    }

    @Test("Whoever does not ask for a page gets none")
    func notFound() async throws {
        try await withSite { site in
            let browser = Browser(site)
            for (address, accept) in [("/nowhere", "*/*"), ("/v1/nowhere", "text/html")] {
                let answer = try await browser.get(address, accept: accept)
                #expect(answer.status == .notFound && answer.text == "There is nothing here.\n", "\(address)")
            }
        }
    }
}
