/// `multipart/form-data` (RFC 7578), read as it arrives: a part's bytes are handed on in chunks and never gathered.
///
/// The parts come in the order of the form, so a form puts its small fields before its files.
package struct MultipartLimits: Sendable {
    /// Parts in one body. A form of ours has fewer than ten; each costs its reader a few hundred bytes.
    package var parts: Int
    /// Bytes of one part's head. Names and file names are short; 8 KiB is what browsers never reach.
    package var headBytes: Int
    /// Bytes that nobody asked for: what is left of parts that were passed over, and what stands before the first part and
    /// after the last. No form sends any; without a bound a body need never end.
    package var unwantedBytes: Int

    package init(parts: Int = 64, headBytes: Int = 8 << 10, unwantedBytes: Int = 1 << 20) {
        self.parts = parts
        self.headBytes = headBytes
        self.unwantedBytes = unwantedBytes
    }
}

package enum MultipartError: Error, Equatable {
    /// The content type is not `multipart/form-data` with a usable boundary.
    case notMultipart
    /// The bytes break the format; says where.
    case malformed(String)
    /// The body ended before its closing boundary.
    case truncated
    case tooManyParts
    case headTooLong
    /// More than `MultipartLimits.unwantedBytes` that no reader asked for.
    case tooMuchUnwanted
    /// A field is longer than its reader allows; names it.
    case fieldTooLong(String)
}

/// What a part says about itself.
package struct MultipartHead: Sendable, Equatable {
    package var name: String
    /// `nil` for an ordinary field; empty for a file field in which nothing was chosen.
    package var filename: String?
    /// As declared, so only a hint.
    package var contentType: String?
}

// MARK: - Parser

/// Decides where parts begin and end. Bytes in, events out; no input or output of its own.
struct MultipartParser {
    enum Event: Equatable {
        case begin(MultipartHead)
        case data([UInt8])
        case end
    }

    private enum State {
        case preamble
        /// After a delimiter: `--` ends the body, a line break begins a part.
        case afterDelimiter
        case head
        case data
        case epilogue
    }

    /// CRLF, two hyphens and the boundary. The CRLF belongs to the delimiter, not to the data before it.
    private let delimiter: [UInt8]
    private let limits: MultipartLimits
    private var state = State.preamble
    /// Bytes not decided yet. Begins with a CRLF because a body may start right with its first delimiter.
    private var pending: [UInt8] = [0x0D, 0x0A]
    private var parts = 0

    init(boundary: String, limits: MultipartLimits) {
        self.delimiter = Array("\r\n--\(boundary)".utf8)
        self.limits = limits
    }

    var isComplete: Bool { state == .epilogue }

    mutating func feed(_ chunk: [UInt8]) throws(MultipartError) -> [Event] {
        // What follows the closing delimiter is ignored: one client sends none, another two line breaks.
        if state == .epilogue { return [] }
        pending.append(contentsOf: chunk)
        var events: [Event] = []
        var position = 0
        loop: while true {
            switch state {
            case .preamble:
                let found = find(from: position)
                position = found.index
                guard found.isWhole else { break loop }
                position += delimiter.count
                state = .afterDelimiter
            case .afterDelimiter:
                guard let next = try skipDelimiterLine(from: position) else { break loop }
                position = next
                if state == .epilogue { break loop }
            case .head:
                guard let (head, next) = try readHead(from: position) else { break loop }
                position = next
                events.append(.begin(head))
                state = .data
            case .data:
                let found = find(from: position)
                if found.index > position { events.append(.data(Array(pending[position..<found.index]))) }
                position = found.index
                guard found.isWhole else { break loop }
                position += delimiter.count
                events.append(.end)
                state = .afterDelimiter
            case .epilogue: break loop
            }
        }
        pending.removeSubrange(..<min(position, pending.count))
        return events
    }

    /// The place of the first delimiter, or of what may become one when more bytes arrive.
    private func find(from start: Int) -> (index: Int, isWhole: Bool) {
        var index = start
        while index < pending.count {
            guard pending[index] == 0x0D else {
                index += 1
                continue
            }
            let available = min(delimiter.count, pending.count - index)
            var matched = 1
            while matched < available, pending[index + matched] == delimiter[matched] { matched += 1 }
            if matched == delimiter.count { return (index, true) }
            if index + matched == pending.count { return (index, false) }
            index += 1
        }
        return (pending.count, false)
    }

    /// Reads what may follow a delimiter on its line: `--`, or blanks and a line break.
    private mutating func skipDelimiterLine(from start: Int) throws(MultipartError) -> Int? {
        var index = start
        if pending.count - index >= 2, pending[index] == 0x2D, pending[index + 1] == 0x2D {
            state = .epilogue
            return index + 2
        }
        while index < pending.count, pending[index] == 0x20 || pending[index] == 0x09 {
            index += 1
            if index - start > 64 { throw .malformed("blanks after a boundary") }
        }
        guard pending.count - index >= 2 else { return nil }
        guard pending[index] == 0x0D, pending[index + 1] == 0x0A else {
            throw .malformed("no line break after a boundary")
        }
        parts += 1
        if parts > limits.parts { throw .tooManyParts }
        state = .head
        return index + 2
    }

    private func readHead(from start: Int) throws(MultipartError) -> (MultipartHead, next: Int)? {
        var lines: [String] = []
        var lineStart = start
        var index = start
        while index + 1 < pending.count {
            if index - start > limits.headBytes { throw .headTooLong }
            guard pending[index] == 0x0D, pending[index + 1] == 0x0A else {
                index += 1
                continue
            }
            if index == lineStart {
                // An empty part's delimiter shares its line break with the end of the head.
                return (try Self.head(from: lines), next: index + 2)
            }
            lines.append(String(decoding: pending[lineStart..<index], as: UTF8.self))
            index += 2
            lineStart = index
        }
        if pending.count - start > limits.headBytes { throw .headTooLong }
        return nil
    }

    private static func head(from lines: [String]) throws(MultipartError) -> MultipartHead {
        var head: MultipartHead?
        var contentType: String?
        for line in lines {
            guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else {
                throw .malformed("a head without a colon")
            }
            let value = line[line.index(after: colon)...].trimmingBlanks
            switch line[..<colon].lowercased() {
            case "content-disposition":
                let (kind, parameters) = HeaderParameters.parse(value)
                guard kind == "form-data", let name = parameters["name"] else {
                    throw .malformed("a part without a name")
                }
                head = MultipartHead(name: name, filename: parameters["filename"], contentType: nil)
            case "content-type": contentType = String(value)
            default: continue
            }
        }
        guard var head else { throw .malformed("a part without a name") }
        head.contentType = contentType
        return head
    }
}

/// `value; name="text"; other=token`, as in `Content-Disposition` and `Content-Type`.
package enum HeaderParameters {
    /// The value in lower case and its parameters, their names in lower case. The first of a repeated name counts.
    ///
    /// Inside quotes only `\"` is an escape: browsers send a backslash in a file name as it is, and a quote or a line
    /// break as `%22`, `%0D`, `%0A` (the HTML standard's form encoding), which are undone here.
    package static func parse(_ text: some StringProtocol) -> (value: String, parameters: [String: String]) {
        let bytes = Array(text.utf8)
        var index = 0
        func token(until stops: [UInt8]) -> String {
            let start = index
            while index < bytes.count, !stops.contains(bytes[index]) { index += 1 }
            return String(String(decoding: bytes[start..<index], as: UTF8.self).trimmingBlanks)
        }
        let semicolon = UInt8(ascii: ";")
        let equals = UInt8(ascii: "=")
        let quote = UInt8(ascii: "\"")
        let value = token(until: [semicolon]).lowercased()
        var parameters: [String: String] = [:]
        while index < bytes.count {
            index += 1
            let name = token(until: [semicolon, equals]).lowercased()
            guard index < bytes.count, bytes[index] == equals else { continue }
            index += 1
            while index < bytes.count, bytes[index] == 0x20 || bytes[index] == 0x09 { index += 1 }
            var content: String
            if index < bytes.count, bytes[index] == quote {
                index += 1
                var quoted: [UInt8] = []
                while index < bytes.count, bytes[index] != quote {
                    if bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.count, bytes[index + 1] == quote {
                        index += 1
                    }
                    quoted.append(bytes[index])
                    index += 1
                }
                content = String(decoding: quoted, as: UTF8.self)
                    .replacing("%22", with: "\"").replacing("%0D", with: "\r").replacing("%0A", with: "\n")
                _ = token(until: [semicolon])
            } else {
                content = token(until: [semicolon])
            }
            if parameters[name] == nil { parameters[name] = content }
        }
        return (value, parameters)
    }
}

extension StringProtocol {
    fileprivate var trimmingBlanks: SubSequence {
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        guard let first = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) }) else {
            return self[startIndex..<startIndex]
        }
        return self[first...last]
    }
}

// MARK: - Reader

/// Reads a multipart body part by part. Asking for the next part skips what is left of the one before.
///
///     let form = try MultipartReader(request.body, contentType: request.headers["Content-Type"])
///     while let part = try await form.next() {
///         if part.head.filename == nil { fields[part.head.name] = try await part.text(upTo: 1_000) }
///     }
///
/// An actor so that a part may be handed on to whoever stores it. One reader at a time: the bytes come once.
package actor MultipartReader<Source: AsyncSequence & Sendable> where Source.Element == [UInt8] {
    private var source: Source.AsyncIterator
    private var parser: MultipartParser
    /// Events already parsed and not yet taken, in reverse.
    private var waiting: [MultipartParser.Event] = []
    private var isInsidePart = false
    /// How many more bytes may come that nobody asks for.
    private var toleratedBytes: Int

    package init(
        _ source: Source, contentType: String?, limits: MultipartLimits = MultipartLimits()
    ) throws(MultipartError) {
        let (type, parameters) = HeaderParameters.parse(contentType ?? "")
        // RFC 2046 allows seventy characters; a longer one only makes the search slower.
        guard type == "multipart/form-data", let boundary = parameters["boundary"],
            (1...70).contains(boundary.utf8.count)
        else { throw .notMultipart }
        self.source = source.makeAsyncIterator()
        self.toleratedBytes = limits.unwantedBytes
        self.parser = MultipartParser(boundary: boundary, limits: limits)
    }

    /// The next part, or `nil` after the closing boundary. Throws `MultipartError`, or what the source throws.
    package func next() async throws -> Part? {
        while let chunk = try await nextChunk() { try tolerate(chunk.count) }
        while let event = try await nextEvent() {
            if case .begin(let head) = event {
                isInsidePart = true
                return Part(head: head, reader: self)
            }
        }
        return nil
    }

    /// Takes the rest of the body off the network, up to `limit` bytes, and forgets it: a browser reads the answer to a
    /// form only after it has sent all of it.
    package func skipRest(upTo limit: Int) async {
        var skipped = 0
        while skipped <= limit, let chunk = try? await nextSourceChunk() { skipped += chunk.count }
    }

    fileprivate func nextChunk() async throws -> [UInt8]? {
        guard isInsidePart else { return nil }
        switch try await nextEvent() {
        case .data(let bytes): return bytes
        case .end, .begin, nil:
            isInsidePart = false
            return nil
        }
    }

    private func nextEvent() async throws -> MultipartParser.Event? {
        while true {
            if let event = waiting.popLast() { return event }
            guard let chunk = try await nextSourceChunk() else {
                guard parser.isComplete else { throw MultipartError.truncated }
                return nil
            }
            waiting = try parser.feed(chunk).reversed()
            // No part, and no byte of one.
            if waiting.isEmpty { try tolerate(chunk.count) }
        }
    }

    private func tolerate(_ bytes: Int) throws(MultipartError) {
        toleratedBytes -= bytes
        if toleratedBytes < 0 { throw .tooMuchUnwanted }
    }

    private func nextSourceChunk() async throws -> [UInt8]? {
        var iterator = source
        defer { source = iterator }
        return try await iterator.next(isolation: self)
    }

    /// One part, good until the next is asked for. Its bytes are an async sequence.
    package struct Part: AsyncSequence, Sendable {
        package let head: MultipartHead
        fileprivate let reader: MultipartReader

        package struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate let reader: MultipartReader

            package mutating func next() async throws -> [UInt8]? { try await reader.nextChunk() }
        }

        package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: reader) }

        /// The whole part.
        package func bytes(upTo limit: Int) async throws -> [UInt8] {
            var bytes: [UInt8] = []
            while let chunk = try await reader.nextChunk() {
                if bytes.count + chunk.count > limit { throw MultipartError.fieldTooLong(head.name) }
                bytes.append(contentsOf: chunk)
            }
            return bytes
        }

        /// The whole part as text; invalid UTF-8 becomes replacement characters.
        package func text(upTo limit: Int) async throws -> String {
            String(decoding: try await bytes(upTo: limit), as: UTF8.self)
        }
    }
}
