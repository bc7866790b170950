import Foundation
import HirobaContract
import HirobaJSON
import Testing

private struct Everything: Call, Hashable {
    typealias Answer = NoContent
    static let route = Route(.get, "/all/{name}/of/{number}")
    static let summary = "Every kind of field"
    var name: String
    var number: Int
    var ratio: Double?
    var isOpen: Bool?
    var since: Date?
    var words: [String]?
    var numbers: [Int]?
    var filter: JSON?
}

private struct Put: Call, Hashable {
    typealias Answer = NoContent
    static let route = Route(.put, "/things/{name}")
    static let summary = "A path and a body"
    var name: String
    var note: String?
    var parts: [Part]?
    struct Part: Codable, Hashable { var size: Int }
}

@Suite("A call as a request and back")
struct CallCodingTests {
    @Test("keeps every call there is", arguments: Samples.all)
    func roundTrip(sample: Sample) throws {
        #expect(try sample.comesBack())
    }

    @Test("has a sample for every call in the list")
    func complete() {
        let names = Calls.all.map { $0.name }
        #expect(Set(names) == Set(Samples.all.map { $0.call.name }))
        #expect(Set(names).count == names.count)
        let routes = Calls.all.map { "\($0.route.method.rawValue) \($0.route.template)" }
        #expect(Set(routes).count == routes.count)
    }

    @Test("places fields by the one rule")
    func rule() throws {
        let call = Everything(
            name: "a/b c", number: -3, ratio: 0.5, isOpen: true, since: Samples.early, words: ["x", "y&z"],
            numbers: [1, 2],
            filter: ["a": [1]])
        let encoded = try CallCoding.encode(call)
        #expect(encoded.path == "/v1/all/a%2Fb%20c/of/-3")
        #expect(
            encoded.query
                == "ratio=0.5&isOpen=true&since=2031-05-04T12%3A00%3A05.060Z&words=x&words=y%26z&numbers=1&numbers=2"
                + "&filter=%7B%22a%22%3A%5B1%5D%7D")
        #expect(encoded.body == nil)
        #expect(try decode(Everything.self, encoded) == call)

        let put = try CallCoding.encode(Put(name: "日本", note: "n", parts: [Put.Part(size: 1)]))
        #expect(put.target == "/v1/things/%E6%97%A5%E6%9C%AC")
        #expect(put.body == Array(#"{"note":"n","parts":[{"size":1}]}"#.utf8))
    }

    @Test(
        "survives every text",
        arguments: ["%", "%41", "+", " ", "&=?#/", "é", "e\u{301}", "\u{0}\u{1}", "😀", "..a", "\"\\", "'", "true", "7"])
    func texts(text: String) throws {
        let get = Everything(name: text, number: 1, words: [text, text])
        let back = try decode(Everything.self, try CallCoding.encode(get))
        #expect(back.name.unicodeScalars.elementsEqual(text.unicodeScalars))
        #expect(back == get)
        let put = Put(name: text, note: text)
        #expect(try decode(Put.self, try CallCoding.encode(put)) == put)
    }

    @Test("refuses to send what would change the path", arguments: ["", ".", ".."])
    func paths(text: String) {
        #expect(throws: CallEncodingError.self) { try CallCoding.encode(GetTopic(topic: Topic.ID(text))) }
    }

    private func failure<C: CallDescription>(
        _ type: C.Type, _ parameters: [String: String] = [:], query: String? = nil, body: String = ""
    ) throws -> InvalidCall {
        try #require(throws: InvalidCall.self) {
            try CallCoding.decode(type, pathParameters: parameters, query: query, body: Array(body.utf8))
        }
    }

    @Test(
        "names the field of a body that is at fault",
        arguments: [
            (#"{"text":"a"}"#, "title", InvalidCall.Reason.missingField),
            (#"{"title":"a","titel":"b"}"#, "titel", .unknownField),
            (#"{"title":1}"#, "title", .wrongType(expected: "a text", found: "a number")),
            (#"{"title":null}"#, "title", .wrongType(expected: "a text", found: "null")),
            (#"{"title":"a","photo":"no id!"}"#, "photo", .invalidValue("this is not an id")),
            (#"{"title":"a","photo":""}"#, "photo", .invalidValue("this is not an id")), ("", "title", .missingField),
        ])
    func bodies(body: String, field: String, reason: InvalidCall.Reason) throws {
        let error = try failure(CreateTopic.self, body: body)
        #expect(error.field == field)
        #expect(error.reason == reason)
        #expect(error.code == .invalidField)
    }

    @Test("says what is wrong with a body as a whole")
    func wholeBodies() throws {
        #expect(try failure(CreateTopic.self, body: "[]").reason == .notAnObject)
        #expect(try failure(CreateTopic.self, body: "[]").code == .invalidRequest)
        #expect(try failure(CreateTopic.self, body: #"{"title":"a","title":"b"}"#).field == nil)
        #expect(
            try failure(CreateTopic.self, body: "{").detail
                == "The body is not JSON: the document ends where a member's name was expected (line 1, offset 1).")
        #expect(try failure(GetMe.self, body: "{}").reason == .unexpectedBody)
        let deep = #"{"title":"# + String(repeating: "[", count: 40) + String(repeating: "]", count: 40) + "}"
        #expect(try failure(CreateTopic.self, body: deep).detail.contains("more than 32"))
    }

    @Test("names the field of a query or a path that is at fault")
    func queries() throws {
        #expect(try failure(ListTopics.self, query: "limit=many").field == "limit")
        #expect(try failure(ListTopics.self, query: "limit=1&limit=2").field == "limit")
        #expect(try failure(ListTopics.self, query: "limit=").field == "limit")
        #expect(try failure(ListTopics.self, query: "page=1").reason == .unknownField)
        #expect(try failure(ListTopics.self, query: "after=%zz").reason == .malformedQuery)
        #expect(try failure(ListTopics.self, query: "after=%ff").reason == .malformedQuery)
        #expect(try failure(GetTopic.self, ["topic": "a b"]).field == "topic")
        #expect(try failure(GetTopic.self).reason == .missingField)
        let error = try failure(ListTopics.self, query: "limit=many")
        #expect(error.detail == "The field \"limit\" must be a whole number, not a text.")
    }

    @Test("refuses a field that comes by the wrong way")
    func wrongWay() throws {
        #expect(try failure(GetTopic.self, ["topic": "a"], query: "topic=b").field == "topic")
        #expect(try failure(CreateComment.self, ["topic": "a"], body: #"{"text":"t","topic":"b"}"#).field == "topic")
        #expect(try failure(CreateTopic.self, query: "title=t").field == "title")
        #expect(try failure(CreateTopic.self, query: "title=t", body: #"{"title":"t"}"#).field == "title")
        #expect(try failure(UploadFile.self, query: "x=1").field == "x")
    }

    @Test("takes a query as forms write it")
    func forms() throws {
        let call = try CallCoding.decode(
            ListTopics.self, pathParameters: [:], query: "&limit=5&&after=a+b%2bc=d&", body: [])
        #expect(call == ListTopics(limit: 5, after: "a b+c=d"))
        #expect(try CallCoding.decode(ListTopics.self, pathParameters: [:], query: nil, body: []) == ListTopics())
    }

    @Test("says the end of a list, and takes an end that is not said")
    func endOfList() throws {
        let page = Page(items: [1])
        #expect(String(decoding: try JSONCoding.encode(page), as: UTF8.self) == #"{"items":[1],"next":null}"#)
        #expect(try JSONCoding.decode(Page<Int>.self, from: Array(#"{"items":[1]}"#.utf8)) == page)
    }

    @Test("reads an answer that a younger server has added to")
    func youngerServer() throws {
        let text = #"{"code":"on_holiday","status":503,"title":"t","type":"about:blank","until":"2031"}"#
        let problem = try JSONCoding.decode(Problem.self, from: Array(text.utf8))
        #expect(problem.code == ErrorCode(rawValue: "on_holiday"))
    }
}
