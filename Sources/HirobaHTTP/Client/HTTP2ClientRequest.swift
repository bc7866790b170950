/// A request as an HTTP/2 client sends it.
package struct HTTP2ClientRequest: Sendable {
    /// What field compression makes of a field (RFC 7541).
    package enum Compression: Sendable {
        /// The same on many requests: the first brings it, the others name it by a number.
        case indexed
        /// Of this request only. Were it indexed, it would push out what is worth remembering.
        case literal
    }

    let method: HTTPMethod
    /// The path, and after it each field: the address of its name (8 bytes), the length of that (1), its compression (1), the
    /// length of its value (4), and the value. Then the body. All in one array, because thousands of requests may wait.
    private var bytes: [UInt8] = []
    private let pathLength: Int
    private var bodyStart: Int
    /// More fields, which other requests have too.
    package var shared: HTTP2SharedFields?

    private static let prefix = 14

    /// - Parameter path: with the query, in ASCII.
    package init(_ method: HTTPMethod, path: String, _ morePath: String = "", capacity: Int = 256) {
        self.method = method
        bytes.reserveCapacity(capacity)
        bytes.append(contentsOf: path.utf8)
        bytes.append(contentsOf: morePath.utf8)
        pathLength = bytes.count
        bodyStart = bytes.count
    }

    /// Adds a field; the name in small letters (RFC 9113 section 8.2.1) and at most 255 bytes.
    package mutating func add(_ name: StaticString, _ value: String, _ compression: Compression = .indexed) {
        func append(_ number: Int, bytes count: Int) {
            for index in 0..<count { bytes.append(UInt8(truncatingIfNeeded: number >> (index * 8))) }
        }
        append(Int(bitPattern: name.utf8Start), bytes: 8)
        bytes.append(UInt8(name.utf8CodeUnitCount))
        bytes.append(compression == .indexed ? 0 : 1)
        append(value.utf8.count, bytes: 4)
        bytes.append(contentsOf: value.utf8)
        bodyStart = bytes.count
    }

    /// After the last field was added: gives away what there is, for the body to be appended and given back by `setBody`.
    package mutating func takeBytes() -> [UInt8] {
        var taken: [UInt8] = []
        swap(&taken, &bytes)
        return taken
    }

    package mutating func setBody(_ bytes: [UInt8]) { self.bytes = bytes }

    var hasBody: Bool { bytes.count > bodyStart }

    /// Copies what there is of the body from `offset` on, as far as it fits.
    /// - Returns: how much that was, and whether it was the last.
    func copyBody(from offset: Int, to buffer: UnsafeMutablePointer<UInt8>, atMost most: Int) -> (Int, isLast: Bool) {
        let left = bytes.count - bodyStart - offset
        let count = min(left, most)
        bytes.withUnsafeBufferPointer { bytes in
            if let start = bytes.baseAddress { buffer.update(from: start + bodyStart + offset, count: count) }
        }
        return (count, count == left)
    }

    /// Appends the head of the request as it is sent.
    /// - Parameter origin: scheme and authority.
    func encodeHead(origin: HTTP2SharedFields, by encoder: inout HPACKEncoder, to out: inout [UInt8]) {
        encoder.begin(&out)
        // Pseudo fields come first (RFC 9113 section 8.3).
        encoder.addMethod(method, to: &out)
        encoder.add(origin, at: 0, to: &out)
        bytes.withUnsafeBytes { buffer in
            let bytes = buffer.bindMemory(to: UInt8.self)
            encoder.addPath(UnsafeBufferPointer(rebasing: bytes[..<pathLength]), to: &out)
            if let shared { encoder.add(shared, at: 1, to: &out) }
            var at = pathLength
            while at < bodyStart {
                let name = UnsafeBufferPointer(
                    start: UnsafePointer<UInt8>(bitPattern: buffer.loadUnaligned(fromByteOffset: at, as: UInt.self)),
                    count: Int(bytes[at + 8]))
                let start = at + Self.prefix
                let count = Int(UInt32(littleEndian: buffer.loadUnaligned(fromByteOffset: at + 10, as: UInt32.self)))
                let value = UnsafeBufferPointer(rebasing: bytes[start..<start + count])
                if bytes[at + 9] == 0 {
                    encoder.add(Array(name) + value, nameLength: name.count, to: &out)
                } else {
                    encoder.addLiteral(name, value, to: &out)
                }
                at = start + count
            }
        }
    }
}

/// Whoever sends a request and wants to know what becomes of it.
package protocol HTTP2ClientSender: AnyObject {
    /// Does not change until the end.
    var request: HTTP2ClientRequest { get }
    /// Called once, on the loop.
    func requestEnded(_ outcome: HTTP2Outcome)
}
