import Foundation
import HirobaClient
import HirobaHTTP
import HirobaJSON
import Testing

private struct Weather: APIDescription {
    var baseURL: URL
    var lists = QueryLists.repeated
    var dates = JSONDates.rfc3339

    func authorize(_ request: inout APIRequest) {
        request.addQuery("key", "a&b")
        request.headers["X-Caller"] = "test"
    }
}

private struct Day: Codable, Equatable { var name: String }

private struct DailyRequest: Encodable {
    var limit: Int?
    var cities: [Int]?
    var since: Date?
    var name: String?
}

/// The style with an enum: cases with different answers.
private enum Forecast: APIType {
    typealias API = Weather
    case daily(DailyRequest)
    case city(Int)

    var path: String {
        switch self {
        case .daily: "daily"
        case .city(let id): "cities/\(id)"
        }
    }

    var parameters: (any Encodable & Sendable)? {
        switch self {
        case .daily(let request): request
        case .city: nil
        }
    }
}

/// The style with a structure for each call.
private struct HourlyForecast: APICall, Encodable {
    typealias API = Weather
    typealias Answer = [Day]
    var path: String { "cities/{city}/hourly" }
    var city: String
    var from: Int?
}

private struct Report: APICall, Encodable {
    typealias API = Weather
    typealias Answer = Day
    var method: APIMethod { .post }
    var path: String { "cities/{city}/reports" }
    var city: Int
    var text: String
    var note: String?
}

@Suite("The generic client")
struct APIClientTests {
    private func failure<Answer: Decodable & Sendable>(
        _ answer: HTTPResponse, as type: Answer.Type = Day.self
    ) async throws -> ClientError {
        var failure: ClientError?
        try await TestServer.run({ _, _ in answer }) { server in
            let client = APIClient(Weather(baseURL: server.url))
            do throws(ClientError) {
                _ = try await client.send(Forecast.city(1), answering: type)
            } catch {
                failure = error
            }
        }
        return try #require(failure)
    }

    @Test("sends cases of an enum and structures through one function")
    func styles() async throws {
        try await TestServer.run({ seen, _ in
            seen.target.contains("hourly") || seen.target.contains("daily")
                ? .json(#"[{"name":"Mon","new":1}]"#) : .json(#"{"name":"Osaka"}"#)
        }) { server in
            let client = APIClient(Weather(baseURL: server.url.appendingPathComponent("v3")))
            let days: [Day] = try await client.send(Forecast.daily(DailyRequest(limit: 2, name: "a b&c")))
            let city = try await client.send(Forecast.city(7), answering: Day.self)
            let hours = try await client.send(HourlyForecast(city: "né/1", from: 6))
            #expect(days == [Day(name: "Mon")])
            #expect(city == Day(name: "Osaka"))
            #expect(hours == [Day(name: "Mon")])
            #expect(
                server.requests.map(\.target) == [
                    "/v3/daily?limit=2&name=a%20b%26c&key=a%26b", "/v3/cities/7?key=a%26b",
                    "/v3/cities/n%C3%A9%2F1/hourly?from=6&key=a%26b",
                ])
            #expect(
                server.requests.allSatisfy { $0.method == "GET" && $0.headers["X-Caller"] == "test" && $0.body.isEmpty }
            )
        }
    }

    @Test("writes lists and dates as the API wants them")
    func conventions() async throws {
        try await TestServer.run({ _, _ in .json("[]") }) { server in
            let request = DailyRequest(cities: [1, 2], since: Date(timeIntervalSince1970: 1.5))
            let _: [Day] = try await APIClient(Weather(baseURL: server.url)).send(Forecast.daily(request))
            let comma = Weather(baseURL: server.url, lists: .commaSeparated, dates: .millisecondsSince1970)
            let _: [Day] = try await APIClient(comma).send(Forecast.daily(request))
            #expect(
                server.requests.map(\.target) == [
                    "/daily?cities=1&cities=2&since=1970-01-01T00%3A00%3A01.500Z&key=a%26b",
                    "/daily?cities=1,2&since=1500&key=a%26b",
                ])
        }
    }

    @Test("puts what is not in the path into the body of a POST")
    func post() async throws {
        try await TestServer.run({ _, _ in .json(.created, #"{"name":"ok"}"#) }) { server in
            let day = try await APIClient(Weather(baseURL: server.url)).send(Report(city: 3, text: "雨"))
            #expect(day == Day(name: "ok"))
            let seen = try #require(server.requests.first)
            #expect(seen.method == "POST")
            #expect(seen.target == "/cities/3/reports?key=a%26b")
            #expect(seen.text == #"{"text":"雨"}"#)
            #expect(seen.headers["Content-Type"] == "application/json")
        }
    }

    @Test(
        "reports an error status with its sentence, whatever the shape of the body",
        arguments: [
            (401, #"{"code":"InvalidCredentials","message":"No such key."}"#, "InvalidCredentials", "No such key."),
            (409, #"{"code":409,"status":"At most 100."}"#, "409", "At most 100."),
            (
                400, #"{"title":"Bad Request","status":400,"detail":"Too long.","code":"invalid_field"}"#,
                "invalid_field", "Too long."
            ),
            (502, "<html>Bad gateway</html>", nil, "The server answered with status 502."),
            (500, "", nil, "The server answered with status 500."),
            (404, "[]", nil, "The server answered with status 404."),
            (503, #"{"name":"looks like an answer"}"#, nil, "The server answered with status 503."),
        ] as [(Int, String, String?, String)])
    func errors(status: Int, body: String, code: String?, sentence: String) async throws {
        let failure = try #require(try await failure(.json(HTTPStatus(status), body)).failure)
        #expect(failure.status == status)
        #expect(failure.code == code)
        #expect(failure.sentence == sentence)
        #expect(failure.body == Array(body.utf8))
    }

    @Test("says how long to wait, and which field is at fault")
    func details() async throws {
        var answer = HTTPResponse.json(.tooManyRequests, #"{"field":"text"}"#)
        answer.headers["Retry-After"] = "7"
        let failure = try #require(try await failure(answer).failure)
        #expect(failure.retryAfter == 7)
        #expect(failure.field == "text")
    }

    @Test("tells an answer of the wrong shape from an error, with its field")
    func decoding() async throws {
        guard case .decoding(let error, let status) = try await failure(.json(#"[{"name":1}]"#), as: [Day].self) else {
            Issue.record("no decoding error")
            return
        }
        #expect(error.field == "[0].name")
        #expect(status == 200)
        guard case .decoding = try await failure(.text(.ok, "hello")) else {
            Issue.record("no decoding error")
            return
        }
    }

    @Test("tells a server that is not there")
    func unreachable() async throws {
        let client = APIClient(Weather(baseURL: try await addressWithoutServer()))
        let error = await #expect(throws: ClientError.self) { try await client.send(HourlyForecast(city: "1")) }
        guard case .network(let failure)? = error else {
            Issue.record("\(String(describing: error)) is no network failure")
            return
        }
        #expect(failure.kind == .unreachable)
    }

    @Test("tells an answer that breaks off")
    func lost() async throws {
        guard case .network(let failure) = try await failure(.lost) else {
            Issue.record("no network failure")
            return
        }
        #expect(failure.kind == .lost)
    }

    @Test("refuses addresses that are none of HTTP", arguments: ["ftp://example.org", "example.org", "file:///etc"])
    func addresses(text: String) async throws {
        let client = APIClient(Weather(baseURL: try #require(URL(string: text))))
        let error = await #expect(throws: ClientError.self) { try await client.send(HourlyForecast(city: "1")) }
        guard case .request? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("stops at once when its task is cancelled")
    func cancel() async throws {
        try await TestServer.run({ _, _ in
            HTTPResponse(
                body: .stream { writer in
                    try await writer.write(Array("[".utf8))
                    try await Task.sleep(for: .seconds(60))
                })
        }) { server in
            let client = APIClient(Weather(baseURL: server.url))
            let task = Task { () -> ClientError? in
                do throws(ClientError) {
                    _ = try await client.send(HourlyForecast(city: "1"))
                    return nil
                } catch {
                    return error
                }
            }
            try await eventually { !server.requests.isEmpty }
            task.cancel()
            guard case .cancelled? = await task.value else {
                Issue.record("not cancelled")
                return
            }
        }
    }

    @Test("refuses an answer that is larger than wanted")
    func tooLarge() async throws {
        try await TestServer.run({ _, _ in .text(.ok, String(repeating: "x", count: 100_000)) }) { server in
            var client = APIClient(Weather(baseURL: server.url))
            client.largestAnswer = 99_999
            let error = await #expect(throws: ClientError.self) { try await client.send(HourlyForecast(city: "1")) }
            #expect(error?.description == "The answer is larger than 99999 bytes")
        }
    }

    @Test("follows a redirection within the origin, and takes no secret to another")
    func redirections() async throws {
        try await TestServer.run({ _, _ in .json("[]") }) { elsewhere in
            let away = elsewhere.url.absoluteString
            try await TestServer.run({ seen, _ in
                if seen.target.hasPrefix("/moved") { return .json("[]") }
                let target = seen.target.contains("/1/") ? "/moved" : away
                return HTTPResponse(.temporaryRedirect, headers: ["Location": target])
            }) { server in
                let client = APIClient(Weather(baseURL: server.url))
                let moved = try await client.send(HourlyForecast(city: "1"))
                #expect(moved.isEmpty)
                let error = await #expect(throws: ClientError.self) { try await client.send(HourlyForecast(city: "2")) }
                #expect(error?.failure?.status == 307)
                #expect(elsewhere.requests.isEmpty)
            }
        }
    }
}
