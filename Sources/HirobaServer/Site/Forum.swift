internal import HirobaContract
internal import HirobaCore
internal import HirobaCrypto
internal import HirobaHTTP

// The forum's pages, in the order of a walk: the list, a new thread, one thread, a comment, deleting.
extension Site {
    func registerForum(on routes: inout Routes) {
        routes.on(.get, "/forum") { request, _ in
            await page(request) { visitor in
                try await topicList(&visitor, request, after: request.queryValue("after"))
            }
        }
        routes.on(.get, "/forum/new") { request, _ in
            await page(request) { visitor in .page(.newTopicPage(context(visitor, request), Self.emptyForm())) }
        }
        routes.on(.post, "/forum/new") { request, _ in await createTopic(request) }
        routes.on(.get, "/forum/{topic}") { request, parameters in
            await page(request) { visitor in
                try await topicPage(
                    &visitor, request, Self.topicID(parameters), after: request.queryValue("after"))
            }
        }
        routes.on(.get, "/forum/{topic}/comments/new") { request, parameters in
            await page(request) { visitor in
                let topic = try await core.community.topic(
                    GetTopic(topic: Self.topicID(parameters)), by: visitor.caller())
                return .page(.newCommentPage(context(visitor, request), on: topic, Self.emptyForm()))
            }
        }
        routes.on(.post, "/forum/{topic}/comments") { request, parameters in
            await createComment(request, on: Self.topicID(parameters))
        }
        routes.on(.get, "/forum/{topic}/delete") { request, parameters in
            await page(request) { visitor in
                let topic = try await core.community.topic(
                    GetTopic(topic: Self.topicID(parameters)), by: visitor.caller())
                return .page(
                    .deletionPage(
                        context(visitor, request), question: visitor.texts.deleteTopicQuestion, subject: topic.title,
                        detail: visitor.texts.deleteTopicDetail, action: "/forum/\(topic.id)/delete",
                        backTo: "/forum"))
            }
        }
        routes.on(.post, "/forum/{topic}/delete") { request, parameters in
            await post(request) { visitor, _ in
                try await delete(&visitor, request, backTo: "/forum") { visitor in
                    try await core.community.deleteTopic(
                        DeleteTopic(topic: Self.topicID(parameters)), by: visitor.caller())
                } refused: { visitor, alert in
                    try await topicList(&visitor, request, after: nil, alert: alert)
                }
            }
        }
        routes.on(.get, "/forum/{topic}/comments/{comment}/delete") { request, parameters in
            await page(request) { visitor in
                let topic = Self.topicID(parameters)
                return .page(
                    .deletionPage(
                        context(visitor, request), question: visitor.texts.deleteCommentQuestion, subject: "",
                        detail: nil, action: "/forum/\(topic)/comments/\(Self.commentID(parameters))/delete",
                        backTo: "/forum/\(topic)"))
            }
        }
        routes.on(.post, "/forum/{topic}/comments/{comment}/delete") { request, parameters in
            let topic = Self.topicID(parameters)
            return await post(request) { visitor, _ in
                try await delete(&visitor, request, backTo: "/forum/\(topic)") { visitor in
                    try await core.community.deleteComment(
                        DeleteComment(comment: Self.commentID(parameters)), by: visitor.caller())
                } refused: { visitor, alert in
                    try await topicPage(&visitor, request, topic, after: nil, alert: alert)
                }
            }
        }
    }

    private static func topicID(_ parameters: PathParameters) -> Topic.ID { wellFormed(parameters["topic"]) }
    private static func commentID(_ parameters: PathParameters) -> Comment.ID { wellFormed(parameters["comment"]) }

    /// An id goes into the addresses of the next page, so what is none becomes the id of nothing.
    static func wellFormed<Subject>(_ text: String?) -> ID<Subject> {
        guard let text, ID<Subject>.isWellFormed(text) else { return ID("none") }
        return ID(text)
    }

    private static func emptyForm() -> FormState { FormState(key: Token.random256()) }

    // MARK: Showing

    private static let topicsOnPage = 30
    private static let commentsOnPage = 100

    private func topicList(
        _ visitor: inout Visitor, _ request: HTTPRequest, after: String?, alert: String? = nil
    ) async throws -> Answer {
        try await visitor.recognise(core)
        let topics = try await core.community.topics(
            ListTopics(limit: Self.topicsOnPage, after: after), by: visitor.caller())
        return .page(
            .topicList(
                context(visitor, request), topics, isNewest: after == nil, newTopic: Self.emptyForm(), alert: alert),
            alert == nil ? .ok : .forbidden)
    }

    private func topicPage(
        _ visitor: inout Visitor, _ request: HTTPRequest, _ id: Topic.ID, after: String?, alert: String? = nil
    ) async throws -> Answer {
        try await visitor.recognise(core)
        let topic = try await core.community.topic(GetTopic(topic: id), by: visitor.caller())
        let comments = try await core.community.comments(
            ListComments(topic: id, limit: Self.commentsOnPage, after: after), by: visitor.caller())
        return .page(
            .topicPage(
                context(visitor, request), topic, comments: comments, isNewest: after == nil,
                newComment: Self.emptyForm(), alert: alert),
            alert == nil ? .ok : .forbidden)
    }

    // MARK: Creating

    private func createComment(_ request: HTTPRequest, on id: Topic.ID) async -> HTTPResponse {
        await post(request) { visitor, form in
            do {
                guard !form["text"].allSatisfy(\.isWhitespace) else {
                    throw missing("text", visitor.texts.missingComment)
                }
                try await visitor.becomeSomebody(core)
                _ = try await core.community.createComment(
                    CreateComment(topic: id, text: form["text"]),
                    by: visitor.caller(idempotencyKey: Self.key(of: form)))
                return .seeOther("/forum/\(id)#comments")
            } catch {
                let refusal = refusal(for: error, visitor, request)
                guard !request.wantsJSON, refusal.status != .notFound else { throw error }
                let topic = try await core.community.topic(GetTopic(topic: id), by: visitor.caller())
                var state = Self.emptyForm()
                state.values = ["text": form["text"]]
                state.message = refusal.message
                state.field = refusal.field
                return .page(.newCommentPage(context(visitor, request), on: topic, state), refusal.status)
            }
        }
    }

    /// The form's fields come before its picture, so everything is known and checked when the picture's first byte
    /// arrives, and the picture goes straight on into the store.
    private func createTopic(_ request: HTTPRequest) async -> HTTPResponse {
        await page(request) { visitor in
            guard guardian.isOurs(request) else { throw SiteFailure.foreignForm }
            let parts = try MultipartReader(request.body, contentType: request.headers["Content-Type"])
            var form = SiteForm()
            do {
                let topic = try await createTopic(from: parts, into: &form, &visitor)
                return .seeOther("/forum/\(topic)")
            } catch {
                await parts.skipRest(upTo: 64 << 20)
                if case SiteFailure.foreignForm = error { throw error }
                var refusal = refusal(for: error, visitor, request)
                if HirobaError(error).code == .idempotencyConflict {
                    if let topic = try await earlierTopic(like: form, by: visitor) {
                        return .seeOther("/forum/\(topic)")
                    }
                    refusal.message = visitor.texts.sentBefore
                    refusal.field = nil
                }
                guard !request.wantsJSON else {
                    return .refusal(refusal)
                }
                var state = Self.emptyForm()
                state.values = ["title": form["title"], "text": form["text"]]
                state.message = refusal.message
                // No browser fills a file field again.
                if form.fields["photo"] != nil { state.message = refusal.message + visitor.texts.chooseAgain }
                state.field = refusal.field
                return .page(.newTopicPage(context(visitor, request), state), refusal.status)
            }
        }
    }

    private func createTopic(
        from parts: MultipartReader<HTTPRequestBody>, into form: inout SiteForm, _ visitor: inout Visitor
    ) async throws -> Topic.ID {
        var photo: StoredFile.ID?
        while let part = try await parts.next() {
            guard let filename = part.head.filename else {
                form.set(part.head.name, try await part.text(upTo: SiteForm.fieldBytes))
                continue
            }
            // A file field in which nothing was chosen is sent without a name.
            guard part.head.name == "photo", photo == nil, !filename.isEmpty else { continue }
            form.set("photo", filename)
            try await check(form, &visitor)
            // The field is for pictures, so what is none is refused, whatever the browser calls it.
            photo = try await core.files.upload(part, declaredType: "image/*", by: visitor.caller()).id
        }
        try await check(form, &visitor)
        do {
            return try await core.community.createTopic(
                CreateTopic(title: form["title"], text: form["text"], photo: photo),
                by: visitor.caller(idempotencyKey: Self.key(of: form))
            ).id
        } catch {
            // The picture of a thread that did not come about belongs to nothing.
            if let photo { try? await core.files.delete(DeleteFile(file: photo), by: visitor.caller()) }
            throw error
        }
    }

    private func check(_ form: SiteForm, _ visitor: inout Visitor) async throws {
        guard guardian.accepts(form["csrf"], from: visitor) else { throw SiteFailure.foreignForm }
        guard !form["title"].allSatisfy(\.isWhitespace) else { throw missing("title", visitor.texts.missingTitle) }
        try await visitor.becomeSomebody(core)
    }

    /// The thread that the same form made when it was sent before. With a picture the core sees two different requests,
    /// for each brought an upload of its own.
    private func earlierTopic(like form: SiteForm, by visitor: Visitor) async throws -> Topic.ID? {
        let newest = try await core.community.topics(ListTopics(limit: 20), by: visitor.caller()).items
        return newest.first { topic in
            topic.author.id == visitor.me && topic.title == form["title"] && topic.text == form["text"]
        }?.id
    }

    private func missing(_ field: String, _ sentence: String) -> HirobaError {
        .invalid(field, Sentence(en: sentence, ja: sentence))
    }

    private static func key(of form: SiteForm) -> String? { form["once"].isEmpty ? nil : form["once"] }

    // MARK: Deleting

    /// Deletes, and shows the list with the reference's sentence when the access list refuses.
    private func delete(
        _ visitor: inout Visitor, _ request: HTTPRequest, backTo address: String,
        _ deletion: (Visitor) async throws -> Void, refused: (inout Visitor, String) async throws -> Answer
    ) async throws -> Answer {
        do {
            try await visitor.recognise(core)
            try await deletion(visitor)
            return .seeOther(address)
        } catch let error as HirobaError where error.code == .forbidden || error.code == .unauthorized {
            // Whoever never posted owns nothing, and is refused like anybody else.
            if request.wantsJSON {
                return .refusal(
                    SiteRefusal(
                        status: .forbidden, title: visitor.texts.refusedTitle, message: visitor.texts.deleteRefused))
            }
            return try await refused(&visitor, visitor.texts.deleteRefused)
        }
    }
}
