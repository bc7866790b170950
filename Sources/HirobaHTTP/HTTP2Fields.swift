import CNghttp2

/// The fields of an answer in the form nghttp2 takes: names in small letters, all in one array of bytes.
struct HTTP2Fields {
    private var bytes: [UInt8] = []
    private var lengths: [(name: Int, value: Int)] = []

    init(status: HTTPStatus) {
        bytes.reserveCapacity(256)
        add(":status".utf8, String(status.rawValue).utf8)
    }

    mutating func add(_ name: some Collection<UInt8>, _ value: some Collection<UInt8>) {
        bytes.append(contentsOf: name)
        bytes.append(contentsOf: value)
        lengths.append((name.count, value.count))
    }

    /// Adds what a handler set, without what belongs to the engine or to a connection (RFC 9113 section 8.2.2).
    mutating func add(_ headers: HTTPHeaders) {
        for field in headers.fields where !HTTP1Writer.belongsToEngine(field, headers) {
            for byte in headers.bytes[Int(field.nameStart)..<Int(field.nameEnd)] {
                bytes.append(HTTPSyntax.lowercased(byte))
            }
            bytes.append(contentsOf: headers.bytes[Int(field.valueStart)..<Int(field.valueEnd)])
            lengths.append((Int(field.nameEnd - field.nameStart), Int(field.valueEnd - field.valueStart)))
        }
    }

    func withFields(_ body: (UnsafePointer<nghttp2_nv>?, Int) -> Void) {
        // nghttp2 only reads; its type says otherwise.
        var bytes = bytes
        bytes.withUnsafeMutableBufferPointer { buffer in
            guard var next = buffer.baseAddress else { return }
            var fields: [nghttp2_nv] = []
            fields.reserveCapacity(lengths.count)
            for (name, value) in lengths {
                fields.append(
                    nghttp2_nv(
                        name: next, value: next + name, namelen: name, valuelen: value,
                        flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)))
                next += name + value
            }
            body(fields, fields.count)
        }
    }
}
