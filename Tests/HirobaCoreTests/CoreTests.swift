import HirobaContract
import HirobaCore
import HirobaStore
import HirobaThreads
import TestSupport
import Testing

@Suite struct CoreTests {
    @Test("maintenance removes what has expired, in small pieces, and nothing else")
    func maintenance() async throws {
        try await withForums({ $0.limits.chunk = 2 }) { forum in
            for _ in 0..<5 { _ = try await forum.person() }
            forum.time.advance(by: Limits().sessionLifetime)
            let hana = try await forum.person()
            let topic = try await forum.topic(by: hana)
            try await forum.core.maintain()
            let (sessions, events) = (try await forum.count("sessions"), try await forum.count("events"))
            #expect(sessions == 1 && events == 2)
            let people = try await forum.count("users")
            #expect(people == 6)
            #expect(try await forum.core.community.topic(GetTopic(topic: topic.id), by: hana) == topic)
        }
    }

    @Test("maintenance goes on by itself and reports what it could not do")
    func run() async throws {
        let reported = Lock<[HirobaError]>([])
        try await withForums({ options in
            options.maintenanceEvery = .milliseconds(5)
            options.report = { error in reported.withLock { $0.append(error) } }
        }) { forum in
            _ = try await forum.person()
            let run = Task { await forum.core.run() }
            forum.time.advance(by: Limits().sessionLifetime)
            try await until { try await forum.count("sessions") == 0 }
            #expect(reported.withLock { $0.isEmpty })
            await forum.database.close()
            try await until { reported.withLock { $0.contains { $0.code == .unavailable } } }
            run.cancel()
            await run.value
            reported.withLock { $0 = [] }
        }
    }

    @Test("without a database every call says so, with a time to wait")
    func lostDatabase() async throws {
        try await withForums { forum in
            let hana = try await forum.person()
            await forum.database.close()
            let core = forum.core
            let calls: [@Sendable () async throws -> Void] = [
                { _ = try await core.community.topics(ListTopics(), by: Caller()) },
                { _ = try await core.community.createTopic(CreateTopic(title: "Lost"), by: hana) },
                { _ = try await core.accounts.me(GetMe(), by: hana) },
                { _ = try await core.accounts.signIn(SignIn(email: "a@b.c", password: "correct horse"), by: hana) },
                { _ = try await core.events.subscribe(Live(), from: nil, by: hana) },
                { _ = try await core.files.open(DownloadFile(file: "0000000000000000"), by: hana) },
            ]
            for call in calls {
                let error = await refusal(call)
                #expect(error?.code == .unavailable && error?.retryAfter != nil && error?.cause != nil)
            }
        }
    }
}
