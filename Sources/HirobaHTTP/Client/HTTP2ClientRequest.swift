import CNghttp2

/// A request as an HTTP/2 client sends it.
package struct HTTP2ClientRequest: Sendable {
    /// What field compression makes of a field (RFC 7541).
    package enum Compression: Sendable {
        /// The same on many requests: the first brings it, the others name it by a number.
        case indexed
        /// Of this request only. Were it indexed, it would push out what is worth remembering.
        case literal
    }

    /// Each field: the length of its name (1 byte), its compression (1), the length of its value (4), name and value. Then
    /// the body. All in one array, because thousands of requests may wait.
    private var bytes: [UInt8] = []
    private var bodyStart = 0
    /// More fields, which other requests have too.
    package var shared: HTTP2SharedFields?

    private static let prefix = 6

    /// - Parameter path: with the query, in ASCII.
    package init(_ method: HTTPMethod, path: String, _ morePath: String = "", capacity: Int = 256) {
        bytes.reserveCapacity(capacity)
        add(":method", method.rawValue)
        add(":path", path, morePath, .literal)
    }

    /// Adds a field; the name in small letters (RFC 9113 section 8.2.1) and at most 255 bytes.
    package mutating func add(_ name: String, _ value: String, _ compression: Compression = .indexed) {
        add(name, value, "", compression)
    }

    private mutating func add(_ name: String, _ value: String, _ moreValue: String, _ compression: Compression) {
        let length = UInt32(value.utf8.count + moreValue.utf8.count)
        bytes.append(UInt8(name.utf8.count))
        bytes.append(compression == .indexed ? 0 : 1)
        for shift: UInt32 in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: length >> shift)) }
        bytes.append(contentsOf: name.utf8)
        bytes.append(contentsOf: value.utf8)
        if !moreValue.isEmpty { bytes.append(contentsOf: moreValue.utf8) }
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

    /// The fields in the form nghttp2 takes.
    /// - Parameter all: where they are put, so that its memory can be used again.
    func withFields<Result>(
        origin: HTTP2SharedFields, _ all: inout [nghttp2_nv], _ body: ([nghttp2_nv]) -> Result
    ) -> Result {
        bytes.withUnsafeBufferPointer { buffer in
            all.removeAll(keepingCapacity: true)
            // Pseudo fields come first (RFC 9113 section 8.3): scheme and authority, method and path.
            all.append(contentsOf: origin.fields)
            // nghttp2 only reads; its type says otherwise.
            guard let start = UnsafeMutablePointer(mutating: buffer.baseAddress) else { return body(all) }
            var at = 0
            var count = 0
            while at < bodyStart {
                if count == 2, let shared { all.append(contentsOf: shared.fields) }
                count += 1
                let field = start + at
                let nameLength = Int(field[0])
                var valueLength = 0
                for index in (2..<6).reversed() { valueLength = valueLength << 8 | Int(field[index]) }
                let flag = field[1] == 0 ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX
                let name = field + Self.prefix
                all.append(
                    nghttp2_nv(
                        name: name, value: name + nameLength, namelen: nameLength, valuelen: valueLength,
                        flags: UInt8(flag.rawValue)))
                at += Self.prefix + nameLength + valueLength
            }
            if count == 2, let shared { all.append(contentsOf: shared.fields) }
            return body(all)
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

/// Fields that are the same on many requests, made once and indexed by field compression.
package final class HTTP2SharedFields: @unchecked Sendable {
    // Unchecked because of the pointers; what they point at never changes.
    fileprivate let fields: [nghttp2_nv]
    private let storage: UnsafeMutableBufferPointer<UInt8>

    /// Names in small letters.
    package init(_ fields: [(name: String, value: String)]) {
        storage = .allocate(capacity: fields.reduce(1) { $0 + $1.name.utf8.count + $1.value.utf8.count })
        _ = storage.initialize(from: fields.map { Array($0.name.utf8) + Array($0.value.utf8) }.joined())
        var next = storage.baseAddress
        self.fields = fields.map { name, value in
            let (name, value) = (name.utf8.count, value.utf8.count)
            defer { next = next?.advanced(by: name + value) }
            return nghttp2_nv(
                name: next, value: next?.advanced(by: name), namelen: name, valuelen: value,
                flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue))
        }
    }

    deinit { storage.deallocate() }
}
