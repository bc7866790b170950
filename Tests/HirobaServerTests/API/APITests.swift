import HirobaContract
import HirobaJSON
import Testing

@testable import HirobaServer

@Suite("The API")
struct APITests {
    @Test("serves every call of the contract, and names it when it is used with another method")
    func everyCall() async throws {
        try await TestServer.onSQLite { server async throws in
            for call in Calls.all {
                let path = call.route.fullTemplate.replacing(/\{[a-z]+\}/, with: "x")
                // Whatever this answers, it comes from the call: a path nobody serves has its own sentence.
                let answer =
                    call.route.method == .get && call is any StreamCall.Type
                    ? try await server.get(path + "?unknown=1")
                    : try await server.json(call.route.method.rawValue, path, "{}")
                #expect(answer.json["detail"] != "There is no such call.", "\(call.name)")
                #expect(answer.status != 405, "\(call.name)")
                let other = try await server.request("LOCK", path)
                #expect(other.status == 405, "\(call.name)")
                #expect(other.json["code"] == "method_not_allowed")
                #expect(other["Allow"]?.contains(call.route.method.rawValue) == true, "\(call.name)")
            }
        }
    }

    @Test("takes every call there and back: people, topics, comments, files, sessions")
    func roundTrips() async throws {
        try await TestServer.onBoth { server async throws in
            let hanako = try await server.person("Hanako")
            let again = try await server.person("Hanako")
            #expect(again.user.id == hanako.user.id)
            #expect(again.token != hanako.token)
            #expect(hanako.user.isAnonymous)

            let taro = try await server.send(
                SignUp(email: "taro@forum.example", password: "correct horse", name: "太郎"))
            #expect(taro.user.email == "taro@forum.example")
            let second = try await server.send(SignIn(email: "Taro@Forum.example", password: "correct horse"))
            #expect(second.user.id == taro.user.id)

            #expect(try await server.send(GetMe(), token: taro.token).name == "太郎")
            let renamed = try await server.send(UpdateMe(name: "たろう"), token: taro.token)
            #expect(renamed.name == "たろう")
            #expect(try await server.send(GetUser(user: taro.user.id)).name == "たろう")

            let photo = try await server.upload(TestPictures.png, token: taro.token)
            #expect(photo.type == "image/png")
            #expect(photo.size == TestPictures.png.count)
            let topic = try await server.send(
                CreateTopic(title: "犬の写真", text: "見せてください", photo: photo.id), token: taro.token)
            #expect(topic.author == Person(id: taro.user.id, name: "たろう"))
            #expect(topic.photo == photo.id)
            #expect(try await server.send(GetTopic(topic: topic.id)) == topic)
            let other = try await server.send(CreateTopic(title: "second"), token: hanako.token)
            #expect(other.text == "")

            let page = try await server.send(ListTopics(limit: 1))
            #expect(page.items == [other])
            let rest = try await server.send(ListTopics(limit: 1, after: page.next))
            #expect(rest.items == [topic])
            #expect(rest.next == nil)

            let comment = try await server.send(
                CreateComment(topic: topic.id, text: "かわいい 🐕"), token: hanako.token)
            #expect(comment.topic == topic.id)
            #expect(comment.author.id == hanako.user.id)
            #expect(try await server.send(ListComments(topic: topic.id)).items == [comment])
            _ = try await server.send(DeleteComment(comment: comment.id), token: hanako.token)
            #expect(try await server.send(ListComments(topic: topic.id)).items == [])

            _ = try await server.send(DeleteTopic(topic: other.id), token: hanako.token)
            let gone = await #expect(throws: Problem.self) { try await server.send(GetTopic(topic: other.id)) }
            #expect(gone?.code == .notFound)
            _ = try await server.send(DeleteFile(file: photo.id), token: taro.token)
            #expect(try await server.send(GetTopic(topic: topic.id)).photo == nil)

            let sessions = try await server.send(ListSessions(), token: taro.token).items
            #expect(sessions.count == 2)
            #expect(sessions.filter(\.current).count == 1)
            let elsewhere = try #require(sessions.first { !$0.current })
            _ = try await server.send(EndSession(session: elsewhere.id), token: taro.token)
            let ended = await #expect(throws: Problem.self) { try await server.send(GetMe(), token: second.token) }
            #expect(ended?.code == .unauthorized)
            _ = try await server.send(EndAllSessions(), token: taro.token)
            let endedToo = await #expect(throws: Problem.self) { try await server.send(GetMe(), token: taro.token) }
            #expect(endedToo?.status == 401)
        }
    }

    @Test("says with the status whether a device's secret was new")
    func anonymousStatus() async throws {
        try await TestServer.onBoth { server async throws in
            let body = #"{"deviceSecret": "7b41d09ce2f5a83d6"}"#
            #expect(try await server.json("POST", "/v1/sessions/anonymous", body).status == 201)
            #expect(try await server.json("POST", "/v1/sessions/anonymous", body).status == 200)
        }
    }

    @Test("answers HEAD like GET without the body, and OPTIONS with what is allowed")
    func headAndOptions() async throws {
        try await TestServer.onSQLite { server async throws in
            let get = try await server.get("/v1/topics")
            let head = try await server.request("HEAD", "/v1/topics")
            #expect(head.status == 200)
            #expect(head.body.isEmpty)
            #expect(head["Content-Length"] == get["Content-Length"])
            let options = try await server.request("OPTIONS", "/v1/topics")
            #expect(options["Allow"] == "GET, HEAD, OPTIONS, POST")
            #expect(options["Access-Control-Allow-Origin"] == nil)
        }
    }

    @Test("carries out a repeated request once, and refuses the key for another one")
    func idempotency() async throws {
        try await TestServer.onBoth { server async throws in
            let me = try await server.person("Me")
            let key = [("Idempotency-Key", "k-1")]
            let first = try await server.json("POST", "/v1/topics", #"{"title": "once"}"#, token: me.token, key)
            let second = try await server.json("POST", "/v1/topics", #"{"title": "once"}"#, token: me.token, key)
            #expect(first.status == 201)
            #expect(second.status == 201)
            #expect(first.json["id"] == second.json["id"])
            #expect(try await server.send(ListTopics()).items.count == 1)

            let clash = try await server.json("POST", "/v1/topics", #"{"title": "twice"}"#, token: me.token, key)
            #expect(clash.status == 409)
            #expect(clash.json["code"] == "idempotency_conflict")

            // Somebody else's key of the same name is another key.
            let you = try await server.person("You")
            let third = try await server.json("POST", "/v1/topics", #"{"title": "once"}"#, token: you.token, key)
            #expect(third.status == 201)
            #expect(third.json["id"] != first.json["id"])

            let path = "/v1/topics/\(first.json["id"]?.string ?? "")/comments"
            let comment = [("Idempotency-Key", "k-2")]
            let said = try await server.json("POST", path, #"{"text": "hi"}"#, token: me.token, comment)
            let repeated = try await server.json("POST", path, #"{"text": "hi"}"#, token: me.token, comment)
            #expect(said.json["id"] == repeated.json["id"])
        }
    }

    @Test("serves its own description, with every call in it")
    func openAPI() async throws {
        try await TestServer.onSQLite(configure: { $0.publicURL = try? PublicURL(parsing: "https://forum.example") }) {
            server in
            let answer = try await server.get("/openapi.json")
            #expect(answer.status == 200)
            #expect(answer["Content-Type"] == "application/json")
            #expect(answer.json["openapi"]?.string?.hasPrefix("3.") == true)
            #expect(answer.json["servers"]?[0]?["url"] == "https://forum.example")
            #expect(answer.json["paths"]?["/v1/topics/{topic}/comments"]?["post"] != nil)
        }
    }

    @Test("lets pages of a named origin call it, and no others")
    func origins() async throws {
        try await TestServer.onSQLite(configure: { $0.corsOrigins = ["https://app.example"] }) { server async throws in
            let ask = [
                ("Access-Control-Request-Method", "POST"), ("Access-Control-Request-Headers", "authorization"),
            ]
            let allowed = try await server.request("OPTIONS", "/v1/topics", [("Origin", "https://app.example")] + ask)
            #expect(allowed.status == 204)
            #expect(allowed["Access-Control-Allow-Origin"] == "https://app.example")
            #expect(allowed["Access-Control-Allow-Headers"]?.contains("Authorization") == true)
            #expect(allowed["Access-Control-Allow-Credentials"] == nil)
            let read = try await server.get("/v1/topics", [("Origin", "https://app.example")])
            #expect(read["Access-Control-Allow-Origin"] == "https://app.example")
            for (method, path) in [("GET", "/v1/nothing"), ("PUT", "/v1/topics"), ("GET", "/v1/topics/%ff")] {
                let strayed = try await server.request(method, path, [("Origin", "https://app.example")])
                #expect(strayed["Access-Control-Allow-Origin"] == "https://app.example", "\(path)")
            }
            let failed = try await server.get("/v1/me", [("Origin", "https://app.example")])
            #expect(failed.status == 401)
            #expect(failed["Access-Control-Allow-Origin"] == "https://app.example")
            for origin in ["https://evil.example", "https://app.example.evil.example", "null"] {
                let refused = try await server.request("OPTIONS", "/v1/topics", [("Origin", origin)] + ask)
                #expect(refused["Access-Control-Allow-Origin"] == nil, "\(origin)")
                let unread = try await server.get("/v1/topics", [("Origin", origin)])
                #expect(unread["Access-Control-Allow-Origin"] == nil, "\(origin)")
                #expect(unread["Vary"] == "Origin")
            }
        }
    }

    @Test(
        "speaks the reader's language, English unless Japanese is preferred",
        arguments: [
            (nil, "Sign in first."), ("ja", "サインインしてください。"), ("ja-JP,ja;q=0.9,en;q=0.8", "サインインしてください。"),
            ("en;q=0.5, ja;q=0.9", "サインインしてください。"), ("fr, en;q=0.9, ja;q=0.8", "Sign in first."),
            ("de", "Sign in first."), ("*", "Sign in first."), ("ja;q=0", "Sign in first."),
            ("en, ja", "Sign in first."), ("ja, en", "サインインしてください。"),
            (";;,,q=", "Sign in first."),
        ] as [(String?, String)])
    func languages(field: String?, sentence: String) async throws {
        try await TestServer.onSQLite { server async throws in
            let answer = try await server.get("/v1/me", field.map { [("Accept-Language", $0)] } ?? [])
            #expect(answer.json["detail"]?.string == sentence)
        }
    }
}
