// Sends N pushes through the whole gateway and prints one JSON line, as the other senders of the comparison do:
// apns-bench PORT AUTHORITY N CONCURRENCY CONNECTIONS TOKENFILE JWT P8FILE
//
// The provider token is made here from the .p8 file; JWT is for senders that cannot.

import Glibc
import HirobaCore
import HirobaCrypto
import HirobaGateways
import HirobaHTTP
import HirobaJSON
import Synchronization

@main
enum Bench {
    static func main() async throws {
        let words = CommandLine.arguments
        guard words.count >= 9, let port = Int(words[1]), let count = Int(words[3]), let senders = Int(words[4]),
            let connections = Int(words[5])
        else {
            print("usage: apns-bench PORT AUTHORITY N CONCURRENCY CONNECTIONS TOKENFILE JWT P8FILE")
            exit(2)
        }
        let tokens = bytes(of: words[6]).split(separator: UInt8(ascii: "\n")).map {
            String(decoding: $0, as: UTF8.self)
        }
        let key = APNsKey(
            id: "ABC123DEFG", team: "DEF123GHIJ",
            key: try ES256.PrivateKey(pem: String(decoding: bytes(of: words[8]), as: UTF8.self)))
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
        let tally = await withTaskGroup(of: Tally.self) { group in
            let next = Counter()
            for _ in 0..<senders {
                group.addTask(executorPreference: loop) {
                    var tally = Tally()
                    while case let number = next.take(), number < count {
                        let address = PushAddress(
                            token: tokens[number % tokens.count], app: "com.example.app", environment: .production,
                            isEnvironmentProven: true)
                        tally.add(await gateway.send(message(number), to: address))
                    }
                    return tally
                }
            }
            var all = Tally()
            for await tally in group { all += tally }
            return all
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

    /// The same work as the others do.
    static func message(_ number: Int) -> PushMessage {
        let digits = hex(number)
        return PushMessage(
            id: "\(digits.suffix(8))-1c2d-4e3f-8a9b-\(digits.suffix(12))", title: "Hello from the bench",
            body: "Somebody commented on your photo", badge: 3, sound: "default", thread: "t-42",
            data: ["event": "comment", "id": .string(digits)], lifetime: .attemptOnce)
    }

    static func hex(_ number: Int) -> String {
        String(unsafeUninitializedCapacity: 16) { digits in
            for index in 0..<16 {
                let digit = UInt8(number >> ((15 - index) * 4) & 15)
                digits[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            }
            return 16
        }
    }

    static func bytes(of file: String) -> [UInt8] {
        guard let input = fopen(file, "r") else { return [] }
        defer { fclose(input) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&buffer, 1, buffer.count, input), count > 0 { bytes += buffer[..<count] }
        return bytes
    }
}

struct Tally: Sendable {
    var accepted = 0
    var refused = 0
    var later = 0
    var resent = 0
    var other: String?

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

    static func += (tally: inout Tally, more: Tally) {
        tally.accepted += more.accepted
        tally.refused += more.refused
        tally.later += more.later
        tally.resent += more.resent
        tally.other = tally.other ?? more.other
    }
}

final class Counter: Sendable {
    private let value = Atomic(0)

    func take() -> Int { value.wrappingAdd(1, ordering: .relaxed).oldValue }
}
