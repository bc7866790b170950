import HirobaJSON
import Testing

@Suite("The JSON value")
struct JSONTests {
    @Test("is equal to another with the same members in another order, and hashes the same")
    func order() {
        let one: JSON = ["a": 1, "b": [true, nil]]
        let other: JSON = ["b": [true, nil], "a": 1]
        #expect(one == other)
        #expect(Set([one, other]).count == 1)
        #expect(one != ["a": 1])
        #expect(one != ["a": 1, "b": [true, nil], "c": 1])
        #expect(one.description != other.description)
    }

    @Test("tells texts apart that Swift calls equal")
    func scalars() {
        #expect(JSON.string("\u{E9}") != .string("e\u{301}"))
        #expect(JSON.string("\u{E9}") == .string("\u{E9}"))
    }

    @Test("never mixes up kinds")
    func kinds() {
        let values: [JSON] = [nil, false, 0, "", [], [:]]
        for (position, value) in values.enumerated() {
            for (other, otherValue) in values.enumerated() { #expect((value == otherValue) == (position == other)) }
        }
        #expect(JSON.bool(true).integer == nil)
        #expect(JSON.integer(1).bool == nil)
        #expect(JSON.string("1").integer == nil)
    }

    @Test("reads whole numbers whatever their spelling")
    func wholeNumbers() throws {
        #expect(try JSON.parse("1e2").integer == 100)
        #expect(try JSON.parse("1.0").integer == 1)
        #expect(try JSON.parse("1.5").integer == nil)
        #expect(try JSON.parse("9223372036854775808").integer == nil)
        #expect(try JSON.parse("9223372036854775808").double == 9_223_372_036_854_775_808)
        #expect(try JSON.parse("1e400").double == nil)
        #expect(JSON.integer(3).double == 3)
        #expect(JSON.number(.infinity) == nil)
        #expect(JSON.number(0.1)?.description == "0.1")
        #expect(JSONNumber(text: "x") == nil)
        #expect(JSONNumber(text: "\"1\"") == nil)
        #expect(JSONNumber(text: "12")?.integer == 12)
    }

    @Test("sets, changes and removes members in place")
    func members() {
        var value: JSON = ["a": 1, "b": 2, "c": 3]
        value["b"] = "two"
        value["a"] = nil
        value["d"] = [4]
        #expect(value.description == #"{"b":"two","c":3,"d":[4]}"#)
        #expect(value["d"]?[0] == 4)
        #expect(value["d"]?[1] == nil)
        #expect(value["nothing"] == nil)
        #expect(JSON.null["a"] == nil)
        var text: JSON = "text"
        text["a"] = 1
        #expect(text == ["a": 1])
    }

    @Test("finds and removes members beyond the number that is walked")
    func manyMembers() {
        var object = JSONObject()
        for number in 0..<40 { object["n\(number)"] = .integer(Int64(number)) }
        object["n5"] = nil
        object["n39"] = "last"
        #expect(object.count == 39)
        #expect(object["n5"] == nil)
        #expect(object["n6"] == 6)
        #expect(object.names.last == "n39")
        #expect(object["n39"] == "last")
        for number in 0..<35 { object["n\(number)"] = nil }
        #expect(object.names == ["n35", "n36", "n37", "n38", "n39"])
        #expect(object["n36"] == 36)
    }

    @Test(
        "takes a merge patch",
        arguments: [
            (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
            (#"{"a":"b","b":1}"#, #"{"a":null}"#, #"{"b":1}"#), (#"{"a":[1]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
            (#"{"a":{"b":1,"c":2}}"#, #"{"a":{"b":3,"c":null}}"#, #"{"a":{"b":3}}"#),
            (#"{"a":[{"b":1}]}"#, #"{"a":[2]}"#, #"{"a":[2]}"#), ("[1,2]", #"{"a":1}"#, #"{"a":1}"#),
            (#"{"a":1}"#, "[2]", "[2]"), (#"{"a":1}"#, "null", "null"),
            (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
            ("{}", #"{"a":{"b":{"c":null}}}"#, #"{"a":{"b":{}}}"#),
        ])
    func patch(target: String, patch: String, result: String) throws {
        var value = try JSON.parse(target)
        value.patch(try JSON.parse(patch))
        #expect(value.description == result)
    }
}
