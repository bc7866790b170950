import Foundation
import HirobaClient
import HirobaContract
import HirobaHTTP
import HirobaJSON
import Testing

/// Answers sign-ins: the person is named after the device's secret, so the same secret is the same person.
private func person(_ seen: SeenRequest) -> Me {
    let secret = (try? JSON.parse(seen.body))?["deviceSecret"]?.string ?? "none"
    return Me(
        id: User.ID("person-\(secret.prefix(16))"), isAnonymous: true, createdAt: Date(timeIntervalSince1970: 0),
        updatedAt: Date(timeIntervalSince1970: 0))
}

private let later = Date(timeIntervalSince1970: 4_000_000_000)

private func problem(_ code: ErrorCode) -> HTTPResponse {
    .json(HTTPStatus(code.status), Problem(status: code.status, title: code.rawValue, code: code, detail: "No."))
}

/// A server that signs in and out; `session` says what `GET /me` and `DELETE /sessions/current` answer instead of
/// success.
private func accounts(_ session: @escaping @Sendable () -> HTTPResponse? = { nil })
    -> @Sendable (SeenRequest, Int) async -> HTTPResponse
{
    { seen, number in
        switch "\(seen.method) \(seen.target)" {
        case "POST /v1/sessions/anonymous", "POST /v1/sessions", "POST /v1/users":
            .json(.created, SignedIn(user: person(seen), token: "token-\(number)", expiresAt: later))
        case "GET /v1/me": session() ?? .json(person(seen))
        case "DELETE /v1/sessions/current": session() ?? HTTPResponse(.noContent)
        default: problem(.notFound)
        }
    }
}

private func makeClient(_ server: URL, _ store: any SessionStore = MemorySessionStore()) -> HirobaClient {
    HirobaClient(server: server, store: store, languages: ["ja", "en"], retries: HirobaClient.Retries(delays: []))
}

@Suite("Who is signed in")
struct SessionTests {
    @Test("is asked of the server once, and of the device afterwards")
    func checkAuth() async throws {
        try await TestServer.run(accounts()) { server in
            let client = makeClient(server.url)
            #expect(try await client.storedUser() == nil)
            let first = try await client.checkAuth()
            let second = try await client.checkAuth()
            #expect(first == second)
            #expect(server.requests.count == 1)
            #expect(try await client.storedUser() == first)
        }
    }

    @Test("is asked once even when the whole app asks at the same time")
    func singleFlight() async throws {
        try await TestServer.run(accounts()) { server in
            let client = makeClient(server.url)
            try await withThrowingTaskGroup(of: Me.self) { group in
                for _ in 0..<20 { group.addTask { try await client.checkAuth() } }
                try await group.waitForAll()
            }
            #expect(server.requests.count == 1)
        }
    }

    @Test("is the same person after a restart, after a lost session and after a sign-out")
    func sameperson() async throws {
        try await withFolder { folder in
            let store = FileSessionStore(file: folder.appendingPathComponent("deep/er/session.json"))
            try await TestServer.run(accounts { problem(.unauthorized) }) { server in
                let first = try await makeClient(server.url, store).checkAuth()
                // A new start finds the session in the file.
                let restarted = makeClient(server.url, store)
                #expect(try await restarted.checkAuth() == first)
                #expect(server.requests.count == 1)
                guard case .ended = await restarted.checkSession() else {
                    Issue.record("the session did not end")
                    return
                }
                #expect(try await restarted.storedUser() == nil)
                #expect(try await restarted.checkAuth() == first)
                await #expect(throws: ClientError.self) { try await restarted.signOut() }
                #expect(try await makeClient(server.url, store).checkAuth() == first)
            }
        }
    }

    @Test("is kept in a file that only its owner reads")
    func fileMode() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("session.json")
            try await TestServer.run(accounts()) { server in
                try await makeClient(server.url, FileSessionStore(file: file)).checkAuth()
                let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
                #expect(mode == 0o600)
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["session.json"])
            }
        }
    }

    @Test("is never taken for somebody new because a file cannot be read")
    func damagedFile() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("session.json")
            try Data("{\"deviceSecret\":".utf8).write(to: file)
            try await TestServer.run(accounts()) { server in
                let client = makeClient(server.url, FileSessionStore(file: file))
                let error = await #expect(throws: ClientError.self) { try await client.checkAuth() }
                guard case .local? = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                #expect(server.requests.isEmpty)
            }
        }
    }

    @Test("stays when the server does not answer, or answers with anything but a dead session")
    func survives() async throws {
        let answers: [HTTPResponse] = [
            problem(.internal), problem(.unavailable), problem(.forbidden), problem(.tooManyRequests),
            problem(.notFound),
            problem(.upgradeRequired), .text(.ok, "<html>Log in to the hotel's network</html>"), .lost,
        ]
        for answer in answers {
            try await TestServer.run(accounts { answer }) { server in
                let client = makeClient(server.url)
                let me = try await client.checkAuth()
                guard case .unknown = await client.checkSession() else {
                    Issue.record("\(answer.status) ended the session")
                    return
                }
                #expect(try await client.storedUser() == me)
                await server.stop()
                guard case .unknown(.network) = await client.checkSession() else {
                    Issue.record("no network ended the session")
                    return
                }
                #expect(try await client.storedUser() == me)
            }
        }
    }

    @Test("is confirmed by the server, with the token and the person's newest profile")
    func valid() async throws {
        let renamed = Me(id: "x", name: "花子", isAnonymous: false, createdAt: later, updatedAt: later)
        try await TestServer.run(accounts { .json(renamed) }) { server in
            let client = makeClient(server.url)
            guard case .signedOut = await client.checkSession() else {
                Issue.record("nobody is signed in")
                return
            }
            try await client.checkAuth()
            guard case .valid(let me) = await client.checkSession() else {
                Issue.record("the session is not valid")
                return
            }
            #expect(me == renamed)
            #expect(try await client.storedUser() == renamed)
            #expect(server.requests.last?.headers["Authorization"] == "Bearer token-1")
        }
    }

    @Test("ends on this device whatever the server says to a sign-out, which is handed on")
    func signOut() async throws {
        for answer in [nil, problem(.unauthorized), problem(.internal), .lost] {
            try await TestServer.run(accounts { answer }) { server in
                let client = makeClient(server.url)
                try await client.signIn(email: "a@example.org", password: "correct horse")
                var failure: ClientError?
                do throws(ClientError) { try await client.signOut() } catch { failure = error }
                #expect((failure == nil) == (answer == nil))
                #expect(try await client.storedUser() == nil)
                // The dead session's own token was sent, and is not sent again.
                #expect(server.requests.last?.headers["Authorization"] == "Bearer token-1")
                _ = try? await client.send(GetTopic(topic: "t"))
                #expect(server.requests.last?.headers["Authorization"] == nil)
                try await client.signOut()
            }
        }
    }

    @Test("goes with every request, as do client, language and device")
    func headers() async throws {
        try await TestServer.run(accounts()) { server in
            let client = HirobaClient(
                server: server.url, store: MemorySessionStore(), device: "Hanako's phone", languages: ["ja", "en"])
            try await client.signUp(email: "a@example.org", password: "correct horse", name: "花子")
            _ = try? await client.send(GetMe())
            let seen = try #require(server.requests.last)
            #expect(seen.headers["Authorization"] == "Bearer token-1")
            #expect(seen.headers["Hiroba-Client"] == "swift/1.0")
            #expect(seen.headers["Accept-Language"] == "ja, en")
            #expect(seen.headers["User-Agent"] == "Hanako's phone")
            #expect(server.requests.first?.headers["Authorization"] == nil)
        }
    }
}
