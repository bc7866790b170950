internal import HirobaContract
internal import HirobaStore

/// A delivery as its row says.
struct StoredDelivery: Sendable {
    let id: String
    let notification: String
    let device: String
    let user: String
    let state: PushDeliveryState
    let reason: String?
    let attempts: Int
    let isResent: Bool
    let createdAt: Int64
    let dueAt: Int64?
    let sentAt: Int64?
    let endedAt: Int64?
    let gatewayID: String?
    let uniqueID: String?
    let openedAt: Int64?

    /// What `init(_ row:)` reads, from `deliveries`.
    static let columns: SQL = """
        id, notification_id, device_id, user_id, state, reason, attempts, is_resent, created_at, due_at, sent_at, \
        ended_at, gateway_id, unique_id, opened_at
        """

    init(_ row: borrowing Row) throws {
        id = try row.text(0)
        notification = try row.text(1)
        device = try row.text(2)
        user = try row.text(3)
        state = PushDeliveryState(rawValue: try row.text(4))
        reason = try row.optionalText(5)
        attempts = Int(try row.integer(6))
        isResent = try row.bool(7)
        createdAt = try row.integer(8)
        dueAt = try row.optionalInteger(9)
        sentAt = try row.optionalInteger(10)
        endedAt = try row.optionalInteger(11)
        gatewayID = try row.optionalText(12)
        uniqueID = try row.optionalText(13)
        openedAt = try row.optionalInteger(14)
    }

    /// As it is told to others, in their language.
    func delivery(in language: Language) -> PushDelivery {
        PushDelivery(
            id: PushDelivery.ID(id), push: PushSummary.ID(notification), device: Device.ID(device),
            user: User.ID(user), state: state, reason: reason, sentence: sentence[language], attempts: attempts,
            isResent: isResent, createdAt: .init(milliseconds: createdAt),
            dueAt: dueAt.map { .init(milliseconds: $0) }, sentAt: sentAt.map { .init(milliseconds: $0) },
            endedAt: endedAt.map { .init(milliseconds: $0) }, gatewayID: gatewayID, uniqueID: uniqueID,
            openedAt: openedAt.map { .init(milliseconds: $0) })
    }

    private var sentence: Sentence {
        let said = reason ?? "?"
        return switch state {
        case .waiting where attempts == 0: Sentence(en: "It waits for its turn.", ja: "順番を待っています。")
        case .waiting:
            Sentence(en: "It did not get through (\(said)) and is tried again.", ja: "届けられなかったため（\(said)）再試行します。")
        case .sending: Sentence(en: "The gateway has not answered yet.", ja: "ゲートウェイの応答を待っています。")
        case .accepted where openedAt != nil: Sentence(en: "The person opened it.", ja: "開封されました。")
        case .accepted where isResent:
            Sentence(
                en: "The gateway took it. It was sent twice under one id, as the end of an attempt is unknown.",
                ja: "ゲートウェイが受け付けました。結果の不明な送信があったため、同じIDで再送されています。")
        case .accepted: Sentence(en: "The gateway took it.", ja: "ゲートウェイが受け付けました。")
        case .gone: Sentence(en: "The device's token is dead (\(said)).", ja: "端末のトークンは無効でした（\(said)）。")
        case .refused: Sentence(en: "It was refused for good (\(said)).", ja: "拒否されました（\(said)）。")
        case .expired:
            Sentence(en: "It could not be sent in time (\(said)).", ja: "期限までに送れませんでした（\(said)）。")
        case .dropped, .skipped: DeliveryObstacle(rawValue: said)?.sentence ?? Sentence(en: said, ja: said)
        default: Sentence(en: state.rawValue, ja: state.rawValue)
        }
    }
}

/// Why a delivery is not sent, although the person was to be told.
enum DeliveryObstacle: String, Sendable {
    case signedOut = "signed_out"
    case blocked
    case deviceDead = "device_dead"
    case noToken = "no_token"
    case subjectGone = "subject_gone"

    var sentence: Sentence {
        switch self {
        case .signedOut:
            Sentence(en: "The person had signed out of the device.", ja: "この端末からサインアウトしていました。")
        case .blocked: Sentence(en: "One of the two had blocked the other.", ja: "一方が相手をブロックしていました。")
        case .deviceDead: Sentence(en: "The device's token was known to be dead.", ja: "端末のトークンは無効とわかっていました。")
        case .noToken: Sentence(en: "The app had handed in no token.", ja: "アプリからトークンが届いていませんでした。")
        case .subjectGone:
            Sentence(
                en: "What it was about had been deleted, or locked for this person.",
                ja: "内容が削除されたか、この人には読めなくなっていました。")
        }
    }
}

extension PushDecision {
    /// The decision and why.
    var sentence: Sentence {
        switch self {
        case .notified: Sentence(en: "It goes to their devices.", ja: "端末に送られます。")
        case .isActor: Sentence(en: "They did it themselves.", ja: "本人の操作です。")
        case .blocked: Sentence(en: "One of the two has blocked the other.", ja: "一方が相手をブロックしています。")
        case .settingOff: Sentence(en: "The owner's setting is Off.", ja: "本人の設定が「オフ」です。")
        case .notFollowing:
            Sentence(
                en: "The owner's setting is From people I follow, and they do not follow this person.",
                ja: "本人の設定が「フォローしている人から」で、この人をフォローしていません。")
        case .mayNotRead: Sentence(en: "They may not read what it is about.", ja: "内容を読む権限がありません。")
        case .noDevice:
            Sentence(en: "They are signed in on no device that takes pushes.", ja: "通知を受け取れる端末でサインインしていません。")
        case .tooLate: Sentence(en: "It happened too long ago.", ja: "時間が経ちすぎています。")
        default: Sentence(en: rawValue, ja: rawValue)
        }
    }
}
