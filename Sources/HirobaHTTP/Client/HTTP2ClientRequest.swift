import CNghttp2

/// A request as an HTTP/2 client sends it, with its fields in the form nghttp2 takes: small letters, all in one array.
package struct HTTP2ClientRequest: Sendable {
    /// What field compression makes of a field (RFC 7541).
    package enum Compression: Sendable {
        /// The same on many requests: the first brings it, the others name it by a number.
        case indexed
        /// Of this request only. Were it indexed, it would push out what is worth remembering.
        case literal
    }

    private var bytes: [UInt8] = []
    private var fields: [(name: Int, value: Int, compression: Compression)] = []
    let body: [UInt8]

    /// - Parameter path: with the query, in ASCII.
    package init(_ method: HTTPMethod, path: String, body: [UInt8] = []) {
        self.body = body
        bytes.reserveCapacity(640)
        fields.reserveCapacity(10)
        add(":method", method.rawValue)
        add(":path", path, .literal)
    }

    /// Adds a field; the name in small letters (RFC 9113 section 8.2.1).
    package mutating func add(_ name: String, _ value: String, _ compression: Compression = .indexed) {
        let start = bytes.count
        bytes.append(contentsOf: name.utf8)
        let nameEnd = bytes.count
        bytes.append(contentsOf: value.utf8)
        fields.append((nameEnd - start, bytes.count - nameEnd, compression))
    }

    /// - Parameter all: where the fields are put, so that its memory can be used again.
    func withFields<Result>(
        origin: HTTP2Origin, _ all: inout [nghttp2_nv], _ body: ([nghttp2_nv]) -> Result
    ) -> Result {
        bytes.withUnsafeBufferPointer { buffer in
            all.removeAll(keepingCapacity: true)
            // Scheme and authority are pseudo fields, which come first (RFC 9113 section 8.3).
            all.append(contentsOf: origin.fields)
            // nghttp2 only reads; its type says otherwise.
            guard var next = UnsafeMutablePointer(mutating: buffer.baseAddress) else { return body(all) }
            for field in fields {
                let flag = field.compression == .indexed ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX
                all.append(
                    nghttp2_nv(
                        name: next, value: next + field.name, namelen: field.name, valuelen: field.value,
                        flags: UInt8(flag.rawValue)))
                next += field.name + field.value
            }
            return body(all)
        }
    }
}

/// `:scheme` and `:authority`, the same on every request of a client.
final class HTTP2Origin: @unchecked Sendable {
    // Unchecked because of the pointers; what they point at never changes.
    fileprivate let fields: [nghttp2_nv]
    private let storage: UnsafeMutableBufferPointer<UInt8>

    init(scheme: String, authority: String) {
        let texts = [":scheme", scheme, ":authority", authority].map { Array($0.utf8) }
        storage = .allocate(capacity: texts.reduce(0) { $0 + $1.count })
        _ = storage.initialize(from: texts.joined())
        var next = storage.baseAddress
        fields = [0, 2].map { index in
            let (name, value) = (texts[index].count, texts[index + 1].count)
            defer { next = next?.advanced(by: name + value) }
            return nghttp2_nv(
                name: next, value: next?.advanced(by: name), namelen: name, valuelen: value,
                flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue))
        }
    }

    deinit { storage.deallocate() }
}
