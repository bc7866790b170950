import Glibc
import HirobaJSON
import HirobaThreads
import Testing

@testable import HirobaServer

/// Where to read and where to write. Child processes do not get them: as long as one has the end to write to, the
/// reader waits for more.
private func pipe() throws -> [Int32] {
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
    return ends
}

@Suite("Log and metrics")
struct LogTests {
    @Test("writes each line as one JSON object, whatever a text holds")
    func lines() throws {
        let ends = try pipe()
        defer { close(ends[0]) }
        let log = Log(descriptor: ends[1])
        log.note("two\nlines, a \"quote\", a \\ and \u{1}\u{7F}")
        log.line("request") { line in
            line.append(contentsOf: ",\"bytes\":".utf8)
            appendNumber(1_203, to: &line)
        }
        log.flush()
        close(ends[1])
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(ends[0], &buffer, buffer.count)
        let lines = buffer.prefix(max(0, count)).split(separator: 0x0A)
        try #require(lines.count == 2)
        let first = try JSON.parse(Array(lines[0]))
        #expect(first["kind"] == "note")
        #expect(first["text"]?.string == "two\nlines, a \"quote\", a \\ and \u{1}\u{7F}")
        let time = try #require(first["time"]?.string)
        #expect(time.wholeMatch(of: /20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ/) != nil)
        #expect(try JSON.parse(Array(lines[1]))["bytes"] == 1_203)
    }

    @Test("drops lines when nobody takes them, and says how many")
    func dropping() throws {
        let ends = try pipe()
        // It holds less than one line and nobody reads yet, so lines pile up.
        let log = Log(descriptor: ends[1])
        let text = String(repeating: "x", count: 1 << 20)
        for _ in 0..<16 { log.note(text) }
        let (input, output) = (ends[0], ends[1])
        startThread(name: "flush") {
            log.flush()
            close(output)
        }
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(input, &buffer, buffer.count)
            guard count > 0 else { break }
            all += buffer[..<count]
        }
        close(input)
        let lines = all.split(separator: 0x0A)
        #expect(lines.count < 16)
        let dropped = try lines.compactMap { try JSON.parse(Array($0))["lines"]?.integer }.reduce(0, +)
        let kept = try lines.filter { try JSON.parse(Array($0))["kind"] == "note" }.count
        #expect(kept + Int(dropped) == 16)
    }

    @Test("tells the date right")
    func date() {
        var bytes: [UInt8] = []
        var time = LogTime()
        time.append(to: &bytes, seconds: 951_782_400, nanoseconds: 5_000_000)
        bytes.append(0x20)
        time.append(to: &bytes, seconds: 1_735_689_599, nanoseconds: 999_999_999)
        bytes.append(0x20)
        time.append(to: &bytes, seconds: 0, nanoseconds: 0)
        bytes.append(0x20)
        time.append(to: &bytes, seconds: 0, nanoseconds: 123_000_000)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "2000-02-29T00:00:00.005Z 2024-12-31T23:59:59.999Z 1970-01-01T00:00:00.000Z 1970-01-01T00:00:00.123Z"
        )
    }

    @Test("makes a new id each time, short and plain")
    func ids() {
        let ids = Set((0..<10_000).map { _ in RequestID.next() })
        #expect(ids.count == 10_000)
        #expect(ids.allSatisfy { $0.wholeMatch(of: /[0-9a-v]{12}/) != nil })
    }

    @Test("counts requests by route and status, and their durations in buckets that add up")
    func metrics() async {
        let metrics = Metrics()
        let route = metrics.route(method: "GET", template: "/v1/topics/{topic}")
        #expect(route === metrics.route(method: "GET", template: "/v1/topics/{topic}"))
        _ = metrics.route(method: "GET", template: "/never")
        for (status, microseconds) in [(200, 90), (200, 100), (404, 101), (200, 20_000_000)] {
            route.record(status: status, microseconds: microseconds, bytes: 10)
        }
        metrics.add(.init(name: "hiroba_connections", help: "Open now.") { 3 })
        let text = await metrics.text()
        let labels = #"method="GET",route="/v1/topics/{topic}""#
        for line in [
            "hiroba_requests_total{\(labels),status=\"200\"} 3", "hiroba_requests_total{\(labels),status=\"404\"} 1",
            "hiroba_request_duration_seconds_bucket{\(labels),le=\"0.0001\"} 2",
            "hiroba_request_duration_seconds_bucket{\(labels),le=\"0.00025\"} 3",
            "hiroba_request_duration_seconds_bucket{\(labels),le=\"10.0\"} 3",
            "hiroba_request_duration_seconds_bucket{\(labels),le=\"+Inf\"} 4",
            "hiroba_request_duration_seconds_count{\(labels)} 4", "hiroba_connections 3.0",
            "# TYPE hiroba_request_duration_seconds histogram",
        ] {
            #expect(text.split(separator: "\n").contains(Substring(line)), "\(line)")
        }
        #expect(!text.contains("/never"))
    }
}
