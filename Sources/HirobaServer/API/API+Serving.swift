import HirobaContract
import HirobaCore
import HirobaHTTP
import HirobaJSON

extension API {
    /// Serves a call with JSON both ways: decode, one core call, encode.
    func serve<C: Call>(
        _ type: C.Type, on routes: inout Routes,
        _ body: @escaping @Sendable (C, Caller) async throws -> C.Answer
    ) {
        let status = HTTPStatus(C.successStatuses.first ?? 200)
        let takesBody = !C.route.usesQuery
        on(C.self, &routes) { request, parameters in
            let call = try await decode(C.self, request, parameters, takesBody: takesBody)
            let answer = try await body(call, caller(of: request))
            return try json(status, answer)
        }
    }

    /// Serves a call whose success has nothing to tell: 204.
    func serve<C: Call>(
        _ type: C.Type, on routes: inout Routes, _ body: @escaping @Sendable (C, Caller) async throws -> Void
    ) where C.Answer == NoContent {
        let takesBody = !C.route.usesQuery
        on(C.self, &routes) { request, parameters in
            let call = try await decode(C.self, request, parameters, takesBody: takesBody)
            try await body(call, caller(of: request))
            return HTTPResponse(.noContent)
        }
    }

    /// `SignInAnonymously` alone has two statuses of success: 201 for a secret that was new, 200 for a known one.
    func serveAnonymousSignIn(on routes: inout Routes) {
        on(SignInAnonymously.self, &routes) { request, parameters in
            let call = try await decode(SignInAnonymously.self, request, parameters, takesBody: true)
            let (answer, isNew) = try await core.accounts.signInAnonymously(call, by: caller(of: request))
            return try json(isNew ? .created : .ok, answer)
        }
    }

    /// `/openapi.json`: the document is made once, since nothing in it changes while the program runs.
    func serveDocument(on routes: inout Routes) {
        let bytes = OpenAPI.document(server: options.publicURL ?? "/").bytes()
        routes.on(.get, "/openapi.json") { _, _ in
            HTTPResponse(
                .ok, headers: ["Content-Type": "application/json", "Cache-Control": "max-age=300"], body: .bytes(bytes))
        }
    }

    /// Registers one call's handler inside everything that is the same for all calls: the version of the client, errors
    /// turned into problem documents, and the fields that let other origins read the answer.
    func on<C: CallDescription>(
        _ type: C.Type, _ routes: inout Routes,
        _ handler: @escaping @Sendable (HTTPRequest, PathParameters) async throws -> HTTPResponse
    ) {
        routes.on(HTTPMethod(C.route.method.rawValue), C.route.fullTemplate) { request, parameters in
            var response: HTTPResponse
            do {
                try refuseOldClient(request)
                response = try await handler(request, parameters)
            } catch {
                response = problem(for: error, in: request)
            }
            shareWithOrigins(&response, request)
            return response
        }
    }

    // MARK: - Reading

    private func decode<C: Call>(
        _ type: C.Type, _ request: HTTPRequest, _ parameters: PathParameters, takesBody: Bool
    ) async throws -> C {
        var body: [UInt8] = []
        if takesBody {
            if request.body.length != 0, !isJSON(request.headers["Content-Type"]) { throw Refusal.notJSON }
            body = try await request.body.collect(upTo: options.bodyBytes)
        } else if let length = request.body.length, length > 0 {
            throw InvalidCall(.unexpectedBody)
        }
        return try CallCoding.decode(type, path: { parameters[$0] }, query: request.query, body: body)
    }

    /// `application/json` with or without parameters, or a type built on JSON.
    private func isJSON(_ type: String?) -> Bool {
        guard let type else { return false }
        if type == "application/json" { return true }
        let essence = trimmingBlanks(of: type.prefix { $0 != ";" }).lowercased()
        return essence == "application/json" || (essence.hasPrefix("application/") && essence.hasSuffix("+json"))
    }

    /// Who asks, as the request tells it.
    /// - Throws: `Refusal.malformedAuthorization` for a field that is no bearer token.
    func caller(of request: HTTPRequest) throws(Refusal) -> Caller {
        var caller = Caller(address: request.peer.ip, language: language(of: request))
        if let field = request.headers["Authorization"] {
            guard let token = bearerToken(in: field) else { throw .malformedAuthorization }
            caller.credential = ServerKey.isOne(token) ? .serverKey(token) : .session(token: token)
            if let recognition = Recognition.current { caller.recognised = { recognition.note($0) } }
        }
        if request.method == .post {
            if let key = request.headers[HeaderName.idempotencyKey] {
                guard (1...255).contains(key.utf8.count), key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                    throw .malformedIdempotencyKey
                }
                caller.idempotencyKey = key
            }
            // Only sign-ins keep it, and those are POSTs.
            caller.device = request.headers["User-Agent"]
        }
        return caller
    }

    /// The token of `Bearer TOKEN` (RFC 6750), or nil when the field is anything else.
    private func bearerToken(in field: String) -> String? {
        let bytes = field.utf8
        guard bytes.count > 7, bytes.count <= 519, field.prefix(7).lowercased() == "bearer " else { return nil }
        let token = trimmingBlanks(of: field.dropFirst(7))
        let isWellFormed = token.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            // - . _ ~ + / =
            case 0x2D, 0x2E, 0x5F, 0x7E, 0x2B, 0x2F, 0x3D: true
            default: false
            }
        }
        return isWellFormed && !token.isEmpty ? String(token) : nil
    }

    /// A client that says it is older than this server can serve is told so, before it misreads an answer.
    private func refuseOldClient(_ request: HTTPRequest) throws(Refusal) {
        guard let field = request.headers[HeaderName.client], let client = ClientVersion(header: field) else { return }
        if client.isOlder(than: Self.oldestClient) { throw .clientTooOld }
    }

    /// The oldest of our own clients that can read this server's answers.
    static let oldestClient = ClientVersion(name: "swift", major: 1, minor: 0)

    // MARK: - Answering

    func json(_ status: HTTPStatus, _ answer: some Encodable) throws -> HTTPResponse {
        return HTTPResponse(
            status, headers: ["Content-Type": "application/json", "Cache-Control": "no-store"],
            body: .bytes(try JSONCoding.encode(answer)))
    }
}

/// The language to answer in: the first of ours that `Accept-Language` prefers, else English.
func language(of request: HTTPRequest) -> Language {
    guard let field = request.headers["Accept-Language"] else { return .english }
    var best = (language: Language.english, quality: 0.0)
    for item in field.split(separator: ",") {
        let parts = item.split(separator: ";")
        guard let tag = parts.first.map({ trimmingBlanks(of: $0) }),
            let language = Language(rawValue: tag.prefix { $0 != "-" }.lowercased())
        else { continue }
        let weight = parts.dropFirst().lazy.map { trimmingBlanks(of: $0) }.first { $0.hasPrefix("q=") }
        let quality = weight.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
        // The first of equals wins.
        if quality > best.quality { best = (language, quality) }
    }
    return best.language
}
