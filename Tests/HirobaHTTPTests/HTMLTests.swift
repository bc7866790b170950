import HirobaHTTP
import Testing

private func markup(_ html: HTML) -> String { String(decoding: html.bytes, as: UTF8.self) }

@Suite("HTML")
struct HTMLTests {
    @Test("Text is escaped, whatever it holds")
    func text() {
        let html = HTML.p { "<script>alert('x')</script> & \"y\"\0" }
        #expect(
            markup(html)
                == "<p>&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;y&quot;\u{FFFD}</p>")
    }

    @Test("An attribute's value cannot leave its quotes")
    func attributes() {
        let html = HTML.div(.title("\" onmouseover=\"alert(1)"), .class("a'b")) {}
        #expect(markup(html) == "<div title=\"&quot; onmouseover=&quot;alert(1)\" class=\"a&#39;b\"></div>")
    }

    @Test("Addresses with a scheme that runs code are refused, however they are dressed up")
    func refusedAddresses() {
        let bad = [
            "javascript:alert(1)", "JavaScript:alert(1)", "  javascript:alert(1)", "java\nscript:alert(1)",
            "\u{1}javascript:alert(1)", "java\tscript\r:alert(1)", "data:text/html,x", "vbscript:x", "blob:x", "x y:z",
        ]
        for address in bad {
            #expect(markup(.a(.href(address)) {}) == "<a href=\"about:invalid\"></a>", "\(address)")
        }
        #expect(markup(.img(.src("javascript:x"))) == "<img src=\"about:invalid\">")
        #expect(markup(.form(.action("javascript:x")) {}) == "<form action=\"about:invalid\"></form>")
    }

    @Test("Ordinary addresses pass, and are escaped")
    func ordinaryAddresses() {
        for address in ["/forum", "?after=a:b", "#c:d", "https://hiroba.example/", "mailto:a@hiroba.example", "x/y:z"] {
            #expect(HTML.Address.checked(address) == address)
        }
        #expect(markup(.a(.href("/x?a=1&b=\"2\"")) {}) == "<a href=\"/x?a=1&amp;b=&quot;2&quot;\"></a>")
    }

    @Test("Script data cannot end its element and stays the same JSON")
    func scriptData() {
        let html = HTML.scriptData(id: "texts", json: Array(#"{"a":"</script><!--&"}"#.utf8))
        #expect(
            markup(html)
                == #"<script type="application/json" id="texts">{"a":"\u003c/script\u003e\u003c!--\u0026"}</script>"#)
    }

    @Test("Text areas keep the line break they begin with")
    func textarea() {
        #expect(
            markup(.textarea(.name("text"), text: "\na</textarea>"))
                == "<textarea name=\"text\">\n\na&lt;/textarea&gt;</textarea>")
    }

    @Test("Conditions and loops build what they say")
    func builder() {
        func list(_ items: [String], _ note: String?) -> HTML {
            HTML {
                HTML.ul(.when(items.isEmpty, .hidden)) { for item in items { HTML.li { item } } }
                if let note { HTML.p { note } } else { HTML.br() }
            }
        }
        #expect(markup(list(["a", "b"], nil)) == "<ul><li>a</li><li>b</li></ul><br>")
        #expect(markup(list([], "n")) == "<ul hidden></ul><p>n</p>")
    }

    @Test("Ready markup enters only by its ugly name")
    func unescaped() {
        #expect(markup(HTML(unescaped: "<b>")) == "<b>")
        #expect(markup(HTML(text: "<b>")) == "&lt;b&gt;")
    }

    @Test("A document begins with its doctype")
    func document() {
        #expect(
            String(decoding: HTML.html(.lang("ja")).documentBytes, as: UTF8.self)
                == "<!doctype html>\n<html lang=\"ja\"></html>")
    }
}
