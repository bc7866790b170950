import HirobaContract
import HirobaCore
import HirobaHTTP
import HirobaStore
import TestSupport
import Testing

@testable import HirobaServer

@Suite("The forum's pages")
struct SiteForumTests {
    private let refused = "削除に失敗しました。権限がないようです。"

    @Test("The screens say what the reference's screens say, to the letter")
    func words() async throws {
        try await withSite { site in
            let browser = Browser(site)
            let list = try await browser.get("/forum").text
            #expect(list.contains("<h1 class=\"bar-title\">掲示板</h1>"))
            let form = try await browser.get("/forum/new").text
            for words in ["スレッドのタイトルを入力してください", "スレッドの紹介文を入力してください"] {
                #expect(form.contains("placeholder=\"\(words)\""))
                #expect(list.contains("placeholder=\"\(words)\""), "the sheet has the same form")
            }
            #expect(form.contains("</svg>画像追加</label>"))
            #expect(form.contains("<button class=\"button\" type=\"submit\">スレッド追加</button>"))
            let thread = try await browser.thread("朝の市")
            let page = try await browser.get(thread).text
            #expect(page.contains("<h1 class=\"bar-title\">朝の市</h1>"))
            #expect(page.contains("<h2 id=\"comments\">コメント</h2>"))
            for text in [page, try await browser.get("\(thread)/comments/new").text] {
                #expect(text.contains("placeholder=\"コメントを入力してください\""))
                #expect(text.contains("<button class=\"button\" type=\"submit\">コメントする</button>"))
            }
        }
    }

    @Test("A walk on both databases: a thread with a picture, a stranger's comment, refusals, deletion")
    func walk() async throws {
        try await withSites { site in
            let (author, stranger) = (Browser(site), Browser(site))
            let thread = try await author.thread("朝の市", "野菜が安い\nです", photo: tinyJPEG)
            let list = try await stranger.get("/forum").text
            #expect(list.contains("朝の市") && list.contains("野菜が安い\nです"))
            #expect(list.contains("/v1/files/") && !list.contains("<span class=\"thumb bubbles\"></span>"))

            let comment = try await stranger.submit("\(thread)/comments", on: thread, [("text", "行ってきます")])
            #expect(comment.status == .seeOther && comment.location == "\(thread)#comments")
            let page = try await author.get(thread).text
            #expect(page.contains("行ってきます"))
            #expect(page.contains("width=\"200\" height=\"200\""))

            // The author may not delete the stranger's comment, nor the stranger the author's thread.
            let deletion = try #require(page.firstMatch(of: /\/forum\/[^"]+\/comments\/[0-9A-Za-z]{16}\/delete/)).output
            let comment1 = try await author.submit(String(deletion), on: thread, [])
            #expect(comment1.status == .forbidden)
            #expect(comment1.text.contains("role=\"alert\">\(refused)</div>") && comment1.text.contains("行ってきます"))
            let thread1 = try await stranger.submit("\(thread)/delete", on: "/forum", [])
            #expect(thread1.status == .forbidden)
            #expect(thread1.text.contains("role=\"alert\">\(refused)</div>") && thread1.text.contains("朝の市"))

            #expect(try await stranger.submit(String(deletion), on: thread, []).location == thread)
            #expect(try await author.get(thread).text.contains("行ってきます") == false)
            #expect(try await author.submit("\(thread)/delete", on: "/forum", []).location == "/forum")
            #expect(try await author.get("/forum").text.contains("朝の市") == false)
            #expect(try await author.get(thread).status == .notFound)
        }
    }

    @Test("Looking makes nobody an account; the first post does, and the browser stays that person")
    func identity() async throws {
        try await withSite { site in
            let browser = Browser(site)
            for page in ["/", "/forum", "/forum/new", "/typed-client"] { _ = try await browser.get(page) }
            #expect(try await site.count("users") == 0)
            let thread = try await browser.thread("一つ目")
            _ = try await browser.thread("二つ目")
            #expect(try await site.count("users") == 1)
            #expect(try await site.count("sessions") == 1)

            // The session dies; the secret brings the same person back, who may still delete.
            browser.cookies["hiroba_session"] = "dead"
            let list = try await browser.get("/forum").text
            #expect(list.ranges(of: "data-own=\"\"").count == 2)
            browser.cookies["hiroba_session"] = nil
            #expect(try await browser.submit("\(thread)/delete", on: "/forum", []).status == .forbidden)
            _ = try await browser.thread("三つ目")
            #expect(try await browser.submit("\(thread)/delete", on: "/forum", []).status == .seeOther)
            #expect(try await site.count("users") == 1)
        }
    }

    @Test("Somebody who never posted is refused like anybody else, and gets no account")
    func strangerDeletes() async throws {
        try await withSite { site in
            let thread = try await Browser(site).thread("朝の市")
            let stranger = Browser(site)
            let answer = try await stranger.submit("\(thread)/delete", on: "/forum", [], accept: "application/json")
            #expect(answer.status == .forbidden)
            #expect(answer.text == "{\"message\":\"\(refused)\"}")
            #expect(try await site.count("users") == 1)
            stranger.language = "en"
            let english = try await stranger.submit("\(thread)/delete", on: "/forum", [])
            #expect(english.text.contains("Could not delete. You do not seem to have permission."))
        }
    }

    @Test("A form sent twice does its work once, with a picture too")
    func twice() async throws {
        try await withSite { site in
            let browser = Browser(site)
            let first = try await browser.newThread("朝の市", key: "k1")
            #expect(try await browser.newThread("朝の市", key: "k1").location == first.location)
            let photo = try await browser.newThread("写真", photo: tinyJPEG, key: "k2")
            #expect(try await browser.newThread("写真", photo: tinyJPEG, key: "k2").location == photo.location)
            #expect(try await site.count("topics") == 2)
            #expect(try await site.count("files") == 1)
            let thread = try #require(first.location)
            for _ in 1...2 {
                _ = try await browser.submit("\(thread)/comments", on: thread, [("text", "はい")], key: "k3")
            }
            #expect(try await site.count("comments") == 1)

            // The same key with other words is another request: it is not done, said so, and can be sent again.
            let other = try await browser.newThread("夜の市", key: "k1")
            #expect(other.status == .conflict && other.text.contains("value=\"夜の市\""))
            #expect(other.text.contains(SiteTexts.japanese.sentBefore) && !other.text.contains("value=\"k1\""))
        }
    }

    @Test("A failure keeps what was typed and says why")
    func failures() async throws {
        try await withSite { site in
            let browser = Browser(site)
            let untitled = try await browser.newThread(" 　\n", "本文です")
            #expect(untitled.status == .badRequest)
            #expect(untitled.text.contains("タイトルを入力してください。</p>") && untitled.text.contains("\n本文です</textarea>"))
            #expect(untitled.text.contains("aria-invalid=\"true\""))
            let long = try await browser.newThread(String(repeating: "あ", count: 201), "本文です")
            #expect(long.status == .badRequest && long.text.contains("\n本文です</textarea>"))
            let noPicture = try await browser.newThread("朝の市", "本文です", photo: Array("<html>".utf8))
            #expect(noPicture.status == .unsupportedMediaType)
            #expect(noPicture.text.contains("value=\"朝の市\"") && noPicture.text.contains("画像はもう一度選んでください。"))
            let document = try await browser.newThread(
                "朝の市", "本文です", photo: Array("%PDF-1.4".utf8), photoType: "application/pdf")
            #expect(document.status == .unsupportedMediaType)
            let script = try await browser.newThread("朝の市", photo: Array("x".utf8), accept: "application/json")
            #expect(script.status == .unsupportedMediaType && script.text.hasPrefix("{\"message\":\""))
            let thread = try await browser.thread("朝の市")
            let empty = try await browser.submit("\(thread)/comments", on: thread, [("text", " ")])
            #expect(empty.status == .badRequest && empty.text.contains("コメントを入力してください。</p>"))
            let huge = try await browser.submit(
                "\(thread)/comments", on: thread, [("text", String(repeating: "x", count: 300_000))])
            #expect(huge.status == .contentTooLarge)
            #expect(try await site.count("files") == 0)
        }
    }

    @Test("A picture whose thread did not come about is not kept")
    func orphan() async throws {
        try await withSite { site in
            let browser = Browser(site)
            let answer = try await browser.newThread(String(repeating: "あ", count: 201), photo: tinyJPEG)
            #expect(answer.status == .badRequest)
            #expect(try await site.count("files") == 0)
            #expect(try await site.blobs.list().isEmpty)
        }
    }

    @Test("Long lists go on by a link, and every thread appears once")
    func paging() async throws {
        try await withSite { site in
            let browser = Browser(site)
            for number in 1...31 { _ = try await browser.thread("番号\(number)番") }
            let first = try await browser.get("/forum").text
            let older = try #require(first.firstMatch(of: /href="(\/forum\?after=[^"]+)"/)).output.1
            let second = try await browser.get(String(older)).text
            func rows(_ page: String) -> [Substring] {
                page.matches(of: /id="(topic-[0-9A-Za-z]{16})"/).map(\.output.1)
            }
            #expect(rows(first).count == 30 && rows(second).count == 1)
            #expect(Set(rows(first) + rows(second)).count == 31)
            #expect(!second.contains("href=\"/forum?after=") && second.contains("最新のスレッド"))
        }
    }

    @Test("What people write is text and nothing else")
    func escaping() async throws {
        try await withSite { site in
            let browser = Browser(site)
            let thread = try await browser.thread("<script>alert(1)</script>\"'", "</textarea><img src=x onerror=y>")
            _ = try await browser.submit("\(thread)/comments", on: thread, [("text", "<b>&amp;</b>")])
            for page in ["/forum", thread, "\(thread)/delete", "\(thread)/comments/new"] {
                let text = try await browser.get(page).text
                #expect(!text.contains("<script>alert") && !text.contains("<img src=x") && !text.contains("<b>"))
            }
            #expect(try await browser.get(thread).text.contains("&lt;b&gt;&amp;amp;&lt;/b&gt;"))
        }
    }

    @Test("A missing thread is a page that says so; so are the forms on it")
    func missing() async throws {
        try await withSite { site in
            let browser = Browser(site)
            for address in [
                "/forum/0000000000000000", "/forum/..%2F", "/forum/0000000000000000/comments/new", "/nowhere",
            ] {
                let answer = try await browser.get(address)
                #expect(answer.status == .notFound, "\(address)")
                #expect(answer.text.contains("<h1 class=\"bar-title\">見つかりません</h1>"), "\(address)")
            }
            let odd = try await browser.get("/forum/x%2F..%2F..%2Flanguage/comments/%22/delete")
            #expect(odd.text.contains("action=\"/forum/none/comments/none/delete\""))
            let answer = try await browser.submit("/forum/0000000000000000/comments", on: "/forum", [("text", "x")])
            #expect(answer.status == .notFound)
        }
    }

    @Test("A lost database is a page that says so, in both languages, with Retry-After")
    func unavailable() async throws {
        try await withSite { site in
            let browser = Browser(site)
            await site.database.close()
            let answer = try await browser.get("/forum")
            #expect(answer.status == .serviceUnavailable && answer.text.contains("ただいま利用できません"))
            #expect(answer.headers["Retry-After"] != nil)
            browser.language = "en"
            #expect(try await browser.get("/forum").text.contains("Nothing was changed."))
            #expect(try await browser.get("/").status == .ok)
        }
    }
}
