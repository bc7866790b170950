import HirobaContract
import HirobaJSON
import Testing

@Suite("Problems and codes")
struct ProblemTests {
    @Test("are sent as RFC 9457 documents with a code")
    func document() throws {
        let problem = Problem(
            status: 400, title: "Bad Request", code: .invalidField, detail: "The title is missing.", field: "title")
        #expect(
            String(decoding: try JSONCoding.encode(problem), as: UTF8.self)
                == #"{"type":"about:blank","title":"Bad Request","status":400,"detail":"The title is missing.","#
                + #""code":"invalid_field","field":"title"}"#)
        #expect(try JSONCoding.decode(Problem.self, from: JSONCoding.encode(problem)) == problem)
    }

    @Test("have an error status for every known code")
    func statuses() {
        for code in ErrorCode.known { #expect((400..<600).contains(code.status), "\(code)") }
        #expect(Set(ErrorCode.known).count == ErrorCode.known.count)
        #expect(ErrorCode(rawValue: "unheard_of").status == 500)
    }
}

@Suite("Identifiers")
struct IDTests {
    @Test(
        "are 1 to 64 letters, digits, - and _",
        arguments: ["a", "aB3dE5fG7hJ9kL1m", "current", "a-b_c", String(repeating: "x", count: 64)])
    func wellFormed(text: String) throws {
        #expect(try JSONCoding.decode(Topic.ID.self, from: .string(text)).rawValue == text)
    }

    @Test(
        "are nothing else",
        arguments: ["", " ", "a b", "é", "a/b", "..", "a\0", "'", String(repeating: "x", count: 65)])
    func illFormed(text: String) {
        #expect(throws: JSONCodingError.self) { try JSONCoding.decode(Topic.ID.self, from: .string(text)) }
    }
}
