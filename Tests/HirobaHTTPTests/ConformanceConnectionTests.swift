import Glibc
import HirobaHTTP
import HirobaThreads
import Testing

private func get(_ path: String, _ fields: String = "") -> String { "GET \(path) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n" }

/// Waits until `counter` stands still.
private func standstill(of counter: Counter) async -> Int {
    var last = (value: counter.value, since: ContinuousClock.now)
    let deadline = ContinuousClock.now + .seconds(20)
    while ContinuousClock.now < deadline {
        try? await Task.sleep(for: .milliseconds(20))
        if counter.value != last.value { last = (counter.value, .now) }
        if last.value > 0 && ContinuousClock.now - last.since > .milliseconds(400) { break }
    }
    return counter.value
}

extension Conformance {
    @Suite("A connection of HTTP/1.1") struct Connection {
        // MARK: Keeping it

        @Test("a connection serves one request after the other", arguments: Engine.allCases)
        func keepAlive(engine: Engine) async throws {
            try await withServer(engine, handler: echo) { server in
                let connection = try server.connect()
                for number in 1...20 {
                    try await connection.send(get("/\(number)"))
                    #expect(try await connection.answer().text == "GET /\(number) ")
                }
            }
        }

        @Test("Connection: close is obeyed, in any case and in a list", arguments: Engine.allCases)
        func close(engine: Engine) async throws {
            try await withServer(engine, handler: echo) { server in
                for value in ["close", "Close", "CLOSE", "foo, close", "close ,foo"] {
                    let connection = try server.connect()
                    try await connection.send(get("/1", "Connection: \(value)\r\n") + get("/2"))
                    let answer = try await connection.answer()
                    #expect(answer.text == "GET /1 ")
                    #expect(answer["Connection"]?.lowercased() == "close")
                    #expect(
                        try await connection.isClosed(), "what came after Connection: \(value) must not be answered")
                }
            }
        }

        @Test("HTTP/1.0 is kept only when it asks, and says so", arguments: Engine.allCases)
        func oldVersion(engine: Engine) async throws {
            try await withServer(engine, handler: echo) { server in
                let kept = try server.connect()
                for number in 1...2 {
                    try await kept.send("GET /\(number) HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                    let answer = try await kept.answer()
                    #expect(answer.text == "GET /\(number) ")
                    #expect(answer["Connection"]?.lowercased() == "keep-alive")
                }
                let closed = try server.connect()
                try await closed.send("GET / HTTP/1.0\r\n\r\n")
                #expect(try await closed.answer().text == "GET / ")
                #expect(try await closed.isClosed())
            }
        }

        @Test(
            "a client that has sent its request and closed its side still gets its answer", arguments: Engine.allCases)
        func halfClosed(engine: Engine) async throws {
            try await withServer(engine, handler: echo) { server in
                let connection = try server.connect()
                try await connection.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi")
                await connection.finishSending()
                #expect(try await connection.answer().text == "POST / hi")
                #expect(try await connection.isClosed())
            }
        }

        @Test("every request sent before the client closed its side is answered", arguments: Engine.allCases)
        func halfClosedAfterMany(engine: Engine) async throws {
            try await withServer(engine, handler: echo) { server in
                for _ in 1...200 {
                    let connection = try server.connect()
                    try await connection.send(get("/1") + get("/2") + get("/3"))
                    await connection.finishSending()
                    for number in 1...3 { #expect(try await connection.answer().text == "GET /\(number) ") }
                    #expect(try await connection.isClosed())
                }
            }
        }

        // MARK: Pipelining

        @Test("pipelined requests are answered in order, though the first takes longest", arguments: Engine.allCases)
        func pipelining(engine: Engine) async throws {
            let gate = Gate()
            try await withServer(engine) { request in
                if request.path == "/0" { await gate.pass() }
                return await echo(request)
            } _: { server in
                let connection = try server.connect()
                let count = 40
                try await connection.send(
                    (0..<count).map {
                        $0 % 3 == 1
                            ? "POST /\($0) HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
                            : $0 % 3 == 2
                                ? "POST /\($0) HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
                                : get("/\($0)")
                    }.joined())
                let other = try await server.exchange(get("/other"))
                #expect(other.text == "GET /other ", "another connection does not wait")
                gate.open()
                for number in 0..<count {
                    let expected = number % 3 == 0 ? "GET /\(number) " : "POST /\(number) abc"
                    #expect(try await connection.answer().text == expected)
                }
            }
        }

        @Test("what follows a refused request on the same connection is not handled", arguments: Engine.allCases)
        func nothingAfterRefusal(engine: Engine) async throws {
            let handled = Counter()
            try await withServer(engine) { request in
                handled.add()
                return await echo(request)
            } _: { server in
                let connection = try server.connect()
                try await connection.send(get("/1") + "GET / HTTP/1.1\r\n\r\n" + get("/3"))
                #expect(try await connection.answer().text == "GET /1 ")
                #expect(try await connection.answer().status == 400)
                #expect(try await connection.isClosed())
            }
            #expect(handled.value == 1)
        }

        @Test("a client that pipelines without reading is held back", arguments: Engine.allCases, [16, 64])
        func pipeliningIsBounded(engine: Engine, kibibytes: Int) async throws {
            let handled = Counter()
            let page = [UInt8](repeating: 120, count: kibibytes * 1024)
            try await withServer(engine) { _ in
                handled.add()
                return HTTPResponse(.ok, body: .bytes(page))
            } _: { server in
                let connection = try RawConnection(port: server.port, receiveBuffer: 4096)
                try await connection.send(String(repeating: get("/"), count: 2000))
                let most = await standstill(of: handled)
                #expect(most < 1000, "answers that nobody reads must not pile up: \(most)")
                for _ in 0..<2000 { #expect(try await connection.answer().body.count == page.count) }
            }
        }

        @Test("an answer that does not fit is sent to its end, also when it is the last", arguments: Engine.allCases)
        func lastAnswerIsWhole(engine: Engine) async throws {
            let handled = Counter()
            let page = [UInt8](repeating: 120, count: 16 * 1024)
            try await withServer(engine) { _ in
                handled.add()
                return HTTPResponse(.ok, body: .bytes(page))
            } _: { server in
                let unread = try RawConnection(port: server.port, receiveBuffer: 4096)
                try await unread.send(String(repeating: get("/"), count: 2000))
                let most = await standstill(of: handled)
                // One of these numbers of answers ends with one that the socket takes in part only.
                for count in max(1, most - 2)...most + 1 {
                    let connection = try RawConnection(port: server.port, receiveBuffer: 4096)
                    try await connection.send(String(repeating: get("/"), count: count))
                    _ = await standstill(of: handled)
                    for _ in 0..<count { #expect(try await connection.answer().body.count == page.count) }
                }
            }
        }

        // MARK: Expect

        @Test("100 (Continue) is sent when the handler first reads, and not before", arguments: Engine.allCases)
        func continues(engine: Engine) async throws {
            let gate = Gate()
            try await withServer(engine) { request in
                await gate.pass()
                return await echo(request)
            } _: { server in
                let connection = try server.connect()
                try await connection.send(
                    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-Continue\r\n\r\n")
                #expect(await !connection.hasInput(within: .milliseconds(100)))
                gate.open()
                #expect(try await connection.line() == "HTTP/1.1 100 Continue")
                #expect(try await connection.line() == "")
                try await connection.send("hi")
                #expect(try await connection.answer().text == "POST / hi")
            }
        }

        @Test(
            "no 100 when the handler answers without reading, and the connection is closed or in step",
            arguments: Engine.allCases)
        func noContinue(engine: Engine) async throws {
            try await withServer(engine) { _ in
                text("no", status: .forbidden)
            } _: { server in
                let connection = try server.connect()
                try await connection.send(
                    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
                let answer = try await connection.answer()
                #expect(answer.interim == [])
                #expect(answer.status == 403)
                // The client may or may not send the body now, so that the server cannot know where the next request begins.
                #expect(answer["Connection"]?.lowercased() == "close")
            }
        }

        @Test("no 100 when the body is there already, nor for HTTP/1.0", arguments: Engine.allCases)
        func needlessContinue(engine: Engine) async throws {
            try await withServer(engine, handler: echo) { server in
                let old = try await server.exchange(
                    "POST / HTTP/1.0\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nhi")
                #expect(old.interim == [])
                #expect(old.text == "POST / hi")
                let none = try await server.exchange(get("/", "Expect: 100-continue\r\n"))
                #expect(none.interim == [])
                #expect(none.text == "GET / ")
            }
        }

        @Test("an expectation nobody knows gets 417", arguments: Engine.allCases)
        func unknownExpectation(engine: Engine) async throws {
            try await withServer(engine, handler: echo) { server in
                do {
                    let answer = try await server.exchange(get("/", "Expect: the-unexpected\r\n"))
                    #expect(answer.status == 417)
                }
            }
        }

        // MARK: Answers

        @Test("the bytes of an answer", arguments: Engine.allCases)
        func bytes(engine: Engine) async throws {
            try await withServer(engine) { _ in
                var response = text("hello", status: .created)
                response.headers["X-Thing"] = "one"
                response.headers.add("Set-Cookie", "a=1")
                response.headers.add("Set-Cookie", "b=2")
                return response
            } _: { server in
                let answer = try await server.exchange(get("/"))
                #expect(answer.version == "HTTP/1.1")
                #expect(answer.status == 201)
                #expect(answer.reason == "Created")
                #expect(answer["Content-Length"] == "5")
                #expect(answer["X-Thing"] == "one")
                #expect(answer.headers.filter { $0.name.lowercased() == "set-cookie" }.map(\.value) == ["a=1", "b=2"])
                #expect(answer.text == "hello")
                let date = try #require(answer["Date"])
                #expect(date.utf8.count == 29 && date.hasSuffix(" GMT"), "RFC 9110 5.6.7: \(date)")
            }
        }

        @Test("a handler cannot break an answer by what it puts into a field", arguments: Engine.allCases)
        func fieldInjection(engine: Engine) async throws {
            try await withServer(engine) { _ in
                var response = text("hello")
                response.headers["Location"] = "/a\r\nSet-Cookie: stolen=1\r\n\r\nbody"
                return response
            } _: { server in
                let answer = try await server.exchange(get("/"))
                #expect(answer["Set-Cookie"] == nil)
                #expect(answer.headers.allSatisfy { !$0.value.contains("\n") && !$0.value.contains("\r") })
                #expect(answer.text == "hello" || answer.status == 500)
            }
        }

        @Test("framing belongs to the engine: what a handler says about it is not doubled", arguments: Engine.allCases)
        func framingIsOurs(engine: Engine) async throws {
            try await withServer(engine) { _ in
                var response = text("hello")
                response.headers["Content-Length"] = "99"
                response.headers["Transfer-Encoding"] = "chunked"
                return response
            } _: { server in
                let connection = try server.connect()
                for _ in 1...2 {
                    try await connection.send(get("/"))
                    let answer = try await connection.answer()
                    #expect(answer.text == "hello")
                    #expect(answer.headers.filter { $0.name.lowercased() == "content-length" }.map(\.value) == ["5"])
                }
            }
        }

        @Test("HEAD gets the head that GET would get", arguments: Engine.allCases)
        func head(engine: Engine) async throws {
            try await withServer(engine) { request in
                switch request.path {
                case "/bytes": text("hello")
                case "/file": HTTPResponse(.ok, body: .file(path: "/etc/hostname", offset: 0, length: 1))
                default: HTTPResponse(.ok, body: .stream { try await $0.write([1, 2, 3]) })
                }
            } _: { server in
                let connection = try server.connect()
                for (path, length) in [("/bytes", "5"), ("/file", "1"), ("/stream", nil)] {
                    try await connection.send("HEAD \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
                    let answer = try await connection.answer(toHead: true)
                    #expect(answer.status == 200)
                    #expect(answer["Content-Length"] == length)
                }
                try await connection.send(get("/bytes"))
                #expect(try await connection.answer().text == "hello", "no body came in between")
            }
        }

        @Test("204 and 304 have no body, 204 no length either", arguments: Engine.allCases)
        func noBody(engine: Engine) async throws {
            try await withServer(engine) { request in
                text("must not be sent", status: request.path == "/204" ? .noContent : .notModified)
            } _: { server in
                let connection = try server.connect()
                for status in [204, 304] {
                    try await connection.send(get("/\(status)"))
                    let answer = try await connection.answer()
                    #expect(answer.status == status)
                    #expect(answer["Transfer-Encoding"] == nil)
                    if status == 204 { #expect(answer["Content-Length"] == nil) }
                }
                await connection.finishSending()
                #expect(try await connection.isClosed())
            }
        }

        @Test("an empty answer says that it is empty", arguments: Engine.allCases)
        func emptyAnswer(engine: Engine) async throws {
            try await withServer(engine) { _ in
                HTTPResponse(.notFound, body: .none)
            } _: { server in
                let connection = try server.connect()
                try await connection.send(get("/"))
                let answer = try await connection.answer()
                #expect(answer.status == 404)
                #expect(answer["Content-Length"] == "0")
            }
        }

        // MARK: Streamed answers

        @Test("a stream comes in chunks, each as soon as it is written", arguments: Engine.allCases)
        func stream(engine: Engine) async throws {
            let gate = Gate()
            try await withServer(engine) { _ in
                HTTPResponse(
                    body: .stream { writer in
                        try await writer.write(Array("one".utf8))
                        await gate.pass()
                        try await writer.write([])
                        try await writer.write(Array("two".utf8))
                    })
            } _: { server in
                let connection = try server.connect()
                try await connection.send(get("/"))
                let answer = try await connection.answerHead()
                #expect(answer["Transfer-Encoding"] == "chunked")
                #expect(answer["Content-Length"] == nil)
                #expect(try await connection.chunk() == Array("one".utf8))
                gate.open()
                #expect(try await connection.chunk() == Array("two".utf8), "an empty write must not end the stream")
                #expect(try await connection.chunk() == nil)
                try await connection.send(get("/"))
                #expect(try await connection.answer().text == "onetwo")
            }
        }

        @Test("a stream to HTTP/1.0 ends with the connection", arguments: Engine.allCases)
        func streamToOldVersion(engine: Engine) async throws {
            try await withServer(engine) { _ in
                HTTPResponse(.ok, body: .stream { try await $0.write(Array("hello".utf8)) })
            } _: { server in
                let answer = try await server.exchange("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                #expect(!answer.isChunked)
                #expect(answer.endedByClose)
                #expect(answer.text == "hello")
            }
        }

        @Test("a stream that fails is cut off, so that nobody takes it for whole", arguments: Engine.allCases)
        func failingStream(engine: Engine) async throws {
            struct Failure: Error {}
            try await withServer(engine) { _ in
                HTTPResponse(
                    body: .stream { writer in
                        try await writer.write(Array("part".utf8))
                        throw Failure()
                    })
            } _: { server in
                let connection = try server.connect()
                try await connection.send(get("/"))
                _ = try await connection.answerHead()
                let rest = String(decoding: try await connection.rest(), as: UTF8.self)
                #expect(!rest.hasSuffix("0\r\n\r\n"))
            }
        }

        @Test("a stream waits for a client that does not read", arguments: Engine.allCases)
        func streamBackPressure(engine: Engine) async throws {
            let written = Counter()
            let block = [UInt8](repeating: 120, count: 64 * 1024)
            let blocks = 1024
            try await withServer(engine) { _ in
                HTTPResponse(
                    body: .stream { writer in
                        for _ in 0..<blocks {
                            try await writer.write(block)
                            written.add(block.count)
                        }
                    })
            } _: { server in
                let connection = try RawConnection(port: server.port, receiveBuffer: 16 * 1024)
                try await connection.send(get("/"))
                let most = await standstill(of: written)
                #expect(most < 16 << 20, "\(most) bytes were written ahead")
                #expect(try await connection.answer().body.count == blocks * block.count)
            }
        }

        @Test("the end of the client ends the writer of a stream", arguments: Engine.allCases)
        func streamToNobody(engine: Engine) async throws {
            let ended = Counter()
            try await withServer(engine) { _ in
                HTTPResponse(
                    body: .stream { writer in
                        defer { ended.add() }
                        while true { try await writer.write([UInt8](repeating: 120, count: 64 * 1024)) }
                    })
            } _: { server in
                let connection = try server.connect()
                try await connection.send(get("/"))
                _ = try await connection.answerHead()
                await connection.close()
                #expect(await eventually { ended.value == 1 })
            }
        }

        @Test("a part of a large file is sent byte for byte", arguments: Engine.allCases)
        func file(engine: Engine) async throws {
            var template = Array("/tmp/hiroba-conformance-XXXXXX".utf8CString)
            let descriptor = mkstemp(&template)
            let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
            defer { unlink(path) }
            var content = [UInt8](repeating: 0, count: 24 << 20)
            for index in content.indices { content[index] = UInt8(truncatingIfNeeded: index &* 31 &+ index >> 9) }
            #expect(Glibc.write(descriptor, content, content.count) == content.count)
            Glibc.close(descriptor)

            try await withServer(engine) { [size = content.count] request in
                switch request.path {
                case "/whole": HTTPResponse(.ok, body: .file(path: path, offset: 0, length: size))
                case "/few": HTTPResponse(.partialContent, body: .file(path: path, offset: 777, length: 5000))
                default: HTTPResponse(.partialContent, body: .file(path: path, offset: 12_345, length: 70_000))
                }
            } _: { server in
                let connection = try server.connect()
                try await connection.send(get("/part") + get("/few") + get("/whole") + get("/part"))
                #expect(try await connection.answer().body == Array(content[12_345..<82_345]))
                #expect(try await connection.answer().body == Array(content[777..<5777]))
                #expect(try await connection.answer().body == content)
                #expect(try await connection.answer().body == Array(content[12_345..<82_345]))
            }
        }

        @Test(
            "a file that is not there is the server's fault, and a short one cuts the answer off",
            arguments: Engine.allCases)
        func missingFile(engine: Engine) async throws {
            try await withServer(engine) { request in
                switch request.path {
                case "/missing": HTTPResponse(.ok, body: .file(path: "/nowhere/at/all", offset: 0, length: 10))
                case "/little": HTTPResponse(.ok, body: .file(path: "/etc/hostname", offset: 0, length: 10_000))
                case "/folder": HTTPResponse(.ok, body: .file(path: "/etc", offset: 0, length: 10))
                default: HTTPResponse(.ok, body: .file(path: "/etc/hostname", offset: 0, length: 1 << 20))
                }
            } _: { server in
                for path in ["/missing", "/little", "/folder"] {
                    let answer = try await server.exchange(get(path))
                    #expect(answer.status == 500, "\(path)")
                }
                let connection = try server.connect()
                try await connection.send(get("/short"))
                do {
                    #expect(try await connection.answer().status == 500)
                } catch RawError.closed {
                    // The head was out before anybody knew: cut off, so that nobody takes it for whole.
                }
            }
        }

        // MARK: Streamed requests

        @Test("a body comes to the handler in pieces, as it arrives", arguments: Engine.allCases)
        func bodyInPieces(engine: Engine) async throws {
            let seen = Counter()
            try await withServer(engine) { request in
                do {
                    for try await piece in request.body { seen.add(piece.count) }
                } catch {
                    return HTTPResponse(.badRequest)
                }
                return text("\(seen.value) \(request.body.length.map(String.init) ?? "unknown")")
            } _: { server in
                let counted = try server.connect()
                try await counted.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345")
                #expect(await eventually { seen.value == 5 })
                try await counted.send("67890")
                #expect(try await counted.answer().text == "10 10")

                let chunked = try server.connect()
                try await chunked.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n")
                #expect(await eventually { seen.value == 15 })
                try await chunked.send("0\r\n\r\n")
                #expect(try await chunked.answer().text == "15 unknown")
            }
        }

        @Test("a sender waits for a handler that does not read", arguments: Engine.allCases)
        func bodyBackPressure(engine: Engine) async throws {
            let gate = Gate()
            let size = 64 << 20
            try await withServer(engine) { request in
                await gate.pass()
                var count = 0
                do {
                    for try await piece in request.body { count += piece.count }
                } catch {
                    return HTTPResponse(.badRequest)
                }
                return text("\(count)")
            } _: { server in
                let connection = try server.connect()
                try await connection.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(size)\r\n\r\n")
                let sent = try await connection.sendUntilBlocked(most: size)
                #expect(sent < 32 << 20, "\(sent) bytes were taken in though nobody reads them")
                gate.open()
                #expect(try await connection.sendUntilBlocked(most: size - sent, quiet: .seconds(10)) == size - sent)
                #expect(try await connection.answer().text == "\(size)")
            }
        }

        @Test("collect gives up at its limit", arguments: Engine.allCases)
        func tooLarge(engine: Engine) async throws {
            try await withServer(engine) { request in
                do {
                    return text("\(try await request.body.collect(upTo: 10).count)")
                } catch {
                    return text("\(error)", status: .contentTooLarge)
                }
            } _: { server in
                for (fields, body, status) in [
                    ("Content-Length: 10\r\n", "1234567890", 200), ("Content-Length: 11\r\n", "12345678901", 413),
                    ("Transfer-Encoding: chunked\r\n", "a\r\n1234567890\r\n0\r\n\r\n", 200),
                    ("Transfer-Encoding: chunked\r\n", "6\r\n123456\r\n5\r\n78901\r\n0\r\n\r\n", 413),
                ] {
                    let answer = try await server.exchange("POST / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\(body)")
                    #expect(answer.status == status, "\(fields)")
                }
            }
        }

        @Test("a small body that no handler reads is skipped", arguments: Engine.allCases)
        func unreadBody(engine: Engine) async throws {
            try await withServer(engine) { request in
                text(request.path)
            } _: { server in
                for framed in [
                    "Content-Length: 38\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n123",
                    "Transfer-Encoding: chunked\r\n\r\n26\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n123\r\n0\r\n\r\n",
                ] {
                    let connection = try server.connect()
                    try await connection.send("POST /1 HTTP/1.1\r\nHost: a\r\n\(framed)")
                    let answer = try await connection.answer()
                    #expect(answer.text == "/1")
                    if answer["Connection"]?.lowercased() == "close" {
                        #expect(try await connection.isClosed())
                    } else {
                        try await connection.send(get("/2"))
                        #expect(try await connection.answer().text == "/2")
                    }
                }
            }
        }

        @Test("an early answer arrives though the client is still sending", arguments: Engine.allCases)
        func earlyAnswer(engine: Engine) async throws {
            try await withServer(engine) { _ in
                text("too large", status: .contentTooLarge)
            } _: { server in
                let size = 8 << 20
                let connection = try server.connect()
                try await connection.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(size)\r\n\r\n")
                // A reset now would throw away the answer before the client has read it.
                do {
                    _ = try await connection.sendUntilBlocked(most: size)
                } catch RawError.reset {}
                let answer = try await connection.answer()
                #expect(answer.status == 413)
                #expect(answer.text == "too large")
            }
        }

        // MARK: Clients that go

        @Test("the handler is cancelled when the client goes", arguments: Engine.allCases)
        func cancelled(engine: Engine) async throws {
            let started = Counter()
            let ended = Counter()
            let gate = Gate()
            try await withServer(engine) { _ in
                started.add()
                await gate.pass()
                if Task.isCancelled { ended.add() }
                return text("")
            } _: { server in
                let connection = try server.connect()
                try await connection.send(get("/"))
                #expect(await eventually { started.value == 1 })
                await connection.close()
                #expect(await eventually { ended.value == 1 })
            }
        }

        @Test("a reader of the body is told when the client goes", arguments: Engine.allCases)
        func disconnected(engine: Engine) async throws {
            let told = Counter()
            let started = Counter()
            try await withServer(engine) { request in
                started.add()
                do throws(HTTPBodyError) {
                    _ = try await request.body.collect(upTo: 100)
                } catch {
                    if error == .disconnected { told.add() }
                }
                return text("")
            } _: { server in
                let connection = try server.connect()
                try await connection.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n123")
                #expect(await eventually { started.value == 1 })
                await connection.close()
                #expect(await eventually { told.value == 1 })
            }
        }

        @Test("thousands of connections opened and dropped leave nothing behind", arguments: Engine.allCases)
        func dropped(engine: Engine) async throws {
            try await withServer(engine, handler: echo) { server in
                _ = try await server.exchange(get("/"))
                let before = openDescriptors()
                for number in 0..<500 {
                    let connection = try server.connect()
                    if number % 3 == 0 { try await connection.send("GET /") }
                    if number % 3 == 1 { try await connection.send(get("/")) }
                    await connection.close()
                }
                do {
                    let answer = try await server.exchange(get("/"))
                    #expect(answer.status == 200)
                }
                // Other tests open connections too, so that an exact count cannot be asked for.
                #expect(await eventually { openDescriptors() < before + 200 })
            }
        }

        private func openDescriptors() -> Int {
            guard let folder = opendir("/proc/self/fd") else { return 0 }
            defer { closedir(folder) }
            var count = 0
            while readdir(folder) != nil { count += 1 }
            return count
        }
    }
}
