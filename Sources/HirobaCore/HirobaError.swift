package import HirobaContract
internal import HirobaStore

/// A refusal that the caller can do something about, or the news that something is wrong on our side.
///
/// The core knows no HTTP: each surface has one table from `code` to its own statuses.
package struct HirobaError: Error, Sendable {
    package var code: ErrorCode
    /// For people, in their language.
    package var sentence: Sentence
    /// The field at fault, by its name in the contract.
    package var field: String?
    /// When it is worth trying again.
    package var retryAfter: Duration?
    /// For the log alone: what happened behind the sentence. Never shown, and holds no values of anybody's data.
    package var cause: String?

    package init(
        _ code: ErrorCode, _ sentence: Sentence, field: String? = nil, retryAfter: Duration? = nil,
        cause: String? = nil
    ) {
        self.code = code
        self.sentence = sentence
        self.field = field
        self.retryAfter = retryAfter
        self.cause = cause
    }
}

// MARK: - What is refused

extension HirobaError {
    /// A value that breaks a rule. The rule is said, so that it can be kept next time.
    package static func invalid(_ field: String, _ sentence: Sentence) -> HirobaError {
        HirobaError(.invalidField, sentence, field: field)
    }

    package static let unauthorized = HirobaError(
        .unauthorized, Sentence(en: "Sign in first.", ja: "サインインしてください。"))

    /// The token names no living session: ended, expired or never ours.
    package static let sessionEnded = HirobaError(
        .unauthorized,
        Sentence(
            en: "This session has ended. Sign in again.", ja: "セッションが終了しています。もう一度サインインしてください。"))

    /// What was asked for is for other servers and the operator.
    package static let keyMissing = HirobaError(
        .unauthorized, Sentence(en: "This needs a server key.", ja: "サーバーキーが必要です。"))

    /// The key names nothing: taken back, or never ours.
    package static let keyEnded = HirobaError(
        .unauthorized, Sentence(en: "This server key is not valid (any more).", ja: "このサーバーキーは無効です。"))

    package static let forbidden = HirobaError(
        .forbidden, Sentence(en: "You do not have permission to do this.", ja: "この操作をする権限がありません。"))

    package static let notFound = HirobaError(
        .notFound, Sentence(en: "This does not exist (any more).", ja: "存在しないか、すでに削除されています。"))

    package static let emailTaken = HirobaError(
        .emailTaken,
        Sentence(en: "There already is an account with this e-mail address.", ja: "このメールアドレスはすでに登録されています。"),
        field: "email")

    /// One answer for an unknown address and for a wrong password: neither tells whether the account exists.
    package static let invalidCredentials = HirobaError(
        .invalidCredentials,
        Sentence(en: "The e-mail address or the password is wrong.", ja: "メールアドレスかパスワードが違います。"))

    package static func tooLarge(limit bytes: Int) -> HirobaError {
        let size = bytes >= 1 << 20 ? "\(bytes >> 20) MiB" : "\(bytes) B"
        return HirobaError(
            .tooLarge, Sentence(en: "A file may have at most \(size).", ja: "ファイルの大きさは\(size)までです。"))
    }

    package static let tooManyPixels = HirobaError(
        .tooLarge, Sentence(en: "This picture has too many pixels.", ja: "この画像は画素数が多すぎます。"))

    package static let noPicture = HirobaError(
        .unsupportedMediaType,
        Sentence(en: "This is not a picture we can read.", ja: "画像として読み込めないファイルです。"))

    package static let idempotencyConflict = HirobaError(
        .idempotencyConflict,
        Sentence(
            en: "This idempotency key was already used for another request.",
            ja: "この冪等キーは別のリクエストですでに使われています。"),
        field: idempotencyKeyField)

    /// More slow work is waiting than will be done soon.
    package static let busy = HirobaError(
        .tooManyRequests,
        Sentence(en: "Too much is going on. Try again in a moment.", ja: "混み合っています。少し待ってからもう一度お試しください。"),
        retryAfter: .seconds(2))

    static let idempotencyKeyField = "Idempotency-Key"
}

// MARK: - What went wrong on our side

extension HirobaError {
    /// Nothing was changed, and it may work again soon.
    package static func unavailable(_ cause: String, retryAfter: Duration = .seconds(5)) -> HirobaError {
        HirobaError(
            .unavailable,
            Sentence(
                en: "The service is not available at the moment. Try again in a while.",
                ja: "ただいまサービスを利用できません。しばらくしてからもう一度お試しください。"),
            retryAfter: retryAfter, cause: cause)
    }

    package static func `internal`(_ cause: String) -> HirobaError {
        HirobaError(
            .internal,
            Sentence(en: "Something went wrong on our side.", ja: "サーバー側で問題が発生しました。"), cause: cause)
    }

    /// What a caller is told about any error: refusals as they are, a store that is full or away as "not now", and
    /// everything else as our fault.
    package init(_ error: any Error) {
        switch error {
        case let error as HirobaError: self = error
        case let error as StoreError: self.init(store: error)
        case is CancellationError: self = .unavailable("cancelled", retryAfter: .seconds(1))
        default: self = .internal("\(error)")
        }
    }

    private init(store error: StoreError) {
        switch error.code {
        case .full, .unavailable, .timeout, .unknownOutcome: self = .unavailable("\(error)")
        case .busy, .serialization: self = .unavailable("\(error)", retryAfter: .seconds(1))
        default: self = .internal("\(error)")
        }
    }
}
