// What a push costs before it reaches a gateway: comments on the topics of people with a phone each, then the outbox with
// a gateway that accepts at once. Prints one JSON line with the CPU time per comment and per delivery.
// outbox-bench FILE|postgres://… COMMENTS PEOPLE DEVICES

import Glibc
import HirobaContract
import HirobaCore
import HirobaCrypto
import HirobaStore

@main
enum Bench {
    static func main() async throws {
        let words = CommandLine.arguments
        guard words.count == 5, let count = Int(words[2]), let people = Int(words[3]), let devices = Int(words[4])
        else {
            print("usage: outbox-bench FILE|postgres://… COMMENTS PEOPLE DEVICES")
            exit(2)
        }
        let location: Database.Location =
            words[1].hasPrefix("postgres:") ? .postgres(url: words[1]) : .sqlite(path: words[1])
        let database = try await Database.open(location, migrations: Schema.migrations)
        let blobs = try await FolderBlobStore.open(
            words[1].hasPrefix("postgres:") ? "/tmp/outbox-bench" : words[1] + "-blobs")
        let core = Core(database: database, blobs: blobs, pictures: Thumbnailer())

        var topics: [Topic] = []
        for _ in 0..<people {
            let person = try await newcomer(core)
            topics.append(try await core.community.createTopic(CreateTopic(title: "A bench in the square"), by: person))
            for _ in 0..<devices {
                let token = Hex.encode(randomBytes(32))
                _ = try await core.push.register(
                    PutDevice(
                        device: Device.ID(UUIDText.random()), token: token, environment: .production,
                        app: "org.example.Forum", permission: .authorized, language: "ja"), by: person)
            }
        }
        let guest = try await newcomer(core)

        let before = cpu()
        try await withThrowingTaskGroup { [topics] group in
            for writer in 0..<64 {
                group.addTask {
                    for number in stride(from: writer, to: count, by: 64) {
                        let call = CreateComment(
                            topic: topics[number % topics.count].id, text: "Well said, number \(number)")
                        _ = try await core.community.createComment(call, by: guest)
                    }
                }
            }
            try await group.waitForAll()
        }
        let written = cpu()

        let gateway = Accepting(deliveries: count * devices)
        let outbox = Outbox(
            database: database, options: PushOptions(gateway: gateway, publicURL: "https://example.org"))
        let start = ContinuousClock.now
        let running = Task { await outbox.run() }
        await gateway.wait()
        while try await waiting(database) > 0 { try await Task.sleep(for: .milliseconds(2)) }
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        let sent = cpu()
        running.cancel()
        await running.value
        await database.close()
        print(
            "{\"comment_cpu_us\":\((written - before) * 1e6 / Double(count)),"
                + "\"delivery_cpu_us\":\((sent - written) * 1e6 / Double(count * devices)),"
                + "\"seconds\":\(Double(seconds) + Double(attoseconds) / 1e18)}")
    }

    private static func newcomer(_ core: Core) async throws -> Caller {
        let call = SignInAnonymously(deviceSecret: Token.random256())
        let answer = try await core.accounts.signInAnonymously(call, by: Caller())
        return Caller(credential: .session(token: answer.signedIn.token))
    }

    private static func waiting(_ database: Database) async throws -> Int64 {
        try await database.read { db in
            try db.first("SELECT count(*) FROM deliveries WHERE state IN ('waiting', 'sending')") { row in
                try row.integer(0)
            } ?? 0
        }
    }

    /// Seconds of CPU that this process has used.
    private static func cpu() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

private actor Accepting: PushGateway {
    private var rest: Int
    private var waiter: CheckedContinuation<Void, Never>?

    init(deliveries: Int) { rest = deliveries }

    func send(_ message: PushMessage, to address: PushAddress) async -> Verdict {
        rest -= 1
        if rest == 0 { waiter?.resume() }
        return .accepted(
            Verdict.Acceptance(id: message.id, uniqueID: nil, environment: address.environment, isResent: false))
    }

    func wait() async { if rest > 0 { await withCheckedContinuation { waiter = $0 } } }
}
