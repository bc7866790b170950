import CLinux
import Glibc
import HirobaThreads

/// The simulated apps' service extension: fetches the picture that a push names, in the time an extension has.
///
/// It speaks plain HTTP to this machine, and to hosts that are named; nothing that comes in a push can make it ask
/// another machine.
package final class ServiceExtension: Sendable {
    private let allowedHosts: Set<String>
    private let time: Duration
    private let mostBytes: Int
    private let threads: WorkerPool

    /// - Parameters:
    ///   - allowedHosts: names or addresses besides this machine's own.
    ///   - time: iOS gives an extension 30 seconds.
    ///   - mostBytes: iOS takes pictures up to 10 MB.
    package init(allowedHosts: Set<String> = [], time: Duration = .seconds(30), mostBytes: Int = 10 << 20) {
        self.allowedHosts = Set(allowedHosts.map { $0.lowercased() })
        self.time = time
        self.mostBytes = mostBytes
        threads = WorkerPool(name: "extension", threads: 2, queue: 1000)
    }

    package func fetch(_ address: String) async -> Result<Phones.Picture, Delivery.PictureFailure> {
        guard let address = PictureAddress(address), isAllowed(address.host) else { return .failure(.notAllowed) }
        let deadline = ContinuousClock.now + time
        do {
            return try await threads.run { [mostBytes] in
                Result { () throws(Delivery.PictureFailure) in
                    try Self.fetch(address, until: deadline, mostBytes: mostBytes)
                }
            }
        } catch {
            return .failure(.tooSlow)
        }
    }

    private func isAllowed(_ host: String) -> Bool { PictureAddress.isThisMachine(host) || allowedHosts.contains(host) }

    private static func fetch(
        _ address: PictureAddress, until deadline: ContinuousClock.Instant, mostBytes: Int
    ) throws(Delivery.PictureFailure) -> Phones.Picture {
        let connection = try FetchConnection(host: address.host, port: address.port, until: deadline)
        // HTTP/1.0, so that the answer ends where the connection does.
        try connection.send(
            Array("GET \(address.target) HTTP/1.0\r\nHost: \(address.authority)\r\nAccept: image/*\r\n\r\n".utf8))
        let answer = try connection.readToEnd(most: mostBytes + 16 * 1024)
        guard let end = Self.headEnd(of: answer) else { throw .unreachable }
        let statusLine = String(decoding: answer.prefix { $0 != 13 }, as: UTF8.self).split(separator: " ")
        guard statusLine.count >= 2, statusLine[0].hasPrefix("HTTP/1."), statusLine[1] == "200" else { throw .refused }
        let body = Array(answer[end...])
        guard body.count <= mostBytes else { throw .tooLarge }
        guard let type = pictureType(of: body) else { throw .notAPicture }
        return Phones.Picture(type: type, bytes: body)
    }

    private static func headEnd(of answer: [UInt8]) -> Int? {
        guard answer.count >= 4 else { return nil }
        for index in 0...(answer.count - 4) where answer[index..<index + 4].elementsEqual([13, 10, 13, 10]) {
            return index + 4
        }
        return nil
    }

    /// Found in the bytes: what a server says about them does not count.
    static func pictureType(of bytes: [UInt8]) -> String? {
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return "image/png" }
        if bytes.starts(with: "GIF8".utf8) { return "image/gif" }
        if bytes.starts(with: "RIFF".utf8), bytes.dropFirst(8).starts(with: "WEBP".utf8) { return "image/webp" }
        return nil
    }
}

/// An address with `http`, taken apart.
struct PictureAddress: Hashable {
    /// In small letters, IPv6 without its brackets.
    var host: String
    var port: Int
    /// As it stands in the Host field.
    var authority: String
    var target: String

    init?(_ text: String) {
        guard text.lowercased().hasPrefix("http://") else { return nil }
        // Blanks and control bytes would begin another line of the request.
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !text.contains("#") else { return nil }
        let rest = text.dropFirst(7)
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        target = String(rest.dropFirst(authority.count))
        if !target.hasPrefix("/") { target = "/" + target }
        self.authority = authority.lowercased()
        guard !authority.isEmpty, !authority.contains("@") else { return nil }
        var host = self.authority[...]
        port = 80
        if host.hasPrefix("[") {
            guard let end = host.firstIndex(of: "]") else { return nil }
            let after = host[host.index(after: end)...]
            host = host[host.index(after: host.startIndex)..<end]
            guard let port = Self.port(after) else { return nil }
            self.port = port
        } else if let colon = host.firstIndex(of: ":") {
            guard let port = Self.port(host[colon...]) else { return nil }
            self.port = port
            host = host[..<colon]
        }
        guard !host.isEmpty else { return nil }
        self.host = String(host)
    }

    private static func port(_ text: Substring) -> Int? {
        if text.isEmpty { return 80 }
        guard text.hasPrefix(":"), let port = Int(text.dropFirst()), (1...65_535).contains(port) else { return nil }
        return port
    }

    /// Names for this machine that mean it wherever they are looked up (RFC 6761 section 6.3), and its own addresses.
    static func isThisMachine(_ host: String) -> Bool {
        if host == "localhost" || host.hasSuffix(".localhost") || host == "::1" { return true }
        var address = in_addr()
        return inet_pton(AF_INET, host, &address) == 1 && UInt32(bigEndian: address.s_addr) >> 24 == 127
    }
}

/// A socket of a client, with one deadline for everything. It blocks: for a thread that may wait.
private final class FetchConnection {
    private let descriptor: CInt
    private let deadline: ContinuousClock.Instant

    init(host: String, port: Int, until deadline: ContinuousClock.Instant) throws(Delivery.PictureFailure) {
        self.deadline = deadline
        let name = host == "localhost" || host.hasSuffix(".localhost") ? "127.0.0.1" : host
        var hints = addrinfo()
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(name, String(port), &hints, &found) == 0, let first = found else { throw .unreachable }
        defer { freeaddrinfo(first) }
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        descriptor = socket(first.pointee.ai_family, kind, 0)
        guard descriptor >= 0 else { throw .unreachable }
        if connect(descriptor, first.pointee.ai_addr, first.pointee.ai_addrlen) != 0 {
            guard errno == EINPROGRESS else { throw .unreachable }
            try wait(for: POLLOUT)
            var status: CInt = 0
            var length = socklen_t(MemoryLayout<CInt>.size)
            getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &status, &length)
            guard status == 0 else { throw .unreachable }
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    func send(_ bytes: [UInt8]) throws(Delivery.PictureFailure) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            if count > 0 { sent += count } else { try retry(for: POLLOUT) }
        }
    }

    func readToEnd(most: Int) throws(Delivery.PictureFailure) -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
            if count == 0 { return all }
            if count > 0 {
                all += buffer[..<count]
                guard all.count <= most else { throw .tooLarge }
            } else {
                try retry(for: POLLIN)
            }
        }
    }

    private func retry(for event: CInt) throws(Delivery.PictureFailure) {
        switch errno {
        case EAGAIN: try wait(for: event)
        case EINTR: return
        default: throw .unreachable
        }
    }

    private func wait(for event: CInt) throws(Delivery.PictureFailure) {
        while true {
            let left = ContinuousClock.now.duration(to: deadline).components
            guard left.seconds >= 0, left.attoseconds >= 0 else { throw .tooSlow }
            let milliseconds = left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000
            var poll = pollfd(fd: descriptor, events: Int16(event), revents: 0)
            if Glibc.poll(&poll, 1, CInt(clamping: milliseconds + 1)) > 0 { return }
        }
    }
}
