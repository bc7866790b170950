import HirobaJSON
import HirobaThreads

/// A client of the live stream that waits for one event after the other.
actor LiveReader {
    struct Event: Sendable, Equatable {
        var id: String?
        var name: String?
        var data = ""

        var json: JSON { (try? JSON.parse(data)) ?? .null }
    }

    private let socket: TestSocket
    private var bytes: [UInt8] = []
    private(set) var head = ""

    init(_ server: TestServer, _ target: String = "/v1/live", _ headers: [(String, String)] = []) async throws {
        let port = server.port
        let request =
            "GET \(target) HTTP/1.1\r\nHost: forum.example\r\nConnection: close\r\n"
            + headers.map { "\($0.0): \($0.1)\r\n" }.joined() + "\r\n"
        socket = try await TestServer.blocking.run {
            let socket = try TestSocket(port: port)
            try socket.write(Array(request.utf8))
            return socket
        }
        while true {
            if let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) {
                head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
                bytes.removeSubrange(..<end.upperBound)
                return
            }
            guard try await more() else { throw TestFailure("the stream ended before it began") }
        }
    }

    private func more() async throws -> Bool {
        let socket = socket
        guard let piece = try await TestServer.blocking.run({ try socket.read() }) else { return false }
        bytes += piece
        return true
    }

    /// The next event; nil when the stream is over. Comments and the marks between chunks are passed over.
    func next() async throws -> Event? {
        while true {
            // Chunk sizes stand on lines of their own and look like nothing an event says.
            if let end = bytes.firstRange(of: [0x0A, 0x0A]) {
                let block = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
                bytes.removeSubrange(..<end.upperBound)
                var event = Event()
                var isEvent = false
                for line in block.split(whereSeparator: \.isNewline) {
                    let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                    guard parts.count == 2, !parts[0].isEmpty else { continue }
                    let value = String(parts[1].dropFirst())
                    switch parts[0] {
                    case "id": event.id = value
                    case "event": event.name = value
                    case "data": event.data += value
                    default: continue
                    }
                    isEvent = true
                }
                if isEvent { return event }
                continue
            }
            guard try await more() else { return nil }
        }
    }

    /// The next event of that name; others are passed over.
    func next(_ name: String) async throws -> Event {
        while let event = try await next() { if event.name == name { return event } }
        throw TestFailure("the stream ended without \(name)")
    }
}
