internal import HirobaContract

/// How a device is: what is wrong with it, and what to do.
struct Health: Sendable {
    let condition: DeviceCondition
    let sentence: Sentence

    /// The first thing that is in the way, looked for from the phone to the gateway.
    init(of device: StoredDevice) {
        switch PushPermission(rawValue: device.permission) {
        case .denied: self = .denied
        case _ where device.token == nil: self = Self.withoutToken(device.problem.flatMap(DeviceProblem.init))
        case _ where device.diedAt != nil: self = Self.dead(device)
        case .notDetermined: self = .notAsked
        case _ where device.user == nil: self = .signedOut
        default: self = Self.byVerdict(device)
        }
    }

    private init(_ condition: DeviceCondition, _ sentence: Sentence) {
        self.condition = condition
        self.sentence = sentence
    }

    private static let denied = Health(
        .notPermitted,
        Sentence(
            en: "The person does not let the app notify them. They can allow it in the phone's settings.",
            ja: "通知が許可されていません。本人が端末の設定で許可できます。"))

    private static let notAsked = Health(
        .notPermitted,
        Sentence(
            en: "The app has not asked yet whether it may notify, so nothing is shown. Have it ask.",
            ja: "アプリがまだ通知の許可を求めていないため、何も表示されません。アプリから許可を求めてください。"))

    private static let signedOut = Health(
        .signedOut,
        Sentence(
            en: "Nobody is signed in on this device. Pushes reach it again once somebody signs in.",
            ja: "この端末では誰もサインインしていません。サインインすると通知が届くようになります。"))

    private static func withoutToken(_ problem: DeviceProblem?) -> Health {
        switch problem {
        case .tokenMoved:
            Health(
                .noToken,
                Sentence(
                    en:
                        "Another device of the app came with the same token. Open the app on this one to register again.",
                    ja: "同じトークンが別の端末として登録されました。この端末でアプリを開くと登録し直せます。"))
        default:
            Health(
                .noToken,
                Sentence(
                    en: "The app has handed in no token: see in its log why the registration for notifications failed.",
                    ja: "アプリからトークンが届いていません。通知の登録に失敗した理由をアプリのログで確認してください。"))
        }
    }

    private static func dead(_ device: StoredDevice) -> Health {
        switch Verdict.Note(device.lastVerdict)?.reason {
        case "BadDeviceToken":
            Health(
                .dead,
                Sentence(
                    en:
                        "The gateway knows this token neither in production nor in the sandbox. Open the app to register "
                        + "again; if it goes on, look for a token that was changed on its way here.",
                    ja: "このトークンは本番環境でもサンドボックスでも知られていません。アプリを開くと登録し直せます。続く場合は、"
                        + "トークンが途中で変わっていないか確認してください。"))
        default:
            Health(
                .dead,
                Sentence(
                    en: "The token is dead: the app was removed from the device, or has got a new token. "
                        + "It lives again when the app is opened there.",
                    ja: "トークンは無効になりました。アプリが端末から削除されたか、新しいトークンに変わっています。"
                        + "その端末でアプリを開くと元に戻ります。"))
        }
    }

    private static func byVerdict(_ device: StoredDevice) -> Health {
        let note = Verdict.Note(device.lastVerdict)
        switch note?.word {
        case nil:
            return Health(
                .untried,
                Sentence(
                    en: "It is registered; no push has been sent to it yet.", ja: "登録済みです。まだ通知は送られていません。"))
        case .accepted:
            return Health(
                .well, Sentence(en: "All is well: the gateway took the last push.", ja: "正常です。前回の通知は受け付けられました。"))
        case .refused, .gone:
            let reason = note?.reason ?? "?"
            return switch reason {
            case "DeviceTokenNotForTopic":
                Health(
                    .refused,
                    Sentence(
                        en:
                            "The token is not this app's. Compare the bundle identifier \(device.app) with the app's own.",
                        ja: "トークンがこのアプリのものではありません。バンドルID「\(device.app)」がアプリと同じか確認してください。"))
            default:
                Health(
                    .refused,
                    Sentence(
                        en: "The gateway refused the last push: \(reason). The story of that push says more.",
                        ja: "前回の通知は拒否されました（\(reason)）。詳しくはその通知の履歴を見てください。"))
            }
        case .held:
            let reason = note?.reason ?? "?"
            return Health(
                .waiting,
                Sentence(
                    en: "Pushes wait until the configuration of the gateway is repaired (\(reason)). "
                        + "Run hiroba check.",
                    ja: "ゲートウェイの設定が直るまで通知は待機しています（\(reason)）。hiroba checkで確認してください。"))
        case .retry, .unknown:
            let reason = note?.reason ?? "?"
            return Health(
                .waiting,
                Sentence(
                    en: "The last push did not get through (\(reason)) and is tried again by itself.",
                    ja: "前回の通知は届けられませんでした（\(reason)）。自動的に再試行されます。"))
        }
    }
}

extension Verdict {
    /// A verdict as it is kept with a device: `accepted`, `gone: Unregistered`.
    struct Note: Sendable {
        enum Word: String, Sendable {
            case accepted, gone, retry, refused, held, unknown
        }

        let word: Word
        let reason: String?

        /// Nil where there is none.
        init?(_ text: String?) {
            guard let text else { return nil }
            let parts = text.split(separator: ":", maxSplits: 1)
            guard let word = parts.first.flatMap({ Word(rawValue: String($0)) }) else { return nil }
            self.word = word
            reason = parts.count > 1 ? String(parts[1].drop { $0 == " " }) : nil
        }

        init(_ verdict: Verdict) {
            (word, reason) =
                switch verdict {
                case .accepted: (.accepted, nil)
                case .gone(_, let reason): (.gone, reason)
                case .retry(_, _, let reason): (.retry, reason)
                case .refused(let reason, _): (.refused, reason)
                case .held(let reason): (.held, reason)
                case .unknown(let reason): (.unknown, reason)
                }
        }

        var text: String { reason.map { "\(word.rawValue): \($0)" } ?? word.rawValue }
    }
}

extension StoredDevice {
    /// As it is told to others, in their language.
    func device(in language: Language) -> Device {
        let health = Health(of: self)
        return Device(
            id: Device.ID(id), user: user.map { User.ID($0) }, platform: DevicePlatform(rawValue: platform),
            environment: PushEnvironment(rawValue: environment), app: app,
            permission: PushPermission(rawValue: permission), language: self.language, timeZone: timeZone,
            appVersion: appVersion, hasToken: token != nil,
            registeredAt: registeredAt.map { .init(milliseconds: $0) }, lastVerdict: lastVerdict,
            lastVerdictAt: lastVerdictAt.map { .init(milliseconds: $0) },
            health: DeviceHealth(condition: health.condition, sentence: health.sentence[language]),
            createdAt: .init(milliseconds: createdAt), updatedAt: .init(milliseconds: updatedAt))
    }
}
