package import HirobaCore

internal import HirobaContract
internal import HirobaCrypto
internal import HirobaThreads

/// The people, threads and pictures of the demo. Everything goes in through the core, as from any client.
package enum DemoCommunity {
    /// Fills in what is missing: all of it at the first start, nothing at the next, the rest after an interrupted one.
    ///
    /// - Parameters:
    ///   - secret: what the people's device secrets are derived from, so that no stranger can sign in as one of them.
    ///   - core: makes a core on the demo's database with the clock it is given. The community sets that clock, so that
    ///     its threads lie spread over the last week.
    package static func fill(
        secret: [UInt8], now: Clock = .system, core makeCore: (Clock) throws -> Core
    ) async throws {
        let time = Lock<Int64>(now.now())
        let core = try makeCore(Clock { time.withLock { $0 } })
        var filling = Filling(core: core, secret: secret, now: now.now(), time: time)
        try await filling.run(DemoScript.threads)
    }
}

/// One of the demo's people who has a phone.
package struct DemoPerson: Sendable, Equatable {
    /// In small letters; a phone and a host are called so.
    package let id: String
    package let name: String
    /// Signs them in.
    package let deviceSecret: String
}

extension DemoCommunity {
    /// Those with a phone. The last one's has lost its app.
    package static func peopleWithPhones(secret: [UInt8]) -> [DemoPerson] {
        [DemoScript.Person.hana, .sota, .ren].map { person in
            DemoPerson(
                id: person.rawValue, name: person.name ?? person.rawValue,
                deviceSecret: deviceSecret(of: person, secret))
        }
    }

    fileprivate static func deviceSecret(of person: DemoScript.Person, _ secret: [UInt8]) -> String {
        Base64URL.encode(HMACSHA256.sign(Array("demo \(person.rawValue)".utf8), key: secret))
    }
}

private struct Filling {
    let core: Core
    let secret: [UInt8]
    let now: Int64
    let time: Lock<Int64>
    private var callers: [DemoScript.Person: Caller] = [:]

    init(core: Core, secret: [UInt8], now: Int64, time: Lock<Int64>) {
        self.core = core
        self.secret = secret
        self.now = now
        self.time = time
    }

    mutating func run(_ threads: [DemoScript.Thread]) async throws {
        var existing: [String: Topic] = [:]
        for topic in try await core.community.topics(ListTopics(limit: 1000), by: Caller()).items {
            existing[topic.title] = topic
        }
        // Oldest first, as it would have happened.
        for thread in threads.sorted(by: { $0.hoursAgo > $1.hoursAgo }) {
            let begun = now - Int64(thread.hoursAgo * 3_600_000)
            let topic: Topic.ID
            if let known = existing[thread.title], known.text == thread.text {
                topic = known.id
            } else {
                topic = try await begin(thread, at: begun)
            }
            let said = try await core.community.comments(ListComments(topic: topic, limit: 1000), by: Caller()).items
            for comment in thread.comments where !said.contains(where: { $0.text == comment.text }) {
                let caller = try await caller(for: comment.by)
                // Whatever the script says, nothing is said in the future.
                set(min(begun + Int64(comment.after) * 60_000, now - 1_000))
                _ = try await core.community.createComment(CreateComment(topic: topic, text: comment.text), by: caller)
            }
        }
    }

    private mutating func begin(_ thread: DemoScript.Thread, at moment: Int64) async throws -> Topic.ID {
        let caller = try await caller(for: thread.by)
        set(moment)
        var photo: StoredFile.ID?
        if let picture = thread.picture {
            let bytes = EmbeddedFile.bytes(folder: "pictures", name: "\(picture).jpg")
            photo = try await core.files.upload(OneChunk(bytes: bytes), declaredType: "image/jpeg", by: caller).id
        }
        return try await core.community.createTopic(
            CreateTopic(title: thread.title, text: thread.text, photo: photo), by: caller
        ).id
    }

    /// Signs a person in, the first time something is missing of theirs.
    private mutating func caller(for person: DemoScript.Person) async throws -> Caller {
        if let caller = callers[person] { return caller }
        // A session made in the past would end sooner than it should.
        set(now)
        var caller = Caller(device: "demo")
        let signedIn = try await core.accounts.signInAnonymously(
            SignInAnonymously(deviceSecret: DemoCommunity.deviceSecret(of: person, secret)), by: caller
        ).signedIn
        caller.credential = .session(token: signedIn.token)
        if let name = person.name, signedIn.user.name != name {
            _ = try await core.accounts.updateMe(UpdateMe(name: name), by: caller)
        }
        callers[person] = caller
        return caller
    }

    private func set(_ moment: Int64) { time.withLock { $0 = moment } }
}

/// Bytes that are already here, as an upload.
private struct OneChunk: AsyncSequence, Sendable {
    let bytes: [UInt8]

    struct AsyncIterator: AsyncIteratorProtocol {
        var bytes: [UInt8]?
        mutating func next() async -> [UInt8]? {
            defer { bytes = nil }
            return bytes
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(bytes: bytes) }
}
