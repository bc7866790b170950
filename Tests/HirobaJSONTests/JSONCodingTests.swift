import Foundation
import HirobaJSON
import Testing

private struct Inner: Codable, Equatable {
    var title: String
    var count: Int?
}

private struct Outer: Codable, Equatable {
    var id: String
    var isOpen: Bool
    var items: [Inner]
    var byName: [String: Inner]?
    var at: Date
    var ratio: Double
    var small: Int8
    var big: UInt64
    var note: String?
    var rest: JSON?
    var address: URL?
}

private struct Empty: Codable, Equatable {}

private enum Shape: Codable, Equatable {
    case circle(radius: Int)
    case square(Int, Int)
    case none
}

private class Animal: Codable {
    var legs: Int
    init(legs: Int) { self.legs = legs }
}

private final class Cat: Animal {
    var name: String
    private enum CodingKeys: CodingKey { case name }
    init(name: String) {
        self.name = name
        super.init(legs: 4)
    }
    required init(from decoder: any Decoder) throws {
        name = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .name)
        try super.init(from: decoder)
    }
    override func encode(to encoder: any Encoder) throws {
        try super.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
    }
}

private struct HandMade: Codable, Equatable {
    var x: Int
    var tail: [String]
    var deep: Int

    enum Keys: CodingKey { case point, tail, deep }
    enum PointKeys: CodingKey { case x }

    init(x: Int, tail: [String], deep: Int) { (self.x, self.tail, self.deep) = (x, tail, deep) }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        x = try container.nestedContainer(keyedBy: PointKeys.self, forKey: .point).decode(Int.self, forKey: .x)
        var list = try container.nestedUnkeyedContainer(forKey: .tail)
        tail = []
        while !list.isAtEnd { tail.append(try list.decode(String.self)) }
        var outer = try container.nestedUnkeyedContainer(forKey: .deep)
        var inner = try outer.nestedUnkeyedContainer()
        deep = try inner.decode(Int.self)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        var point = container.nestedContainer(keyedBy: PointKeys.self, forKey: .point)
        try point.encode(x, forKey: .x)
        var list = container.nestedUnkeyedContainer(forKey: .tail)
        for text in tail { try list.encode(text) }
        var outer = container.nestedUnkeyedContainer(forKey: .deep)
        var inner = outer.nestedUnkeyedContainer()
        try inner.encode(deep)
    }
}

private struct GoesBack: Encodable {
    enum Keys: CodingKey { case a, b, x }
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        var first = container.nestedContainer(keyedBy: Keys.self, forKey: .a)
        var second = container.nestedContainer(keyedBy: Keys.self, forKey: .b)
        try second.encode(1, forKey: .x)
        try first.encode(2, forKey: .x)
    }
}

private func text(_ value: some Encodable, dates: JSONDates = .rfc3339) throws -> String {
    String(decoding: try JSONCoding.encode(value, dates: dates), as: UTF8.self)
}

private let sample = Outer(
    id: "a\"b", isOpen: true, items: [Inner(title: "one", count: 1), Inner(title: "二")],
    byName: ["k": Inner(title: "v")],
    at: Date(milliseconds: 1_935_662_405_060), ratio: 0.5, small: -8, big: .max, note: nil,
    rest: ["z": [1, nil], "a": 1.5], address: URL(string: "https://example.org/?a=b"))

@Suite("Codable values as JSON")
struct JSONEncodingTests {
    @Test("are written member by member in their order, without what is nil")
    func writes() throws {
        #expect(
            try text(sample) == #"{"id":"a\"b","isOpen":true,"items":[{"title":"one","count":1},{"title":"二"}],"#
                + #""byName":{"k":{"title":"v"}},"at":"2031-05-04T12:00:05.060Z","ratio":0.5,"small":-8,"#
                + #""big":18446744073709551615,"rest":{"z":[1,null],"a":1.5},"address":"https://example.org/?a=b"}"#)
    }

    @Test("come back the same")
    func roundTrip() throws {
        #expect(try JSONCoding.decode(Outer.self, from: JSONCoding.encode(sample), unknownFields: .refuse) == sample)
        let shapes: [Shape] = [.circle(radius: 3), .square(1, 2), .none]
        #expect(try text(shapes) == #"[{"circle":{"radius":3}},{"square":{"_0":1,"_1":2}},{"none":{}}]"#)
        #expect(try JSONCoding.decode([Shape].self, from: JSONCoding.encode(shapes)) == shapes)
        let byHand = HandMade(x: 7, tail: ["a", "b"], deep: 9)
        #expect(try text(byHand) == #"{"point":{"x":7},"tail":["a","b"],"deep":[[9]]}"#)
        #expect(try JSONCoding.decode(HandMade.self, from: JSONCoding.encode(byHand)) == byHand)
        let cat = try JSONCoding.decode(Cat.self, from: JSONCoding.encode(Cat(name: "Mimi")))
        #expect(try text(cat) == #"{"legs":4,"name":"Mimi"}"#)
    }

    @Test("can be anything at the top")
    func fragments() throws {
        #expect(try text("x") == #""x""#)
        #expect(try text(1) == "1")
        #expect(try text(Optional<Int>.none) == "null")
        #expect(try text([Int]()) == "[]")
        #expect(try text(Empty()) == "{}")
        #expect(try text([Empty(), Empty()]) == "[{},{}]")
        #expect(try text([[1], [], [2, 3]]) == "[[1],[],[2,3]]")
        #expect(try text([Optional(1), nil]) == "[1,null]")
        #expect(try text(["a": Optional(1)]) == #"{"a":1}"#)
        #expect(try text(Float(0.1)) == "0.1")
        #expect(try text(Date(milliseconds: 0)) == #""1970-01-01T00:00:00.000Z""#)
        #expect(try text([Date(milliseconds: 0)]) == #"["1970-01-01T00:00:00.000Z"]"#)
    }

    @Test("have their dates in the way of the API")
    func dates() throws {
        let date = Date(milliseconds: 1_500)
        #expect(try text([date], dates: .secondsSince1970) == "[1.5]")
        #expect(try text([date], dates: .millisecondsSince1970) == "[1500]")
        #expect(try JSONCoding.decode(Date.self, from: Array("1.5".utf8), dates: .secondsSince1970) == date)
        #expect(try JSONCoding.decode(Date.self, from: Array("1500".utf8), dates: .millisecondsSince1970) == date)
        let foreign = Array(#""2019-11-07T08:46:15-0500""#.utf8)
        #expect(
            try JSONCoding.decode(Date.self, from: foreign, dates: .iso8601) == Date(milliseconds: 1_573_134_375_000))
        #expect(throws: JSONCodingError.self) { try JSONCoding.decode(Date.self, from: foreign) }
    }

    @Test("that JSON cannot say are refused with their field")
    func impossible() {
        let failure = #expect(throws: JSONCodingError.self) {
            try JSONCoding.encode(["list": [["ratio": 1.0], ["ratio": .nan]]])
        }
        #expect(failure?.field == "list[1].ratio")
        #expect(throws: JSONCodingError.self) { try JSONCoding.encode([Date(timeIntervalSince1970: .infinity)]) }
        #expect(throws: JSONCodingError.self) {
            try JSONCoding.encode(Date(milliseconds: Timestamp.range.upperBound + 1))
        }
    }

    @Test("must not go back to a part that was closed")
    func goingBack() {
        #expect(throws: JSONCodingError.self) { try JSONCoding.encode(GoesBack()) }
    }
}

@Suite("JSON as Codable values")
struct JSONDecodingTests {
    private func failure<T: Decodable>(
        _ type: T.Type, _ text: String, _ unknown: JSONCoding.UnknownFields = .refuse
    ) throws -> JSONCodingError {
        try #require(
            throws: JSONCodingError.self,
            performing: { try JSONCoding.decode(type, from: Array(text.utf8), unknownFields: unknown) })
    }

    @Test(
        "names the field at fault",
        arguments: [
            (#"[{"title":"a"},{"title":1}]"#, "[1].title: expected a text, found a number"),
            (#"[{"title":"a"},{"titel":"b"}]"#, "[1].titel: is not known here"),
            (#"[{"count":1}]"#, "[0].title: is missing"),
            (#"[{"title":null}]"#, "[0].title: expected a text, found null"),
            (#"[{"title":"a","count":"1"}]"#, "[0].count: expected a whole number, found a text"),
            (#"[{"title":"a","count":true}]"#, "[0].count: expected a whole number, found a truth value"),
            (
                #"[{"title":"a","count":1.5}]"#,
                "[0].count: expected a whole number from -9223372036854775808 to 9223372036854775807, found a number"
            ),
            (#"[7]"#, "[0]: expected an object, found a number"), (#"{"a":1}"#, "expected a list, found an object"),
            (#"[{"title":"a","title":"b"}]"#, #"the name "title" occurs twice in one object (line 1, offset 14)"#),
        ])
    func paths(text: String, sentence: String) throws {
        #expect(try failure([Inner].self, text).description == sentence)
    }

    @Test("names fields below containers that a type opens by hand")
    func handMadePaths() throws {
        #expect(try failure(HandMade.self, #"{"point":{"x":"1"},"tail":[],"deep":[[1]]}"#).field == "point.x")
        #expect(try failure(HandMade.self, #"{"point":{"x":1,"y":2},"tail":[],"deep":[[1]]}"#).field == "point.y")
        #expect(try failure(HandMade.self, #"{"point":{"x":1},"tail":["a",2],"deep":[[1]]}"#).field == "tail[1]")
        #expect(try failure(HandMade.self, #"{"point":{"x":1},"tail":[],"deep":[["1"]]}"#).field == "deep[0][0]")
        #expect(try failure(HandMade.self, #"{"point":{"x":1},"tail":[],"deep":[[]]}"#).field == "deep[0][0]")
        #expect(try failure([String: [HandMade]].self, #"{"k":[{"point":{}}]}"#).field == "k[0].point.x")
    }

    @Test("keeps the path of errors that types throw themselves")
    func foreignErrors() throws {
        enum Word: String, Codable { case yes, no }
        let error = try failure([String: [Word]].self, #"{"k":["yes","maybe"]}"#)
        #expect(error.field == "k[1]")
    }

    @Test("refuses fields of a type that has none")
    func noFields() throws {
        #expect(try failure([Empty].self, #"[{},{"a":1}]"#).description == "[1].a: is not known here")
    }

    @Test("ignores unknown fields and repeated names where that is wanted")
    func lenient() throws {
        let text = Array(#"{"title":"a","new":[{}],"title":"b"}"#.utf8)
        #expect(try JSONCoding.decode(Inner.self, from: text) == Inner(title: "b"))
    }

    @Test("takes null for an absent optional")
    func null() throws {
        #expect(
            try JSONCoding.decode(Inner.self, from: Array(#"{"title":"a","count":null}"#.utf8)) == Inner(title: "a"))
    }

    @Test("keeps whole numbers whole and refuses those that do not fit")
    func integers() throws {
        #expect(
            try JSONCoding.decode([Int64].self, from: Array("[9007199254740993, 1e2, 3.0]".utf8)) == [
                9_007_199_254_740_993, 100, 3,
            ])
        #expect(try JSONCoding.decode(UInt64.self, from: Array("18446744073709551615".utf8)) == .max)
        #expect(throws: JSONCodingError.self) { try JSONCoding.decode(Int8.self, from: Array("128".utf8)) }
        #expect(throws: JSONCodingError.self) { try JSONCoding.decode(UInt.self, from: Array("-1".utf8)) }
        #expect(throws: JSONCodingError.self) { try JSONCoding.decode(Bool.self, from: Array("1".utf8)) }
        #expect(throws: JSONCodingError.self) { try JSONCoding.decode(Double.self, from: Array("1e999".utf8)) }
    }

    @Test("says when the bytes are not JSON at all")
    func syntax() throws {
        let error = try failure(Inner.self, "{\"title\":")
        #expect(error.field == nil)
        #expect(error.description == "the document ends where a value was expected (line 1, offset 9)")
    }

    @Test("reads texts of a query as the type that is wanted")
    func texts() throws {
        struct Query: Codable, Equatable {
            var limit: Int?
            var isOpen: Bool?
            var after: String?
            var ids: [Int]?
            var since: Date?
            var `where`: JSON?
            var inner: Inner?
        }
        let query = try JSONCoding.decode(
            Query.self,
            from: .fields([
                ("limit", .texts(["20"])), ("isOpen", .texts(["true"])), ("after", .texts(["7"])),
                ("ids", .texts(["1", "2"])),
                ("since", .texts(["1970-01-01T00:00:00Z"])), ("where", .texts([#"{"a":1}"#])),
                ("inner", .texts([#"{"title":"x"}"#])),
            ]), unknownFields: .refuse)
        #expect(
            query
                == Query(
                    limit: 20, isOpen: true, after: "7", ids: [1, 2], since: Date(milliseconds: 0), where: ["a": 1],
                    inner: Inner(title: "x")))
        for (name, texts) in [
            ("limit", ["x"]), ("limit", ["1", "2"]), ("isOpen", ["yes"]), ("after", ["a", "b"]), ("limit", [""]),
        ] {
            let error = #expect(throws: JSONCodingError.self) {
                try JSONCoding.decode(Query.self, from: .fields([(name, .texts(texts))]))
            }
            #expect(error?.field == name)
        }
    }
}
