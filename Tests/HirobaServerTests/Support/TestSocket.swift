import CLinux
import Glibc
import HirobaJSON

/// A blocking socket with a deadline of ten seconds on every read.
final class TestSocket: Sendable {
    private let descriptor: Int32

    init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw TestFailure("cannot connect to port \(port): error \(errno)") }
        var deadline = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &deadline, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    func write(_ bytes: [UInt8]) throws {
        var left = bytes[...]
        while !left.isEmpty {
            let count = left.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            // A server that has heard enough answers and closes; what it said can still be read.
            guard count > 0 else { return }
            left = left.dropFirst(count)
        }
    }

    /// Nil at the end.
    func read() throws -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        if count > 0 { return Array(buffer[..<count]) }
        if count == 0 || errno == ECONNRESET { return nil }
        throw TestFailure("nothing came for ten seconds")
    }

    func readAll() throws -> [UInt8] {
        var all: [UInt8] = []
        while let piece = try read() { all += piece }
        return all
    }
}

/// An answer as it came over the socket.
struct Answer: Sendable {
    let status: Int
    let headers: [(name: String, value: String)]
    let body: [UInt8]

    init?(_ bytes: [UInt8]) {
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
        guard let first = head.first, let status = first.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { return nil }
        self.status = status
        headers = head.dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return (String(parts[0]), parts.count > 1 ? String(trimmed(parts[1])) : "")
        }
        var body = Array(bytes[end.upperBound...])
        if headers.contains(where: { $0.name.lowercased() == "transfer-encoding" }) { body = Self.unchunked(body) }
        self.body = body
    }

    private static func unchunked(_ bytes: [UInt8]) -> [UInt8] {
        var left = bytes[...]
        var all: [UInt8] = []
        while let line = left.firstRange(of: [0x0D, 0x0A]),
            let size = Int(String(decoding: left[..<line.lowerBound], as: UTF8.self), radix: 16), size > 0
        {
            left = left[line.upperBound...]
            all += left.prefix(size)
            left = left.dropFirst(size + 2)
        }
        return all
    }

    subscript(_ name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }

    var text: String { String(decoding: body, as: UTF8.self) }

    var json: JSON { (try? JSON.parse(body)) ?? .null }

    /// Status line aside, everything as text, for "must not contain".
    var everything: String { headers.map { "\($0.name): \($0.value)\n" }.joined() + text }
}

private func trimmed(_ text: Substring) -> Substring {
    var text = text.drop { $0 == " " }
    while text.last == " " { text.removeLast() }
    return text
}
