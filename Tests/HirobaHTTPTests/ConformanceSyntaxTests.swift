import HirobaHTTP
import Testing

/// Bytes in, and what a server must make of them. Section numbers are those of RFC 9112 where nothing else is said.
private struct WireCase {
    enum Expected {
        /// The request reaches the handler, as `METHOD TARGET BODY`, and the connection goes on.
        case accepted(String)
        /// As `accepted`, and the connection is closed after the answer.
        case acceptedAndClosed(String)
        /// One of these statuses, and the connection is closed.
        case refused([Int])
    }

    let rule: String
    let sent: [UInt8]
    let expected: Expected

    static func accept(_ rule: String, _ sent: String, _ handled: String) -> WireCase {
        WireCase(rule: rule, sent: latin1(sent), expected: .accepted(handled))
    }

    static func acceptAndClose(_ rule: String, _ sent: String, _ handled: String) -> WireCase {
        WireCase(rule: rule, sent: latin1(sent), expected: .acceptedAndClosed(handled))
    }

    static func refuse(_ rule: String, _ sent: String, _ statuses: Int...) -> WireCase {
        WireCase(rule: rule, sent: latin1(sent), expected: .refused(statuses.isEmpty ? [400] : statuses))
    }
}

/// A request with `fields` (each with its own CRLF) beside the Host.
private func get(_ fields: String) -> String { "GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n" }
private func post(_ fields: String, _ body: String) -> String { "POST / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\(body)" }
private func chunked(_ body: String) -> String { post("Transfer-Encoding: chunked\r\n", body) }

private let requestLines: [WireCase] = [
    .accept("a request", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / "),
    .accept("a method nobody knows is the handler's to judge", "FROB /x HTTP/1.1\r\nHost: a\r\n\r\n", "FROB /x "),
    .accept("methods are case-sensitive", "get /x HTTP/1.1\r\nHost: a\r\n\r\n", "get /x "),
    .accept(
        "every character of a token", "!#$%&'*+-.^_`|~09AZaz / HTTP/1.1\r\nHost: a\r\n\r\n", "!#$%&'*+-.^_`|~09AZaz / "),
    .accept(
        "the target as it was sent", "GET /a%2Fb;c?d=%20&e=/?f HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a%2Fb;c?d=%20&e=/?f "
    ),
    .accept("an empty line before the request (2.2)", "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / "),
    .accept("OPTIONS * (3.2.4)", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * "),
    .accept("absolute form (3.2.2)", "GET http://a/x?y HTTP/1.1\r\nHost: a\r\n\r\n", "GET http://a/x?y "),
    .acceptAndClose("HTTP/1.0 without a Host", "GET / HTTP/1.0\r\n\r\n", "GET / "),
    .refuse("HTTP/0.9", "GET /\r\n\r\n", 400, 505),
    .refuse("HTTP/0.9 with a blank", "GET / \r\n\r\n", 400, 505),
    .refuse("no target", "GET HTTP/1.1\r\nHost: a\r\n\r\n"),
    .refuse("two blanks after the method", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"),
    .refuse("two blanks before the version", "GET /  HTTP/1.1\r\nHost: a\r\n\r\n"),
    .refuse("a blank after the version", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n"),
    .refuse("a blank before the method", " GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    .refuse("a tab between the words", "GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n"),
    .refuse("a blank in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"),
    .refuse("a control byte in the target", "GET /\u{1} HTTP/1.1\r\nHost: a\r\n\r\n"),
    .refuse("DEL in the target", "GET /\u{7f} HTTP/1.1\r\nHost: a\r\n\r\n"),
    .refuse("NUL in the target", "GET /\u{0} HTTP/1.1\r\nHost: a\r\n\r\n"),
    .refuse("a byte above ASCII in the target", "GET /\u{e9} HTTP/1.1\r\nHost: a\r\n\r\n"),
    .refuse("a fragment in the target", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n"),
    .refuse("a target that is no form at all", "GET x HTTP/1.1\r\nHost: a\r\n\r\n"),
    .refuse("* with a method other than OPTIONS", "GET * HTTP/1.1\r\nHost: a\r\n\r\n"),
    .refuse("CONNECT, for this is no proxy", "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", 400, 405, 501),
    .refuse("a separator in the method", "G(T / HTTP/1.1\r\nHost: a\r\n\r\n"),
    .refuse("a control byte in the method", "G\u{1}T / HTTP/1.1\r\nHost: a\r\n\r\n"),
    .refuse("a byte above ASCII in the method", "G\u{e9}T / HTTP/1.1\r\nHost: a\r\n\r\n"),
    .refuse("an empty method", " / HTTP/1.1\r\nHost: a\r\n\r\n"),
    .refuse("the version in small letters", "GET / http/1.1\r\nHost: a\r\n\r\n", 400, 505),
    .refuse("a version without its second digit", "GET / HTTP/1\r\nHost: a\r\n\r\n", 400, 505),
    .refuse("a version of two digits", "GET / HTTP/11.1\r\nHost: a\r\n\r\n", 400, 505),
    .refuse("a minor version of two digits", "GET / HTTP/1.10\r\nHost: a\r\n\r\n", 400, 505),
    .refuse("a version with a letter", "GET / HTTP/1.x\r\nHost: a\r\n\r\n", 400, 505),
    .refuse("another protocol", "GET / SPDY/1.1\r\nHost: a\r\n\r\n", 400, 505),
    .refuse("HTTP/2.0 in this shape", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
    .refuse("HTTP/3.1 in this shape", "GET / HTTP/3.1\r\nHost: a\r\n\r\n", 505),
    .refuse("TLS on a clear port", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{fc}\u{3}\u{3}\r\n\r\n"),
]

private let lineEnds: [WireCase] = [
    .refuse("a bare LF after the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n"),
    .refuse("a bare LF after a field", "GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n"),
    .refuse("a bare LF at the end of the head", "GET / HTTP/1.1\r\nHost: a\r\n\n"),
    .refuse("nothing but LF", "GET / HTTP/1.1\nHost: a\n\n"),
    .refuse("a bare CR in the request line", "GET /\r HTTP/1.1\r\nHost: a\r\n\r\n"),
    .refuse("a bare CR in a value", get("X: a\rb\r\n")),
    .refuse("a bare CR in a name", get("X\rY: a\r\n")),
    .refuse("CR CR LF after a field", get("X: a\r\r\n")),
    .refuse("CR CR LF at the end of the head", "GET / HTTP/1.1\r\nHost: a\r\n\r\r\n"),
]

private let fields: [WireCase] = [
    .accept("no blank after the colon", get("X:y\r\n"), "GET / "),
    .accept("blanks and tabs around a value", get("X: \t y \t \r\n"), "GET / "),
    .accept("an empty value", get("X:\r\nY: \r\n"), "GET / "),
    .accept("a tab within a value", get("X: a\tb\r\n"), "GET / "),
    .accept("every printable character in a value", get("X: !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\r\n"), "GET / "),
    .accept("every character of a token in a name", get("!#$%&'*+-.^_`|~09AZaz: y\r\n"), "GET / "),
    .accept("the same field twice", get("X: a\r\nX: b\r\n"), "GET / "),
    .refuse("a blank before the colon (5.1)", get("X : y\r\n")),
    .refuse("a tab before the colon", get("X\t: y\r\n")),
    .refuse("a blank before the colon of Host", "GET / HTTP/1.1\r\nHost : a\r\n\r\n"),
    .refuse("a blank before the first name (2.2)", "GET / HTTP/1.1\r\n Host: a\r\n\r\n"),
    .refuse("a folded line (5.2)", get("X: a\r\n b\r\n")),
    .refuse("a line folded by a tab", get("X: a\r\n\tb\r\n")),
    .refuse("a folded line of blanks", get("X: a\r\n \r\n")),
    .refuse("no colon", get("X\r\n")),
    .refuse("no name", get(": y\r\n")),
    .refuse("a blank within a name", get("X Y: z\r\n")),
    .refuse("a separator in a name", get("X(Y): z\r\n")),
    .refuse("a byte above ASCII in a name", get("X\u{e9}: z\r\n")),
    .refuse("a control byte in a name", get("X\u{1}: z\r\n")),
    .refuse("NUL in a value", get("X: a\u{0}b\r\n")),
    .refuse("a control byte in a value", get("X: a\u{1}b\r\n")),
    .refuse("ESC in a value", get("X: a\u{1b}b\r\n")),
    .refuse("DEL in a value", get("X: a\u{7f}b\r\n")),
]

private let hosts: [WireCase] = [
    .accept("a name", "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", "GET / "),
    .accept("a name and a port", "GET / HTTP/1.1\r\nhost: example.com:8080\r\n\r\n", "GET / "),
    .accept("an IPv6 address and a port", "GET / HTTP/1.1\r\nHOST: [::1]:8080\r\n\r\n", "GET / "),
    .refuse("none (3.2)", "GET / HTTP/1.1\r\n\r\n"),
    .refuse("two that differ", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
    .refuse("two that are the same", "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n"),
    .refuse("two in HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n"),
    .refuse("a list", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"),
    .refuse("a blank within", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"),
    .refuse("a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
    .refuse("a user", "GET / HTTP/1.1\r\nHost: me@a\r\n\r\n"),
]

private let lengths: [WireCase] = [
    .accept("a length", post("Content-Length: 5\r\n", "hello"), "POST / hello"),
    .accept("nought", post("Content-Length: 0\r\n", ""), "POST / "),
    .accept("leading noughts", post("Content-Length: 005\r\n", "hello"), "POST / hello"),
    .accept("a body with GET", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", "GET / hello"),
    .accept("no length means no body", "POST / HTTP/1.1\r\nHost: a\r\n\r\n", "POST / "),
    .refuse("two that differ (6.3)", post("Content-Length: 5\r\nContent-Length: 6\r\n", "hello!")),
    .refuse("two that differ in one field", post("Content-Length: 5, 6\r\n", "hello!")),
    .refuse("a plus", post("Content-Length: +5\r\n", "hello")),
    .refuse("a minus", post("Content-Length: -5\r\n", "hello")),
    .refuse("a fraction", post("Content-Length: 5.0\r\n", "hello")),
    .refuse("a letter", post("Content-Length: 5a\r\n", "hello")),
    .refuse("a blank within", post("Content-Length: 1 0\r\n", "hello")),
    .refuse("hexadecimal", post("Content-Length: 0x5\r\n", "hello")),
    .refuse("nothing", post("Content-Length:\r\n", "hello")),
    .refuse("a comma and no more", post("Content-Length: 5,\r\n", "hello")),
    .refuse("more than 64 bits", post("Content-Length: 99999999999999999999\r\n", "hello"), 400, 413),
    .refuse("exactly 2 to the 64th plus 5", post("Content-Length: 18446744073709551621\r\n", "hello"), 400, 413),
    .refuse("with Transfer-Encoding (6.1)", post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")),
    .refuse(
        "with Transfer-Encoding, the other way round",
        post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n")),
]

private let codings: [WireCase] = [
    .accept("chunked", chunked("5\r\nhello\r\n0\r\n\r\n"), "POST / hello"),
    .accept("the name in any case", post("transfer-encoding: ChunkeD\r\n", "5\r\nhello\r\n0\r\n\r\n"), "POST / hello"),
    .refuse("one that is not known (6.1)", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 501, 400),
    .refuse("one that looks like chunked", post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"), 501, 400),
    .refuse("identity", post("Transfer-Encoding: identity\r\n", ""), 501, 400),
    .refuse("chunked not at the end (6.3)", post("Transfer-Encoding: chunked, gzip\r\n", "0\r\n\r\n"), 400, 501),
    .refuse("chunked twice", post("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n"), 400, 501),
    .refuse(
        "chunked in two fields", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400,
        501),
    .refuse(
        "another one hidden in a second field",
        post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n"), 400, 501),
    .refuse("nothing", post("Transfer-Encoding:\r\n", ""), 400, 501),
    .refuse("a vertical tab before the name", post("Transfer-Encoding: \u{b}chunked\r\n", "0\r\n\r\n")),
    .refuse("quotes around it", post("Transfer-Encoding: \"chunked\"\r\n", "0\r\n\r\n"), 400, 501),
    .refuse("in HTTP/1.0 (6.1)", "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, 501),
]

private let chunks: [WireCase] = [
    .accept("no chunk but the last", chunked("0\r\n\r\n"), "POST / "),
    .accept("two chunks", chunked("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"), "POST / hello world"),
    .accept("a size in capitals", chunked("A\r\n0123456789\r\n0\r\n\r\n"), "POST / 0123456789"),
    .accept("a size in small letters", chunked("a\r\n0123456789\r\n0\r\n\r\n"), "POST / 0123456789"),
    .accept("leading noughts", chunked("0005\r\nhello\r\n000\r\n\r\n"), "POST / hello"),
    .accept("CRLF within the data", chunked("4\r\n\r\n\r\n\r\n0\r\n\r\n"), "POST / \r\n\r\n"),
    .accept("an extension (7.1.1)", chunked("5;name=value\r\nhello\r\n0;last\r\n\r\n"), "POST / hello"),
    .accept("an extension in quotes", chunked("5;name=\"a value\"\r\nhello\r\n0\r\n\r\n"), "POST / hello"),
    .accept("a trailer (7.1.2)", chunked("5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"), "POST / hello"),
    .refuse("no size", chunked("\r\nhello\r\n0\r\n\r\n")),
    .refuse("a size that is no number", chunked("g\r\nhello\r\n0\r\n\r\n")),
    .refuse("a minus", chunked("-1\r\nhello\r\n0\r\n\r\n")),
    .refuse("a plus", chunked("+5\r\nhello\r\n0\r\n\r\n")),
    .refuse("0x", chunked("0x5\r\nhello\r\n0\r\n\r\n")),
    .refuse("a blank before the size", chunked(" 5\r\nhello\r\n0\r\n\r\n")),
    .refuse("a blank after the size", chunked("5 \r\nhello\r\n0\r\n\r\n")),
    .refuse("an underscore", chunked("1_0\r\nhello\r\n0\r\n\r\n")),
    .refuse("a size beyond 64 bits", chunked("10000000000000005\r\nhello\r\n0\r\n\r\n"), 400, 413),
    .refuse("a size that overflows", chunked("ffffffffffffffff\r\nhello\r\n0\r\n\r\n"), 400, 413),
    .refuse("a size with the sign bit", chunked("8000000000000000\r\nhello\r\n0\r\n\r\n"), 400, 413),
    .refuse(
        "a size without an end", chunked(String(repeating: "0", count: 20_000) + "5\r\nhello\r\n0\r\n\r\n"), 400, 431),
    .refuse("a bare LF after the size", chunked("5\nhello\r\n0\r\n\r\n")),
    .refuse("a bare CR after the size", chunked("5\rhello\r\n0\r\n\r\n")),
    .refuse("a bare LF in an extension", chunked("5;a\nb\r\nhello\r\n0\r\n\r\n")),
    .refuse("a control byte in an extension", chunked("5;a\u{1}b\r\nhello\r\n0\r\n\r\n")),
    .refuse(
        "an extension without an end", chunked("5;\(String(repeating: "x", count: 20_000))\r\nhello\r\n0\r\n\r\n"), 400,
        431),
    .refuse("data longer than its size", chunked("4\r\nhello\r\n0\r\n\r\n")),
    .refuse("data shorter than its size", chunked("6\r\nhello\r\n0\r\n\r\n")),
    .refuse("a bare LF after the data", chunked("5\r\nhello\n0\r\n\r\n")),
    .refuse("no CRLF after the data", chunked("5\r\nhello0\r\n\r\n")),
    .refuse("a trailer with a blank before the colon", chunked("0\r\nX : y\r\n\r\n")),
    .refuse("a trailer that is folded", chunked("0\r\nX: y\r\n z\r\n\r\n")),
    .refuse("a trailer with a bare LF", chunked("0\r\nX: y\n\r\n")),
    .refuse("a trailer without a colon", chunked("0\r\nX\r\n\r\n")),
    .refuse(
        "trailers without an end", chunked("0\r\n\(String(repeating: "X: yyyyyyyyyyyyyyyy\r\n", count: 2000))\r\n"),
        400, 431),
]

private let sizes: [WireCase] = [
    .accept("a hundred fields", get((1...99).map { "X-\($0): y\r\n" }.joined()), "GET / "),
    .refuse("a hundred and one", get((1...100).map { "X-\($0): y\r\n" }.joined()), 431),
    .accept("almost 16 KiB", get("X: \(String(repeating: "y", count: 16_000))\r\n"), "GET / "),
    .refuse("more than 16 KiB in one field", get("X: \(String(repeating: "y", count: 16_500))\r\n"), 431),
    .refuse(
        "more than 16 KiB in many", get((1...90).map { "X-\($0): \(String(repeating: "y", count: 200))\r\n" }.joined()),
        431),
    .refuse("a name of more than 16 KiB", get(String(repeating: "x", count: 17_000)), 431),
    .refuse(
        "a target of more than 16 KiB", "GET /\(String(repeating: "x", count: 17_000)) HTTP/1.1\r\nHost: a\r\n\r\n",
        414, 431),
    .refuse(
        "a method of more than 16 KiB", "\(String(repeating: "X", count: 17_000)) / HTTP/1.1\r\nHost: a\r\n\r\n", 400,
        414, 431, 501),
]

extension Conformance {
    @Suite("The bytes of HTTP/1.1") struct Syntax {
        @Test("request lines", arguments: Engine.allCases)
        func requestLine(engine: Engine) async throws { try await check(requestLines, on: engine) }

        @Test("line ends", arguments: Engine.allCases)
        func lineEnd(engine: Engine) async throws { try await check(lineEnds, on: engine) }

        @Test("fields", arguments: Engine.allCases)
        func field(engine: Engine) async throws { try await check(fields, on: engine) }

        @Test("Host", arguments: Engine.allCases)
        func host(engine: Engine) async throws { try await check(hosts, on: engine) }

        @Test("Content-Length", arguments: Engine.allCases)
        func length(engine: Engine) async throws { try await check(lengths, on: engine) }

        @Test("Transfer-Encoding", arguments: Engine.allCases)
        func coding(engine: Engine) async throws { try await check(codings, on: engine) }

        @Test("chunks", arguments: Engine.allCases)
        func chunk(engine: Engine) async throws { try await check(chunks, on: engine) }

        @Test("sizes", arguments: Engine.allCases)
        func size(engine: Engine) async throws { try await check(sizes, on: engine) }

        @Test("every case gives the same answer when its bytes come one by one", arguments: Engine.allCases)
        func byteByByte(engine: Engine) async throws {
            let short = (requestLines + lineEnds + fields + hosts + lengths + codings + chunks).filter {
                $0.sent.count < 400
            }
            try await check(short, on: engine, byteByByte: true)
        }

        @Test("a request that is cut off is never handled", arguments: Engine.allCases)
        func truncated(engine: Engine) async throws {
            let handled = Counter()
            try await withServer(engine) { request in
                let body = try? await request.body.collect(upTo: 100)
                if body != nil { handled.add() }
                return text("")
            } _: { server in
                for whole in [post("Content-Length: 5\r\n", "hello"), chunked("5\r\nhello\r\n0\r\n\r\n")] {
                    for length in 0..<whole.utf8.count {
                        let connection = try server.connect()
                        try await connection.send(Array(whole.utf8.prefix(length)))
                        await connection.finishSending()
                        _ = try await connection.rest()
                    }
                }
            }
            #expect(handled.value == 0)
        }

        @Test(
            "names are found in any case, repeats and order are kept, values lose the blanks around them",
            arguments: Engine.allCases)
        func fieldValues(engine: Engine) async throws {
            try await withServer(engine) { request in
                let pairs = request.headers.values("x-thing").joined(separator: "|")
                return text(
                    "[\(pairs)] [\(request.headers["X-EMPTY"] ?? "none")] [\(request.headers["absent"] ?? "none")]")
            } _: { server in
                let answer = try await server.exchange(
                    get("X-Thing: \t one \t\r\nX-Empty:\r\nx-tHING: two\tthree\r\nX-THING:four\r\n"))
                #expect(answer.text == "[one|two\tthree|four] [] [none]")
            }
        }

        @Test("target, path and query reach the handler apart", arguments: Engine.allCases)
        func target(engine: Engine) async throws {
            try await withServer(engine) { request in
                text("\(request.path) \(request.query ?? "none")")
            } _: { server in
                for (target, expected) in [
                    ("/a%2Fb", "/a%2Fb none"), ("/a?", "/a "), ("/a?b?c=d", "/a b?c=d"), ("http://a/x?y", "/x y"),
                    ("http://a", "/ none"), ("HTTP://a?q", "/ q"),
                ] {
                    let answer = try await server.exchange(
                        "GET \(target) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                    #expect(answer.text == expected, "\(target)")
                }
            }
        }

        private func check(_ cases: [WireCase], on engine: Engine, byteByByte: Bool = false) async throws {
            try await withServer(engine, handler: echo) { server in
                for wireCase in cases {
                    do {
                        try await check(wireCase, on: server, byteByByte: byteByByte)
                    } catch {
                        Issue.record("\(wireCase.rule): \(error)")
                    }
                }
            }
        }

        private func check(_ wireCase: WireCase, on server: ServerUnderTest, byteByByte: Bool) async throws {
            let connection = try server.connect()
            do {
                if byteByByte {
                    for byte in wireCase.sent { try await connection.send([byte]) }
                } else {
                    try await connection.send(wireCase.sent)
                }
            } catch RawError.reset {
                // Refused before the last byte was out. The answer must still be readable.
            }
            let answer = try await connection.answer()
            switch wireCase.expected {
            case .accepted(let handled):
                #expect(answer.status == 200 && answer.text == handled, "\(wireCase.rule): \(answer)")
                // What follows is read as a request of its own: nothing was left over, nothing too much was taken.
                try await connection.send("GET /after HTTP/1.1\r\nHost: a\r\n\r\n")
                let next = try await connection.answer()
                #expect(next.text == "GET /after ", "\(wireCase.rule), the request after it: \(next)")
            case .acceptedAndClosed(let handled):
                #expect(answer.status == 200 && answer.text == handled, "\(wireCase.rule): \(answer)")
                #expect(try await connection.isClosed(), "\(wireCase.rule): must be closed")
            case .refused(let statuses):
                #expect(statuses.contains(answer.status), "\(wireCase.rule): \(answer)")
                #expect(answer["Connection"]?.lowercased() == "close", "\(wireCase.rule): \(answer)")
                #expect(try await connection.isClosed(), "\(wireCase.rule): must be closed")
            }
        }
    }
}
