@testable import HirobaCore
import Testing

@Suite struct TextsTests {
    @Test("a line loses the blanks around it and may hold anything that is written")
    func lines() throws {
        #expect(try Texts.line("  ひろば\u{3000}", field: "title", most: 3) == "ひろば")
        #expect(try Texts.line("👩‍👩‍👧 family 👍🏽", field: "title", most: 20) == "👩‍👩‍👧 family 👍🏽")
        #expect(
            try Texts.line("tags are text: <b>&amp;</b>", field: "title", most: 50) == "tags are text: <b>&amp;</b>")
    }

    @Test(
        "no line: nothing, several lines, control characters",
        arguments: [
            "", " ", "\u{3000}\n\t", "a\nb", "a\rb", "a\tb", "a\u{0}b", "a\u{7F}", "a\u{85}b", "a\u{2028}b",
            "a\u{1B}[31m", "a\u{202E}b", "\u{200B}", " \u{200D}\u{FEFF} ", "\u{3164}", "\u{2800}", "\u{E0041}",
        ])
    func noLines(_ text: String) {
        #expect(throws: HirobaError.self) { try Texts.line(text, field: "title", most: 200) }
    }

    @Test("a passage is kept as written, with its lines")
    func passages() throws {
        let text = " one\r\n\ttwo\n\n"
        #expect(try Texts.passage(text, field: "text", most: 20, mayBeEmpty: false) == text)
        #expect(try Texts.passage("", field: "text", most: 20, mayBeEmpty: true) == "")
        for text in ["", " \n", "\u{200B}\n\u{2060}", "a\u{0}", "a\u{8}b"] {
            #expect(throws: HirobaError.self) { try Texts.passage(text, field: "text", most: 20, mayBeEmpty: false) }
        }
    }

    @Test("length is counted in Unicode scalars")
    func length() throws {
        _ = try Texts.line("👍👍👍👍", field: "name", most: 4)
        #expect(throws: HirobaError.self) { try Texts.line("👍👍👍👍👍", field: "name", most: 4) }
        #expect(throws: HirobaError.self) { try Texts.line("e\u{301}e\u{301}e", field: "name", most: 4) }
        #expect(throws: HirobaError.self) {
            try Texts.line(String(repeating: "x", count: 1_000_000), field: "name", most: 4)
        }
    }

    @Test("a note about a client is made harmless and short")
    func notes() {
        #expect(Texts.note(" Test/1.0\r\nSet-Cookie: x\u{0} ") == "Test/1.0Set-Cookie: x")
        #expect(Texts.note(" \u{0}") == nil)
        #expect(Texts.note(String(repeating: "話", count: 500))?.count == 200)
    }
}
