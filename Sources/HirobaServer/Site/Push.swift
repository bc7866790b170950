internal import HirobaContract
internal import HirobaCore
internal import HirobaHTTP

// The fourth door, and what the demo's phones need.
extension Site {
    func registerPush(on routes: inout Routes) {
        guard let phones = options.phones else {
            routes.on(.get, "/push") { request, _ in
                await page(request) { visitor in .page(.pushPage(context(visitor, request))) }
            }
            return
        }
        routes.on(.get, "/push") { request, _ in
            await page(request) { visitor in
                let pushes = try await core.push.notifications(
                    ListPushes(limit: 50), by: phones.reader(in: visitor.language))
                return .page(.storyList(context(visitor, request), pushes.items, phones: phones.page))
            }
        }
        routes.on(.get, "/push/{push}") { request, parameters in
            await page(request) { visitor in
                let story = try await core.push.story(
                    GetPush(push: Self.wellFormed(parameters["push"])), by: phones.reader(in: visitor.language))
                return .page(.storyPage(context(visitor, request), try await told(story), phones: phones.page))
            }
        }
        routes.on(.get, "/enter/{ticket}/{path...}") { request, parameters in
            await page(request) { visitor in
                // A link that was used before, or too late, still leads where it leads.
                if request.method == .get,
                    let person = phones.links.redeem(
                        parameters["ticket"] ?? "", host: request.headers["Host"] ?? "")
                {
                    visitor.become(person)
                }
                return .seeOther(Self.localAddress("/" + (parameters["path"] ?? "")))
            }
        }
    }

    /// A story with the names that ids stand for, as far as they can still be found.
    private func told(_ story: PushStory) async throws -> ToldStory {
        var told = ToldStory(story: story)
        if let topic = story.push.container {
            told.topic = try await found { () async throws(HirobaError) in
                try await core.community.topic(GetTopic(topic: .init(topic)), by: Caller())
            }
        }
        if let actor = story.push.actor {
            told.actor = try await found { () async throws(HirobaError) in
                try await core.accounts.user(GetUser(user: actor), by: Caller())
            }?.name
        }
        return told
    }

    private func found<Value>(_ look: () async throws(HirobaError) -> Value) async throws(HirobaError) -> Value? {
        do {
            return try await look()
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
    }
}

/// What the page about a push tells.
struct ToldStory: Sendable {
    let story: PushStory
    var topic: Topic?
    var actor: String?
}
