import Glibc
import HirobaContract
import HirobaJSON
import HirobaStore
import Testing

@testable import HirobaServer

@Suite("Running it")
struct OperationsTests {
    @Test("tells whether it lives and whether it can work")
    func health() async throws {
        try await TestServer.onBoth { server async throws in
            #expect(try await server.get("/healthz").text == "ok\n")
            #expect(try await server.get("/readyz").text == "ready\n")
            rename(server.folder + "/blobs", server.folder + "/away")
            let answer = try await server.get("/readyz")
            #expect(answer.status == 503)
            #expect(answer.text == "Files cannot be written.\n")
            #expect(try await server.get("/healthz").status == 200)
            rename(server.folder + "/away", server.folder + "/blobs")
            #expect(try await server.get("/readyz").status == 200)
        }
    }

    @Test("counts requests by the template of their route")
    func metrics() async throws {
        try await TestServer.onSQLite { server async throws in
            _ = try await server.get("/v1/topics/abcdefghijklmnop")
            _ = try await server.get("/v1/topics")
            _ = try await server.get("/v1/topics")
            _ = try await server.get("/v1/nowhere")
            let answer = try await server.get("/metrics")
            #expect(answer["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
            for line in [
                #"hiroba_requests_total{method="GET",route="/v1/topics",status="200"} 2"#,
                #"hiroba_requests_total{method="GET",route="/v1/topics/{topic}",status="404"} 1"#,
                #"hiroba_requests_total{method="",route="(none)",status="404"} 1"#,
            ] {
                #expect(answer.text.contains(line + "\n"), "\(line) in \(answer.text)")
            }
            #expect(!answer.text.contains("abcdefghijklmnop"))
            // The connection that asks is open, and those before it may not be closed yet.
            #expect(answer.text.contains(/\nhiroba_connections [1-9]/))
            // The work that begins with the server may still be under way.
            try await until {
                let text = try await server.get("/metrics").text
                return text.contains("\nhiroba_database_waiting_writes 0.0\n")
                    && text.contains("\nhiroba_events_lag_seconds 0.0\n")
            }
        }
    }

    @Test("shows its numbers to named networks only")
    func metricsReaders() async throws {
        let others = try AddressRange(parsing: "192.0.2.0/24")
        try await TestServer.onSQLite(configure: { $0.metricsReaders = [others] }) { server async throws in
            #expect(try await server.get("/metrics").status == 404)
        }
    }

    @Test("writes one line a request, with its id, and never a token, a query or a body")
    func requestLog() async throws {
        try await TestServer.onSQLite { server async throws in
            let me = try await server.person("Me")
            let answer = try await server.json(
                "POST", "/v1/topics", #"{"title": "private words"}"#, token: me.token)
            _ = try await server.get("/v1/topics?after=private-cursor&limit=2")
            let id = try #require(answer["X-Request-Id"])
            let line = try #require(server.log.lines.first { $0["id"]?.string == id })
            #expect(line["kind"] == "request")
            #expect(line["method"] == "POST")
            #expect(line["route"] == "/v1/topics")
            #expect(line["status"] == 201)
            #expect(line["bytes"]?.integer == Int64(answer.body.count))
            #expect(line["peer"] == "127.0.0.1")
            #expect(line["microseconds"]?.integer != nil)
            #expect(line["user"]?.string == me.user.id.rawValue)
            #expect(server.log.lines.last { $0["method"] == "GET" }?["user"] == nil)
            #expect(line["time"]?.string?.hasSuffix("Z") == true)
            for word in [me.token, "private words", "private-cursor"] { #expect(!server.log.text.contains(word)) }
        }
    }

    @Test("logs a stream when it is over, with all its bytes")
    func streamLog() async throws {
        try await TestServer.onSQLite { server async throws in
            do {
                let stream = try await LiveReader(server)
                #expect(try await stream.next()?.name == "ready")
                #expect(!server.log.lines.contains { $0["route"] == "/v1/live" })
            }
            await server.app.stop()
            let line = try #require(server.log.lines.first { $0["route"] == "/v1/live" })
            #expect((line["bytes"]?.integer ?? 0) > 0)
        }
    }

    @Test("writes no request lines when told so")
    func silence() async throws {
        try await TestServer.onSQLite(configure: { $0.logsRequests = false }) { server async throws in
            _ = try await server.get("/v1/topics")
            #expect(server.log.lines.isEmpty)
        }
    }

    @Test("answers a fault of its own with an id that the log explains")
    func faults() async throws {
        try await TestServer.onBoth { server async throws in
            let me = try await server.person("Me")
            let photo = try await server.upload(TestPictures.png, token: me.token)
            // What no rule foresees: the table is gone.
            try await server.database.write { db in _ = try db.run("DROP TABLE comments") }
            let topic = try await server.send(CreateTopic(title: "t"), token: me.token)
            let answer = try await server.get("/v1/topics/\(topic.id)/comments")
            #expect(answer.status == 500)
            #expect(answer.json["code"] == "internal")
            let id = try #require(answer.json["id"]?.string)
            #expect(answer["X-Request-Id"] == id)
            for word in ["comments\"", "SELECT", "sqlite", "no such table", "relation"] {
                #expect(!answer.text.contains(word))
            }
            let line = try #require(server.log.lines.first { $0["kind"] == "fault" })
            #expect(line["id"]?.string == id)
            #expect(line["cause"]?.string?.contains("comments") == true)
            _ = photo
        }
    }

    @Test("says 503 and when to come back while the database is away")
    func databaseAway() async throws {
        try await TestServer.onBoth { server async throws in
            let me = try await server.person("Me")
            await server.database.close()
            let read = try await server.get("/v1/topics")
            #expect(read.status == 503)
            #expect(read.json["code"] == "unavailable")
            #expect(Int(read["Retry-After"] ?? "") == read.json["retryAfter"]?.integer.map { Int($0) })
            #expect((read.json["retryAfter"]?.integer ?? 0) >= 1)
            #expect(try await server.json("POST", "/v1/topics", #"{"title":"t"}"#, token: me.token).status == 503)
            #expect(try await server.get("/readyz").status == 503)
        }
    }

    @Test("puts the fields on every answer that every answer needs")
    func commonFields() async throws {
        try await TestServer.onSQLite { server async throws in
            for target in ["/v1/topics", "/v1/nowhere", "/nowhere", "/healthz", "/v1/me"] {
                let answer = try await server.get(target)
                #expect(answer["X-Content-Type-Options"] == "nosniff", "\(target)")
                #expect(answer["X-Request-Id"]?.count == 12, "\(target)")
                #expect(answer["Strict-Transport-Security"] == nil)
            }
        }
    }

    @Test("believes a named proxy, and demands TLS of whoever came by it")
    func proxy() async throws {
        let loopback = try AddressRange(parsing: "127.0.0.1")
        let address = try PublicURL(parsing: "https://forum.example")
        try await TestServer.onSQLite(configure: {
            $0.trustedProxies = [loopback]; $0.publicURL = address
        }) { server async throws in
            let answer = try await server.get(
                "/v1/topics", [("X-Forwarded-For", "203.0.113.9"), ("X-Forwarded-Proto", "https")])
            #expect(answer["Strict-Transport-Security"] == "max-age=31536000")
            #expect(server.log.lines.last?["peer"] == "203.0.113.9")
            #expect(try await server.get("/metrics", [("X-Forwarded-For", "203.0.113.9")]).status == 404)
        }
        try await TestServer.onSQLite { server async throws in
            _ = try await server.get("/v1/topics", [("X-Forwarded-For", "203.0.113.9")])
            #expect(server.log.lines.last?["peer"] == "127.0.0.1")
        }
    }
}
