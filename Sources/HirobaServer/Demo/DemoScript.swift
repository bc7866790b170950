/// Who says what in the demo. All of it is invented.
enum DemoScript {
    /// Those without a name are the anonymous people that the forum is made for.
    ///
    /// Hana, Sota and Ren have phones, whose names must be those that stand by their threads.
    enum Person: String, Hashable, Sendable, CaseIterable {
        case hana, sota, ren, haru, mio, maya, oliver, greta, priya
        case walker, neighbour, traveller, nightOwl

        var name: String? {
            switch self {
            case .hana: "Hana"
            case .sota: "Sota"
            case .ren: "Ren"
            case .haru: "はる"
            case .mio: "みお"
            case .maya: "Maya"
            case .oliver: "Oliver"
            case .greta: "Greta"
            case .priya: "Priya"
            case .walker, .neighbour, .traveller, .nightOwl: nil
            }
        }
    }

    struct Thread: Sendable {
        var hoursAgo: Double
        var by: Person
        var title: String
        var text: String
        var picture: String?
        var comments: [Comment] = []
    }

    struct Comment: Sendable {
        var by: Person
        /// Minutes after the thread was begun.
        var after: Int
        var text: String
    }

    static let threads: [Thread] = [
        Thread(
            hoursAgo: 150, by: .haru, title: "はじめまして、ようこそ広場へ",
            text: "ここは名前も登録もいらない掲示板です。気軽に話しかけてください。写真も貼れます。", picture: "square",
            comments: [
                Comment(by: .neighbour, after: 12, text: "はじめまして。通りがかりです。よろしくお願いします。"),
                Comment(by: .maya, after: 45, text: "Hello from a newcomer! Is it all right to write in English?"),
                Comment(by: .haru, after: 52, text: "Of course! 英語でも日本語でも、どうぞ。"),
                Comment(by: .mio, after: 180, text: "写真の噴水、朝がいちばんきれいですよね。"),
            ]),
        Thread(
            hoursAgo: 141, by: .sota, title: "図書館の自習室、夏は何時まで？",
            text: "夏休みのあいだ、二階の自習室が何時まで開いているかご存じの方いますか。",
            comments: [
                Comment(by: .hana, after: 30, text: "平日は夜8時、土日は6時まででした。"),
                Comment(by: .sota, after: 34, text: "助かります。ありがとうございます！"),
                Comment(by: .neighbour, after: 600, text: "窓ぎわの席は午後まぶしいので、壁ぎわがおすすめです。"),
            ]),
        Thread(
            hoursAgo: 126, by: .maya, title: "Best ramen near the station?",
            text: "Moving here next month and my first question is an important one.", picture: "ramen",
            comments: [
                Comment(
                    by: .oliver, after: 8,
                    text: "The little counter behind the bicycle park. Eight seats, worth the wait."),
                Comment(by: .ren, after: 25, text: "味噌なら北口、塩なら南口です。The miso one closes at three."),
                Comment(by: .maya, after: 41, text: "Eight seats and closes at three. Noted!"),
                Comment(by: .traveller, after: 900, text: "Went yesterday on this advice. The egg alone was worth it."),
            ]),
        Thread(
            hoursAgo: 118, by: .mio, title: "うちの猫が箱から出てきません",
            text: "新しい本棚が届いたのに、三日たっても箱のほうを気に入っています。", picture: "cat",
            comments: [
                Comment(by: .haru, after: 5, text: "箱が本体、本棚がおまけですね。"),
                Comment(by: .walker, after: 16, text: "かわいい！ お名前は？"),
                Comment(by: .mio, after: 20, text: "「みかん」です。"),
                Comment(by: .greta, after: 75, text: "That face says the lease has been signed."),
                Comment(by: .hana, after: 240, text: "うちは洗濯かごから出てきません。同志です。"),
            ]),
        Thread(
            hoursAgo: 102, by: .priya, title: "Learning Japanese: how do you remember counters?",
            text: "Flat things, long things, small animals, big animals… Is there a trick, or is it just time?",
            comments: [
                Comment(
                    by: .hana, after: 14,
                    text: "I think of 本 as “anything you could roll”. It works surprisingly often."),
                Comment(by: .oliver, after: 33, text: "Label the kitchen. By the second week the cupboards teach you."),
                Comment(by: .haru, after: 58, text: "困ったら「つ」で大丈夫ですよ。ちゃんと伝わります。"),
                Comment(by: .priya, after: 64, text: "“When in doubt, つ” goes on the fridge. Thank you!"),
            ]),
        Thread(
            hoursAgo: 95, by: .ren, title: "週末、低い山に登りませんか",
            text: "土曜の朝7時に駅前集合、ゆっくり歩いて往復4時間くらいです。初心者歓迎。", picture: "mountain",
            comments: [
                Comment(by: .walker, after: 22, text: "行きたいです！ 靴は運動靴でも大丈夫ですか。"),
                Comment(by: .ren, after: 31, text: "大丈夫です。雨の次の日だけ気をつけてください。"),
                Comment(by: .greta, after: 70, text: "Count me in. I will bring too many sandwiches, as usual."),
                Comment(by: .sota, after: 400, text: "山頂の茶屋、土曜は開いていました。おしるこがあります。"),
            ]),
        Thread(
            hoursAgo: 81, by: .oliver, title: "Found: a red bicycle with flowers in the basket",
            text:
                "It has been standing by the flower shop since Monday. The flowers are still fresh, so somebody loves it.",
            picture: "bicycle",
            comments: [
                Comment(by: .neighbour, after: 19, text: "花屋さんの看板代わりだと思います。毎朝お花が替わっていますよ。"),
                Comment(by: .oliver, after: 27, text: "So it is not lost, it is at work. Mystery solved."),
            ]),
        Thread(
            hoursAgo: 70, by: .hana, title: "雨の日はどう過ごしていますか",
            text: "梅雨入りしたので、家でできる楽しいことを教えてください。", picture: "rain",
            comments: [
                Comment(by: .mio, after: 10, text: "パンを焼きます。待ち時間に雨の音を聞くのが好きです。"),
                Comment(by: .nightOwl, after: 35, text: "長編小説を一冊。読み終わる頃には晴れています。"),
                Comment(by: .priya, after: 90, text: "I walk anyway. The town is quiet and the umbrellas are pretty."),
            ]),
        Thread(
            hoursAgo: 58, by: .greta, title: "Community garden: the tomatoes are ready",
            text: "More than we can eat. Come by any evening with a bag; the gate is open until seven.",
            picture: "garden",
            comments: [
                Comment(by: .maya, after: 6, text: "On my way with a very large bag."),
                Comment(by: .haru, after: 48, text: "先週いただいたトマト、甘くておいしかったです。"),
                Comment(by: .greta, after: 55, text: "よかった！ The small orange ones are even sweeter."),
                Comment(by: .walker, after: 300, text: "お返しに、しその苗を置いておきました。"),
            ]),
        Thread(
            hoursAgo: 47, by: .sota, title: "古いフィルムカメラの直し方",
            text: "祖父のカメラが出てきました。シャッターが下りません。まず何を確かめればいいでしょうか。",
            comments: [
                Comment(by: .ren, after: 17, text: "電池室の接点を、綿棒と少しのお酢で。それで直ることが多いです。"),
                Comment(by: .traveller, after: 140, text: "商店街の時計屋さんが、実はカメラも見てくれます。"),
                Comment(by: .sota, after: 1_320, text: "接点を磨いたら動きました！ 最初の一枚は祖父を撮ります。"),
            ]),
        Thread(
            hoursAgo: 36, by: .sota, title: "商店街に新しいパン屋さんができました",
            text: "赤い日よけが目印です。朝8時にはもう並んでいました。", picture: "bakery",
            comments: [
                Comment(by: .mio, after: 9, text: "くるみパンを買いました。外はぱりぱり、中はもちもちです。"),
                Comment(by: .oliver, after: 50, text: "The melon bread was sold out at nine. I regret sleeping in."),
                Comment(by: .hana, after: 200, text: "木曜はお休みだそうです。行く前にどうぞ。"),
            ]),
        Thread(
            hoursAgo: 26, by: .traveller, title: "Night train to the coast: worth it?",
            text: "Seven hours in a seat and the sea at sunrise, or sleep at home and fly? Convince me.",
            picture: "train",
            comments: [
                Comment(by: .priya, after: 12, text: "Sit on the left. The last half hour runs along the water."),
                Comment(by: .nightOwl, after: 40, text: "夜行の自販機で買うコーヒーは、なぜか世界一おいしいです。"),
                Comment(by: .traveller, after: 55, text: "You had me at the coffee. Booked!"),
            ]),
        Thread(
            hoursAgo: 19, by: .walker, title: "犬の散歩、夕方のおすすめコース",
            text: "川沿いは日陰がなくて、この季節は地面が熱いです。涼しい道を教えてください。",
            comments: [
                Comment(by: .haru, after: 25, text: "神社の裏の並木道は、夕方ずっと日陰ですよ。水飲み場もあります。"),
                Comment(by: .sota, after: 61, text: "図書館の裏の芝生もおすすめです。犬友だちができます。"),
            ]),
        Thread(
            hoursAgo: 11, by: .priya, title: "Board games on Friday evening",
            text: "We are four and the table seats six. Easy rules, no experience needed, snacks welcome.",
            comments: [
                Comment(by: .maya, after: 18, text: "One seat for me, please. I lose politely."),
                Comment(by: .ren, after: 44, text: "もう一席、お願いします。おせんべいを持っていきます。"),
                Comment(by: .priya, after: 47, text: "And we are six. See you on Friday!"),
            ]),
        Thread(
            hoursAgo: 5, by: .hana, title: "今日の夕焼け、見ましたか",
            text: "帰り道に思わず立ち止まりました。みなさんの写真も見せてください。", picture: "sunset",
            comments: [
                Comment(by: .nightOwl, after: 7, text: "起きたらもう夜でした。写真、ありがとうございます。"),
                Comment(
                    by: .greta, after: 20,
                    text: "The whole street stopped to look. Strangers were smiling at each other."),
                Comment(by: .mio, after: 95, text: "雲の色が桃みたいでした。"),
            ]),
        Thread(
            hoursAgo: 1.2, by: .nightOwl, title: "眠れない夜の雑談スレ",
            text: "ホットミルク派ですか、白湯派ですか。どうでもいい話をしましょう。",
            comments: [
                Comment(by: .walker, after: 4, text: "麦茶派です。"),
                Comment(
                    by: .oliver, after: 21, text: "Warm milk with a little cinnamon. Then three pages of a dull book."),
                Comment(by: .neighbour, after: 46, text: "窓をあけて、遠くの電車の音を聞きます。"),
            ]),
    ]
}
