import HirobaContract
import HirobaJSON
import Testing

@testable import HirobaServer

/// What bad input gets: the status, the code, the field, and what must never be in an answer.
@Suite("Bad input")
struct BadInputTests {
    struct Exchange: Sendable {
        let name: String
        let method: String
        let target: String
        var headers: [(String, String)] = []
        var body: String?
        /// Sends the token of somebody who is signed in.
        var signedIn = true
        let status: Int
        let code: String
        var field: String?
        var contains: [String] = []
        var containsNot: [String] = []

        init(
            _ name: String, _ method: String, _ target: String, _ body: String? = nil,
            headers: [(String, String)]? = nil, signedIn: Bool = true, status: Int, code: String,
            field: String? = nil, contains: [String] = [], containsNot: [String] = []
        ) {
            (self.name, self.method, self.target, self.body) = (name, method, target, body)
            self.headers = headers ?? (body == nil ? [] : [("Content-Type", "application/json")])
            (self.signedIn, self.status, self.code, self.field) = (signedIn, status, code, field)
            (self.contains, self.containsNot) = (contains, containsNot)
        }
    }

    private static let long = String(repeating: "あ", count: 20_001)

    static let exchanges: [Exchange] = [
        // Not JSON, or not the JSON of this call.
        Exchange("cut JSON", "POST", "/v1/topics", #"{"title": "a"#, status: 400, code: "invalid_request"),
        Exchange("no object", "POST", "/v1/topics", "[]", status: 400, code: "invalid_request"),
        Exchange("two documents", "POST", "/v1/topics", #"{"title":"a"}{}"#, status: 400, code: "invalid_request"),
        Exchange("an empty body", "POST", "/v1/topics", "", status: 400, code: "invalid_field", field: "title"),
        Exchange(
            "a repeated name", "POST", "/v1/topics", #"{"title":"a","title":"b"}"#, status: 400, code: "invalid_request"
        ),
        Exchange(
            "a body too deep", "POST", "/v1/topics",
            "{\"title\":" + String(repeating: "[", count: 40) + String(repeating: "]", count: 40) + "}",
            status: 400, code: "invalid_request"),
        Exchange(
            "broken UTF-8 escape", "POST", "/v1/topics", #"{"title":"\ud800"}"#, status: 400, code: "invalid_request"),
        Exchange(
            "an unknown field", "POST", "/v1/topics", #"{"title":"a","titel":"b"}"#, status: 400, code: "invalid_field",
            field: "titel"),
        Exchange(
            "a field of the path in the body", "POST", "/v1/topics/t/comments", #"{"text":"a","topic":"b"}"#,
            status: 400,
            code: "invalid_field", field: "topic"),
        Exchange(
            "a wrong type", "POST", "/v1/topics", #"{"title":1}"#, status: 400, code: "invalid_field", field: "title"),
        Exchange(
            "a list for a text", "POST", "/v1/topics", #"{"title":["a"]}"#, status: 400, code: "invalid_field",
            field: "title"),
        Exchange("a missing field", "POST", "/v1/topics", "{}", status: 400, code: "invalid_field", field: "title"),
        Exchange(
            "null for what must be", "POST", "/v1/topics", #"{"title":null}"#, status: 400, code: "invalid_field",
            field: "title"),
        // Values that break a rule.
        Exchange(
            "an empty title", "POST", "/v1/topics", #"{"title":" "}"#, status: 400, code: "invalid_field",
            field: "title"),
        Exchange(
            "a long title", "POST", "/v1/topics", #"{"title":"\#(String(repeating: "a", count: 201))"}"#, status: 400,
            code: "invalid_field", field: "title"),
        Exchange(
            "a long text", "POST", "/v1/topics", #"{"title":"a","text":"\#(long)"}"#, status: 400,
            code: "invalid_field",
            field: "text", containsNot: ["ああ"]),
        Exchange(
            "a photo that is none", "POST", "/v1/topics", #"{"title":"a","photo":"zzzzzzzzzzzzzzzz"}"#, status: 400,
            code: "invalid_field", field: "photo"),
        Exchange(
            "an id that is none", "POST", "/v1/topics", #"{"title":"a","photo":"../../x"}"#, status: 400,
            code: "invalid_field", field: "photo"),
        Exchange(
            "a short secret", "POST", "/v1/sessions/anonymous", #"{"deviceSecret":"short"}"#, signedIn: false,
            status: 400,
            code: "invalid_field", field: "deviceSecret", containsNot: ["short\""]),
        Exchange(
            "a short password", "POST", "/v1/users", #"{"email":"a@b.example","password":"1234567","name":"n"}"#,
            signedIn: false, status: 400, code: "invalid_field", field: "password", containsNot: ["1234567"]),
        Exchange(
            "no address", "POST", "/v1/users", #"{"email":"nobody","password":"12345678","name":"n"}"#, signedIn: false,
            status: 400, code: "invalid_field", field: "email", containsNot: ["12345678"]),
        // Queries.
        Exchange("a limit of 0", "GET", "/v1/topics?limit=0", status: 400, code: "invalid_field", field: "limit"),
        Exchange("a limit in words", "GET", "/v1/topics?limit=ten", status: 400, code: "invalid_field", field: "limit"),
        Exchange(
            "a huge limit", "GET", "/v1/topics?limit=99999999999999999999", status: 400, code: "invalid_field",
            field: "limit"),
        Exchange("two limits", "GET", "/v1/topics?limit=1&limit=2", status: 400, code: "invalid_field", field: "limit"),
        Exchange(
            "a cursor that is none", "GET", "/v1/topics?after=%27%3B--", status: 400, code: "invalid_field",
            field: "after"),
        Exchange("an unknown query", "GET", "/v1/topics?offset=3", status: 400, code: "invalid_field", field: "offset"),
        Exchange("a broken escape", "GET", "/v1/topics?after=%zz", status: 400, code: "invalid_request"),
        Exchange(
            "a query for a POST", "POST", "/v1/topics?title=a", "{}", status: 400, code: "invalid_field", field: "title"
        ),
        Exchange("a body for a GET", "GET", "/v1/topics", "{}", status: 400, code: "invalid_request"),
        Exchange(
            "a size of -1", "GET", "/v1/files/zzzzzzzzzzzzzzzz?size=-1", status: 400, code: "invalid_field",
            field: "size"),
        // Types and sizes of bodies.
        Exchange(
            "no type", "POST", "/v1/topics", #"{"title":"a"}"#, headers: [], status: 415, code: "unsupported_media_type"
        ),
        Exchange(
            "a form", "POST", "/v1/topics", "title=a", headers: [("Content-Type", "application/x-www-form-urlencoded")],
            status: 415, code: "unsupported_media_type"),
        Exchange(
            "a body over 1 MiB", "POST", "/v1/topics", #"{"title":"\#(String(repeating: "a", count: 1 << 20))"}"#,
            status: 413, code: "too_large", contains: ["1MiB"]),
        // Who asks.
        Exchange("nobody", "POST", "/v1/topics", #"{"title":"a"}"#, signedIn: false, status: 401, code: "unauthorized"),
        Exchange("nobody's profile", "GET", "/v1/me", signedIn: false, status: 401, code: "unauthorized"),
        Exchange("nobody's sessions", "GET", "/v1/sessions", signedIn: false, status: 401, code: "unauthorized"),
        Exchange(
            "an unknown token", "GET", "/v1/topics", headers: [("Authorization", "Bearer abc")], signedIn: false,
            status: 401,
            code: "unauthorized", containsNot: ["abc"]),
        Exchange(
            "another scheme", "GET", "/v1/topics", headers: [("Authorization", "Basic dTpw")], signedIn: false,
            status: 401,
            code: "unauthorized", containsNot: ["dTpw"]),
        Exchange(
            "no token", "GET", "/v1/topics", headers: [("Authorization", "Bearer ")], signedIn: false, status: 401,
            code: "unauthorized"),
        Exchange(
            "two words", "GET", "/v1/topics", headers: [("Authorization", "Bearer a b")], signedIn: false, status: 401,
            code: "unauthorized"),
        Exchange(
            "a wrong password", "POST", "/v1/sessions", #"{"email":"a@b.example","password":"not this one"}"#,
            signedIn: false, status: 401, code: "invalid_credentials", containsNot: ["not this one", "a@b.example"]),
        // What is not there.
        Exchange("no topic", "GET", "/v1/topics/zzzzzzzzzzzzzzzz", status: 404, code: "not_found"),
        Exchange("no topic's comments", "GET", "/v1/topics/zzzzzzzzzzzzzzzz/comments", status: 404, code: "not_found"),
        Exchange(
            "a comment on no topic", "POST", "/v1/topics/zzzzzzzzzzzzzzzz/comments", #"{"text":"a"}"#, status: 404,
            code: "not_found"),
        Exchange("no file", "GET", "/v1/files/zzzzzzzzzzzzzzzz", status: 404, code: "not_found"),
        Exchange("no person", "GET", "/v1/users/zzzzzzzzzzzzzzzz", status: 404, code: "not_found"),
        Exchange("no session", "DELETE", "/v1/sessions/zzzzzzzzzzzzzzzz", status: 404, code: "not_found"),
        Exchange(
            "no such call", "GET", "/v1/nothing", status: 404, code: "not_found", contains: ["There is no such call."]),
        Exchange("another method", "PUT", "/v1/topics", "{}", status: 405, code: "method_not_allowed"),
        Exchange("a path that is no text", "GET", "/v1/topics/%FF", status: 400, code: "invalid_request"),
        Exchange("live of no topic", "GET", "/v1/live?topic=zzzzzzzzzzzzzzzz", status: 404, code: "not_found"),
        // Headers of ours.
        Exchange(
            "a key with a blank", "POST", "/v1/topics", #"{"title":"a"}"#,
            headers: [("Content-Type", "application/json"), ("Idempotency-Key", "a b")], status: 400,
            code: "invalid_field",
            field: "Idempotency-Key"),
        Exchange(
            "a client too old", "GET", "/v1/topics", headers: [("Hiroba-Client", "swift/0.9")], status: 426,
            code: "upgrade_required"),
        // Uploads.
        Exchange(
            "a picture that is none", "POST", "/v1/files", "<html>", headers: [("Content-Type", "image/jpeg")],
            status: 415,
            code: "unsupported_media_type"),
        Exchange(
            "nothing", "POST", "/v1/files", "", headers: [("Content-Type", "image/jpeg")], status: 400,
            code: "invalid_request"),
        Exchange(
            "an upload with a query", "POST", "/v1/files?name=a", "x", headers: [("Content-Type", "text/plain")],
            status: 400,
            code: "invalid_field", field: "name"),
        Exchange(
            "nobody's upload", "POST", "/v1/files", "x", headers: [("Content-Type", "text/plain")], signedIn: false,
            status: 401, code: "unauthorized"),
        Exchange(
            "an upload too large", "POST", "/v1/files", String(repeating: "x", count: 64 << 10),
            headers: [("Content-Type", "text/plain")], status: 413, code: "too_large"),
    ]

    @Test("gets its status and a problem document that names the field, and nothing of it comes back")
    func table() async throws {
        try await TestServer.onBoth(configure: { $0.uploadBytes = 32 << 10 }) { server async throws in
            let person = try await server.person("Somebody")
            for exchange in Self.exchanges {
                var headers = exchange.headers
                if exchange.signedIn { headers.append(("Authorization", "Bearer \(person.token)")) }
                let answer = try await server.request(
                    exchange.method, exchange.target, headers, body: exchange.body.map { Array($0.utf8) })
                let comment = Testing.Comment(rawValue: "\(exchange.name): \(answer.text)")
                #expect(answer.status == exchange.status, comment)
                #expect(answer["Content-Type"] == "application/problem+json", comment)
                #expect(answer["Cache-Control"] == "no-store", comment)
                guard let problem = try? JSONCoding.decode(Problem.self, from: answer.body, unknownFields: .refuse)
                else {
                    Issue.record(comment)
                    continue
                }
                #expect(problem.status == exchange.status, comment)
                #expect(problem.code.rawValue == exchange.code, comment)
                #expect(problem.field == exchange.field, comment)
                #expect(problem.detail?.isEmpty == false, comment)
                #expect(problem.id == nil, comment)
                if exchange.status == 401 { #expect(answer["WWW-Authenticate"] == "Bearer", comment) }
                for text in exchange.contains { #expect(answer.text.contains(text), comment) }
                for text in exchange.containsNot + [person.token, "SELECT", "HirobaCore", "/tmp/"] {
                    #expect(!answer.everything.contains(text), comment)
                }
            }
            // None of it was taken.
            #expect(try await server.send(ListTopics()).items.isEmpty)
            #expect(!server.log.text.contains(person.token))
            #expect(server.log.lines.allSatisfy { $0["kind"] != "fault" })
        }
    }

    @Test(
        "says in Japanese what it says in English",
        arguments: [
            ("{", "本文がJSONとして読めません。"), ("[]", "本文はJSONオブジェクトでなければなりません。"), (#"{"a":1}"#, "「a」という項目はありません。"),
            ("{}", "「title」は必須です。"), (#"{"title":1}"#, "「title」の型が正しくありません。"),
        ])
    func japanese(body: String, sentence: String) async throws {
        try await TestServer.onSQLite { server async throws in
            let person = try await server.person("Somebody")
            let answer = try await server.json(
                "POST", "/v1/topics", body, token: person.token, [("Accept-Language", "ja")])
            #expect(answer.json["detail"]?.string == sentence)
        }
    }

    @Test("refuses the same address twice at sign-up, and tells nothing of it elsewhere")
    func sameAddress() async throws {
        try await TestServer.onBoth { server async throws in
            _ = try await server.send(SignUp(email: "a@b.example", password: "first password", name: "A"))
            let twice = await #expect(throws: Problem.self) {
                try await server.send(SignUp(email: "A@B.example", password: "other password", name: "B"))
            }
            #expect(twice?.status == 409)
            #expect(twice?.code == .emailTaken)
            #expect(twice?.field == "email")
            let wrong = await #expect(throws: Problem.self) {
                try await server.send(SignIn(email: "a@b.example", password: "other password"))
            }
            let unknown = await #expect(throws: Problem.self) {
                try await server.send(SignIn(email: "x@b.example", password: "other password"))
            }
            #expect(wrong == unknown)
        }
    }

    @Test("gets an answer and a closed connection when it is not even HTTP")
    func notHTTP() async throws {
        try await TestServer.onSQLite { server async throws in
            for (bytes, status) in [
                ("GET / HTTP/1.1\r\n\r\n", 400), ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
                ("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 17_000))\r\n\r\n", 431),
                ("POST /v1/topics HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
            ] {
                #expect(try await server.exchange(Array(bytes.utf8)).status == status, "\(bytes.prefix(40))")
            }
        }
    }
}
