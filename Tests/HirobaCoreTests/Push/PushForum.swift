import HirobaContract
import HirobaCore
import HirobaStore
import TestSupport

/// A forum whose pushes go to a scripted gateway.
struct PushForum: Sendable {
    let forum: Forum
    let gateway: ScriptedGateway

    var core: Core { forum.core }

    static let app = "org.example.Forum"
    static let publicURL = "https://forum.example.org"

    /// Somebody with a phone.
    func person(_ name: String, language: String = "en", phone: Device.ID? = nil) async throws -> Caller {
        let caller = try await forum.person()
        _ = try await core.accounts.updateMe(UpdateMe(name: name), by: caller)
        try await register(phone ?? Device.ID("phone-of-\(name)"), of: caller, language: language)
        return caller
    }

    @discardableResult
    func register(
        _ phone: Device.ID, of caller: Caller, token: String? = nil, language: String = "en",
        environment: PushEnvironment = .production
    ) async throws -> Device {
        try await core.push.register(
            PutDevice(
                device: phone, token: token ?? Self.token(of: phone), environment: environment, app: Self.app,
                permission: .authorized, language: language), by: caller)
    }

    static func token(of phone: Device.ID) -> String {
        phone.rawValue.utf8.reduce(into: "") { token, byte in
            token += String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }
    }

    /// The story of what is about this comment, once nothing of it is on the way any more.
    func story(of comment: HirobaContract.Comment) async throws -> PushStory {
        try await until { try await story(comment.id.rawValue).map { $0.push.waiting == 0 } ?? false }
        guard let story = try await story(comment.id.rawValue) else { throw HirobaError.notFound }
        return story
    }

    /// Nil as long as there is none, or not all of it.
    func story(_ id: String) async throws -> PushStory? {
        // Looked at before the story, which could be read in the middle otherwise.
        let isExpanded = try await forum.database.read { db in
            try db.first(
                """
                SELECT 1 FROM notifications WHERE state = 'expanded'
                    AND (subject = \(id) OR id = \(id) OR id = (SELECT notification_id FROM deliveries WHERE id = \(id)))
                """
            ) { _ in true }
        }
        guard isExpanded == true else { return nil }
        return try await core.push.story(GetPush(push: PushSummary.ID(id)), by: Caller(credential: .local))
    }

    func device(_ id: Device.ID) async throws -> Device {
        try await core.push.why(id, by: Caller(credential: .local)).device
    }

    /// Lets time pass for whoever waits for it.
    func pass(_ duration: Duration) {
        forum.time.advance(by: duration)
        forum.database.wake("push")
    }

    func outbox(_ change: (inout Limits) -> Void = { _ in }, gateway: ScriptedGateway? = nil) -> Outbox {
        var limits = Limits()
        change(&limits)
        return Outbox(
            database: forum.database, clock: Clock { forum.time.now }, limits: limits,
            options: PushOptions(gateway: gateway ?? self.gateway, publicURL: Self.publicURL))
    }
}

/// The same body on both databases, with the outbox at work.
func withPushes(
    _ change: (inout Core.Options) -> Void = { _ in }, script: ScriptedGateway.Script? = nil,
    _ body: (PushForum) async throws -> Void
) async throws {
    var options = Core.Options()
    change(&options)
    try await withDatabases(migrations: Schema.migrations) { database in
        let gateway = ScriptedGateway(script ?? { sent, _ in .accepted(sent) })
        var options = options
        options.push = PushOptions(gateway: gateway, publicURL: PushForum.publicURL)
        let forum = Forum(database, options: options)
        try await whileRunning({ await forum.core.run() }) { try await body(PushForum(forum: forum, gateway: gateway)) }
        await gateway.answerRest()
    }
}

/// Runs `worker` as long as `body` takes.
func whileRunning(_ worker: @escaping @Sendable () async -> Void, _ body: () async throws -> Void) async throws {
    let task = Task { await worker() }
    let failure: (any Error)?
    do {
        try await body()
        failure = nil
    } catch {
        failure = error
    }
    task.cancel()
    await task.value
    if let failure { throw failure }
}
