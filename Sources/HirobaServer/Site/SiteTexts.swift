internal import HirobaCore
internal import HirobaJSON

/// Everything the pages say. A text is a property without a default, so a language that lacks one does not compile.
struct SiteTexts: Sendable {
    let language: Language

    // Around every page.
    let skipToContent: String
    let home: String
    let navigation: String
    let otherLanguage: Language
    let otherLanguageName: String
    let back: String
    let ok: String
    let cancel: String
    let close: String

    // The front page.
    let welcome: String
    let forumDoor: String
    let forumDoorText: String
    let photosDoor: String
    let photosDoorText: String
    let clientDoor: String
    let clientDoorText: String
    let pushDoor: String
    let pushDoorText: String
    let notYet: String

    // The page about the typed client.
    let clientTitle: String
    let clientIntroduction: String
    let clientCode: String
    let clientCommand: String
    let clientCommandText: String

    // The page about push.
    let pushTitle: String
    let pushIntroduction: String
    let pushDemo: String
    let pushDemoText: String
    let pushCommands: String
    let pushCommandsText: String

    // The story of a push.
    let storiesTitle: String
    let storiesIntroduction: String
    let noStories: String
    let storyTitle: String
    let toPhones: String
    let storyEvent: String
    let storyComment: @Sendable (_ thread: String) -> String
    let storyOther: @Sendable (_ kind: String) -> String
    let storyBy: @Sendable (_ person: String) -> String
    let storyPeople: String
    let storyNobody: String
    let storyDeliveries: String
    let storyNoDelivery: String
    let storyDevice: @Sendable (_ device: String, _ person: String) -> String
    let storyMade: String
    let storySent: String
    let storyAttempts: String
    let storyResent: String
    let storyDue: String
    let storyAnswered: String
    let storyOpened: String
    let storyNotOpened: String
    let storyMore: String
    let storyCommand: String

    // The list of threads.
    let forum: String
    let newThread: String
    let noThreads: String
    let olderThreads: String
    let newestThreads: String
    let anonymous: String

    // The new thread.
    let titleLabel: String
    let titlePlaceholder: String
    let textLabel: String
    let textPlaceholder: String
    let addPicture: String
    let pictureHint: String
    let removePicture: String
    let preview: String
    let addThread: String
    /// Follows another sentence.
    let chooseAgain: String

    // One thread.
    let comments: String
    let newComment: String
    let commentPlaceholder: String
    let sendComment: String
    let noComments: String
    let olderComments: String
    let newestComments: String
    let threadGone: String

    // Deleting.
    let delete: String
    let deleteNamed: @Sendable (String) -> String
    let deleteTopicQuestion: String
    let deleteTopicDetail: String
    let deleteCommentQuestion: String
    let deleteRefused: String

    // Times.
    let justNow: String
    let minutesAgo: @Sendable (String) -> String
    let hoursAgo: @Sendable (String) -> String
    let daysAgo: @Sendable (String) -> String
    let date: @Sendable (_ year: Int, _ month: Int, _ day: Int) -> String

    // What scripts say.
    let sent: String
    let networkLost: String
    let reconnecting: String
    let failed: String

    // What goes wrong.
    let missingTitle: String
    let missingComment: String
    let tooLong: String
    let brokenForm: String
    let formExpired: String
    let sentBefore: String
    let notFoundTitle: String
    let notFoundText: String
    let unavailableTitle: String
    let unavailableText: String
    let failureTitle: String
    let failureText: @Sendable (_ id: String) -> String
    let refusedTitle: String
    let toForum: String
    let toHome: String

    static func of(_ language: Language) -> SiteTexts {
        switch language {
        case .japanese: .japanese
        case .english: .english
        }
    }

    /// The texts that scripts need, as JSON. Numbers and names go where `{n}` and `{name}` stand.
    var forScripts: [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        for (name, text) in [
            ("networkLost", networkLost), ("reconnecting", reconnecting), ("failed", failed), ("sent", sent),
            ("anonymous", anonymous), ("deleteNamed", deleteNamed("{name}")),
            ("deleteTopicQuestion", deleteTopicQuestion), ("deleteCommentQuestion", deleteCommentQuestion),
            ("justNow", justNow), ("minutesAgo", minutesAgo("{n}")), ("hoursAgo", hoursAgo("{n}")),
            ("daysAgo", daysAgo("{n}")),
        ] {
            json.name(name)
            json.string(text)
        }
        json.endObject()
        return json.bytes
    }
}

extension SiteTexts {
    static let japanese = SiteTexts(
        language: .japanese,
        skipToContent: "本文へ移動", home: "Hiroba", navigation: "ナビゲーション", otherLanguage: .english,
        otherLanguageName: "English", back: "戻る", ok: "OK", cancel: "キャンセル", close: "閉じる",
        welcome: "ひとつのプログラムで動く、みんなの広場。気になる扉をひらいてみてください。",
        forumDoor: "掲示板", forumDoorText: "登録なしで書き込める、写真つきの匿名掲示板です。",
        photosDoor: "フォト", photosDoorText: "写真を投稿して、フォローした人とコメントを交わす場所になります。",
        clientDoor: "型つきクライアント", clientDoorText: "API呼び出しを型で書き表す、二十行ほどのSwiftの例です。",
        pushDoor: "プッシュ通知", pushDoorText: "コメントがサーバーを出て端末に届くまでを、目で追えます。",
        notYet: "準備中",
        clientTitle: "型つきクライアント",
        clientIntroduction: "呼び出しは、関数ではなく値です。値の型が答えの型を決めるので、送る関数はひとつで足り、呼び出す場所でのデコードもいりません。",
        clientCode: "例のすべて", clientCommand: "動かしかた",
        clientCommandText: "リポジトリーのフォルダーで実行します。一行目は、つくりもののデータを持つ小さなローカルサーバーです。",
        pushTitle: "プッシュ通知",
        pushIntroduction:
            "スレッドにコメントがつくと、スレッドを立てた人の端末に通知が届きます。だれに、なぜ送られたか、だれに、なぜ送られなかったか、APNsが何と答えたか、開かれたかどうかまで、ひとつ残らず記録されます。",
        pushDemo: "試してみる",
        pushDemoText: "デモでは、掲示板の隣に三台のスマートフォンが並びます。Appleのアカウントはいりません。",
        pushCommands: "サーバーで調べる", pushCommandsText: "動いているサーバーの隣で、そのまま実行できます。",
        storiesTitle: "プッシュ通知の記録", storiesIntroduction: "新しい順です。ひとつ選ぶと、その一部始終を読めます。",
        noStories: "まだ通知はありません。", storyTitle: "通知の一部始終", toPhones: "端末へ", storyEvent: "何が起きたか",
        storyComment: { "「\($0)」にコメントがつきました。" }, storyOther: { "「\($0)」がありました。" }, storyBy: { "した人：\($0)" },
        storyPeople: "だれに知らせるか", storyNobody: "対象になる人はいませんでした。", storyDeliveries: "どの端末に、どう届いたか",
        storyNoDelivery: "どの端末にも送られませんでした。", storyDevice: { "端末\($0)（\($1)）" }, storyMade: "用意", storySent: "APNsに送信",
        storyAttempts: "送信回数", storyResent: "再送", storyDue: "次の送信", storyAnswered: "APNsの返答", storyOpened: "開封",
        storyNotOpened: "まだ開かれていません", storyMore: "このほかにもあります。これは最初のものです。", storyCommand: "同じことをコマンドで：",
        forum: "掲示板", newThread: "新しいスレッド", noThreads: "まだスレッドがありません。最初のスレッドを立ててみましょう。",
        olderThreads: "以前のスレッド", newestThreads: "最新のスレッド", anonymous: "名無しさん",
        titleLabel: "タイトル", titlePlaceholder: "スレッドのタイトルを入力してください",
        textLabel: "紹介文", textPlaceholder: "スレッドの紹介文を入力してください",
        addPicture: "画像追加", pictureHint: "位置情報などは取り除かれます。", removePicture: "画像を外す",
        preview: "選んだ画像", addThread: "スレッド追加", chooseAgain: "画像はもう一度選んでください。",
        comments: "コメント", newComment: "コメントを書く", commentPlaceholder: "コメントを入力してください",
        sendComment: "コメントする", noComments: "まだコメントがありません。", olderComments: "以前のコメント",
        newestComments: "最新のコメント", threadGone: "このスレッドは削除されました。",
        delete: "削除", deleteNamed: { "「\($0)」を削除" }, deleteTopicQuestion: "このスレッドを削除しますか？",
        deleteTopicDetail: "コメントと画像も一緒に削除されます。", deleteCommentQuestion: "このコメントを削除しますか？",
        deleteRefused: "削除に失敗しました。権限がないようです。",
        justNow: "たった今", minutesAgo: { "\($0)分前" }, hoursAgo: { "\($0)時間前" }, daysAgo: { "\($0)日前" },
        date: { "\($0)年\($1)月\($2)日" },
        sent: "送信しました。", networkLost: "通信できませんでした。接続を確かめて、もう一度お試しください。",
        reconnecting: "接続が切れました。つなぎ直しています…", failed: "うまくいきませんでした。もう一度お試しください。",
        missingTitle: "タイトルを入力してください。", missingComment: "コメントを入力してください。",
        tooLong: "文章が長すぎます。短くして、もう一度お試しください。",
        brokenForm: "送信内容を読み取れませんでした。もう一度お試しください。",
        formExpired: "このページの有効期限が切れているか、Cookieが使えません。もう一度送信してください。",
        sentBefore: "この内容はすでに送信されています。もう一つ送るときは、もう一度ボタンを押してください。",
        notFoundTitle: "見つかりません", notFoundText: "このページは存在しないか、すでに削除されています。",
        unavailableTitle: "ただいま利用できません", unavailableText: "変更は行われていません。少し待ってから、もう一度お試しください。",
        failureTitle: "問題が発生しました", failureText: { "サーバー側で問題が発生しました。問い合わせ番号：\($0)" },
        refusedTitle: "できませんでした", toForum: "掲示板へ", toHome: "トップへ")

    static let english = SiteTexts(
        language: .english,
        skipToContent: "Skip to content", home: "Hiroba", navigation: "Navigation", otherLanguage: .japanese,
        otherLanguageName: "日本語", back: "Back", ok: "OK", cancel: "Cancel", close: "Close",
        welcome: "A town square for everybody, in a single program. Open the door you like.",
        forumDoor: "Forum", forumDoorText: "An anonymous bulletin board with pictures; nobody signs up.",
        photosDoor: "Photos", photosDoorText: "Will be a place to share photos, follow people and talk about pictures.",
        clientDoor: "Typed client", clientDoorText: "Twenty lines of Swift in which API calls are described by types.",
        pushDoor: "Push", pushDoorText: "Follow a notification all the way, from a comment to the phone.",
        notYet: "Not open yet",
        clientTitle: "Typed client",
        clientIntroduction:
            "A call is a value, not a function. Its type names the type of the answer, so one function sends every call and nothing is decoded where the call is made.",
        clientCode: "The whole example", clientCommand: "Run it",
        clientCommandText: "In the repository's folder. The first line starts a small local server with invented data.",
        pushTitle: "Push",
        pushIntroduction:
            "A comment on a thread reaches the phone of whoever began it. Everything about it is kept: who was told and why, who was not and why not, what APNs answered, and whether it was opened.",
        pushDemo: "See it",
        pushDemoText: "In the demo three phones stand beside the forum. No Apple account is needed.",
        pushCommands: "Ask the server", pushCommandsText: "Run these beside a server that is running.",
        storiesTitle: "Pushes", storiesIntroduction: "The newest first. Each leads to its whole story.",
        noStories: "There was nothing to push yet.", storyTitle: "The story of a push", toPhones: "To the phones",
        storyEvent: "What happened", storyComment: { "Somebody commented on “\($0)”." },
        storyOther: { "This happened: \($0)." }, storyBy: { "By: \($0)" }, storyPeople: "Who was to be told",
        storyNobody: "There was nobody to tell.", storyDeliveries: "What became of it on each device",
        storyNoDelivery: "It was sent to no device.", storyDevice: { "Device \($0) of \($1)" }, storyMade: "Made",
        storySent: "Sent to APNs", storyAttempts: "Attempts", storyResent: "resent", storyDue: "Sent next",
        storyAnswered: "APNs answered", storyOpened: "Opened", storyNotOpened: "not yet",
        storyMore: "There is more; these are the first.", storyCommand: "The same in a terminal:",
        forum: "Bulletin board", newThread: "New thread", noThreads: "No threads yet. Why not start the first one?",
        olderThreads: "Older threads", newestThreads: "Newest threads", anonymous: "Anonymous",
        titleLabel: "Title", titlePlaceholder: "Enter a title for the thread",
        textLabel: "Description", textPlaceholder: "Enter a description of the thread",
        addPicture: "Add picture", pictureHint: "The place and other metadata are removed.",
        removePicture: "Remove picture", preview: "The chosen picture", addThread: "Add thread",
        chooseAgain: " Please choose the picture again.",
        comments: "Comments", newComment: "Write a comment", commentPlaceholder: "Enter a comment",
        sendComment: "Comment", noComments: "No comments yet.", olderComments: "Older comments",
        newestComments: "Newest comments", threadGone: "This thread has been deleted.",
        delete: "Delete", deleteNamed: { "Delete “\($0)”" }, deleteTopicQuestion: "Delete this thread?",
        deleteTopicDetail: "Its comments and its picture go with it.", deleteCommentQuestion: "Delete this comment?",
        deleteRefused: "Could not delete. You do not seem to have permission.",
        justNow: "just now", minutesAgo: { "\($0) min ago" }, hoursAgo: { "\($0) h ago" }, daysAgo: { "\($0) d ago" },
        date: { "\($2) \(SiteTexts.months[$1 - 1]) \($0)" },
        sent: "Sent.", networkLost: "The network cannot be reached. Check your connection and try again.",
        reconnecting: "Connection lost. Reconnecting…", failed: "That did not work. Please try again.",
        missingTitle: "Please enter a title.", missingComment: "Please enter a comment.",
        tooLong: "This is too long. Please shorten it and try again.",
        brokenForm: "The form could not be read. Please try again.",
        formExpired: "This page has expired, or cookies are switched off. Please send it again.",
        sentBefore: "This was sent before. Press the button again to send another one.",
        notFoundTitle: "Not found", notFoundText: "This page does not exist, or it has been deleted.",
        unavailableTitle: "Not available just now",
        unavailableText: "Nothing was changed. Please try again in a moment.",
        failureTitle: "Something went wrong", failureText: { "Something went wrong on our side. Reference: \($0)" },
        refusedTitle: "That was refused", toForum: "To the bulletin board", toHome: "To the front page")

    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]
}
