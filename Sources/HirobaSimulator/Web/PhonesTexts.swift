internal import HirobaJSON

/// Everything the page says. A text is a property without a default, so a language that lacks one does not compile.
struct PhonesTexts: Sendable {
    let language: PhonesLanguage

    let title: String
    let introduction: String
    /// With the forum on the same page.
    let introductionBeside: String
    let standsStill: String
    let lookAgain: String
    /// Above links to a person's threads.
    let starts: @Sendable (_ person: String) -> String
    let skipToContent: String
    let otherLanguage: PhonesLanguage
    let otherLanguageName: String
    let noPhones: String

    // On the screen.
    let lockScreen: @Sendable (String) -> String
    let now: String
    let minutesAgo: String
    let hoursAgo: String
    let nothingNew: String
    let more: @Sendable (Int) -> String
    let less: String
    let dismiss: @Sendable (String) -> String
    let clearAll: String
    let openApp: @Sendable (String) -> String
    let badge: @Sendable (Int) -> String
    let appIsOpen: @Sendable (String) -> String
    let goHome: String
    let offline: String

    // Below it.
    let controls: @Sendable (String) -> String
    let app: String
    let inFront: String
    let behind: String
    let killed: String
    let network: String
    let online: String
    let goOffline: String
    let power: String
    let fullPower: String
    let lowPower: String
    let permission: String
    let allowed: String
    let denied: String
    let notAsked: String
    let inFrontBanner: String
    let on: String
    let off: String
    let moreSettings: String
    let token: String
    let deadToken: String
    let environment: String
    let reinstall: String
    let remove: String
    let install: String
    let held: String

    // The log.
    let log: String
    let logIntroduction: String
    let emptyLog: String
    let clearLog: String
    let wholeStory: String
    let withoutTitle: String
    let crowd: String
    let details: String
    let findings: String
    let pushType: String
    let topic: String
    let priority: String
    let collapseID: String
    let connectionLost: String

    let chip: @Sendable (Delivery.Step) -> String
    /// One step as a sentence; the phone's name comes in.
    let sentence: @Sendable (Delivery.Step, _ phone: String) -> String

    static func of(_ language: PhonesLanguage) -> PhonesTexts {
        switch language {
        case .en: english
        case .ja: japanese
        }
    }

    /// What the scripts say.
    var forScripts: [UInt8] {
        let json: JSON = [
            "now": .string(now), "minutesAgo": .string(minutesAgo), "hoursAgo": .string(hoursAgo),
            "connectionLost": .string(connectionLost),
        ]
        return json.bytes()
    }
}

extension PhonesTexts {
    static let english = PhonesTexts(
        language: .en,
        title: "Phones",
        introduction: "Each phone stands for a real one: what you send to its token arrives here as it would there.",
        introductionBeside:
            "Write a comment on a thread whose author has a phone here, and the phone lights up. Tap the notification to read the thread on the phone and answer as its owner.",
        standsStill: "Without scripts this page stands still.", lookAgain: "Look again",
        starts: { "Threads by \($0). A comment on one lights this phone up:" },
        skipToContent: "Skip to the phones",
        otherLanguage: .ja,
        otherLanguageName: "日本語",
        noPhones: "There are no phones yet.",
        lockScreen: { "Screen of \($0)" },
        now: "now",
        minutesAgo: "{n} min ago",
        hoursAgo: "{n} h ago",
        nothingNew: "No notifications",
        more: { "\($0) more" },
        less: "Show less",
        dismiss: { "Take “\($0)” away" },
        clearAll: "Clear all",
        openApp: { "Open \($0)" },
        badge: { $0 == 1 ? "1 new" : "\($0) new" },
        appIsOpen: { "\($0) is open" },
        goHome: "Back to the lock screen",
        offline: "Offline",
        controls: { "Settings of \($0)" },
        app: "App",
        inFront: "In front",
        behind: "Behind",
        killed: "Closed",
        network: "Network",
        online: "Online",
        goOffline: "Offline",
        power: "Battery",
        fullPower: "Full",
        lowPower: "Saving",
        permission: "Notifications",
        allowed: "Allowed",
        denied: "Denied",
        notAsked: "Not asked",
        inFrontBanner: "Banner while in front",
        on: "On",
        off: "Off",
        moreSettings: "Token and app",
        token: "Device token",
        deadToken: "This token is dead.",
        environment: "Environment",
        reinstall: "Reinstall",
        remove: "Remove the app",
        install: "Install",
        held: "APNs keeps a push for this phone.",
        log: "What happened",
        logIntroduction: "Every push, the newest first: how far it came, and why nothing was shown.",
        emptyLog: "No push has come yet. Post a comment, or send one to a token above.",
        clearLog: "Clear the log", wholeStory: "The whole story, from the comment to the tap",
        withoutTitle: "(no text)",
        crowd: "a phone that is not on this page",
        details: "Step by step",
        findings: "Wrong in the payload, although APNs took it",
        pushType: "Type",
        topic: "Topic",
        priority: "Priority",
        collapseID: "Collapse id",
        connectionLost: "Not connected: what you see may be old.",
        chip: { step in
            switch step {
            case .refused: "Refused"
            case .accepted: "Accepted"
            case .stored: "Kept"
            case .held: "Held"
            case .overwritten: "Overwritten"
            case .expired: "Expired"
            case .delivered: "Delivered"
            case .woken: "Woken"
            case .pictureAttached, .shown: "Shown"
            case .replaced: "Replaced"
            case .pictureMissing: "Without picture"
            case .badge: "Badge"
            case .discarded: "Not shown"
            case .tapped: "Tapped"
            case .dismissed: "Dismissed"
            }
        },
        sentence: { step, phone in
            switch step {
            case .refused(let reason): "APNs refused it with \(reason.status) \(reason.rawValue)."
            case .accepted: "APNs answered 200."
            case .stored: "\(phone) is offline: APNs keeps the push."
            case .held: "\(phone) saves power: a push that is not urgent waits."
            case .overwritten: "A newer push took its place: APNs keeps one for each app."
            case .expired: "It was not to be kept any longer, so it was thrown away."
            case .delivered: "It reached \(phone)."
            case .woken: "The app ran in the background; there is nothing to show."
            case .pictureAttached: "The service extension attached the picture."
            case .pictureMissing(let failure): "No picture: \(english(failure))."
            case .badge(let count):
                count == 0 ? "The badge was taken off the icon." : "The icon shows the badge \(count)."
            case .shown: "It was shown on \(phone)."
            case .replaced: "It took the place of the notification with its collapse id, and alerted again."
            case .discarded(let reason): "Nothing was shown: \(english(reason))."
            case .tapped: "It was tapped, and the app opened."
            case .dismissed: "It was taken away."
            }
        })

    private static func english(_ reason: Delivery.Discard) -> String {
        switch reason {
        case .notJSON: "the payload is no JSON object"
        case .noAps: "the payload has no aps"
        case .empty: "the payload is {}, which says nothing"
        case .nothingToShow: "there is no alert, no badge and no sound to show"
        case .permissionDenied: "notifications are denied on this phone"
        case .permissionNotAsked: "the app has not yet asked whether it may notify"
        case .inForeground: "the app is in front and does not ask for a banner then"
        case .forceQuit: "the app is closed, and a background push does not start it"
        case .appRemoved: "the app is not installed any more"
        case .notShownByPhones: "a push of this type draws nothing on the lock screen"
        }
    }

    private static func english(_ failure: Delivery.PictureFailure) -> String {
        switch failure {
        case .noAddress: "the push names no picture, as picture or as attachment-url in data"
        case .notAllowed: "its address is not on this machine nor on an allowed host"
        case .unreachable: "its server cannot be reached"
        case .refused: "its server did not give it out"
        case .tooLarge: "it is larger than 10 MB"
        case .notAPicture: "what came is no JPEG, PNG, GIF or WebP"
        case .tooSlow: "it took longer than an extension may run"
        }
    }

    static let japanese = PhonesTexts(
        language: .ja,
        title: "スマートフォン",
        introduction: "どの端末も本物の代わりです。トークンに送ったプッシュ通知が、実機と同じように届きます。",
        introductionBeside:
            "端末の持ち主が立てたスレッドにコメントすると、その端末に通知が届きます。通知をタップすると、持ち主としてスレッドを読んで返事ができます。",
        standsStill: "スクリプトなしでは、このページは自動で更新されません。", lookAgain: "もう一度見る",
        starts: { "\($0)さんのスレッド。コメントするとこの端末に届きます：" },
        skipToContent: "端末へ移動",
        otherLanguage: .en,
        otherLanguageName: "English",
        noPhones: "端末がまだありません。",
        lockScreen: { "\($0)の画面" },
        now: "今",
        minutesAgo: "{n}分前",
        hoursAgo: "{n}時間前",
        nothingNew: "通知はありません",
        more: { "ほか\($0)件" },
        less: "たたむ",
        dismiss: { "「\($0)」を消す" },
        clearAll: "すべて消す",
        openApp: { "\($0)を開く" },
        badge: { "未読\($0)件" },
        appIsOpen: { "\($0)を表示中" },
        goHome: "ロック画面に戻る",
        offline: "圏外",
        controls: { "\($0)の設定" },
        app: "アプリ",
        inFront: "前面",
        behind: "背面",
        killed: "終了",
        network: "通信",
        online: "オンライン",
        goOffline: "圏外",
        power: "電池",
        fullPower: "通常",
        lowPower: "節電",
        permission: "通知",
        allowed: "許可",
        denied: "拒否",
        notAsked: "未確認",
        inFrontBanner: "前面でもバナー",
        on: "オン",
        off: "オフ",
        moreSettings: "トークンとアプリ",
        token: "デバイストークン",
        deadToken: "このトークンは無効です。",
        environment: "環境",
        reinstall: "入れ直す",
        remove: "アプリを削除",
        install: "インストール",
        held: "APNsがこの端末宛ての通知を1件預かっています。",
        log: "プッシュ通知の記録",
        logIntroduction: "新しい順に、どこまで届いたか、なぜ表示されなかったかを示します。",
        emptyLog: "まだ届いていません。コメントを投稿するか、上のトークンに送ってください。",
        clearLog: "記録を消す", wholeStory: "コメントからタップまでの一部始終",
        withoutTitle: "（本文なし）",
        crowd: "このページにない端末",
        details: "経過",
        findings: "APNsは受け取りましたが、ペイロードに誤りがあります",
        pushType: "種類",
        topic: "トピック",
        priority: "優先度",
        collapseID: "まとめID",
        connectionLost: "接続が切れています。表示が古いかもしれません。",
        chip: { step in
            switch step {
            case .refused: "拒否"
            case .accepted: "受付"
            case .stored: "保管中"
            case .held: "待機中"
            case .overwritten: "上書き"
            case .expired: "期限切れ"
            case .delivered: "到着"
            case .woken: "起動"
            case .pictureAttached, .shown: "表示"
            case .replaced: "差し替え"
            case .pictureMissing: "画像なし"
            case .badge: "バッジ"
            case .discarded: "表示なし"
            case .tapped: "タップ"
            case .dismissed: "消去"
            }
        },
        sentence: { step, phone in
            switch step {
            case .refused(let reason): "APNsが\(reason.status) \(reason.rawValue)で断りました。"
            case .accepted: "APNsが200を返しました。"
            case .stored: "\(phone)は圏外なので、APNsが預かっています。"
            case .held: "\(phone)は節電中なので、急がない通知は待っています。"
            case .overwritten: "新しい通知に置き換わりました。APNsが預かるのはアプリごとに1件です。"
            case .expired: "預かる期限が過ぎたので捨てられました。"
            case .delivered: "\(phone)に届きました。"
            case .woken: "アプリが背面で動きました。表示するものはありません。"
            case .pictureAttached: "サービス拡張が画像を付けました。"
            case .pictureMissing(let failure): "画像はありません。\(japanese(failure))。"
            case .badge(let count): count == 0 ? "アイコンのバッジが消えました。" : "アイコンのバッジが\(count)になりました。"
            case .shown: "\(phone)に表示されました。"
            case .replaced: "同じまとめIDの通知を差し替えて、もう一度知らせました。"
            case .discarded(let reason): "表示されませんでした。\(japanese(reason))。"
            case .tapped: "タップされて、アプリが開きました。"
            case .dismissed: "消されました。"
            }
        })

    private static func japanese(_ reason: Delivery.Discard) -> String {
        switch reason {
        case .notJSON: "ペイロードがJSONオブジェクトではありません"
        case .noAps: "ペイロードにapsがありません"
        case .empty: "ペイロードが{}で、何も指示がありません"
        case .nothingToShow: "alertもbadgeもsoundもありません"
        case .permissionDenied: "この端末では通知が拒否されています"
        case .permissionNotAsked: "アプリがまだ通知の許可を求めていません"
        case .inForeground: "アプリが前面にあり、バナーを求めていません"
        case .forceQuit: "アプリが終了していて、バックグラウンド通知では起動しません"
        case .appRemoved: "アプリが削除されています"
        case .notShownByPhones: "この種類のプッシュはロック画面に何も表示しません"
        }
    }

    private static func japanese(_ failure: Delivery.PictureFailure) -> String {
        switch failure {
        case .noAddress: "画像のアドレス（picture、またはdataのattachment-url）がありません"
        case .notAllowed: "画像のアドレスがこのマシンでも許可されたホストでもありません"
        case .unreachable: "画像のサーバーにつながりません"
        case .refused: "画像のサーバーが応じませんでした"
        case .tooLarge: "画像が10MBを超えています"
        case .notAPicture: "届いたものがJPEG・PNG・GIF・WebPのどれでもありません"
        case .tooSlow: "拡張に許された時間を超えました"
        }
    }
}
