import HirobaJSON
import Testing

@Suite("Writing JSON")
struct JSONWriterTests {
    @Test("sets commas where they are due")
    func commas() {
        var writer = JSONWriter(Array("before ".utf8))
        writer.beginObject()
        writer.name("a")
        writer.beginArray()
        writer.integer(-12)
        writer.null()
        writer.bool(true)
        writer.beginArray()
        writer.endArray()
        writer.string("[{:,")
        writer.string("x")
        writer.endArray()
        writer.name("b")
        writer.raw(#"{"stored":1}"#.utf8)
        writer.name("c")
        writer.beginObject()
        writer.endObject()
        writer.endObject()
        #expect(
            String(decoding: writer.bytes, as: UTF8.self)
                == #"before {"a":[-12,null,true,[],"[{:,","x"],"b":{"stored":1},"c":{}}"#)
    }

    @Test("escapes what must be escaped and nothing else")
    func escapes() {
        let text = "\"\\/\u{0}\u{1}\u{8}\t\n\u{B}\u{C}\r\u{1F} \u{7F}é\u{2028}😀"
        #expect(
            JSON.string(text).description
                == #""\"\\/\u0000\u0001\b\t\n\u000b\f\r\u001f "# + " \u{7F}é\u{2028}😀\"".dropFirst())
    }

    @Test("escapes every control character that stands alone")
    func controls() throws {
        for value: UInt8 in 0...0x1F {
            let text = JSON.string("a\(Unicode.Scalar(value))b").bytes()
            #expect(text.allSatisfy { $0 >= 0x20 }, "\(value)")
            #expect(try JSON.parse(text).string == "a\(Unicode.Scalar(value))b")
        }
    }

    @Test("finds what must be escaped wherever it stands, and lets its neighbours be")
    func everyPlace() throws {
        for length in 1...20 {
            for place in 0..<length {
                for special in [
                    "\"", "\\", "\u{0}", "\u{1F}", " ", "!", "#", "[", "]", "\u{7F}", "\u{80}", "\u{A2}", "ﾜ",
                ] {
                    let text =
                        String(repeating: "~", count: place) + special + String(repeating: "é", count: length - place)
                    let bytes = JSON.string(text).bytes()
                    #expect(try JSON.parse(bytes).string == text)
                    let isPlain = !["\"", "\\", "\u{0}", "\u{1F}"].contains(special)
                    #expect((bytes.count == text.utf8.count + 2) == isPlain, "\(special) at \(place) of \(length)")
                }
            }
        }
    }

    @Test("gives back every Unicode scalar")
    func everyScalar() throws {
        // In pieces of one plane each, so that a failure shows where.
        for plane in 0...0x10 {
            var scalars = String.UnicodeScalarView()
            for value in UInt32(plane) << 16...(UInt32(plane) << 16 | 0xFFFF) {
                if let scalar = Unicode.Scalar(value) { scalars.append(scalar) }
            }
            let text = String(scalars)
            let back = try JSON.parse(JSON.string(text).bytes()).string ?? ""
            #expect(back.unicodeScalars.elementsEqual(scalars), "plane \(plane)")
        }
    }

    @Test(
        "writes whole numbers of every width",
        arguments: [0, 1, 9, 10, -1, -9, -10, 99, 100, .max, .min, .min + 1] as [Int64])
    func integers(value: Int64) {
        #expect(JSON.integer(value).description == String(value))
    }

    @Test("writes the largest unsigned number")
    func unsigned() {
        var writer = JSONWriter()
        writer.integer(UInt64.max)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == "18446744073709551615")
    }

    @Test("writes for people")
    func pretty() {
        let value: JSON = ["a": [1, ["b": [:]], []], "c": ":"]
        let text = """
            {
              "a": [
                1,
                {
                  "b": {}
                },
                []
              ],
              "c": ":"
            }
            """
        #expect(String(decoding: value.prettyBytes(), as: UTF8.self) == text)
    }
}
