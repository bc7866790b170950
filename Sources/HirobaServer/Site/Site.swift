package import HirobaCore
package import HirobaHTTP

internal import HirobaContract
internal import HirobaCrypto
internal import HirobaJSON

/// What the pages need to know beside the core.
package struct SiteOptions: Sendable {
    /// Kept for as long as forms shall stay valid, the same on every node. At least 32 bytes.
    package var secret: [UInt8]
    /// The address that people use, when a proxy stands in front. With `https` cookies are marked secure.
    package var publicURL: String?
    package var clock: Clock
    /// What stands beside the forum in the demo.
    package var phones: SitePhones?
    /// Writes down a failure of ours and answers the id under which the log has it.
    package var record: @Sendable (_ cause: String, HTTPRequest) -> String

    package init(
        secret: [UInt8], publicURL: String? = nil, clock: Clock = .system, phones: SitePhones? = nil,
        record: @escaping @Sendable (_ cause: String, HTTPRequest) -> String = { _, _ in ObjectID.random() }
    ) {
        self.secret = secret
        self.publicURL = publicURL
        self.clock = clock
        self.phones = phones
        self.record = record
    }
}

/// The pages for people: a front page with four doors, the forum, and what surrounds them.
///
/// Every page is drawn here and works as plain links and forms. Scripts make the same links open sheets, the same forms
/// send themselves, and lists grow while one looks.
package struct Site: Sendable {
    let core: Core
    let options: SiteOptions
    let files = WebFiles()
    let guardian: FormGuard

    package init(core: Core, options: SiteOptions) {
        self.core = core
        self.options = options
        guardian = FormGuard(secret: options.secret, publicURL: options.publicURL)
    }

    package func register(on routes: inout Routes) {
        routes.on(.get, "/") { request, _ in
            await page(request) { visitor in
                .page(.frontPage(context(visitor, request), phones: options.phones?.page))
            }
        }
        routes.on(.get, "/typed-client") { request, _ in
            let code = String(decoding: EmbeddedFile.bytes(folder: "examples", name: "marvel.swift"), as: UTF8.self)
            return await page(request) { visitor in .page(.typedClientPage(context(visitor, request), code: code)) }
        }
        routes.on(.post, "/language") { request, _ in
            await post(request) { visitor, form in
                if let language = Language(rawValue: form["language"]) { visitor.choose(language) }
                return .seeOther(Self.localAddress(form["return"]))
            }
        }
        routes.on(.get, "/static/{version}/{name}") { _, parameters in file(parameters) }
        routes.on(.get, "/favicon.ico") { _, _ in
            HTTPResponse(.seeOther, headers: ["Location": files.address("favicon.svg")])
        }
        registerForum(on: &routes)
        registerPush(on: &routes)

        // A browser gets a page where others get what the surfaces say.
        let notFound = routes.notFound
        routes.notFound = { request in
            guard Self.wantsPage(request) else { return try await notFound(request) }
            return await page(request) { _ in throw HirobaError.notFound }
        }
    }

    /// An address of our own to go on to, or the front page: never another host.
    static func localAddress(_ address: String) -> String {
        let bytes = Array(address.utf8)
        let isPlain = bytes.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }
        guard bytes.first == UInt8(ascii: "/"), bytes.dropFirst().first != UInt8(ascii: "/"), isPlain else {
            return "/"
        }
        return address
    }

    private static func wantsPage(_ request: HTTPRequest) -> Bool {
        guard request.method == .get || request.method == .head, !request.path.hasPrefix("/v1/") else { return false }
        return request.headers["Accept"]?.contains("text/html") ?? false
    }

    private func file(_ parameters: PathParameters) -> HTTPResponse {
        guard let file = files[parameters["name"] ?? ""] else { return .text(.notFound, "There is nothing here.\n") }
        let isCurrent = parameters["version"] == files.version
        return HTTPResponse(
            headers: [
                "Content-Type": file.type,
                // An address of another version comes from a page older or younger than this program.
                "Cache-Control": isCurrent ? "public, max-age=31536000, immutable" : "no-store",
                "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'",
            ], body: .bytes(file.bytes))
    }
}

// MARK: - From a request to an answer

extension Site {
    /// What a handler of a page answers.
    enum Answer: Sendable {
        case page(HTML, HTTPStatus = .ok)
        case seeOther(String)
        /// A sentence, on a page or for the script that asked.
        case refusal(SiteRefusal)
    }

    typealias PageHandler = @Sendable (inout Visitor) async throws -> Answer
    typealias FormHandler = @Sendable (inout Visitor, SiteForm) async throws -> Answer

    func context(_ visitor: Visitor, _ request: HTTPRequest) -> PageContext {
        PageContext(
            texts: visitor.texts, files: files, formToken: guardian.token(for: visitor), me: visitor.me,
            address: request.target, now: options.clock.now())
    }

    /// Answers a request for a page, whatever happens.
    func page(_ request: HTTPRequest, _ handler: PageHandler) async -> HTTPResponse {
        var visitor = Visitor(
            request, isSecure: request.isSecure || options.publicURL?.hasPrefix("https:") ?? false)
        let answer: Answer
        do {
            answer = try await handler(&visitor)
        } catch {
            answer = .refusal(refusal(for: error, visitor, request))
        }
        return response(to: request, answer, visitor)
    }

    /// Answers a small form: checks where it comes from, reads it, and does what it says.
    func post(_ request: HTTPRequest, _ handler: FormHandler) async -> HTTPResponse {
        await page(request) { visitor in
            guard guardian.isOurs(request) else { throw SiteFailure.foreignForm }
            let form = try await SiteForm(urlencoded: request)
            guard guardian.accepts(form["csrf"], from: visitor) else { throw SiteFailure.foreignForm }
            return try await handler(&visitor, form)
        }
    }

    private func response(to request: HTTPRequest, _ answer: Answer, _ visitor: Visitor) -> HTTPResponse {
        var response: HTTPResponse
        switch answer {
        case .page(let page, let status): response = document(page, status, for: request)
        case .seeOther(let address) where request.wantsJSON:
            response = Self.json(.ok, [("location", address)])
        case .seeOther(let address):
            response = HTTPResponse(.seeOther, headers: ["Location": address])
        case .refusal(let refusal) where request.wantsJSON:
            let field = refusal.field.map { [("field", $0)] } ?? []
            response = Self.json(refusal.status, [("message", refusal.message)] + field)
        case .refusal(let refusal):
            let page = HTML.messagePage(
                context(visitor, request), title: refusal.title, text: refusal.message,
                isRefusal: request.method != .get)
            response = document(page, refusal.status, for: request)
        }
        if response.status == .serviceUnavailable || response.status == .tooManyRequests {
            response.headers["Retry-After"] = "5"
        }
        // The same address has other words for other people and languages.
        response.headers.add("Cache-Control", "private, no-cache")
        response.headers.add("Vary", "Accept, Accept-Language, Cookie")
        for cookie in visitor.cookies { response.headers.add("Set-Cookie", cookie) }
        return response
    }

    private func document(_ page: HTML, _ status: HTTPStatus, for request: HTTPRequest) -> HTTPResponse {
        let ancestors = options.phones?.frameAncestors(of: request) ?? "'none'"
        return HTTPResponse(
            status,
            headers: [
                "Content-Type": "text/html; charset=utf-8",
                "Content-Security-Policy": "\(Self.contentPolicy); frame-ancestors \(ancestors)",
                "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
                "Cross-Origin-Opener-Policy": "same-origin",
            ], body: .bytes(page.documentBytes))
    }

    /// Nothing but our own files may run, draw or be sent to.
    static let contentPolicy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
        + "form-action 'self'; base-uri 'none'"

    private static func json(_ status: HTTPStatus, _ fields: [(String, String)]) -> HTTPResponse {
        var json = JSONWriter()
        json.beginObject()
        for (name, value) in fields {
            json.name(name)
            json.string(value)
        }
        json.endObject()
        return HTTPResponse(status, headers: ["Content-Type": "application/json"], body: .bytes(json.bytes))
    }
}

// MARK: - Failures

/// What is wrong with a form before the core sees it.
enum SiteFailure: Error {
    /// The token is missing or not this visitor's, or the browser says that another site sent it.
    case foreignForm
}

/// A failure in the reader's language, with its status.
struct SiteRefusal: Sendable {
    var status: HTTPStatus
    var title: String
    var message: String
    var field: String?
}

extension Site {
    /// What to tell about an error. What is our fault is written down and shown as an id.
    func refusal(for error: any Error, _ visitor: Visitor, _ request: HTTPRequest) -> SiteRefusal {
        let texts = visitor.texts
        switch error {
        case SiteFailure.foreignForm:
            return SiteRefusal(status: .forbidden, title: texts.refusedTitle, message: texts.formExpired)
        case MultipartError.fieldTooLong(let name):
            return SiteRefusal(
                status: .contentTooLarge, title: texts.refusedTitle, message: texts.tooLong, field: name)
        case MultipartError.tooMuchUnwanted:
            return SiteRefusal(status: .contentTooLarge, title: texts.refusedTitle, message: texts.tooLong)
        case MultipartError.notMultipart:
            return SiteRefusal(status: .unsupportedMediaType, title: texts.refusedTitle, message: texts.brokenForm)
        case is MultipartError, is HTTPBodyError:
            return SiteRefusal(status: .badRequest, title: texts.refusedTitle, message: texts.brokenForm)
        default: break
        }
        let error = HirobaError(error)
        switch error.code {
        case .notFound:
            return SiteRefusal(status: .notFound, title: texts.notFoundTitle, message: texts.notFoundText)
        case .unavailable:
            return SiteRefusal(
                status: .serviceUnavailable, title: texts.unavailableTitle, message: texts.unavailableText)
        case .internal:
            let id = options.record(error.cause ?? "", request)
            return SiteRefusal(
                status: .internalServerError, title: texts.failureTitle, message: texts.failureText(id))
        default:
            return SiteRefusal(
                status: Self.status(of: error.code), title: texts.refusedTitle,
                message: error.sentence[visitor.language], field: error.field)
        }
    }

    private static func status(of code: ErrorCode) -> HTTPStatus {
        switch code {
        case .unauthorized, .forbidden: .forbidden
        case .conflict, .emailTaken, .idempotencyConflict: .conflict
        case .tooLarge: .contentTooLarge
        case .unsupportedMediaType: .unsupportedMediaType
        case .tooManyRequests: .tooManyRequests
        default: .badRequest
        }
    }
}
