import CNghttp2
import Testing

@testable import HirobaHTTP

/// What the encoder writes, read by nghttp2's decoder.
@Suite struct HPACKEncoderTests {
    private let origin = HTTP2SharedFields([(":scheme", "https"), (":authority", "push.example")])
    private let shared = HTTP2SharedFields([
        ("authorization", "bearer abc"), ("apns-topic", "jp.example.hiroba"), ("apns-priority", "10"),
    ])

    private func request(_ id: String = "1", shared: HTTP2SharedFields? = nil) -> HTTP2ClientRequest {
        var request = HTTP2ClientRequest(.post, path: "/3/device/", "0a1b\(id)")
        request.add("apns-id", id, .literal)
        request.shared = shared ?? self.shared
        return request
    }

    private func expected(_ id: String = "1", authorization: String = "bearer abc") -> [String] {
        [
            ":method: POST", ":scheme: https", ":authority: push.example", ":path: /3/device/0a1b\(id)",
            "authorization: \(authorization)", "apns-topic: jp.example.hiroba", "apns-priority: 10", "apns-id: \(id)",
        ]
    }

    @Test("what is the same every time is a byte from the second time on, and so is the name of what differs")
    func short() throws {
        let line = Line()
        let first = line.encode(request("0"), origin)
        #expect(try line.decode(first) == expected("0"))
        // A byte each: method, scheme, authority, three shared fields. Two and the value: path. Three and the value: id.
        for id in ["1", "22", "333"] {
            let block = line.encode(request(id), origin)
            #expect(block.count == 6 + 2 + 14 + id.count + 3 + id.count)
            #expect(try line.decode(block) == expected(id))
        }
        #expect(line.rememberedFields == 5)
    }

    @Test("new shared fields are remembered beside the old ones, and taking turns costs nothing more")
    func turns() throws {
        let line = Line()
        let other = HTTP2SharedFields([
            ("authorization", "bearer def"), ("apns-topic", "jp.example.hiroba"), ("apns-priority", "10"),
        ])
        for number in 0..<6 {
            let isOther = number % 2 == 1
            let block = line.encode(request(shared: isOther ? other : shared), origin)
            #expect(try line.decode(block) == expected(authorization: isOther ? "bearer def" : "bearer abc"))
            if number > 1 { #expect(block.count == 6 + 2 + 15 + 3 + 1) }
        }
        #expect(line.rememberedFields == 6)
    }

    @Test("what is too long for the server's table is sent and not remembered")
    func long() throws {
        let line = Line()
        let long = String(repeating: "x", count: 5000)
        for _ in 0..<2 {
            let block = line.encode(request(shared: HTTP2SharedFields([("authorization", long)])), origin)
            #expect(try line.decode(block).contains("authorization: \(long)"))
        }
        #expect(line.rememberedFields == 2)
    }

    @Test("a server may have a smaller table, none, or a larger one", arguments: [0, 40, 100, 200, 4096, 65_536])
    func table(size: Int) throws {
        let line = Line()
        for sizes in [[size], [4096], [0, size], [size, 4096], [4096, size]] {
            for size in sizes { line.setTableSize(size) }
            for id in ["1", "2", "3"] { #expect(try line.decode(line.encode(request(id), origin)) == expected(id)) }
        }
    }

    @Test("methods that have no number of their own, and no fields at all")
    func methods() throws {
        let line = Line()
        for method in [HTTPMethod.get, .head, .delete, .post] {
            let block = line.encode(HTTP2ClientRequest(method, path: "/"), origin)
            #expect(
                try line.decode(block) == [
                    ":method: \(method)", ":scheme: https", ":authority: push.example", ":path: /",
                ])
        }
    }

    @Test("whatever is sent in whatever order, the server reads the same", arguments: 0..<100)
    func everything(seed: Int) throws {
        var random = Dice(seed: UInt64(seed))
        let line = Line()
        let names: [StaticString] = [
            "apns-id", "apns-expiration", "apns-collapse-id", "x", "authorization", ":method", "a-b", "a-bc",
        ]
        func value() -> String {
            let lengths = [0, 1, 5, 126, 127, 128, 300, 1500]
            return String(repeating: "v\(random.roll(4))", count: lengths[random.roll(lengths.count)] / 2)
        }
        let pool = (0..<6).map { number in
            HTTP2SharedFields((0..<number).map { ("shared-\($0)", "\(number % 3)" + value()) })
        }
        for _ in 0..<200 {
            if random.roll(20) == 0 { line.setTableSize([0, 64, 300, 1000, 4096, 10_000][random.roll(6)]) }
            var request = HTTP2ClientRequest(.post, path: "/" + value())
            request.shared = pool[random.roll(6)]
            var wanted = [":method: POST", ":scheme: https", ":authority: push.example"]
            var fields: [String] = []
            for _ in 0..<random.roll(4) {
                let (name, value) = (names[random.roll(names.count)], value())
                request.add(name, value, random.roll(2) == 0 ? .literal : .indexed)
                fields.append("\(name): \(value)")
            }
            let decoded = try line.decode(line.encode(request, origin))
            wanted += [decoded[3]]
            wanted += request.shared?.fields.map { text($0.bytes, $0.nameLength) } ?? []
            #expect(decoded == wanted + fields)
            #expect(decoded[3].hasPrefix(":path: /"))
        }
    }
}

private func text(_ bytes: [UInt8], _ nameLength: Int) -> String {
    String(decoding: bytes[..<nameLength], as: UTF8.self) + ": "
        + String(decoding: bytes[nameLength...], as: UTF8.self)
}

/// An encoder and the decoder at the other end.
private final class Line {
    struct Broken: Error {}

    private var encoder = HPACKEncoder()
    private var decoder: OpaquePointer?

    init() { nghttp2_hd_inflate_new(&decoder) }
    deinit { nghttp2_hd_inflate_del(decoder) }

    /// The static table has 61.
    var rememberedFields: Int { nghttp2_hd_inflate_get_num_table_entries(decoder) - 61 }

    func setTableSize(_ size: Int) {
        nghttp2_hd_inflate_change_table_size(decoder, size)
        encoder.setTableSize(size)
    }

    func encode(_ request: HTTP2ClientRequest, _ origin: HTTP2SharedFields) -> [UInt8] {
        var out: [UInt8] = []
        request.encodeHead(origin: origin, by: &encoder, to: &out)
        return out
    }

    func decode(_ block: [UInt8]) throws -> [String] {
        var fields: [String] = []
        var at = 0
        while true {
            var field = nghttp2_nv()
            var flags: CInt = 0
            let used = block.withUnsafeBufferPointer { buffer in
                nghttp2_hd_inflate_hd2(
                    decoder, &field, &flags, buffer.baseAddress.map { $0 + at }, block.count - at, 1)
            }
            guard used >= 0 else { throw Broken() }
            at += used
            if flags & CInt(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
                let bytes =
                    Array(UnsafeBufferPointer(start: field.name, count: field.namelen))
                    + UnsafeBufferPointer(start: field.value, count: field.valuelen)
                fields.append(text(bytes, field.namelen))
            }
            if flags & CInt(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 {
                nghttp2_hd_inflate_end_headers(decoder)
                return fields
            }
        }
    }
}

/// The same throws for the same seed.
private struct Dice {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func roll(_ sides: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state >> 33) % sides
    }
}
