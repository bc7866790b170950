import Testing

@testable import HirobaHTTP

@Suite struct HTTPHeadersTests {
    @Test("names compare without regard to case")
    func caseInsensitive() {
        var headers: HTTPHeaders = ["Content-Type": "text/html"]
        #expect(headers["content-TYPE"] == "text/html")
        #expect(headers["content-typ"] == nil)
        headers["CONTENT-type"] = "text/plain"
        #expect(headers.map(\.name) == ["CONTENT-type"])
        headers["content-type"] = nil
        #expect(headers.isEmpty)
    }

    @Test("repeats and order are kept")
    func repeats() {
        var headers = HTTPHeaders()
        headers.add("Set-Cookie", "a=1")
        headers.add("Vary", "Cookie")
        headers.add("set-cookie", "b=2")
        #expect(headers.values("Set-Cookie") == ["a=1", "b=2"])
        #expect(headers["set-cookie"] == "a=1")
        #expect(headers.map(\.value) == ["a=1", "Cookie", "b=2"])
    }

    @Test("a value cannot begin a field of its own")
    func injection() {
        let headers: HTTPHeaders = ["Location": "/a\r\nSet-Cookie: x\0"]
        #expect(headers["Location"] == "/a  Set-Cookie: x ")
    }

    @Test(
        "a host is a name or an address with a port at most",
        arguments: [
            ("example.org", true), ("example.org:8080", true), ("127.0.0.1", true), ("[::1]:80", true), ("a_b", true),
            ("xn--jgs.example", true), ("example.org:", true),
            ("", false), (":80", false), ("a b", false), ("a,b", false), ("a/b", false), ("u@a", false), ("a:b", false),
            ("a:1:2", false), ("[::1", false), ("[]", false), ("[::1]x", false), ("a:123456", false), ("広", false),
        ])
    func hosts(_ text: String, _ isGood: Bool) {
        #expect(HTTPSyntax.isHost(Array(text.utf8)) == isGood)
    }
}
