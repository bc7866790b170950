internal import HirobaContract
internal import HirobaHTTP
internal import HirobaJSON

/// What a form holds when it is drawn: the words of a failed attempt, and why it failed.
struct FormState: Sendable {
    var values: [String: String] = [:]
    var message: String?
    var field: String?
    /// Makes sending the same form twice do its work once.
    var key: String

    subscript(name: String) -> String { values[name] ?? "" }
}

// MARK: - The list of threads

extension HTML {
    static func topicList(
        _ context: PageContext, _ topics: Page<Topic>, isNewest: Bool, newTopic state: FormState, alert: String? = nil
    ) -> HTML {
        let texts = context.texts
        let plus = a(
            .class("bar-button"), .href("/forum/new"), .aria("aria-label", texts.newThread),
            .data("data-sheet", "new-topic")
        ) { symbol(context.files.icon("plus"), .class("icon")) }
        return page(
            context, kind: "topics", title: texts.forum, lead: .back(to: "/", named: texts.home), trail: plus
        ) {
            if let alert { div(.class("message"), .role("alert")) { alert } }
            if !isNewest { pager("newest", to: "/forum", texts.newestThreads) }
            ul(.class("rows"), .data("data-list", "newest-first"), .aria("aria-live", "polite")) {
                for topic in topics.items { topicRow(context, topic) }
            }
            div(.class("empty")) {
                span(.class("bubbles")) { symbol(context.files.icon("bubbles")) }
                p { texts.noThreads }
            }
            pager("older", to: topics.next.map { "/forum?after=\($0)" }, texts.olderThreads)
            template(.id("row-template")) { topicRow(context, nil) }
            sheet("new-topic", texts.newThread, texts) { newTopicForm(context, state) }
        }
    }

    /// One thread's row; without a thread, the form of a row for scripts to fill.
    private static func topicRow(_ context: PageContext, _ topic: Topic?) -> HTML {
        let texts = context.texts
        let address = topic.map { "/forum/\($0.id)" } ?? "/forum"
        let name = topic?.title ?? ""
        return li(
            .class("row"), .when(topic != nil, .id("topic-\(topic?.id.rawValue ?? "")")),
            .when(isOwn(topic?.author, context), .data("data-own", ""))
        ) {
            div(.class("row-face")) {
                a(.class("row-link"), .href(address)) {
                    thumbnail(context, topic?.photo, of: 50, class: "thumb")
                    span(.class("row-text")) {
                        span(.class("row-title"), .data("data-slot", "title")) { name }
                        span(.class("row-detail"), .data("data-slot", "text")) { topic?.text ?? "" }
                        span(.class("row-meta")) { byline(context, topic?.author, topic?.createdAt.milliseconds) }
                    }
                    symbol(context.files.icon("chevron"), .class("row-chevron"))
                }
            }
            a(
                .class("row-delete"), .href("\(address)/delete"), .data("data-delete", "topic"),
                .aria("aria-label", texts.deleteNamed(name))
            ) { symbol(context.files.icon("trash")) }
        }
    }

    private static func isOwn(_ author: Person?, _ context: PageContext) -> Bool {
        guard let author, let me = context.me else { return false }
        return author.id == me
    }

    /// A picture, square, at the size asked for; the two bubbles where there is none.
    private static func thumbnail(
        _ context: PageContext, _ photo: StoredFile.ID?, of side: Int, class name: String
    ) -> HTML {
        guard let photo else { return span(.class("\(name) bubbles")) { symbol(context.files.icon("bubbles")) } }
        // Twice the side for screens with fine pixels, and a picture is cut to a square: its longer side is asked for.
        return img(
            .class(name), .src("/v1/files/\(photo)?size=\(side * 4)"), .alt(""), .width(side), .height(side), .lazy)
    }

    private static func byline(_ context: PageContext, _ author: Person?, _ createdAt: Int64?) -> HTML {
        HTML {
            span(.data("data-slot", "author")) { author?.name ?? context.texts.anonymous }
            " · "
            moment(context, createdAt ?? context.now)
        }
    }

    private static func pager(_ name: String, to address: String?, _ text: String) -> HTML {
        nav(.class("pager"), .data("data-pager", name), .aria("aria-label", text)) {
            if let address { a(.class("button soft"), .href(address)) { text } }
        }
    }
}

// MARK: - Forms

extension HTML {
    /// A dialog that scripts open; without them the same form has a page of its own.
    private static func sheet(
        _ id: String, _ name: String, _ texts: SiteTexts, @Builder content: Content
    ) -> HTML {
        dialog(.id(id), .class("sheet"), .aria("aria-labelledby", "\(id)-title")) {
            div(.class("sheet-bar")) {
                button(.class("text-button"), .type("button"), .data("data-close", "")) { texts.cancel }
                h2(.id("\(id)-title")) { name }
            }
            div(.class("sheet-body")) { content() }
        }
    }

    static func newTopicPage(_ context: PageContext, _ state: FormState) -> HTML {
        page(
            context, kind: "form", title: context.texts.newThread,
            lead: .back(to: "/forum", named: context.texts.forum)
        ) { div(.class("card")) { newTopicForm(context, state) } }
    }

    private static func newTopicForm(_ context: PageContext, _ state: FormState) -> HTML {
        let texts = context.texts
        return form(
            .class("form"), .post, .multipart, .action("/forum/new"), .data("data-picker", ""), .init("novalidate", "")
        ) {
            formHead(context, state)
            div(.class("field")) {
                label(.class("field-label"), .for("topic-title")) { texts.titleLabel }
                input(
                    .id("topic-title"), .class("input"), .name("title"), .value(state["title"]), .maxlength(200),
                    .placeholder(texts.titlePlaceholder), .autocomplete("off"), .required, .autofocus,
                    .when(state.field == "title", .aria("aria-invalid", "true")))
            }
            div(.class("field")) {
                label(.class("field-label"), .for("topic-text")) { texts.textLabel }
                textarea(
                    .id("topic-text"), .class("input"), .name("text"), .rows(4),
                    .placeholder(texts.textPlaceholder),
                    .when(state.field == "text", .aria("aria-invalid", "true")), text: state["text"])
            }
            div(.class("picker")) {
                div(.class("picker-row")) {
                    input(
                        .id("topic-photo"), .class("picker-input"), .type("file"), .name("photo"),
                        .init("accept", "image/*"), .aria("aria-describedby", "topic-photo-hint"))
                    label(.class("picker-label"), .for("topic-photo")) {
                        symbol(context.files.icon("photo"), .class("icon"))
                        texts.addPicture
                    }
                    button(.class("text-button danger"), .type("button"), .data("data-remove", ""), .hidden) {
                        texts.removePicture
                    }
                }
                img(.class("preview"), .alt(texts.preview), .hidden)
                p(.id("topic-photo-hint"), .class("picker-hint")) { texts.pictureHint }
            }
            button(.class("button"), .type("submit")) { texts.addThread }
        }
    }

    private static func formHead(_ context: PageContext, _ state: FormState) -> HTML {
        HTML {
            hiddenField("csrf", context.formToken)
            hiddenField("once", state.key)
            p(.class("message"), .role("alert"), .when(state.message == nil, .hidden)) { state.message ?? "" }
        }
    }

    static func newCommentPage(_ context: PageContext, on topic: Topic, _ state: FormState) -> HTML {
        page(
            context, kind: "form", title: context.texts.newComment,
            lead: .back(to: "/forum/\(topic.id)", named: topic.title)
        ) { div(.class("card")) { newCommentForm(context, on: topic, state, place: "page") } }
    }

    private static func newCommentForm(
        _ context: PageContext, on topic: Topic, _ state: FormState, place: String
    ) -> HTML {
        let texts = context.texts
        return form(
            .class("form"), .post, .action("/forum/\(topic.id)/comments"), .init("novalidate", "")
        ) {
            formHead(context, state)
            div(.class("field")) {
                label(.class("visually-hidden"), .for("comment-text")) { texts.commentPlaceholder }
                textarea(
                    .id("comment-text"), .class("input"), .name("text"), .rows(5),
                    .placeholder(texts.commentPlaceholder), .required, .autofocus,
                    .when(state.field == "text", .aria("aria-invalid", "true")), text: state["text"])
            }
            button(.class("button"), .type("submit")) { texts.sendComment }
        }
    }
}

// MARK: - One thread

extension HTML {
    /// - Parameter comments: newest first, as the core lists them; drawn the other way round, as one reads.
    static func topicPage(
        _ context: PageContext, _ topic: Topic, comments: Page<Comment>, isNewest: Bool, newComment state: FormState,
        alert: String? = nil
    ) -> HTML {
        let texts = context.texts
        let address = "/forum/\(topic.id)"
        let bubble = a(
            .class("bar-button"), .href("\(address)/comments/new"), .aria("aria-label", texts.newComment),
            .data("data-sheet", "new-comment")
        ) { symbol(context.files.icon("bubble"), .class("icon")) }
        return page(
            context, kind: "topic", title: topic.title, lead: .back(to: "/forum", named: texts.forum),
            trail: bubble, topic: topic.id
        ) {
            div(.id("gone"), .class("message"), .role("alert"), .hidden) { texts.threadGone }
            if let alert { div(.class("message"), .role("alert")) { alert } }
            article(.class("topic"), .when(isOwn(topic.author, context), .data("data-own", ""))) {
                thumbnail(context, topic.photo, of: 200, class: "topic-picture")
                h2(.class("topic-title")) { topic.title }
                if !topic.text.isEmpty { p(.class("topic-text")) { topic.text } }
                p(.class("topic-meta")) {
                    span { byline(context, topic.author, topic.createdAt.milliseconds) }
                    a(.href("\(address)/delete"), .data("data-delete", "topic")) { texts.delete }
                }
            }
            div(.class("comments-head")) { h2(.id("comments")) { texts.comments } }
            pager("older", to: comments.next.map { "\(address)?after=\($0)" }, texts.olderComments)
            ul(
                .class("rows comments"), .data("data-list", "oldest-first"), .aria("aria-live", "polite"),
                .aria("aria-labelledby", "comments")
            ) {
                for comment in comments.items.reversed() { commentRow(context, topic.id, comment) }
            }
            div(.class("empty small")) { p { texts.noComments } }
            if !isNewest { pager("newest", to: address, texts.newestComments) }
            div(.class("say")) {
                a(.class("button"), .href("\(address)/comments/new"), .data("data-sheet", "new-comment")) {
                    symbol(context.files.icon("bubble"), .class("icon"))
                    texts.newComment
                }
            }
            template(.id("row-template")) { commentRow(context, topic.id, nil) }
            sheet("new-comment", texts.newComment, texts) {
                newCommentForm(context, on: topic, state, place: "sheet")
            }
        }
    }

    /// One comment's row; without a comment, the form of a row for scripts to fill.
    private static func commentRow(_ context: PageContext, _ topic: Topic.ID, _ comment: Comment?) -> HTML {
        let id = comment?.id.rawValue ?? ""
        return li(
            .class("row"), .when(comment != nil, .id("comment-\(id)")),
            .when(isOwn(comment?.author, context), .data("data-own", ""))
        ) {
            div(.class("row-face")) {
                div(.class("comment")) {
                    p(.class("comment-text"), .data("data-slot", "text")) { comment?.text ?? "" }
                    p(.class("row-meta")) { byline(context, comment?.author, comment?.createdAt.milliseconds) }
                }
            }
            a(
                .class("row-delete"), .href("/forum/\(topic)/comments/\(id)/delete"), .data("data-delete", "comment"),
                .aria("aria-label", context.texts.deleteNamed(comment?.text ?? ""))
            ) { symbol(context.files.icon("trash")) }
        }
    }

    /// Asks before something is deleted, where no script can.
    static func deletionPage(
        _ context: PageContext, question: String, subject: String, detail: String?, action address: String,
        backTo: String
    ) -> HTML {
        page(context, kind: "form", title: context.texts.delete, lead: .back(to: backTo, named: context.texts.back)) {
            div(.class("card")) {
                h2 { question }
                p(.class("topic-text")) { subject }
                if let detail { p(.class("picker-hint")) { detail } }
                form(.post, .action(address)) {
                    hiddenField("csrf", context.formToken)
                    div(.class("buttons")) {
                        a(.class("button plain"), .href(backTo)) { context.texts.cancel }
                        button(.class("button danger"), .type("submit")) { context.texts.delete }
                    }
                }
            }
        }
    }
}
