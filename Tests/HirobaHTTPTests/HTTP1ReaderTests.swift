import Testing

@testable import HirobaHTTP

/// Every case is read three times: in one piece, byte by byte, and cut in two at every place. All must agree.
@Suite struct HTTP1ReaderTests {
    /// What a reader made of some bytes, as text that can be compared.
    private static func outcome(_ pieces: [[UInt8]], limits: HTTP1Reader.Limits = .init()) -> String {
        var reader = HTTP1Reader(limits: limits)
        var out: [String] = []
        var isInBody = false
        var body: [UInt8] = []
        func step() throws(HTTP1Refusal) {
            while true {
                if isInBody {
                    switch try reader.readBody(atMost: 7) {
                    case .bytes(let bytes): body += bytes
                    case .needsMore: return
                    case .end:
                        if !body.isEmpty { out.append("body \(String(decoding: body, as: UTF8.self))") }
                        body = []
                        isInBody = false
                    }
                    continue
                }
                guard let head = try reader.readHead() else { return }
                let fields = head.headers.map { "\($0.name)=\($0.value)" }.joined(separator: "|")
                out.append("\(head.method) \(head.target) 1.\(head.minorVersion) \(fields)")
                if !head.keepsAlive { out.append("last") }
                if head.expectsContinue { out.append("expects") }
                isInBody = true
            }
        }
        do throws(HTTP1Refusal) {
            for piece in pieces {
                reader.receive(piece)
                try step()
            }
        } catch {
            out.append("\(error.status.rawValue)")
        }
        if isInBody { out.append("unfinished") }
        return out.joined(separator: "; ")
    }

    private static func check(_ text: String, _ expected: String, limits: HTTP1Reader.Limits = .init()) {
        let bytes = Array(text.utf8)
        #expect(outcome([bytes], limits: limits) == expected, "\(text.debugDescription) in one piece")
        #expect(outcome(bytes.map { [$0] }, limits: limits) == expected, "\(text.debugDescription) byte by byte")
        for cut in 0..<min(bytes.count, 200) {
            let halves = [Array(bytes[..<cut]), Array(bytes[cut...])]
            #expect(outcome(halves, limits: limits) == expected, "\(text.debugDescription) cut at \(cut)")
        }
    }

    @Test(
        "good requests are read, RFC 9112",
        arguments: [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / 1.1 Host=a"),
            ("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / 1.1 Host=a"),
            ("GET / HTTP/1.0\r\n\r\n", "GET / 1.0 ; last"),
            ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "GET / 1.0 Connection=Keep-Alive"),
            ("GET / HTTP/1.9\r\nHost: a\r\n\r\n", "GET / 1.1 Host=a"),
            ("BREW /pot HTTP/1.1\r\nHost: a:80\r\n\r\n", "BREW /pot 1.1 Host=a:80"),
            ("GET / HTTP/1.1\r\nhOST:a\r\nX:\r\nY: \t b c\t \r\n\r\n", "GET / 1.1 hOST=a|X=|Y=b c"),
            ("GET / HTTP/1.1\r\nHost: a\r\nX: \u{E9}\r\n\r\n", "GET / 1.1 Host=a|X=é"),
            ("GET /?a={b}|%zz HTTP/1.1\r\nHost: a\r\n\r\n", "GET /?a={b}|%zz 1.1 Host=a"),
            ("GET http://b/x?y HTTP/1.1\r\nHost: a\r\n\r\n", "GET http://b/x?y 1.1 Host=b"),
            ("GET HTTPS://b:1 HTTP/1.1\r\nHost: a\r\n\r\n", "GET HTTPS://b:1 1.1 Host=b:1"),
            ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * 1.1 Host=a"),
            (
                "GET / HTTP/1.1\r\nHost: a\r\nConnection: x, close\r\n\r\n",
                "GET / 1.1 Host=a|Connection=x, close; last"
            ),
            (
                "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n",
                "GET / 1.1 Host=a; GET /2 1.1 Host=a"
            ),
            (
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello worldGET / HTTP/1.1\r\nHost: a\r\n\r\n",
                "POST / 1.1 Host=a|Content-Length=11; body hello world; GET / 1.1 Host=a"
            ),
            (
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0003\r\nExpect: 100-Continue\r\n\r\nabc",
                "POST / 1.1 Host=a|Content-Length=0003|Expect=100-Continue; expects; body abc"
            ),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", "POST / 1.1 Host=a|Content-Length=0"),
            (
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc",
                "POST / 1.1 Host=a|Content-Length=5; unfinished"
            ),
        ])
    func good(_ text: String, _ expected: String) { Self.check(text, expected) }

    @Test(
        "bodies in chunks are read, RFC 9112 section 7.1",
        arguments: [
            ("0\r\n\r\n", ""),
            ("5\r\nhello\r\n0\r\n\r\n", "; body hello"),
            ("00005\r\nhello\r\n6\r\n world\r\n000\r\n\r\n", "; body hello world"),
            ("a\r\n0123456789\r\nB;x=\"y z\";q\r\n0123456789a\r\n0;end\r\n\r\n", "; body 01234567890123456789a"),
            ("1\r\nx\r\n0\r\nTrailer: t\r\nX:y\r\n\r\n", "; body x"),
            ("1\r\nx\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "; body x; GET / 1.1 Host=a"),
            // Bad: sizes
            ("\r\nhello\r\n0\r\n\r\n", "; 400; unfinished"),
            ("x\r\n", "; 400; unfinished"),
            ("0x5\r\nhello\r\n0\r\n\r\n", "; 400; unfinished"),
            ("-1\r\n", "; 400; unfinished"),
            ("+5\r\nhello\r\n0\r\n\r\n", "; 400; unfinished"),
            (" 5\r\nhello\r\n0\r\n\r\n", "; 400; unfinished"),
            ("5 \r\nhello\r\n0\r\n\r\n", "; 400; unfinished"),
            ("5 ;x\r\nhello\r\n0\r\n\r\n", "; 400; unfinished"),
            ("5;\u{01}\r\nhello\r\n0\r\n\r\n", "; 400; unfinished"),
            ("10000000000000000\r\n", "; 400; unfinished"),
            // Bad: ends
            ("5\nhello\r\n0\r\n\r\n", "; 400; unfinished"),
            ("5\r\nhello0\r\n\r\n", "; 400; unfinished"),
            ("5\r\nhello\n0\r\n\r\n", "; 400; unfinished"),
            ("5\r\nhello\rx0\r\n\r\n", "; 400; unfinished"),
            ("4\r\nhello\r\n0\r\n\r\n", "; 400; unfinished"),
            ("0\r\n\n", "; 400; unfinished"),
            // Bad: trailers
            ("0\r\nX\r\n\r\n", "; 400; unfinished"),
            ("0\r\n X: y\r\n\r\n", "; 400; unfinished"),
            ("0\r\nX : y\r\n\r\n", "; 400; unfinished"),
        ])
    func chunks(_ body: String, _ expected: String) {
        let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n"
        Self.check(head + body, "POST / 1.1 Host=a|Transfer-Encoding=Chunked" + expected)
    }

    @Test(
        "bad request lines are refused",
        arguments: [
            ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
            ("GET /  HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
            ("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", "400"),
            (" GET / HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
            ("GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
            ("GET /\r\n\r\n", "400"),
            ("GET / HTTP/1.1\nHost: a\n\n", "400"),
            ("GET / HTTP/1.1\r\nHost: a\n\r\n", "400"),
            ("GET / HTTP/1.1\r\nHost: a\r\n\n", "400"),
            ("GET / HTTP/1.1\rHost: a\r\n\r\n", "400"),
            ("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
            ("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
            ("G(T / HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
            ("GET /\u{E9} HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
            ("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
            ("GET /#a HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
            ("GET a HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
            ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
            ("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
            ("GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
            ("GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
            ("GET / http/1.1\r\nHost: a\r\n\r\n", "400"),
            ("GET / HTTP/1.10\r\nHost: a\r\n\r\n", "400"),
            ("GET / HTTP/1\r\nHost: a\r\n\r\n", "400"),
            ("GET / HTTP/+1.1\r\nHost: a\r\n\r\n", "400"),
            ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", "505"),
            ("GET / HTTP/0.9\r\nHost: a\r\n\r\n", "505"),
            ("CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", "501"),
            ("\(String(repeating: "G", count: 33)) / HTTP/1.1\r\nHost: a\r\n\r\n", "501"),
            ("\u{16}\u{03}\u{01}", "400"),
        ])
    func badLines(_ text: String, _ expected: String) { Self.check(text, expected) }

    @Test(
        "bad fields are refused",
        arguments: [
            ("", "400"),
            ("Host: a\r\nHost: a\r\n", "400"),
            ("Host: a, b\r\n", "400"),
            ("Host:\r\n", "400"),
            ("Host: a/b\r\n", "400"),
            ("Host : a\r\n", "400"),
            ("Host: a\r\nX\r\n", "400"),
            ("Host: a\r\n: x\r\n", "400"),
            ("Host: a\r\nX: y\r\n z\r\n", "400"),
            ("Host: a\r\n\tX: y\r\n", "400"),
            (" Host: a\r\n", "400"),
            ("Host: a\r\nX y: z\r\n", "400"),
            ("Host: a\r\nX\u{E9}: z\r\n", "400"),
            ("Host: a\r\nX: a\0b\r\n", "400"),
            ("Host: a\r\nX: a\rb\r\n", "400"),
            ("Host: a\r\nX: \u{7F}\r\n", "400"),
            ("Host: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n", "400"),
            ("Host: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n", "400"),
            ("Host: a\r\nContent-Length: 1, 1\r\n", "400"),
            ("Host: a\r\nContent-Length: +1\r\n", "400"),
            ("Host: a\r\nContent-Length: -1\r\n", "400"),
            ("Host: a\r\nContent-Length: 1 2\r\n", "400"),
            ("Host: a\r\nContent-Length: 0x1\r\n", "400"),
            ("Host: a\r\nContent-Length:\r\n", "400"),
            ("Host: a\r\nContent-Length: 9223372036854775808\r\n", "400"),
            ("Host: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n", "400"),
            ("Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n", "400"),
            ("Host: a\r\nTransfer-Encoding: chunked, chunked\r\n", "400"),
            ("Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "400"),
            ("Host: a\r\nTransfer-Encoding: chunked, gzip\r\n", "400"),
            ("Host: a\r\nTransfer-Encoding: chunked;q=1\r\n", "400"),
            ("Host: a\r\nTransfer-Encoding: \"chunked\"\r\n", "400"),
            ("Host: a\r\nTransfer-Encoding:\r\n", "400"),
            ("Host: a\r\nTransfer-Encoding: ,chunked\r\n", "400"),
            ("Host: a\r\nTransfer-Encoding: gzip\r\n", "501"),
            ("Host: a\r\nTransfer-Encoding: gzip, chunked\r\n", "501"),
            ("Host: a\r\nTransfer-Encoding: xchunked\r\n", "501"),
            ("Host: a\r\nTransfer-Encoding: identity\r\n", "501"),
            ("Host: a\r\nExpect: 200-ok\r\n", "417"),
        ])
    func badFields(_ fields: String, _ expected: String) {
        Self.check("POST / HTTP/1.1\r\n\(fields)\r\n", expected)
    }

    @Test("HTTP/1.0 has no Transfer-Encoding")
    func oldVersion() {
        Self.check("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400")
    }

    @Test("what passes a limit is refused, as soon as it passes")
    func limits() {
        var limits = HTTP1Reader.Limits()
        limits.headBytes = 200
        limits.headFields = 3
        limits.targetBytes = 50
        limits.extensionBytes = 20
        let path = "/" + String(repeating: "x", count: 49)
        Self.check("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n", "GET \(path) 1.1 Host=a", limits: limits)
        Self.check("GET \(path)x HTTP/1.1\r\nHost: a\r\n\r\n", "414", limits: limits)
        Self.check("GET /" + String(repeating: "x", count: 120), "414", limits: limits)
        Self.check("GET / HTTP/1.1\r\nHost: a\r\nA: 1\r\nB: 2\r\n\r\n", "GET / 1.1 Host=a|A=1|B=2", limits: limits)
        Self.check("GET / HTTP/1.1\r\nHost: a\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n", "431", limits: limits)
        Self.check("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 200))", "431", limits: limits)
        let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        let head = "POST / 1.1 Host=a|Transfer-Encoding=chunked"
        Self.check(chunked + "1;1234567890\r\nx\r\n0;12345678\r\n\r\n", head + "; body x", limits: limits)
        Self.check(chunked + "1;1234567890\r\nx\r\n0;1234567890\r\n\r\n", head + "; 400; unfinished", limits: limits)
        Self.check(chunked + "0\r\nA:1\r\nB:1\r\nC:1\r\nD:1\r\n\r\n", head + "; 431; unfinished", limits: limits)
        Self.check(
            chunked + "0\r\nA: \(String(repeating: "x", count: 200))", head + "; 400; unfinished", limits: limits)
    }

    @Test("the preface of HTTP/2 is told from a method that begins alike")
    func preface() {
        func begins(_ text: String) -> Bool? {
            var reader = HTTP1Reader(limits: .init())
            reader.receive(Array(text.utf8))
            return reader.beginsHTTP2()
        }
        #expect(begins("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") == true)
        #expect(begins("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nmore") == true)
        #expect(begins("PRI * HT") == nil)
        #expect(begins("P") == nil)
        #expect(begins("POST") == false)
        #expect(begins("PRI * HTTP/1.1\r\n") == false)
    }

    @Test("a body that came with its head is handed over without being told twice")
    func remaining() throws {
        var reader = HTTP1Reader(limits: .init())
        reader.receive(Array("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n0123".utf8))
        _ = try reader.readHead()
        #expect(reader.remainingLength == 10)
        #expect(try reader.readBody(atMost: 3) == .bytes(Array("012".utf8)))
        #expect(reader.remainingLength == 7)
        #expect(reader.bufferedBytes == 1)
    }
}
