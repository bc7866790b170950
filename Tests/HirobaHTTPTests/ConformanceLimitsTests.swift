import Glibc
import HirobaHTTP
import HirobaThreads
import Testing

private func get(_ path: String, _ fields: String = "") -> String { "GET \(path) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n" }

extension Conformance {
    @Suite("Limits of a connection") struct Limits {
        // MARK: Time

        @Test("a head that takes too long gets 408, however steadily it drips", arguments: Engine.allCases)
        func slowHead(engine: Engine) async throws {
            var limits = HTTPLimits()
            limits.headTime = .milliseconds(300)
            try await withServer(engine, limits: limits, handler: echo) { server in
                let silent = try server.connect()
                try await silent.send("GET / HTTP/1.1\r\nHost: a\r\n")
                let answer = try await silent.answer()
                #expect(answer.status == 408)
                #expect(answer["Connection"]?.lowercased() == "close")
                #expect(try await silent.isClosed())

                let dripping = try server.connect()
                try await dripping.send("GET / HTTP/1.1\r\nHost: a\r\nX: ")
                do {
                    // Each byte is new, but the head must be whole within its time from the first of them.
                    while await !dripping.hasInput(within: .milliseconds(50)) { try await dripping.send("y") }
                } catch RawError.reset {}
                #expect(try await dripping.answer().status == 408)
            }
        }

        @Test("the time for a head begins with its first byte, not with the connection", arguments: Engine.allCases)
        func idleIsNotSlow(engine: Engine) async throws {
            var limits = HTTPLimits()
            limits.headTime = .milliseconds(200)
            limits.idleTime = .seconds(30)
            try await withServer(engine, limits: limits, handler: echo) { server in
                let connection = try server.connect()
                for _ in 1...2 {
                    #expect(await !connection.hasInput(within: .milliseconds(500)))
                    try await connection.send(get("/"))
                    #expect(try await connection.answer().text == "GET / ")
                }
            }
        }

        @Test("an idle connection is closed without a word", arguments: Engine.allCases)
        func idle(engine: Engine) async throws {
            var limits = HTTPLimits()
            limits.idleTime = .milliseconds(200)
            try await withServer(engine, limits: limits, handler: echo) { server in
                let fresh = try server.connect()
                #expect(try await fresh.isClosed())
                let used = try server.connect()
                try? await used.send(get("/"))
                // On a busy machine the request may have come too late for an answer.
                let received = String(decoding: try await used.rest(), as: UTF8.self)
                #expect(received.isEmpty || received.hasPrefix("HTTP/1.1 200 ") && received.hasSuffix("GET / "))
            }
        }

        @Test("a handler may take longer than the idle time", arguments: Engine.allCases)
        func busyIsNotIdle(engine: Engine) async throws {
            var limits = HTTPLimits()
            limits.idleTime = .milliseconds(100)
            limits.headTime = .milliseconds(100)
            let gate = Gate()
            let started = Counter()
            try await withServer(engine, limits: limits) { request in
                started.add()
                await gate.pass()
                return await echo(request)
            } _: { server in
                let connection = try await server.connect(sending: get("/"), until: started)
                #expect(await !connection.hasInput(within: .milliseconds(600)))
                gate.open()
                #expect(try await connection.answer().text == "GET / ")
            }
        }

        @Test("a body below the least rate gets 408", arguments: Engine.allCases)
        func slowBody(engine: Engine) async throws {
            var limits = HTTPLimits()
            limits.bodyMinimumRate = 1000
            limits.bodyGraceTime = .milliseconds(200)
            let slow = Counter()
            try await withServer(engine, limits: limits) { request in
                do throws(HTTPBodyError) {
                    return text("\(try await request.body.collect(upTo: 1 << 20).count)")
                } catch {
                    if error == .tooSlow { slow.add() }
                    return HTTPResponse(.requestTimeout)
                }
            } _: { server in
                let connection = try server.connect()
                try await connection.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n")
                do {
                    while await !connection.hasInput(within: .milliseconds(20)) { try await connection.send("y") }
                } catch RawError.reset {}
                #expect(try await connection.answer().status == 408)
                #expect(slow.value == 1)
                #expect(try await connection.isClosed())
            }
        }

        @Test("a handler that does not read makes no client slow", arguments: Engine.allCases)
        func slowHandlerIsNotSlowBody(engine: Engine) async throws {
            var limits = HTTPLimits()
            limits.bodyMinimumRate = 1000
            limits.bodyGraceTime = .milliseconds(100)
            limits.idleTime = .milliseconds(500)
            let gate = Gate()
            let started = Counter()
            try await withServer(engine, limits: limits) { request in
                started.add()
                await gate.pass()
                return await echo(request)
            } _: { server in
                let connection = try await server.connect(
                    sending: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel", until: started)
                #expect(await !connection.hasInput(within: .milliseconds(600)))
                try await connection.send("lo")
                gate.open()
                #expect(try await connection.answer().text == "POST / hello")
            }
        }

        @Test("a client that leaves its answer unread is cut off", arguments: Engine.allCases)
        func unreadAnswer(engine: Engine) async throws {
            var limits = HTTPLimits()
            limits.writeStallTime = .milliseconds(300)
            let ended = Counter()
            try await withServer(engine, limits: limits) { _ in
                HTTPResponse(
                    body: .stream { writer in
                        defer { ended.add() }
                        while true { try await writer.write([UInt8](repeating: 120, count: 64 * 1024)) }
                    })
            } _: { server in
                let connection = try RawConnection(port: server.port, receiveBuffer: 4096)
                try await connection.send(get("/"))
                #expect(await eventually { ended.value == 1 })
            }
        }

        @Test("a client that reads slowly, but reads, gets all of its answer", arguments: Engine.allCases)
        func slowReader(engine: Engine) async throws {
            var limits = HTTPLimits()
            // All of it takes more than twice as long.
            limits.writeStallTime = .seconds(4)
            // More than the kernel takes at once, which is 4 MiB as Linux comes.
            let length = 7 << 20
            try await withServer(engine, limits: limits) { _ in
                HTTPResponse(body: .bytes([UInt8](repeating: 120, count: length)))
            } _: { server in
                let connection = try RawConnection(port: server.port, receiveBuffer: 64 << 10)
                try await connection.send(get("/"))
                #expect(try await connection.answerHead().status == 200)
                for _ in 0..<56 {
                    _ = try await connection.bytes(length / 56)
                    // How fast this client is, no wait for anything: 128 KiB in 160 ms.
                    try await Task.sleep(for: .milliseconds(160))
                }
            }
        }

        // MARK: Numbers

        @Test("connections of one address are capped with a word, and room comes back", arguments: Engine.allCases)
        func perAddress(engine: Engine) async throws {
            var limits = HTTPLimits()
            limits.connectionsPerAddress = 2
            try await capped(engine, limits)
        }

        @Test("connections in all are capped with a word, and room comes back", arguments: Engine.allCases)
        func inAll(engine: Engine) async throws {
            var limits = HTTPLimits()
            limits.connections = 2
            try await capped(engine, limits)
        }

        private func capped(_ engine: Engine, _ limits: HTTPLimits) async throws {
            try await withServer(engine, limits: limits, handler: echo) { server in
                let first = try server.connect()
                try await first.send(get("/1"))
                #expect(try await first.answer().status == 200)
                let second = try server.connect()
                try await second.send(get("/2"))
                #expect(try await second.answer().status == 200)

                for _ in 1...3 {
                    let third = try server.connect()
                    do { try await third.send(get("/3")) } catch RawError.reset {}
                    let answer = try await third.answer()
                    #expect(answer.status == 503)
                    #expect(answer["Retry-After"] != nil)
                    #expect(try await third.isClosed())
                }
                try await first.send(get("/1"))
                #expect(try await first.answer().status == 200, "who is in stays in")

                await second.close()
                let comesBack = try await eventually {
                    let next = try server.connect()
                    do { try await next.send(get("/4")) } catch RawError.reset {}
                    return try await next.answer().status == 200
                }
                #expect(comesBack)
            }
        }

        @Test("each limit of the head is an option", arguments: Engine.allCases)
        func options(engine: Engine) async throws {
            var limits = HTTPLimits()
            limits.headBytes = 300
            limits.headFields = 3
            limits.targetBytes = 50
            try await withServer(engine, limits: limits, handler: echo) { server in
                do {
                    let answer = try await server.exchange(get("/", "A: 1\r\nB: 2\r\n"))
                    #expect(answer.status == 200)
                }
                do {
                    let answer = try await server.exchange(get("/", "A: 1\r\nB: 2\r\nC: 3\r\n"))
                    #expect(answer.status == 431)
                }
                do {
                    let answer = try await server.exchange(get("/", "A: \(String(repeating: "x", count: 300))\r\n"))
                    #expect(answer.status == 431)
                }
                do {
                    let answer = try await server.exchange(get("/\(String(repeating: "x", count: 49))"))
                    #expect(answer.status == 200)
                }
                do {
                    let answer = try await server.exchange(get("/\(String(repeating: "x", count: 50))"))
                    #expect(answer.status == 414)
                }
            }
        }

        // MARK: Stopping

        /// Whether new connections are soon refused, or closed without an answer.
        private func turnsAway(_ server: ServerUnderTest) async -> Bool {
            let deadline = ContinuousClock.now + .seconds(10)
            while ContinuousClock.now < deadline {
                guard let late = try? server.connect() else { return true }
                try? await late.send(get("/late"))
                guard let answer = try? await late.rest(), !answer.isEmpty else { return true }
            }
            return false
        }

        private func expectLastAnswer(on connection: RawConnection) async throws {
            let answer = try await connection.answer()
            #expect(answer.text == "GET /busy ")
            #expect(answer["Connection"]?.lowercased() == "close")
            #expect(try await connection.isClosed())
        }

        @Test("a graceful stop lets what is in the making end, and takes nothing new", arguments: Engine.allCases)
        func gracefulStop(engine: Engine) async throws {
            let gate = Gate()
            let started = Counter()
            try await withServer(engine) { request in
                started.add()
                await gate.pass()
                return await echo(request)
            } _: { server in
                let busy = try server.connect()
                try await busy.send(get("/busy"))
                let idle = try server.connect()
                #expect(await eventually { started.value == 1 })

                let stopped = server.beginStop(grace: .seconds(30))
                #expect(try await idle.isClosed(), "an idle connection is closed at once")
                #expect(await turnsAway(server))
                gate.open()
                try await expectLastAnswer(on: busy)
                await stopped.value
                #expect(started.value == 1)
            }
        }

        @Test("a body that is on its way when the stop comes arrives whole", arguments: Engine.allCases)
        func gracefulStopDuringBody(engine: Engine) async throws {
            let started = Counter()
            try await withServer(engine) { request in
                started.add()
                return await echo(request)
            } _: { server in
                let busy = try server.connect()
                try await busy.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel")
                #expect(await eventually { started.value == 1 })
                let idle = try server.connect()
                let stopped = server.beginStop(grace: .seconds(30))
                #expect(try await idle.isClosed())
                try await busy.send("lo")
                #expect(try await busy.answer().text == "POST / hello")
                await stopped.value
            }
        }

        @Test("the stop does not wait beyond its grace", arguments: Engine.allCases)
        func graceEnds(engine: Engine) async throws {
            let cancelled = Counter()
            let started = Counter()
            let gate = Gate()
            try await withServer(engine) { request in
                started.add()
                await gate.pass()
                if Task.isCancelled { cancelled.add() }
                return await echo(request)
            } _: { server in
                let busy = try server.connect()
                try await busy.send(get("/busy"))
                #expect(await eventually { started.value == 1 })
                await server.server.stop(grace: .milliseconds(100))
                _ = try await busy.rest()
                #expect(await eventually { cancelled.value == 1 })
            }
        }

        @Test("server-sent events end at once when the server stops, and as a whole answer", arguments: Engine.allCases)
        func eventsEnd(engine: Engine) async throws {
            let gate = Gate()
            try await withServer(engine) { _ in
                .events { sender in
                    try await sender.send(ServerSentEvent(id: "7", event: "ready", data: "one\ntwo"))
                    await gate.pass()
                }
            } _: { server in
                let connection = try server.connect()
                try await connection.send(get("/"))
                let head = try await connection.answerHead()
                #expect(head["Content-Type"] == "text/event-stream")
                #expect(try await connection.chunk() == Array("id: 7\nevent: ready\ndata: one\ndata: two\n\n".utf8))
                await server.server.stop(grace: .seconds(30))
                #expect(try await connection.chunk() == nil)
                #expect(try await connection.isClosed())
            }
        }

        @Test("an event stream with nothing to say sends its heartbeat", arguments: Engine.allCases)
        func heartbeat(engine: Engine) async throws {
            var limits = HTTPLimits()
            limits.idleTime = .milliseconds(100)
            let gate = Gate()
            let started = Counter()
            try await withServer(engine, limits: limits) { _ in
                .events(heartbeat: .milliseconds(50)) { _ in
                    started.add()
                    await gate.pass()
                }
            } _: { server in
                let connection = try await server.connect(sending: get("/"), until: started)
                _ = try await connection.answerHead()
                for _ in 1...5 {
                    let comment = try #require(try await connection.chunk())
                    #expect(comment.first == UInt8(ascii: ":") && comment.suffix(1) == [10])
                }
            }
        }

        @Test("a server that was stopped is gone, and its port is free", arguments: Engine.allCases)
        func restart(engine: Engine) async throws {
            var configuration = HTTPServerConfiguration(host: "127.0.0.1", port: 0, loops: 2)
            let first = try engine.make(configuration, echo)
            let address = try await first.start()
            #expect(address.ip == "127.0.0.1")
            let connection = try RawConnection(port: address.port)
            try await connection.send(get("/"))
            _ = try await connection.answer()
            await first.stop(grace: .seconds(5))
            #expect(throws: RawError.connect(ECONNREFUSED)) { try RawConnection(port: address.port) }

            configuration.port = address.port
            let second = try engine.make(configuration, echo)
            _ = try await second.start()
            let again = try RawConnection(port: address.port)
            try await again.send(get("/"))
            #expect(try await again.answer().status == 200)
            let third = try engine.make(configuration, echo)
            await #expect(throws: (any Error).self) { try await third.start() }
            await second.stop(grace: .zero)
        }

        @Test("several loops share the connections", arguments: Engine.allCases)
        func loops(engine: Engine) async throws {
            let server = try engine.make(HTTPServerConfiguration(host: "127.0.0.1", port: 0, loops: 3), echo)
            let port = try await server.start().port
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        let connection = try RawConnection(port: port)
                        for turn in 0..<20 {
                            try await connection.send(get("/\(number)/\(turn)"))
                            #expect(try await connection.answer().text == "GET /\(number)/\(turn) ")
                        }
                    }
                }
                try await group.waitForAll()
            }
            await server.stop(grace: .seconds(5))
        }

        @Test("the handler learns who calls", arguments: Engine.allCases)
        func peer(engine: Engine) async throws {
            try await withServer(engine) { request in
                text("\(request.peer.ip) \(request.peer.port > 0) \(request.isSecure) \(request.version)")
            } _: { server in
                do {
                    let answer = try await server.exchange(get("/"))
                    #expect(answer.text == "127.0.0.1 true false http11")
                }
                do {
                    let answer = try await server.exchange("GET / HTTP/1.0\r\n\r\n")
                    #expect(answer.text == "127.0.0.1 true false http10")
                }
            }
        }

        // MARK: Routes

        @Test(
            "an unknown path is 404, an unknown method 405 with Allow; HEAD and OPTIONS need no route",
            arguments: Engine.allCases)
        func routes(engine: Engine) async throws {
            var routes = Routes()
            routes.on(.get, "/topics/{topic}") { _, parameters in text("topic \(parameters["topic"] ?? "")") }
            routes.on(.delete, "/topics/{topic}") { _, _ in HTTPResponse(.noContent) }
            routes.on(.get, "/files/{rest...}") { _, parameters in text(parameters["rest"] ?? "") }
            let table = routes
            try await withServer(engine) { request in
                (try? await table.handle(request)) ?? HTTPResponse(.internalServerError)
            } _: { server in
                do {
                    let answer = try await server.exchange(get("/topics/a%20b"))
                    #expect(answer.text == "topic a b")
                }
                do {
                    let answer = try await server.exchange(get("/files/a/b.png"))
                    #expect(answer.text == "a/b.png")
                }
                do {
                    let answer = try await server.exchange(get("/nowhere"))
                    #expect(answer.status == 404)
                }
                do {
                    let answer = try await server.exchange(get("/topics/%zz"))
                    #expect(answer.status == 400)
                }
                let refused = try await server.exchange("PUT /topics/1 HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(refused.status == 405)
                #expect(refused["Allow"] == "DELETE, GET, HEAD, OPTIONS")
                do {
                    let answer = try await server.exchange("FROB /topics/1 HTTP/1.1\r\nHost: a\r\n\r\n")
                    #expect(answer.status == 405)
                }
                let head = try await server.exchange("HEAD /topics/1 HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(head.status == 200)
                #expect(head["Content-Length"] == "7")
                let options = try await server.exchange("OPTIONS /topics/1 HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(options.status == 204)
                #expect(options["Allow"] == "DELETE, GET, HEAD, OPTIONS")
            }
        }
    }
}
