import HirobaCore
import HirobaJSON
import Testing

@testable import HirobaGateways

@Suite struct APNsPayloadTests {
    private func message(_ kind: PushMessage.Kind = .alert) -> PushMessage {
        PushMessage(id: "0fe1dc2b-1c2d-4e3f-8a9b-0123456789ab", kind: kind)
    }

    private func json(_ message: PushMessage) throws -> String {
        String(decoding: try APNsPayload(message).bytes, as: UTF8.self)
    }

    @Test("an alert says everything Apple has a word for, and the rest stands beside aps")
    func alert() throws {
        var message = message()
        message.title = "Hana"
        message.subtitle = "Lanterns on the river"
        message.body = "I was there \"too\""
        message.badge = 0
        message.sound = "default"
        message.thread = "topic-1"
        message.category = "comment"
        message.link = "/topics/1"
        message.picture = "https://forum.example/pictures/1"
        message.data = ["topic": "1", "aps": "no", "link": "no", "count": 2]
        #expect(
            try json(message)
                == #"{"aps":{"alert":{"title":"Hana","subtitle":"Lanterns on the river","body":"I was there \"too\""},"#
                + #""badge":0,"sound":"default","thread-id":"topic-1","category":"comment","mutable-content":1},"#
                + #""link":"/topics/1","picture":"https://forum.example/pictures/1","topic":"1","count":2}"#)
    }

    @Test("what is not there is not said")
    func little() throws {
        #expect(try json(message()) == #"{"aps":{}}"#)
        var message = message()
        message.body = "Hello"
        #expect(try json(message) == #"{"aps":{"alert":{"body":"Hello"}}}"#)
    }

    @Test("a background push wakes and shows nothing")
    func background() throws {
        var message = message(.background)
        message.title = "never shown"
        message.badge = 3
        message.sound = "default"
        message.picture = "https://forum.example/1"
        message.data = ["topic": "1"]
        #expect(
            try json(message)
                == #"{"aps":{"content-available":1},"picture":"https://forum.example/1","topic":"1"}"#)
    }

    @Test("up to the limit nothing is cut, one byte more and the body is", arguments: [(PushMessage.Kind.alert, 4096)])
    func limit(kind: PushMessage.Kind, most: Int) throws {
        var message = message(kind)
        message.title = "Hana"
        message.body = ""
        let empty = try APNsPayload(message).bytes.count
        message.body = String(repeating: "a", count: most - empty)
        let whole = try APNsPayload(message)
        #expect(whole.bytes.count == most)
        #expect(!whole.isCut)
        message.body? += "a"
        let cut = try APNsPayload(message)
        #expect(cut.isCut)
        #expect(cut.bytes.count == most)
        let body = try #require(JSON.parse(cut.bytes)["aps"]?["alert"]?["body"]?.string)
        #expect(body == String(repeating: "a", count: most - empty - 3) + "…")
    }

    @Test("a push that rings may be longer, and has no text to cut")
    func voip() throws {
        var message = message(.voip)
        message.data = ["call": .string(String(repeating: "a", count: 5120 - 20))]
        #expect(try APNsPayload(message).bytes.count == 5120)
        message.data = ["call": .string(String(repeating: "a", count: 5120 - 19))]
        #expect(throws: APNsPayload.TooLarge.self) { try APNsPayload(message) }
    }

    @Test(
        "cuts happen between characters as people see them, whatever they weigh",
        arguments: ["あ", "👨‍👩‍👧‍👦", "e\u{301}", "\"", "\u{1}", "🇯🇵", "か\u{3099}"])
    func characters(character: String) throws {
        // One byte more each time, so that the cut falls at every place within a character.
        for more in 0..<60 {
            var message = message()
            message.title = String(repeating: "t", count: more)
            message.body = String(repeating: character, count: 5000 / character.utf8.count + 200)
            let payload = try APNsPayload(message)
            #expect(payload.bytes.count <= 4096)
            let one = JSON.string(character).bytes().count - 2
            #expect(payload.bytes.count > 4096 - one, "no more is cut than must be")
            let body = try #require(JSON.parse(payload.bytes)["aps"]?["alert"]?["body"]?.string)
            #expect(body.last == "…")
            #expect(body.dropLast().allSatisfy { String($0).hasSameScalars(as: character) })
        }
    }

    @Test("blanks before the ellipsis go")
    func blanks() throws {
        var message = message()
        message.body = "word" + String(repeating: " ", count: 5000) + "end"
        let payload = try APNsPayload(message)
        #expect(try JSON.parse(payload.bytes)["aps"]?["alert"]?["body"]?.string == "word…")
    }

    @Test("when the body is not enough the subtitle is cut, then the title")
    func titles() throws {
        var message = message()
        message.title = String(repeating: "t", count: 3000)
        message.subtitle = String(repeating: "s", count: 2000)
        message.body = "body"
        var alert = try JSON.parse(APNsPayload(message).bytes)["aps"]?["alert"]
        #expect(alert?["title"]?.string == message.title)
        #expect(alert?["body"]?.string == "…")
        #expect(alert?["subtitle"]?.string?.hasPrefix("sss") == true)
        message.title = String(repeating: "t", count: 6000)
        let payload = try APNsPayload(message)
        #expect(payload.bytes.count == 4096)
        alert = try JSON.parse(payload.bytes)["aps"]?["alert"]
        #expect(alert?["subtitle"]?.string == "…")
        #expect(alert?["title"]?.string?.hasSuffix("t…") == true)
    }

    @Test("what is too long without its texts is not sent at all")
    func tooLarge() {
        var message = message()
        message.title = "Hana"
        message.data = ["all": .string(String(repeating: "a", count: 4096))]
        #expect(throws: APNsPayload.TooLarge.self) { try APNsPayload(message) }
    }
}
