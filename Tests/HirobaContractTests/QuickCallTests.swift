import HirobaJSON
import Testing

@testable import HirobaContract

@Suite("Calls that read their fields themselves")
struct QuickCallTests {
    private static let queries = [
        nil, "", "limit=20", "limit=0", "limit=007", "limit=-1", "limit=1e2", "limit=2.0", "limit=999999999",
        "limit=9999999999", "limit=99999999999999999999", "limit=", "limit", "limit=+5", "limit=%31", "limit=1&limit=2",
        "after=abc",
        "after=", "after=a=b", "after=a%20b", "after=a+b", "limit=20&after=x_-9", "after=x&limit=3&", "&&limit=3",
        "size=200",
        "size=x", "size=200&size=300", "topic=1", "file=1", "other=1", "=1", "=", "limit=2&=",
    ]

    private func compare<C: CallDescription & Equatable>(_ type: C.Type, _ parameters: [String: String]) {
        for query in Self.queries {
            func result(_ decode: () throws(InvalidCall) -> C) -> Result<C, InvalidCall> {
                do { return .success(try decode()) } catch { return .failure(error) }
            }
            let quick = result { () throws(InvalidCall) in
                try CallCoding.decode(type, pathParameters: parameters, query: query, body: [])
            }
            let slow = result { () throws(InvalidCall) in
                try CallCoding.decodeSlowly(type, path: { parameters[$0] }, query: query, body: [])
            }
            #expect(quick == slow, "\(type) \(query ?? "nil")")
        }
    }

    @Test("read what Decodable reads, and refuse what it refuses")
    func agreement() {
        compare(ListTopics.self, [:])
        compare(GetTopic.self, ["topic": "abc"])
        compare(GetTopic.self, ["topic": "a b"])
        compare(GetTopic.self, ["topic": ""])
        compare(GetTopic.self, [:])
        compare(ListComments.self, ["topic": "abc"])
        compare(ListComments.self, ["topic": "é"])
        compare(DownloadFile.self, ["file": "abc"])
        compare(DownloadFile.self, ["file": String(repeating: "a", count: 65)])
    }

    @Test("are read by themselves where nothing is out of the ordinary")
    func quickness() throws {
        let query = try #require(PlainQuery("limit=20&after=x"))
        #expect(ListTopics(path: { _ in nil }, query: query) == ListTopics(limit: 20, after: "x"))
        #expect(ListComments(path: { _ in "t" }, query: query) == ListComments(topic: "t", limit: 20, after: "x"))
        #expect(GetTopic(path: { _ in "t" }, query: query) == nil)
        #expect(PlainQuery("after=%41") == nil && PlainQuery("after=+") == nil)
    }
}
