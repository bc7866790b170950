// Imports nothing: together with the files that say so it can be built and fuzzed by itself.

/// What a client sends over HTTP/1.1, from bytes to heads and bodies, without any input or output of its own.
///
/// Give it what arrived with `receive`, then ask for the next head, then for the body until its end, then for the next
/// head. How the bytes were cut into pieces makes no difference to what it answers.
struct HTTP1Reader {
    struct Limits: Sendable {
        var headBytes = 16 * 1024
        var headFields = 100
        var targetBytes = 8 * 1024
        /// Bytes of all chunk extensions of one body. They carry nothing, so a client may not send many.
        var extensionBytes = 16 * 1024
    }

    enum BodyPart: Equatable {
        case bytes([UInt8])
        case needsMore
        case end
    }

    private let limits: Limits
    private var buffer: [UInt8] = []
    /// The first byte that was not taken yet.
    private var position = 0
    private var headParser: HTTP1HeadParser
    private var body = Body.none

    private enum Body {
        case none
        /// That many bytes are still to come.
        case length(Int)
        case chunked(HTTP1ChunkParser)
    }

    init(limits: Limits) {
        self.limits = limits
        headParser = HTTP1HeadParser(limits: limits)
    }

    /// How many bytes were received and not taken yet.
    var bufferedBytes: Int { buffer.count - position }

    /// How many bytes the body of the current request still has; `nil` when only its end will tell.
    var remainingLength: Int? {
        switch body {
        case .none: 0
        case .length(let remaining): remaining
        case .chunked: nil
        }
    }

    mutating func receive(_ bytes: UnsafeRawBufferPointer) {
        if position == buffer.count {
            buffer = Array(bytes)
            position = 0
            return
        }
        if position > 4096 {
            buffer.removeFirst(position)
            position = 0
        }
        buffer.append(contentsOf: bytes)
    }

    mutating func receive(_ bytes: [UInt8]) { bytes.withUnsafeBytes { receive($0) } }

    /// The next head, or `nil` when more bytes are needed. The body before it must have been read to its end.
    mutating func readHead() throws(HTTP1Refusal) -> HTTP1Head? {
        guard position < buffer.count else { return nil }
        let start = position
        let length = try buffer.withUnsafeBufferPointer { bytes throws(HTTP1Refusal) in
            try headParser.read(UnsafeBufferPointer(rebasing: bytes[start...]))
        }
        guard let length else { return nil }
        // The head becomes the storage of its headers: as it is when it came alone, as a copy otherwise.
        let bytes: [UInt8]
        if start == 0, length == buffer.count {
            bytes = buffer
            buffer = []
        } else {
            bytes = Array(buffer[start..<start + length])
            take(length)
        }
        var parser = headParser
        headParser = HTTP1HeadParser(limits: limits)
        let head = try bytes.withUnsafeBufferPointer { pointer throws(HTTP1Refusal) in
            try parser.finish(pointer, taking: bytes)
        }
        switch head.framing {
        case .none: body = .none
        case .length(let length): body = .length(length)
        case .chunked: body = .chunked(HTTP1ChunkParser(limits: limits))
        }
        return head
    }

    /// The next piece of the body, of at most `most` bytes.
    mutating func readBody(atMost most: Int) throws(HTTP1Refusal) -> BodyPart {
        switch body {
        case .none:
            return .end
        case .length(let remaining):
            let count = min(remaining, bufferedBytes, most)
            guard count > 0 else { return .needsMore }
            body = count == remaining ? .none : .length(remaining - count)
            if position == 0, count == buffer.count {
                defer { buffer = [] }
                return .bytes(buffer)
            }
            let piece = Array(buffer[position..<position + count])
            take(count)
            return .bytes(piece)
        case .chunked(var parser):
            let start = position
            var piece: [UInt8] = []
            let used = try buffer.withUnsafeBufferPointer { bytes throws(HTTP1Refusal) in
                try parser.read(UnsafeBufferPointer(rebasing: bytes[start...]), into: &piece, atMost: most)
            }
            take(used)
            body = parser.isAtEnd ? .none : .chunked(parser)
            if !piece.isEmpty { return .bytes(piece) }
            return parser.isAtEnd ? .end : .needsMore
        }
    }

    /// Whether what arrived begins an HTTP/2 connection (RFC 9113 section 3.4); `nil` when it is too early to tell.
    func beginsHTTP2() -> Bool? {
        var index = position
        for byte in Self.preface {
            guard index < buffer.count else { return nil }
            if buffer[index] != byte { return false }
            index += 1
        }
        return true
    }

    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    /// Everything received and not taken, for another reader.
    mutating func takeAll() -> [UInt8] {
        defer {
            buffer = []
            position = 0
        }
        return position == 0 ? buffer : Array(buffer[position...])
    }

    private mutating func take(_ count: Int) {
        position += count
        if position == buffer.count {
            buffer = []
            position = 0
        }
    }
}
