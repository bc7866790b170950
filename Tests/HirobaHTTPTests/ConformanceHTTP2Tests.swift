import HirobaHTTP
import HirobaThreads
import Testing

/// Error codes of RFC 9113 section 7.
private enum Code {
    static let none = 0
    static let protocolError = 1
    static let flowControl = 3
    static let streamClosed = 5
    static let frameSize = 6
    static let refusedStream = 7
    static let cancel = 8
    static let compression = 9
    static let enhanceYourCalm = 11
}

extension Conformance {
    @Suite("HTTP/2") struct HTTP2 {
        // MARK: Exchanges

        @Test("requests and answers", arguments: Engine.allCases)
        func exchange(engine: Engine) async throws {
            try await withServer(engine) { request in
                var response = await echo(request)
                response.headers["X-Thing"] = "one"
                response.headers["Connection"] = "keep-alive"
                response.headers["Transfer-Encoding"] = "chunked"
                return response
            } _: { server in
                let client = try await HTTP2Client(port: server.port)
                try await client.request(1, "GET", "/a?b=c")
                let first = try await client.answer()
                #expect(first.status == 200)
                #expect(first.text == "GET /a?b=c ")
                #expect(first["content-length"] == "11")
                #expect(first["x-thing"] == "one")
                #expect(first["date"]?.hasSuffix(" GMT") == true)
                // RFC 9113 section 8.2: names in small letters, nothing about the connection.
                #expect(first.headers.allSatisfy { $0.name == $0.name.lowercased() })
                #expect(first["connection"] == nil)
                #expect(first["transfer-encoding"] == nil)

                try await client.request(3, "POST", "/b", [("content-length", "5")], end: false)
                try await client.sendData(3, Array("hello".utf8))
                #expect(try await client.answer().text == "POST /b hello")
                try await client.request(5, "POST", "/c", end: false)
                try await client.sendData(5, Array("hel".utf8), end: false)
                try await client.sendData(5, Array("lo".utf8), end: false)
                try await client.sendData(5, [])
                #expect(try await client.answer().text == "POST /c hello")
            }
        }

        @Test("the request looks to the handler as one of HTTP/1.1 does", arguments: Engine.allCases)
        func request(engine: Engine) async throws {
            try await withServer(engine) { request in
                text(
                    "\(request.path) \(request.query ?? "none") \(request.headers["Host"] ?? "none") "
                        + "\(request.headers["Cookie"] ?? "none") \(request.version) \(request.isSecure)")
            } _: { server in
                let client = try await HTTP2Client(port: server.port)
                // RFC 9113 section 8.2.3: pieces of a cookie are put together again.
                try await client.request(1, "GET", "/a%20b?c", [("cookie", "d=1"), ("cookie", "e=2")])
                #expect(try await client.answer().text == "/a%20b c a d=1; e=2 http2 false")
            }
        }

        @Test("a slow answer does not hold up the others", arguments: Engine.allCases)
        func multiplexing(engine: Engine) async throws {
            let gate = Gate()
            try await withServer(engine) { request in
                if request.path == "/1" { await gate.pass() }
                return await echo(request)
            } _: { server in
                let client = try await HTTP2Client(port: server.port)
                for number in 0..<20 { try await client.request(number * 2 + 1, "GET", "/\(number * 2 + 1)") }
                var streams: [Int] = []
                for _ in 0..<19 {
                    let answer = try await client.answer()
                    #expect(answer.text == "GET /\(answer.stream) ")
                    streams.append(answer.stream)
                }
                #expect(streams.sorted() == (1..<20).map { $0 * 2 + 1 })
                gate.open()
                #expect(try await client.answer().text == "GET /1 ")
            }
        }

        @Test("HEAD, 204 and 304 have no body; a file and a stream have theirs", arguments: Engine.allCases)
        func bodies(engine: Engine) async throws {
            try await withServer(engine) { request in
                switch request.path {
                case "/204": text("must not be sent", status: .noContent)
                case "/304": text("must not be sent", status: .notModified)
                case "/file": HTTPResponse(body: .file(path: "/proc/self/exe", offset: 1, length: 300_000))
                case "/stream": HTTPResponse(body: .stream { for _ in 0..<3 { try await $0.write(Array("abc".utf8)) } })
                default: text("hello")
                }
            } _: { server in
                let client = try await HTTP2Client(port: server.port)
                try await client.request(1, "HEAD", "/")
                let head = try await client.answer()
                #expect(head.status == 200 && head.body.isEmpty && head["content-length"] == "5")
                try await client.request(3, "GET", "/204")
                let none = try await client.answer()
                #expect(none.status == 204 && none.body.isEmpty && none["content-length"] == nil)
                try await client.request(5, "GET", "/304")
                let same = try await client.answer()
                #expect(same.status == 304 && same.body.isEmpty)
                try await client.request(7, "GET", "/file")
                let file = try await client.answer()
                #expect(file.body.count == 300_000)
                #expect(file.text.hasPrefix("ELF"))
                try await client.request(9, "GET", "/stream")
                #expect(try await client.answer().text == "abcabcabc")
                try await client.request(11, "HEAD", "/stream")
                #expect(try await client.answer().body.isEmpty)
            }
        }

        @Test("100 (Continue) is sent when the handler first reads", arguments: Engine.allCases)
        func continues(engine: Engine) async throws {
            try await withServer(engine, handler: echo) { server in
                let client = try await HTTP2Client(port: server.port)
                try await client.request(
                    1, "POST", "/", [("expect", "100-continue"), ("content-length", "2")], end: false)
                while true {
                    let frame = try await client.next()
                    #expect(try client.take(frame) == nil || frame.kind == Frame.Kind.headers)
                    if frame.kind == Frame.Kind.headers { break }
                }
                try await client.sendData(1, Array("hi".utf8))
                let answer = try await client.answer()
                #expect(answer.interim == [100])
                #expect(answer.text == "POST / hi")
            }
        }

        @Test(
            "an answer before the end of the request is whole, and the rest is not wanted", arguments: Engine.allCases)
        func earlyAnswer(engine: Engine) async throws {
            var limits = HTTPLimits()
            limits.lingerTime = .milliseconds(200)
            try await withServer(engine, limits: limits) { request in
                request.path == "/next" ? text("next") : text("too large", status: .contentTooLarge)
            } _: { server in
                let client = try await HTTP2Client(port: server.port)
                try await client.request(1, "POST", "/", end: false)
                try await client.sendData(1, [UInt8](repeating: 0, count: 1000), end: false)
                let answer = try await client.answer()
                #expect(answer.status == 413)
                #expect(answer.text == "too large")
                // RFC 9113 section 8.1: RST_STREAM with NO_ERROR says so. What is on its way already does no harm.
                let ending = try await client.next()
                #expect(ending.kind == Frame.Kind.reset && ending.stream == 1 && ending.code == Code.none)
                try await client.sendData(1, [UInt8](repeating: 0, count: 1000))
                try await client.request(3, "GET", "/next")
                #expect(try await client.answer().text == "next")
            }
        }

        @Test(
            "a client that ends its request after the answer is not reset, and takes nobody's window",
            arguments: Engine.allCases)
        func earlyAnswers(engine: Engine) async throws {
            var limits = HTTPLimits()
            limits.lingerTime = .seconds(60)
            try await withServer(engine, limits: limits) { request in
                request.path == "/next" ? await echo(request) : text("too large", status: .contentTooLarge)
            } _: { server in
                let client = try await HTTP2Client(port: server.port)
                // More in all than the connection's window, which is 1 MiB.
                for stream in stride(from: 1, to: 41, by: 2) {
                    try await client.request(stream, "POST", "/", end: false)
                    #expect(try await client.answer().status == 413)
                    for part in 1...4 {
                        try await client.sendData(stream, [UInt8](repeating: 0, count: 15_000), end: part == 4)
                    }
                }
                try await client.request(41, "POST", "/next", end: false)
                try await client.sendData(41, Array("hello".utf8))
                #expect(try await client.answer().text == "POST /next hello")
                #expect(!client.received.contains { $0.kind == Frame.Kind.reset })
            }
        }

        @Test("a server that only speaks in the clear ignores Upgrade: h2c", arguments: Engine.allCases)
        func upgrade(engine: Engine) async throws {
            try await withServer(engine, handler: echo) { server in
                let answer = try await server.exchange(
                    "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                        + "HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n")
                #expect(answer.interim == [])
                #expect(answer.text == "GET / ")
            }
        }

        // MARK: Malformed requests

        @Test("a malformed request never reaches a handler, and its connection goes on", arguments: Engine.allCases)
        func malformed(engine: Engine) async throws {
            let good = HTTP2Client.fields("GET", "/bad")
            func without(_ name: String) -> [(String, String)] { good.filter { $0.0 != name } }
            let cases: [(String, [(String, String)])] = [
                ("a name in capitals", good + [("X-Thing", "1")]),
                ("Connection", good + [("connection", "close")]),
                ("Keep-Alive", good + [("keep-alive", "1")]),
                ("Transfer-Encoding", good + [("transfer-encoding", "chunked")]),
                ("Upgrade", good + [("upgrade", "h2c")]),
                ("TE other than trailers", good + [("te", "gzip")]),
                ("no method", without(":method")),
                ("no path", without(":path")),
                ("no scheme", without(":scheme")),
                ("an empty path", without(":path") + [(":path", "")]),
                ("no authority and no Host", without(":authority")),
                ("two methods", good + [(":method", "GET")]),
                ("two authorities", good + [(":authority", "b")]),
                ("a pseudo field after others", without(":path") + [("x-thing", "1"), (":path", "/bad")]),
                ("a pseudo field nobody knows", good + [(":thing", "1")]),
                ("a pseudo field of answers", good + [(":status", "200")]),
                ("an empty name", good + [("", "1")]),
                ("a blank in a name", good + [("x thing", "1")]),
                ("a line feed in a value", good + [("x-thing", "1\nx: 2")]),
                ("a carriage return in a value", good + [("x-thing", "1\rx: 2")]),
                ("NUL in a value", good + [("x-thing", "1\u{0}2")]),
                ("a blank in the path", without(":path") + [(":path", "/a b")]),
                ("a line feed in the path", without(":path") + [(":path", "/a\n")]),
                ("a blank in the method", without(":method") + [(":method", "GET /")]),
                ("a path without a slash", without(":path") + [(":path", "bad")]),
                ("two lengths that differ", good + [("content-length", "0"), ("content-length", "1")]),
                ("a length that is no number", good + [("content-length", "x")]),
                ("a length beside no body", good + [("content-length", "5")]),
                ("Host that is not the authority", good + [("host", "b")]),
                ("two Hosts", without(":authority") + [("host", "a"), ("host", "a")]),
            ]
            let handled = Counter()
            try await withServer(engine) { request in
                if request.path != "/good" { handled.add() }
                return await echo(request)
            } _: { server in
                for (rule, fields) in cases {
                    let client = try await HTTP2Client(port: server.port)
                    try await client.sendHead(1, fields)
                    do {
                        let answer = try await client.answer()
                        #expect((400..<500).contains(answer.status), "\(rule)")
                    } catch HTTP2Error.reset(let stream, let code) {
                        #expect(stream == 1 && code == Code.protocolError, "\(rule): \(code)")
                    } catch {
                        Issue.record("\(rule): \(error)")
                        continue
                    }
                    try await client.request(3, "GET", "/good")
                    do {
                        #expect(try await client.answer().text == "GET /good ", "\(rule)")
                    } catch {
                        Issue.record("\(rule), the request after it: \(error)")
                    }
                    #expect(handled.value == 0, "\(rule)")
                }
            }
        }

        @Test("a body that is not as long as announced is not handed over as whole", arguments: Engine.allCases)
        func wrongLength(engine: Engine) async throws {
            let whole = Counter()
            try await withServer(engine) { request in
                if (try? await request.body.collect(upTo: 100)) != nil { whole.add() }
                return text("")
            } _: { server in
                for body in ["1234", "123456"] {
                    let client = try await HTTP2Client(port: server.port)
                    try await client.request(1, "POST", "/", [("content-length", "5")], end: false)
                    try await client.sendData(1, Array(body.utf8))
                    do {
                        let answer = try await client.answer()
                        #expect(answer.status == 400)
                    } catch HTTP2Error.reset(_, let code) {
                        #expect(code == Code.protocolError)
                    }
                }
            }
            #expect(whole.value == 0)
        }

        // MARK: Broken connections

        @Test("a broken connection gets GOAWAY with the reason, and is closed", arguments: Engine.allCases)
        func broken(engine: Engine) async throws {
            let kinds = Frame.Kind.self
            let cases: [(String, Int, [Frame])] = [
                (
                    "a frame over the limit", Code.frameSize,
                    [Frame(kind: kinds.data, stream: 1, payload: [UInt8](repeating: 0, count: 16_385))]
                ),
                ("settings of an odd length", Code.frameSize, [Frame(kind: kinds.settings, payload: [0, 1, 0])]),
                ("settings on a stream", Code.protocolError, [Frame(kind: kinds.settings, stream: 1)]),
                (
                    "an acknowledgement with a payload", Code.frameSize,
                    [Frame(kind: kinds.settings, flags: 1, payload: [0, 1, 0, 0, 0, 0])]
                ),
                (
                    "a window over 2^31", Code.flowControl,
                    [Frame(kind: kinds.settings, payload: [0, 4, 0xff, 0xff, 0xff, 0xff])]
                ),
                ("a ping of the wrong length", Code.frameSize, [Frame(kind: kinds.ping, payload: [0])]),
                (
                    "data on an idle stream", Code.protocolError,
                    [Frame(kind: kinds.data, flags: 1, stream: 1, payload: [0])]
                ),
                ("data on stream 0", Code.protocolError, [Frame(kind: kinds.data, stream: 0, payload: [0])]),
                (
                    "an even stream", Code.protocolError,
                    [
                        Frame(
                            kind: kinds.headers, flags: 5, stream: 2,
                            payload: HTTP2Client.block(HTTP2Client.fields("GET", "/")))
                    ]
                ),
                (
                    "a push promise from a client", Code.protocolError,
                    [Frame(kind: kinds.pushPromise, flags: 4, stream: 1, payload: [0, 0, 0, 2])]
                ),
                (
                    "a continuation of nothing", Code.protocolError,
                    [Frame(kind: kinds.continuation, flags: 4, stream: 1, payload: [])]
                ),
                (
                    "another frame in the middle of a head", Code.protocolError,
                    [
                        Frame(
                            kind: kinds.headers, flags: 1, stream: 1,
                            payload: HTTP2Client.block(HTTP2Client.fields("GET", "/"))),
                        Frame(kind: kinds.ping, payload: [UInt8](repeating: 0, count: 8)),
                    ]
                ),
                (
                    "a head that does not decode", Code.compression,
                    [Frame(kind: kinds.headers, flags: 5, stream: 1, payload: [0xff, 0xff, 0xff, 0xff, 0xff, 0xff])]
                ),
                ("a window update of nought", Code.protocolError, [.windowUpdate(0, 0)]),
                (
                    "a window that overflows", Code.flowControl,
                    [.windowUpdate(0, 0x7fff_ffff), .windowUpdate(0, 0x7fff_ffff)]
                ),
                ("a reset of an idle stream", Code.protocolError, [.reset(1)]),
            ]
            try await withServer(engine, handler: echo) { server in
                for (rule, code, frames) in cases {
                    let client = try await HTTP2Client(port: server.port)
                    try await client.connection.send(frames.flatMap(\.bytes))
                    do {
                        #expect(try await client.goAway() == code, "\(rule)")
                        #expect(try await client.connection.isClosed(), "\(rule): must be closed")
                    } catch {
                        Issue.record("\(rule): \(error)")
                    }
                }
                let client = try await HTTP2Client(port: server.port)
                try await client.request(1, "GET", "/")
                #expect(try await client.answer().status == 200)
            }
        }

        @Test("a greeting that goes wrong is closed", arguments: Engine.allCases)
        func badPreface(engine: Engine) async throws {
            try await withServer(engine, handler: echo) { server in
                for greeting in [
                    "PRI * HTTP/2.0\r\n\r\nSX\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nGET / HTTP/1.1\r\n\r\n",
                ] {
                    let connection = try server.connect()
                    try await connection.send(greeting)
                    _ = try await connection.rest()
                }
                do {
                    let answer = try await server.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                    #expect(answer.status == 200)
                }
            }
        }

        // MARK: Limits

        @Test("a head over the limit is refused and not handled; the connection may go on", arguments: Engine.allCases)
        func largeHead(engine: Engine) async throws {
            let handled = Counter()
            try await withServer(engine) { request in
                handled.add()
                return await echo(request)
            } _: { server in
                let long = String(repeating: "x", count: 4000)
                for more in [
                    (1...5).map { ("x-\($0)", long) }, (1...101).map { ("x-\($0)", "y") },
                    (1...40).map { ("x-\($0)", long) },
                ] {
                    let client = try await HTTP2Client(port: server.port)
                    do {
                        try await client.request(1, "GET", "/", more)
                        #expect([400, 431].contains(try await client.answer().status))
                    } catch HTTP2Error.reset(_, let code) {
                        #expect(
                            [Code.protocolError, Code.enhanceYourCalm, Code.refusedStream, Code.cancel].contains(code))
                    } catch HTTP2Error.goAway(let code) {
                        #expect([Code.enhanceYourCalm, Code.protocolError, Code.compression].contains(code))
                    } catch RawError.reset {
                    }
                }
                #expect(handled.value == 0)
            }
        }

        @Test("a head in endless continuations is cut off", arguments: Engine.allCases)
        func continuationFlood(engine: Engine) async throws {
            try await withServer(engine, handler: echo) { server in
                let client = try await HTTP2Client(port: server.port)
                var cut = false
                do {
                    try await client.send(
                        Frame(
                            kind: Frame.Kind.headers, flags: 1, stream: 1,
                            payload: HTTP2Client.block(HTTP2Client.fields("GET", "/"))))
                    let part = Frame(
                        kind: Frame.Kind.continuation, stream: 1,
                        payload: HTTP2Client.block([("x", String(repeating: "y", count: 16_000))]))
                    for _ in 0..<1000 { try await client.send(part) }
                } catch RawError.reset {
                    cut = true
                }
                if !cut { _ = try await client.goAway() }
                do {
                    let answer = try await server.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                    #expect(answer.status == 200)
                }
            }
        }

        @Test(
            "more streams at once than allowed are refused, so that the client may try again",
            arguments: Engine.allCases)
        func concurrentStreams(engine: Engine) async throws {
            var limits = HTTPLimits()
            limits.streamsPerConnection = 3
            let gate = Gate()
            try await withServer(engine, limits: limits) { request in
                await gate.pass()
                return await echo(request)
            } _: { server in
                let client = try await HTTP2Client(port: server.port)
                let announced = client.received.first.map { frame in
                    stride(from: 0, to: frame.payload.count, by: 6).contains {
                        Array(frame.payload[$0..<($0 + 6)]) == [0, 3, 0, 0, 0, 3]
                    }
                }
                #expect(announced == true, "SETTINGS_MAX_CONCURRENT_STREAMS must be 3")
                // The limit binds once the settings are acknowledged, which the client did when it read them.
                for stream in [1, 3, 5, 7] { try await client.request(stream, "GET", "/") }
                await #expect(throws: HTTP2Error.reset(stream: 7, code: Code.refusedStream)) {
                    try await client.answer()
                }
                gate.open()
                for _ in 0..<3 { #expect(try await client.answer().status == 200) }
            }
        }

        @Test("rapid reset ends the connection that does it, and nobody else's", arguments: Engine.allCases)
        func rapidReset(engine: Engine) async throws {
            let handled = Counter()
            try await withServer(engine) { request in
                if request.path == "/reset" { handled.add() }
                return await echo(request)
            } _: { server in
                let client = try await HTTP2Client(port: server.port)
                var stream = 1
                do {
                    for _ in 0..<100 {
                        var bytes: [UInt8] = []
                        for _ in 0..<100 {
                            bytes +=
                                Frame(
                                    kind: Frame.Kind.headers, flags: 5, stream: stream,
                                    payload: HTTP2Client.block(HTTP2Client.fields("GET", "/reset"))
                                ).bytes
                            bytes += Frame.reset(stream).bytes
                            stream += 2
                        }
                        try await client.connection.send(bytes)
                    }
                } catch RawError.reset {}
                let code = try await client.goAway()
                #expect(code == nil || code == Code.enhanceYourCalm)
                #expect(handled.value < 3000, "10,000 resets started \(handled.value) handlers")
                do {
                    let answer = try await server.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                    #expect(answer.status == 200)
                }
            }
        }

        @Test("floods of pings, settings and empty data end the connection", arguments: Engine.allCases)
        func floods(engine: Engine) async throws {
            try await withServer(engine) { request in
                var count = 0
                do {
                    for try await piece in request.body { count += piece.count }
                } catch {}
                return text("\(count)")
            } _: { server in
                let kinds = Frame.Kind.self
                for (rule, frame) in [
                    ("ping", Frame(kind: kinds.ping, payload: [UInt8](repeating: 0, count: 8))),
                    ("settings", Frame(kind: kinds.settings)),
                    ("empty data", Frame(kind: kinds.data, stream: 1)),
                    ("priority", Frame(kind: kinds.priority, stream: 3, payload: [0, 0, 0, 0, 1])),
                ] {
                    let client = try await HTTP2Client(port: server.port)
                    try await client.request(1, "POST", "/", end: false)
                    let flood = Array(repeatElement(frame.bytes, count: 1000).joined())
                    do {
                        for _ in 0..<30 { try await client.connection.send(flood) }
                        let code = try await client.goAway()
                        #expect(code == nil || code == Code.enhanceYourCalm, "\(rule)")
                    } catch RawError.reset {
                    } catch {
                        Issue.record("\(rule): \(error)")
                    }
                }
                do {
                    let answer = try await server.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                    #expect(answer.status == 200)
                }
            }
        }

        @Test("caps on connections hold for HTTP/2, with a word", arguments: Engine.allCases)
        func capped(engine: Engine) async throws {
            var limits = HTTPLimits()
            limits.connectionsPerAddress = 1
            try await withServer(engine, limits: limits, handler: echo) { server in
                let client = try await HTTP2Client(port: server.port)
                try await client.request(1, "GET", "/")
                #expect(try await client.answer().status == 200)
                let second = try server.connect()
                try await second.send(
                    Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + Frame(kind: Frame.Kind.settings).bytes)
                // Before TLS or a greeting the server cannot know which version to refuse in; that it closes is enough.
                _ = try await second.rest()
                try await client.request(3, "GET", "/")
                #expect(try await client.answer().status == 200)
            }
        }

        @Test("an idle connection is told GOAWAY and closed", arguments: Engine.allCases)
        func idle(engine: Engine) async throws {
            var limits = HTTPLimits()
            limits.idleTime = .milliseconds(200)
            limits.lingerTime = .seconds(60)
            try await withServer(engine, limits: limits, handler: echo) { server in
                let client = try await server.greetedInTime()
                #expect(try await client.goAway() == Code.none)
                #expect(try await client.connection.isClosed())
            }
        }

        // MARK: Flow control

        @Test("an answer waits for the client's window", arguments: Engine.allCases)
        func answerWindow(engine: Engine) async throws {
            let written = Counter()
            try await withServer(engine) { request in
                guard request.path == "/long" else { return await echo(request) }
                return HTTPResponse(
                    body: .stream { writer in
                        for _ in 0..<500 {
                            try await writer.write([UInt8](repeating: 120, count: 10_000))
                            written.add(10_000)
                        }
                    })
            } _: { server in
                let client = try await HTTP2Client(port: server.port)
                client.returnsWindow = false
                try await client.request(1, "GET", "/long")
                var got = 0
                while got < 65_535 {
                    let frame = try await client.next()
                    if frame.kind == Frame.Kind.data { got += frame.payload.count }
                    _ = try client.take(frame)
                }
                #expect(got == 65_535, "not a byte more than the window")
                #expect(await !client.connection.hasInput(within: .milliseconds(200)))
                #expect(written.value < 1_000_000)
                client.returnsWindow = true
                try await client.connection.send(
                    Frame.windowUpdate(0, 65_535).bytes + Frame.windowUpdate(1, 65_535).bytes)
                #expect(try await client.answer().body.count == 5_000_000)
            }
        }

        @Test("a sender waits for the handler to read; other streams do not", arguments: Engine.allCases)
        func requestWindow(engine: Engine) async throws {
            var limits = HTTPLimits()
            limits.streamWindow = 64 * 1024
            let gate = Gate()
            try await withServer(engine, limits: limits) { request in
                if request.path == "/slow" { await gate.pass() }
                var count = 0
                do {
                    for try await piece in request.body { count += piece.count }
                } catch {
                    return HTTPResponse(.badRequest)
                }
                return text("\(count)")
            } _: { server in
                let client = try await HTTP2Client(port: server.port)
                try await client.request(1, "POST", "/slow", end: false)
                let piece = [UInt8](repeating: 0, count: 16_000)
                for _ in 0..<4 { try await client.sendData(1, piece, end: false) }
                try await client.request(3, "POST", "/fast", end: false)
                try await client.sendData(3, Array("hello".utf8))
                #expect(try await client.answer().text == "5")
                #expect(!client.received.contains { $0.kind == Frame.Kind.windowUpdate && $0.stream == 1 })
                gate.open()
                while true {
                    let frame = try await client.next()
                    if frame.kind == Frame.Kind.windowUpdate && frame.stream == 1 { break }
                }
                try await client.sendData(1, piece)
                #expect(try await client.answer().text == "80000")
            }
        }

        @Test("more than the window is an error of flow control", arguments: Engine.allCases)
        func overTheWindow(engine: Engine) async throws {
            var limits = HTTPLimits()
            limits.streamWindow = 64 * 1024
            let gate = Gate()
            try await withServer(engine, limits: limits) { request in
                await gate.pass()
                return await echo(request)
            } _: { server in
                let client = try await HTTP2Client(port: server.port)
                try await client.request(1, "POST", "/", end: false)
                var code: Int?
                do {
                    for _ in 0..<20 { try await client.sendData(1, [UInt8](repeating: 0, count: 16_000), end: false) }
                    while true { _ = try client.take(try await client.next()) }
                } catch HTTP2Error.reset(_, let reason) {
                    code = reason
                } catch HTTP2Error.goAway(let reason) {
                    code = reason
                } catch RawError.reset {
                    code = Code.flowControl
                }
                #expect(code == Code.flowControl)
                gate.open()
            }
        }

        // MARK: Ends

        @Test("a reset cancels the handler and leaves the connection", arguments: Engine.allCases)
        func resetCancels(engine: Engine) async throws {
            let started = Counter()
            let cancelled = Counter()
            let gate = Gate()
            try await withServer(engine) { request in
                guard request.path == "/slow" else { return await echo(request) }
                started.add()
                await gate.pass()
                if Task.isCancelled { cancelled.add() }
                return text("")
            } _: { server in
                let client = try await HTTP2Client(port: server.port)
                try await client.request(1, "GET", "/slow")
                #expect(await eventually { started.value == 1 })
                try await client.send(.reset(1))
                #expect(await eventually { cancelled.value == 1 })
                try await client.request(3, "GET", "/")
                #expect(try await client.answer().status == 200)
            }
        }

        @Test("the end of the connection cancels every handler on it", arguments: Engine.allCases)
        func disconnect(engine: Engine) async throws {
            let started = Counter()
            let cancelled = Counter()
            let gate = Gate()
            try await withServer(engine) { _ in
                started.add()
                await gate.pass()
                if Task.isCancelled { cancelled.add() }
                return text("")
            } _: { server in
                let client = try await HTTP2Client(port: server.port)
                for stream in [1, 3, 5] { try await client.request(stream, "GET", "/") }
                #expect(await eventually { started.value == 3 })
                await client.connection.close()
                #expect(await eventually { cancelled.value == 3 })
            }
        }

        @Test(
            "a graceful stop says GOAWAY, ends what is in the making and takes nothing new", arguments: Engine.allCases)
        func gracefulStop(engine: Engine) async throws {
            let gate = Gate()
            let started = Counter()
            try await withServer(engine) { request in
                started.add()
                await gate.pass()
                return await echo(request)
            } _: { server in
                let client = try await HTTP2Client(port: server.port)
                try await client.request(1, "GET", "/1")
                #expect(await eventually { started.value == 1 })
                let stopped = server.beginStop(grace: .seconds(30))
                #expect(try await client.goAway() == Code.none)
                gate.open()
                #expect(try await client.answer().text == "GET /1 ")
                #expect(try await client.goAway() ?? Code.none == Code.none)
                await stopped.value
            }
        }

        @Test("server-sent events end as a whole answer when the server stops", arguments: Engine.allCases)
        func eventsEnd(engine: Engine) async throws {
            let gate = Gate()
            try await withServer(engine) { _ in
                .events { sender in
                    try await sender.send(ServerSentEvent(event: "ready"))
                    await gate.pass()
                }
            } _: { server in
                let client = try await HTTP2Client(port: server.port)
                try await client.request(1, "GET", "/")
                while true {
                    let frame = try await client.next()
                    _ = try client.take(frame)
                    if frame.kind == Frame.Kind.data { break }
                }
                let stopped = server.beginStop(grace: .seconds(30))
                let answer = try await client.answer()
                #expect(answer.text == "event: ready\ndata: \n\n")
                await stopped.value
            }
        }
    }
}
