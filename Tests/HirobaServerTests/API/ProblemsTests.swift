import HirobaContract
import HirobaCore
import HirobaHTTP
import HirobaJSON
import Testing

@testable import HirobaServer

@Suite("Errors as problem documents")
struct ProblemsTests {
    @Test("have one status for each code of the contract, and 500 for what nobody knows")
    func statuses() {
        let statuses: [(ErrorCode, Int)] = [
            (.invalidRequest, 400), (.invalidField, 400), (.unauthorized, 401), (.invalidCredentials, 401),
            (.forbidden, 403), (.notFound, 404), (.methodNotAllowed, 405), (.conflict, 409), (.emailTaken, 409),
            (.idempotencyConflict, 409), (.tooLarge, 413), (.unsupportedMediaType, 415), (.upgradeRequired, 426),
            (.tooManyRequests, 429), (.internal, 500), (.unavailable, 503),
        ]
        #expect(Set(statuses.map(\.0)) == Set(ErrorCode.known))
        for (code, status) in statuses { #expect(API.status(of: code).rawValue == status, "\(code)") }
        #expect(API.status(of: ErrorCode(rawValue: "from_the_future")).rawValue == 500)
    }

    @Test(
        "tell bodies that are too large, too slow or cut off, and when to come back",
        arguments: [
            (HTTPBodyError.tooLarge as any Error, 413, "too_large", nil),
            (HTTPBodyError.tooSlow, 408, "invalid_request", nil),
            (HTTPBodyError.disconnected, 400, "invalid_request", nil),
            (HTTPBodyError.malformed, 400, "invalid_request", nil),
            (HirobaError.busy, 429, "too_many_requests", 2),
            (HirobaError.unavailable("why", retryAfter: .milliseconds(1_001)), 503, "unavailable", 2),
            (HirobaError.unavailable("why", retryAfter: .zero), 503, "unavailable", 1),
        ] as [(any Error, Int, String, Int?)])
    func errors(error: any Error, status: Int, code: String, retryAfter: Int?) async throws {
        try await TestServer.onSQLite { server async throws in
            let api = API(core: server.app.core, options: API.Options(), faults: Faults(log: server.log.log))
            let response = api.problem(for: error, in: HTTPRequest(method: .post, target: "/v1/topics"))
            #expect(response.status.rawValue == status)
            #expect(response.headers["Retry-After"] == retryAfter.map { "\($0)" })
            guard case .bytes(let body) = response.body else {
                Issue.record("no body")
                return
            }
            let problem = try JSONCoding.decode(Problem.self, from: body, unknownFields: .refuse)
            #expect(problem.status == status)
            #expect(problem.code.rawValue == code)
            #expect(problem.retryAfter == retryAfter)
            #expect(problem.detail?.contains("why") == false)
        }
    }
}
