import HirobaHTTP
import Testing

@Suite struct RoutesTests {
    private static func answering(_ name: String) -> Routes.Handler {
        { _, parameters in
            let values = parameters.map { "\($0)=\($1)" }.joined(separator: ",")
            return .text(.ok, "\(name) \(values)")
        }
    }

    private let routes = {
        var routes = Routes()
        routes.on(.get, "/", answering("root"))
        routes.on(.get, "/topics", answering("topics"))
        routes.on(.post, "/topics", answering("create"))
        routes.on(.get, "/topics/{topic}", answering("topic"))
        routes.on(.delete, "/topics/latest", answering("delete latest"))
        routes.on(.get, "/topics/latest/feed", answering("feed"))
        routes.on(.get, "/topics/{topic}/comments", answering("comments"))
        routes.on(.get, "/web/{file...}", answering("web"))
        return routes
    }()

    private func ask(_ method: HTTPMethod, _ target: String) async throws -> (HTTPResponse, String) {
        let response = try await routes.handle(HTTPRequest(method: method, target: target))
        guard case .bytes(let bytes) = response.body else { return (response, "") }
        return (response, String(decoding: bytes, as: UTF8.self))
    }

    @Test(
        "a path finds its route and its parameters",
        arguments: [
            ("/", "root "),
            ("/?a=/topics", "root "),
            ("http://example.org", "root "),
            ("http://example.org/topics?x", "topics "),
            ("/topics?limit=1", "topics "),
            ("/t%6Fpics", "topics "),
            ("/topics/abc", "topic topic=abc"),
            ("/topics/a%2Fb%20c", "topic topic=a/b c"),
            ("/topics/%E5%BA%83%E5%A0%B4", "topic topic=広場"),
            ("/topics/latest/feed", "feed "),
            ("/topics/latest/comments", "comments topic=latest"),
            ("/web/css/site.css", "web file=css/site.css"),
            ("/web/", "web file="),
        ])
    func finds(_ target: String, _ answer: String) async throws {
        #expect(try await ask(.get, target).1 == answer)
    }

    @Test(
        "a path without a route is 404",
        arguments: ["/nothing", "/topics/", "/topics//comments", "/topics/a/b", "//", "/Topics", "/web"])
    func misses(_ target: String) async throws {
        #expect(try await ask(.get, target).0.status == .notFound)
    }

    @Test(
        "a path that is not text, or leads out of a folder, is 400",
        arguments: [
            "/topics/%", "/topics/%4", "/topics/%zz", "/topics/%ff", "/topics/%00", "/web/../x", "/web/a%2Fb",
            "/web/%2e%2E",
        ])
    func refuses(_ target: String) async throws {
        #expect(try await ask(.get, target).0.status == .badRequest)
    }

    @Test("another method is 405 and told what is allowed")
    func methodNotAllowed() async throws {
        let response = try await ask(.put, "/topics").0
        #expect(response.status == .methodNotAllowed)
        #expect(response.headers["Allow"] == "GET, HEAD, OPTIONS, POST")
    }

    @Test("a more particular path without the method leaves it to the general one")
    func fallsBack() async throws {
        #expect(try await ask(.get, "/topics/latest").1 == "topic topic=latest")
        #expect(try await ask(.put, "/topics/latest").0.headers["Allow"] == "DELETE, GET, HEAD, OPTIONS")
    }

    @Test("HEAD is answered by GET")
    func head() async throws {
        #expect(try await ask(.head, "/topics/abc").1 == "topic topic=abc")
    }

    @Test("OPTIONS is answered with what is allowed")
    func options() async throws {
        let one = try await ask(.options, "/topics/abc").0
        #expect(one.status == .noContent)
        #expect(one.headers["Allow"] == "GET, HEAD, OPTIONS")
        let all = try await ask(.options, "*").0
        #expect(all.headers["Allow"] == "DELETE, GET, HEAD, OPTIONS, POST")
    }

    @Test("the answers to what has no route can be replaced")
    func replaced() async throws {
        var routes = routes
        routes.notFound = { _ in HTTPResponse(.gone) }
        routes.methodNotAllowed = { _, allowed in HTTPResponse(.forbidden, headers: ["Allow": "\(allowed.count)"]) }
        #expect(try await routes.handle(HTTPRequest(method: .get, target: "/x")).status == .gone)
        let response = try await routes.handle(HTTPRequest(method: .put, target: "/topics"))
        #expect(response.status == .forbidden)
        #expect(response.headers["Allow"] == "4")
    }
}
