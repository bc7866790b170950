import HirobaJSON
import Testing

@Suite("Reading JSON")
struct JSONReaderTests {
    @Test(
        "takes every form that the grammar allows",
        arguments: [
            ("null", .null), ("true", .bool(true)), ("false", .bool(false)), (" \t\r\n[ ] \n", .array([])),
            ("0", .integer(0)), ("-1", .integer(-1)), ("9223372036854775807", .integer(.max)),
            ("-9223372036854775808", .integer(.min)), ("\"\"", .string("")), ("{}", .emptyObject),
            ("{\"\":0}", ["": 0]), ("{\"a\" : [ 1 , 2 ] , \"b\":{} }", ["a": [1, 2], "b": [:]]),
            ("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", .string("\"\\/\u{8}\u{C}\n\r\t")),
            ("\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"", .string("Aé€😀")), ("\"\\u0000\"", .string("\0")),
            (
                "\"\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}\u{10000}\u{10FFFF}\"",
                .string("\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}\u{10000}\u{10FFFF}")
            ),
            ("\"\u{2028}\u{2029}\"", .string("\u{2028}\u{2029}")), ("[[[[[[[[[[]]]]]]]]]]", nil),
            ("[1.5,-0.0,1e3,1E-2,1e+2,0e0,-0]", nil),
        ] as [(String, JSON?)])
    func takes(text: String, value: JSON?) throws {
        let read = try JSON.parse(text)
        if let value { #expect(read == value) }
        #expect(try JSON.parse(read.bytes()) == read)
    }

    @Test(
        "refuses everything else",
        arguments: [
            "", " ", "[", "]", "{", "}", "[1", "[1,", "[1,]", "[,1]", "[1,,2]", "[1 2]", "[1}", "{\"a\"", "{\"a\":",
            "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{\"a\" 1}", "{\"a\"::1}", "{a:1}", "{'a':1}", "{1:1}", "{,}",
            "{\"a\":1 \"b\":2}", "{\"a\":1]", "null null", "[] []", "{}}", "[]x", "nul", "nulll", "NULL", "True", "tru",
            "fals", "undefined", "NaN", "Infinity", "-Infinity", "-", "+1", "01", "-01", "00", "1.", ".5", "-.5",
            "1.e3",
            "1e", "1e+", "1E-", "1ee3", "1.2.3", "0x10", "1_000", "1,5", "--1", "- 1", "1 000", "\"", "\"a", "\"\\\"",
            "\"\\", "\"\\x41\"", "\"\\u\"", "\"\\u12\"", "\"\\u123g\"", "\"\\U0041\"", "\"\\ud800\"", "\"\\udc00\"",
            "\"\\ud800\\ud800\"", "\"\\ud800x\"", "\"\\ud800\\n\"", "\"\n\"", "\"\t\"", "\"\0\"", "\"\u{1F}\"", "'a'",
            "// c\n1", "1 // c", "/**/1", "#1", "\u{FEFF}1", "1\0", "\u{A0}1", "\u{2003}1", "[1\u{B}]", "[1\u{C}]",
            "\\u0031",
        ])
    func refuses(text: String) {
        #expect(throws: JSONError.self) { try JSON.parse(text) }
    }

    @Test(
        "refuses bytes that are not UTF-8",
        arguments: [
            [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x80, 0x80], [0xE2, 0x82],
            [0xE2, 0x28, 0xA1], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x9F, 0x98],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFE], [0xFF],
        ] as [[UInt8]])
    func refusesBytes(bytes: [UInt8]) {
        let failure = #expect(throws: JSONError.self) { try JSON.parse([0x22, 0x61] + bytes + [0x22]) }
        #expect(failure?.problem == .notUTF8)
        #expect(failure?.offset == 2)
        // The same after an escape, where texts are read by the other path.
        #expect(throws: JSONError.self) { try JSON.parse([0x22, 0x5C, 0x6E] + bytes + [0x22]) }
        #expect(throws: JSONError.self) { try JSON.parse([0x22] + bytes) }
        #expect(throws: JSONError.self) { try JSON.parse(bytes) }
    }

    @Test(
        "says where it stopped and what it expected",
        arguments: [
            ("{\n  \"a\": 1,\n}", 3, 12, "expected a member's name (line 3, offset 12)"),
            ("[1 2]", 1, 3, "expected \",\" or \"]\" (line 1, offset 3)"),
            ("[1", 1, 2, "the document ends where \",\" or \"]\" was expected (line 1, offset 2)"),
            ("\n\n nope", 3, 3, "expected null (line 3, offset 3)"),
            ("[\"\\ud800\"]", 1, 2, "half of a surrogate pair (line 1, offset 2)"),
            ("[\"\\uDC00\"]", 1, 2, "half of a surrogate pair (line 1, offset 2)"),
            ("[007]", 1, 1, "expected a number without leading zeros (line 1, offset 1)"),
            ("[\"a\tb\"]", 1, 3, "a control character inside a text must be escaped (line 1, offset 3)"),
            ("1 1", 1, 2, "expected the end of the document (line 1, offset 2)"),
        ])
    func places(text: String, line: Int, offset: Int, sentence: String) {
        let failure = #expect(throws: JSONError.self) { try JSON.parse(text) }
        #expect(failure?.line == line)
        #expect(failure?.offset == offset)
        #expect(failure?.description == sentence)
    }

    @Test("stops at the depth it was given")
    func depth() throws {
        let limits = JSONLimits(depth: 3)
        #expect(try JSON.parse("[{\"a\":[]}]", limits: limits) == [["a": []]])
        let failure = #expect(throws: JSONError.self) { try JSON.parse("[{\"a\":[[]]}]", limits: limits) }
        #expect(failure?.problem == .tooDeep(limit: 3))
        // Neighbours do not count.
        #expect(try JSON.parse("[[],[],[],[],[]]", limits: limits).array?.count == 5)
        #expect(throws: JSONError.self) { try JSON.parse([UInt8](repeating: 0x5B, count: 1_000_000)) }
    }

    @Test("keeps its stack at the greatest depth that can be asked for")
    func greatestDepth() throws {
        let limits = JSONLimits(depth: .max)
        let deepest = String(repeating: "[", count: 1_024) + String(repeating: "]", count: 1_024)
        #expect(try JSON.parse(deepest, limits: limits).bytes() == Array(deepest.utf8))
        #expect(throws: JSONError.self) { try JSON.parse("[\(deepest)]", limits: limits) }
    }

    @Test("stops at the size it was given")
    func size() throws {
        #expect(try JSON.parse("[12]", limits: JSONLimits(bytes: 4)) == [12])
        let failure = #expect(throws: JSONError.self) { try JSON.parse("[123]", limits: JSONLimits(bytes: 4)) }
        #expect(failure?.problem == .tooLong(limit: 4))
    }

    @Test("lets the last of two members with one name win, or refuses them")
    func repeatedNames() throws {
        let text = #"{"a":1,"b":2,"\u0061":3}"#
        #expect(try JSON.parse(text).description == #"{"a":3,"b":2}"#)
        let failure = #expect(throws: JSONError.self) {
            try JSON.parse(text, limits: JSONLimits(repeatedNames: .refuse))
        }
        #expect(failure?.problem == .repeatedName("a"))
        #expect(failure?.offset == 13)
    }

    @Test("takes names apart that only look the same")
    func similarNames() throws {
        let composed = "\u{E9}"
        let decomposed = "e\u{301}"
        let value = try JSON.parse("{\"\(composed)\":1,\"\(decomposed)\":2}")
        #expect(value.object?.count == 2)
        #expect(value[composed] == 1)
        #expect(value[decomposed] == 2)
    }

    @Test("reads an object with very many members without slowing down")
    func manyMembers() throws {
        let text = "{" + (0..<20_000).map { "\"n\($0)\":\($0)" }.joined(separator: ",") + "}"
        let value = try JSON.parse(text)
        #expect(value["n19999"] == 19_999)
        #expect(value.bytes() == Array(text.utf8))
    }

    @Test(
        "gives back every number as it was written",
        arguments: [
            "0", "-0", "1.0", "1.10", "0.1", "1e400", "-1E-400", "9223372036854775808", "-9223372036854775809",
            "123456789012345678901234567890.123456789012345678901234567890", "1E+2", "18446744073709551616",
            "99999999999999999999999999999999",
        ])
    func numbers(text: String) throws {
        #expect(try JSON.parse(text).bytes() == Array(text.utf8))
    }
}
