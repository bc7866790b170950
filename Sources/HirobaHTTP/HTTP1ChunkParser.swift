// Imports nothing: part of what is fuzzed by itself.

/// Reads a body in chunks, RFC 9112 section 7.1.
struct HTTP1ChunkParser {
    private enum State {
        case size
        case data(remaining: Int)
        case dataEnd
        case trailers
        case end
    }

    private let limits: HTTP1Reader.Limits
    private var state = State.size
    private var extensionBytes = 0
    private var trailerBytes = 0
    private var trailerFields = 0

    init(limits: HTTP1Reader.Limits) { self.limits = limits }

    var isAtEnd: Bool { if case .end = state { true } else { false } }

    /// Reads on and appends data to `out`.
    /// - Returns: how many bytes were used; the others are to be given again, with more behind them.
    mutating func read(
        _ bytes: UnsafeBufferPointer<UInt8>, into out: inout [UInt8], atMost most: Int
    ) throws(HTTP1Refusal) -> Int {
        var position = 0
        while true {
            switch state {
            case .size:
                guard let line = try line(in: bytes, from: position, limit: Self.sizeLineLimit) else { return position }
                let size = try readSize(line, bytes)
                position = line.upperBound + 2
                state = size == 0 ? .trailers : .data(remaining: size)
            case .data(let remaining):
                let count = min(remaining, bytes.count - position, most - out.count)
                guard count > 0 else { return position }
                out.append(contentsOf: bytes[position..<position + count])
                position += count
                state = count == remaining ? .dataEnd : .data(remaining: remaining - count)
            case .dataEnd:
                guard position < bytes.count else { return position }
                guard bytes[position] == 13 else { throw Self.badEnd }
                guard position + 1 < bytes.count else { return position }
                guard bytes[position + 1] == 10 else { throw Self.badEnd }
                position += 2
                state = .size
            case .trailers:
                let limit = limits.headBytes - trailerBytes
                guard let line = try line(in: bytes, from: position, limit: limit) else { return position }
                position = line.upperBound + 2
                trailerBytes += line.count + 2
                if line.isEmpty {
                    state = .end
                    return position
                }
                // Trailers are checked, because the connection goes on behind them, and dropped (section 7.1.2).
                _ = try HTTP1Field.parse(line, bytes)
                trailerFields += 1
                if trailerFields > limits.headFields {
                    throw HTTP1Refusal(.headerFieldsTooLarge, "There are too many trailers.")
                }
            case .end:
                return position
            }
        }
    }

    private static let badEnd = HTTP1Refusal.bad("A chunk must end where its size says, with CR and LF.")
    /// Longer than any size with an extension that makes sense.
    private static let sizeLineLimit = 1024

    /// `chunk-size [ chunk-ext ]`.
    private mutating func readSize(
        _ line: Range<Int>, _ bytes: UnsafeBufferPointer<UInt8>
    ) throws(HTTP1Refusal) -> Int {
        var size = 0
        var index = line.lowerBound
        while index < line.upperBound, let digit = HTTPSyntax.hexValue(bytes[index]) {
            // Fifteen digits are below 2^60, so that nothing overflows.
            guard index - line.lowerBound < 15 else { throw .bad("A chunk is too large.") }
            size = size << 4 | Int(digit)
            index &+= 1
        }
        guard index > line.lowerBound else { throw .bad("A chunk must begin with its size in hexadecimal digits.") }
        if index < line.upperBound {
            // Only an extension may follow; a blank before its semicolon (BWS) is one of the leniencies left out.
            guard bytes[index] == UInt8(ascii: ";") else { throw .bad("The size of a chunk is not well formed.") }
            for byte in bytes[index..<line.upperBound] where !HTTPSyntax.isValueByte(byte) {
                throw .bad("A chunk extension must not hold control characters.")
            }
            extensionBytes += line.upperBound - index
            if extensionBytes > limits.extensionBytes { throw .bad("There are too many chunk extensions.") }
        }
        return size
    }

    /// The line that begins at `start`, without its CR LF, or `nil` when it is not complete.
    private func line(
        in bytes: UnsafeBufferPointer<UInt8>, from start: Int, limit: Int
    ) throws(HTTP1Refusal) -> Range<Int>? {
        var end = start
        while end < bytes.count, bytes[end] != 10 { end &+= 1 }
        if end - start > limit { throw .bad("A line inside the body is too long.") }
        guard end < bytes.count else { return nil }
        guard end > start, bytes[end - 1] == 13 else { throw .bad("A line must end with CR and LF.") }
        return start..<end - 1
    }
}
