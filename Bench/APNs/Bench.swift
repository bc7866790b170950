// Sends N pushes through the whole gateway and prints one JSON line, as the other senders of Bench/push.py do:
// apns-bench PORT AUTHORITY N CONCURRENCY CONNECTIONS TOKENFILE JWT P8FILE [tasks]
//
// The provider token is made here from the .p8 file; JWT is for senders that cannot. With `tasks` each of the concurrent
// senders is a task that waits for its verdict; without it is called back.

import Glibc
import HirobaCore
import HirobaCrypto
import HirobaGateways
import HirobaHTTP
import HirobaJSON

@main
enum Bench {
    static func main() async throws {
        let words = CommandLine.arguments
        guard words.count >= 9, let port = Int(words[1]), let count = Int(words[3]), let senders = Int(words[4]),
            let connections = Int(words[5])
        else {
            print("usage: apns-bench PORT AUTHORITY N CONCURRENCY CONNECTIONS TOKENFILE JWT P8FILE [tasks]")
            exit(2)
        }
        let tokens = lines(of: words[6])
        let key = APNsKey(
            id: "ABC123DEFG", team: "DEF123GHIJ",
            key: try ES256.PrivateKey(pem: lines(of: words[8]).joined(separator: "\n")))
        var server = HTTP2Client.Configuration(host: "localhost", port: port, trust: .authority(file: words[2]))
        server.rules.connections = connections
        let loop = try EventLoop()
        loop.start(name: "push")
        let route = APNsRoute(environment: .production, key: key, apps: ["com.example.app"], server: server)
        let gateway = try APNsGateway(
            routes: [route], loop: loop,
            settings: APNsGateway.Settings {
                var time = timespec()
                clock_gettime(CLOCK_REALTIME, &time)
                return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
            })
        let start = ContinuousClock.now
        let tally =
            if words.count > 9, words[9] == "tasks" {
                await sendByTasks(gateway, tokens: tokens, count: count, senders: senders)
            } else {
                await withCheckedContinuation { end in
                    let sender = Sender(gateway: gateway, tokens: tokens, count: count, end: end)
                    loop.execute { for _ in 0..<senders { sender.sendNext() } }
                }
            }
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        await gateway.stop(grace: .seconds(1))
        let time = Double(seconds) + Double(attoseconds) / 1e18
        print(
            "{\"client\":\"hiroba\",\"sent\":\(count),\"ok\":\(tally.accepted),\"rejected\":\(tally.refused),"
                + "\"failed\":\(count - tally.accepted - tally.refused),\"later\":\(tally.later),"
                + "\"resent\":\(tally.resent),\"seconds\":\(time)}")
        if let other = tally.other {
            _ = Array("\(other)\n".utf8).withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
        }
    }

    static func sendByTasks(_ gateway: APNsGateway, tokens: [String], count: Int, senders: Int) async -> Tally {
        await withTaskGroup(of: Tally.self) { group in
            for sender in 0..<senders {
                group.addTask(executorPreference: gateway.loop) {
                    var tally = Tally()
                    for number in stride(from: sender, to: count, by: senders) {
                        let address = PushAddress(
                            token: tokens[number % tokens.count], app: "com.example.app", environment: .production,
                            isEnvironmentProven: true)
                        tally.add(await gateway.send(Sender.message(number), to: address))
                    }
                    return tally
                }
            }
            return await group.reduce(into: Tally()) { $0.add($1) }
        }
    }

    static func lines(of file: String) -> [String] {
        guard let input = fopen(file, "r") else { return [] }
        defer { fclose(input) }
        var lines: [String] = []
        var line: UnsafeMutablePointer<CChar>?
        var size = 0
        while case let count = getline(&line, &size, input), count > 0, let line {
            line[count - 1] = 0
            lines.append(String(cString: line))
        }
        free(line)
        return lines
    }
}

final class Sender: @unchecked Sendable {
    // Unchecked because everything but `init` runs on the gateway's loop.
    private let gateway: APNsGateway
    private let tokens: [String]
    private let count: Int
    private let end: CheckedContinuation<Tally, Never>
    private var next = 0
    private var ended = 0
    private var tally = Tally()

    init(gateway: APNsGateway, tokens: [String], count: Int, end: CheckedContinuation<Tally, Never>) {
        self.gateway = gateway
        self.tokens = tokens
        self.count = count
        self.end = end
    }

    func sendNext() {
        guard next < count else { return }
        let number = next
        next += 1
        let address = PushAddress(
            token: tokens[number % tokens.count], app: "com.example.app", environment: .production,
            isEnvironmentProven: true)
        gateway.send(Self.message(number), to: address) { [self] verdict in
            tally.add(verdict)
            ended += 1
            if ended == count { end.resume(returning: tally) }
            sendNext()
        }
    }

    /// The same work as the others do.
    static func message(_ number: Int) -> PushMessage {
        PushMessage(
            id: text("00000000-1c2d-4e3f-8a9b-000000000000", number, endingAt: [8, 36]), title: "Hello from the bench",
            body: "Somebody commented on your photo", badge: 3, sound: "default", thread: "t-42",
            data: ["event": "comment", "id": .string(text("0000000000000000", number, endingAt: [16]))],
            lifetime: .attemptOnce)
    }

    /// `template` with the number's hexadecimal digits, eight of them, ending at these places.
    static func text(_ template: StaticString, _ number: Int, endingAt ends: [Int]) -> String {
        String(unsafeUninitializedCapacity: template.utf8CodeUnitCount) { text in
            for index in 0..<template.utf8CodeUnitCount { text[index] = template.utf8Start[index] }
            for end in ends {
                for index in 0..<8 {
                    let digit = UInt8(number >> (index * 4) & 15)
                    text[end - 1 - index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
                }
            }
            return template.utf8CodeUnitCount
        }
    }
}

struct Tally: Sendable {
    var accepted = 0
    var refused = 0
    var later = 0
    var resent = 0
    var other: String?

    mutating func add(_ more: Tally) {
        accepted += more.accepted
        refused += more.refused
        later += more.later
        resent += more.resent
        other = other ?? more.other
    }

    mutating func add(_ verdict: Verdict) {
        switch verdict {
        case .accepted(let acceptance):
            accepted += 1
            if acceptance.isResent { resent += 1 }
        case .gone, .refused: refused += 1
        case .retry(_, _, "ServiceUnavailable"):
            // An answer, and the right one: whoever keeps the queue sends it again in a quarter of an hour.
            refused += 1
            later += 1
        default: other = "\(verdict)"
        }
    }
}
