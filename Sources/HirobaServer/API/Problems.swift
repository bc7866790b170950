import HirobaContract
import HirobaCore
import HirobaHTTP
import HirobaJSON

/// What this surface refuses by itself, before the core is asked.
enum Refusal: Error {
    case notJSON
    case malformedAuthorization
    case malformedIdempotencyKey
    case clientTooOld
    case noRoute
    case methodNotAllowed
    case badPath
    case bodyTooLarge(limit: Int)

    var error: HirobaError {
        switch self {
        case .notJSON:
            HirobaError(
                .unsupportedMediaType,
                Sentence(
                    en: "The body must be JSON with the Content-Type application/json.",
                    ja: "本文はContent-Typeがapplication/jsonのJSONでなければなりません。"))
        case .malformedAuthorization:
            HirobaError(
                .unauthorized,
                Sentence(
                    en: "The Authorization field must look like: Bearer TOKEN.",
                    ja: "Authorizationヘッダーは「Bearer トークン」の形でなければなりません。"))
        case .malformedIdempotencyKey:
            .invalid(
                HeaderName.idempotencyKey,
                Sentence(
                    en: "An Idempotency-Key has 1 to 255 visible ASCII characters.",
                    ja: "Idempotency-Keyは表示可能なASCII文字で1〜255文字です。"))
        case .clientTooOld:
            HirobaError(
                .upgradeRequired,
                Sentence(
                    en: "This version of the app is too old. Update it.",
                    ja: "アプリのバージョンが古すぎます。アップデートしてください。"))
        case .noRoute:
            HirobaError(.notFound, Sentence(en: "There is no such call.", ja: "このような呼び出しはありません。"))
        case .methodNotAllowed:
            HirobaError(
                .methodNotAllowed,
                Sentence(en: "This cannot be done here.", ja: "このメソッドはここでは使えません。"))
        case .badPath:
            HirobaError(
                .invalidRequest, Sentence(en: "The address is not well formed.", ja: "アドレスの形式が正しくありません。"))
        case .bodyTooLarge(let limit):
            HirobaError(
                .tooLarge,
                Sentence(
                    en: "The body may have at most \(sizeText(limit)).", ja: "本文の大きさは\(sizeText(limit))までです。"))
        }
    }
}

extension API {
    /// This surface's one table from codes to statuses.
    static func status(of code: ErrorCode) -> HTTPStatus {
        switch code {
        case .invalidRequest, .invalidField: .badRequest
        case .unauthorized, .invalidCredentials: .unauthorized
        case .forbidden: .forbidden
        case .notFound: .notFound
        case .methodNotAllowed: .methodNotAllowed
        case .conflict, .emailTaken, .idempotencyConflict: .conflict
        case .tooLarge: .contentTooLarge
        case .unsupportedMediaType: .unsupportedMediaType
        case .tooManyRequests: .tooManyRequests
        case .unavailable: .serviceUnavailable
        case .upgradeRequired: .upgradeRequired
        default: .internalServerError
        }
    }

    /// Any error as a problem document. What is our fault goes to the log, and only its id to the client.
    func problem(for error: any Error, in request: HTTPRequest) -> HTTPResponse {
        // The one status that no code stands for: it is about time, and a client may simply send again.
        let isSlow = (error as? HTTPBodyError) == .tooSlow
        let error = Self.known(error, bodyLimit: options.bodyBytes)
        let status = isSlow ? .requestTimeout : Self.status(of: error.code)
        var id: String?
        if status.rawValue >= 500 { id = faults.record(error.cause ?? error.sentence.en, in: request) }
        var headers: HTTPHeaders = ["Content-Type": Problem.mediaType, "Cache-Control": "no-store"]
        if let id { headers.add(RequestID.field, id) }
        if status == .unauthorized { headers.add("WWW-Authenticate", "Bearer") }
        let retryAfter = error.retryAfter.map { max(1, Int(($0 + .milliseconds(999)).components.seconds)) }
        if let retryAfter { headers.add("Retry-After", "\(retryAfter)") }
        let problem = Problem(
            status: status.rawValue, title: status.reason, code: error.code,
            detail: error.sentence[language(of: request)], field: error.field,
            id: status == .internalServerError ? id : nil, retryAfter: retryAfter)
        let body = (try? JSONCoding.encode(problem)) ?? Array(#"{"code":"internal","status":500}"#.utf8)
        return HTTPResponse(status, headers: headers, body: .bytes(body))
    }

    private static func known(_ error: any Error, bodyLimit: Int) -> HirobaError {
        switch error {
        case let error as HirobaError: error
        case let error as InvalidCall: HirobaError(error)
        case let error as Refusal: error.error
        case let error as HTTPBodyError:
            switch error {
            case .tooLarge: Refusal.bodyTooLarge(limit: bodyLimit).error
            case .disconnected, .tooSlow, .malformed:
                HirobaError(
                    .invalidRequest,
                    Sentence(en: "The body did not arrive whole.", ja: "本文が最後まで届きませんでした。"))
            }
        default: HirobaError(error)
        }
    }
}

extension HirobaError {
    /// A request that could not be decoded, in the reader's language.
    init(_ error: InvalidCall) {
        let name = error.field ?? ""
        let ja =
            switch error.reason {
            case .malformedBody: "本文がJSONとして読めません。"
            case .malformedQuery: "クエリの形式が正しくありません。"
            case .notAnObject: "本文はJSONオブジェクトでなければなりません。"
            case .unexpectedBody: "この呼び出しに本文は不要です。"
            case .unknownField: "「\(name)」という項目はありません。"
            case .missingField: "「\(name)」は必須です。"
            case .wrongType: "「\(name)」の型が正しくありません。"
            case .invalidValue: "「\(name)」の値が正しくありません。"
            }
        self.init(error.code, Sentence(en: error.detail, ja: ja), field: error.field)
    }
}
