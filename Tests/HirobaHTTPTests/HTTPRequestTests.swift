import HirobaHTTP
import Testing

@Suite struct HTTPRequestTests {
    @Test(
        "path and query are parts of the target",
        arguments: [
            ("/", "/", nil), ("/a/b", "/a/b", nil), ("/a?", "/a", ""), ("/a?b=c?d", "/a", "b=c?d"), ("*", "*", nil),
            ("http://a", "/", nil), ("http://a?b", "/", "b"), ("https://a:1/b%20c?d", "/b%20c", "d"),
        ] as [(String, String, String?)])
    func target(_ target: String, _ path: String, _ query: String?) {
        let request = HTTPRequest(method: .get, target: target)
        #expect(request.path == path)
        #expect(request.query == query)
    }
}
