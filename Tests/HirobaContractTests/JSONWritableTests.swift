import Foundation
import HirobaContract
import HirobaJSON
import Testing

@Suite("Types that write their JSON themselves")
struct JSONWritableTests {
    /// Encodes its value through `Encodable`, as it writes nothing itself.
    private struct ThroughEncodable<Value: Encodable>: Encodable {
        let value: Value
    }

    private func agree(_ value: some JSONWritable) throws -> Bool {
        let through = try JSONCoding.encode(ThroughEncodable(value: value))
        return Array(#"{"value":"#.utf8) + (try JSONCoding.encode(value)) + Array("}".utf8) == through
    }

    private static let texts = [
        "", "plain", "ひろば 👋🏽", "\"quoted\" \\ back\nslash\u{0}\u{1f}\u{7f}", String(repeating: "long ", count: 200),
    ]
    private static let moments: [Int64] = [0, -1, 1, 999, 1_935_662_405_060, -62_167_219_200_000, 253_402_300_799_999]

    @Test("A topic, a comment and a page of each are what their Encodable writes", arguments: texts, moments)
    func same(text: String, moment: Int64) throws {
        let date = Date(milliseconds: moment)
        for name in [nil, text] {
            let person = Person(id: "person0000000001", name: name)
            let topics = [nil, StoredFile.ID("file000000000001")].map { photo in
                Topic(
                    id: "topic00000000001", title: text, text: text, photo: photo, author: person, createdAt: date,
                    updatedAt: date)
            }
            let comment = Comment(
                id: "comment000000001", topic: "topic00000000001", text: text, author: person, createdAt: date,
                updatedAt: date)
            #expect(try agree(person))
            for topic in topics { #expect(try agree(topic)) }
            #expect(try agree(comment))
            #expect(try agree(Page(items: topics, next: name)))
            #expect(try agree(Page(items: [comment, comment], next: nil)))
            #expect(try agree(Page<HirobaContract.Comment>(items: [], next: text)))
        }
    }
}
