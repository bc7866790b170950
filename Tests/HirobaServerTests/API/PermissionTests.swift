import HirobaContract
import HirobaJSON
import Testing

@testable import HirobaServer

@Suite("Who may do what")
struct PermissionTests {
    @Test("lets nobody but the author delete, and says why not in the forum's words")
    func deletion() async throws {
        try await TestServer.onBoth { server async throws in
            let (me, you) = (try await server.person("Me"), try await server.person("You"))
            let topic = try await server.send(CreateTopic(title: "mine"), token: me.token)
            let comment = try await server.send(CreateComment(topic: topic.id, text: "yours"), token: you.token)
            for (target, stranger) in [("/v1/topics/\(topic.id)", you), ("/v1/comments/\(comment.id)", me)] {
                #expect(try await server.delete(target).status == 401)
                let refused = try await server.delete(target, token: stranger.token)
                #expect(refused.status == 403)
                #expect(refused.json["code"] == "forbidden")
            }
            #expect(try await server.send(GetTopic(topic: topic.id)) == topic)
            #expect(try await server.send(ListComments(topic: topic.id)).items == [comment])
            #expect(try await server.delete("/v1/comments/\(comment.id)", token: you.token).status == 204)
            #expect(try await server.delete("/v1/topics/\(topic.id)", token: me.token).status == 204)
        }
    }

    @Test("shows an address, a token and a session to their owner only")
    func leaks() async throws {
        try await TestServer.onBoth { server async throws in
            let secret = "private@forum.example"
            let me = try await server.send(SignUp(email: secret, password: "correct horse", name: "Me"))
            let you = try await server.person("You")
            let topic = try await server.send(CreateTopic(title: "t"), token: me.token)
            let comment = try await server.send(CreateComment(topic: topic.id, text: "c"), token: me.token)
            let session = try #require(try await server.send(ListSessions(), token: me.token).items.first)

            for token in [nil, you.token] {
                for target in [
                    "/v1/users/\(me.user.id)", "/v1/topics", "/v1/topics/\(topic.id)",
                    "/v1/topics/\(topic.id)/comments",
                    "/v1/sessions", "/v1/me", "/metrics", "/healthz", "/readyz",
                ] {
                    let answer = try await server.get(target, token: token)
                    for word in [secret, me.token, session.id.rawValue, "correct horse", "argon2"] {
                        #expect(!answer.everything.contains(word), "\(target) shows \(word)")
                    }
                }
            }
            // Somebody else's session is not even there.
            #expect(try await server.delete("/v1/sessions/\(session.id)", token: you.token).status == 404)
            #expect(try await server.get("/v1/me", token: me.token).json["email"]?.string == secret)
            _ = comment
            for word in [secret, me.token, you.token, "correct horse"] { #expect(!server.log.text.contains(word)) }
        }
    }

    @Test("takes a token in the header alone, never from an address or a cookie")
    func tokenPlaces() async throws {
        try await TestServer.onSQLite { server async throws in
            let me = try await server.person("Me")
            #expect(try await server.get("/v1/me?token=\(me.token)").status == 400)
            #expect(try await server.get("/v1/me?access_token=\(me.token)").status == 400)
            #expect(
                try await server.get("/v1/me", [("Cookie", "token=\(me.token); session=\(me.token)")]).status == 401)
            #expect(try await server.get("/v1/me", [("Authorization", "bearer  \(me.token) ")]).status == 200)
            #expect(!server.log.text.contains(me.token))
        }
    }

    @Test("ends a session everywhere at once, also for what is public")
    func endedToken() async throws {
        try await TestServer.onBoth { server async throws in
            let me = try await server.person("Me")
            #expect(try await server.get("/v1/topics", token: me.token).status == 200)
            _ = try await server.send(EndSession(session: .current), token: me.token)
            for target in ["/v1/topics", "/v1/me", "/v1/sessions", "/v1/live"] {
                let answer = try await server.get(target, token: me.token)
                #expect(answer.status == 401, "\(target)")
                #expect(answer.json["code"] == "unauthorized")
            }
        }
    }
}
