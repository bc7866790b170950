extension Connection {
    /// Sends an answer that is short and all there, as most are, without the price of functions that could wait. What the
    /// socket does not take is left pending.
    /// - Returns: whether the connection can be used for another request; `nil` when it must be sent with `send`.
    func sendAtOnce(_ response: HTTPResponse, for head: HTTP1Head) -> Bool? {
        guard pending.isEmpty, (200..<1000).contains(response.status.rawValue) else { return nil }
        var body: [UInt8] = []
        switch response.body {
        case .none: break
        case .bytes(let bytes) where bytes.count <= Self.joinedBytes: body = bytes
        case .file(let path, let offset, let length)
        where length > 0 && length <= Self.joinedBytes && offset >= 0 && head.method != .head
            && response.status.allowsBody:
            guard let bytes = OpenFile.readAtOnce(path, offset, length) else { return nil }
            body = bytes
        case .bytes, .file, .stream: return nil
        }
        var out = loop.takeBuffer()
        let goesOn = appendHead(to: &out, of: response, for: head)
        if head.method != .head, response.status.allowsBody { out += body }
        switch out.withUnsafeBytes({ transport.write($0) }) {
        case .count(out.count): break
        case .count(let count): pending = Array(out[count...])
        case .again: pending = out
        case .end, .failed: close()
        }
        loop.giveBack(out)
        if !pending.isEmpty { flush() }
        return goesOn
    }

    /// Up to that size head and body are joined for one write; what is larger is not copied.
    private static let joinedBytes = 16 * 1024

    /// - Returns: whether the connection can be used for another request after this answer.
    private func appendHead(
        to out: inout [UInt8], of response: HTTPResponse, for head: HTTP1Head, isLast: Bool = false
    ) -> Bool {
        let framing = framing(of: response, for: head)
        let goesOn = head.keepsAlive && !isStopping && framing != .untilClose && canDiscardBody() && !isLast
        HTTP1Writer.appendHead(
            to: &out, status: response.status, headers: response.headers, framing: framing,
            connection: goesOn ? (head.minorVersion == 0 ? .keepAlive : .unsaid) : .close,
            dateField: loop.dateField, serverField: server.serverField)
        return goesOn
    }

    /// Sends an answer whole.
    /// - Returns: whether the connection can be used for another request.
    func send(_ response: HTTPResponse, for head: HTTP1Head) async -> Bool {
        var response = response
        var file: OpenFile?
        var isFault = false
        if case .file(let path, let offset, let length) = response.body, response.status.allowsBody {
            file = await openFile(path, holding: offset, length)
            guard phase == .serving else { return false }
            if file == nil {
                isFault = true
                response = .text(.internalServerError, "The file cannot be sent.\n")
            }
        }
        if !(200..<1000).contains(response.status.rawValue) {
            server.observe(.fault("a handler answered with the status \(response.status.rawValue)"))
            response = .text(.internalServerError, "The answer is not well formed.\n")
        }
        let hasBody = head.method != .head && response.status.allowsBody

        var out = loop.takeBuffer()
        let goesOn = appendHead(to: &out, of: response, for: head, isLast: isFault)
        var rest: [UInt8] = []
        if hasBody, case .bytes(let bytes) = response.body {
            if bytes.count <= Self.joinedBytes { out += bytes } else { rest = bytes }
        }
        let isFollowed = hasBody && file != nil && transport.tls == nil
        guard await write(out, rest, isFollowed: isFollowed) else { return false }
        loop.giveBack(out)
        guard hasBody else { return goesOn }
        switch response.body {
        case .none, .bytes: return goesOn
        case .file(_, let offset, let length):
            guard let file else { return false }
            return await send(file, from: offset, length) && goesOn
        case .stream(let produce):
            return await stream(produce, isChunked: framing(of: response, for: head) == .chunked) && goesOn
        }
    }

    private func framing(of response: HTTPResponse, for head: HTTP1Head) -> HTTP1Writer.Framing {
        guard response.status.allowsBody else { return .none }
        switch response.body {
        case .none: return .length(0)
        case .bytes(let bytes): return .length(bytes.count)
        case .file(_, _, let length): return .length(length)
        case .stream:
            if head.method == .head { return .none }
            return head.minorVersion == 0 ? .untilClose : .chunked
        }
    }

    // MARK: Streams

    private func stream(
        _ produce: @Sendable (any HTTPResponseWriter) async throws -> Void, isChunked: Bool
    ) async -> Bool {
        exchange.isAnswerOpen = true
        exchange.isChunked = isChunked
        exchange.lastWrite = loop.now
        do {
            try await produce(HTTP1ResponseWriter(connection: self, exchange: exchange.number))
        } catch {
            guard phase == .serving else { return false }
            // An endless answer that was told to end has ended well, however it says so.
            guard isStopping, exchange.isEndless else {
                if !isHalfClosed { server.observe(.fault("an answer was cut off: \(error)")) }
                // Without its last chunk the client can tell that the answer is not whole (RFC 9112 section 8).
                close()
                return false
            }
        }
        guard (try? await takeTurn(of: exchange.number)) != nil else { return false }
        exchange.isAnswerOpen = false
        deadlines.heartbeat = .max
        exchange.heartbeat = nil
        return isChunked ? await write(HTTP1Writer.lastChunk) : true
    }

    func writePiece(_ bytes: [UInt8], of number: UInt64) async throws {
        try await takeTurn(of: number)
        defer { endTurn(of: number) }
        // An empty chunk would end the body.
        if bytes.isEmpty { return }
        exchange.lastWrite = loop.now
        let isWritten: Bool
        if exchange.isChunked {
            var out = loop.takeBuffer()
            HTTP1Writer.appendChunk(bytes, to: &out)
            isWritten = await write(out)
            loop.giveBack(out)
        } else {
            isWritten = await write(bytes)
        }
        if !isWritten { throw HTTPResponseWriterError.disconnected }
    }

    /// Waits until nobody else writes to this answer.
    private func takeTurn(of number: UInt64) async throws(HTTPResponseWriterError) {
        while true {
            guard phase == .serving else { throw .disconnected }
            guard number == exchange.number, exchange.isAnswerOpen else { throw .ended }
            if !exchange.isWriting { break }
            await withCheckedContinuation { exchange.writers.append($0) }
        }
        exchange.isWriting = true
    }

    private func endTurn(of number: UInt64) {
        guard number == exchange.number else { return }
        exchange.isWriting = false
        if !exchange.writers.isEmpty { exchange.writers.removeFirst().resume() }
    }

    func keepAnswerAlive(with bytes: [UInt8], every interval: Duration, exchange number: UInt64) {
        guard number == exchange.number, exchange.isAnswerOpen else { return }
        exchange.heartbeat = bytes
        exchange.heartbeatInterval = max(interval.milliseconds, 1)
        deadlines.heartbeat = loop.now + exchange.heartbeatInterval
        arm()
        if isStopping { withUnsafeCurrentTask { $0?.cancel() } }
    }

    /// Says that the answer is still alive, if nothing else did of late.
    func beat() {
        deadlines.heartbeat = .max
        guard phase == .serving, exchange.isAnswerOpen, let bytes = exchange.heartbeat else { return }
        if loop.now >= exchange.lastWrite + exchange.heartbeatInterval {
            exchange.lastWrite = loop.now
            if !exchange.isWriting, pending.isEmpty {
                if exchange.isChunked { HTTP1Writer.appendChunk(bytes, to: &pending) } else { pending += bytes }
                flush()
            }
        }
        if phase == .serving { deadlines.heartbeat = exchange.lastWrite + exchange.heartbeatInterval }
    }
}

struct HTTP1ResponseWriter: HTTPResponseWriter {
    let connection: Connection
    let exchange: UInt64

    func write(_ bytes: [UInt8]) async throws { try await connection.writePiece(bytes, of: exchange) }

    func keepAlive(with bytes: [UInt8], every interval: Duration) async {
        await connection.keepAnswerAlive(with: bytes, every: interval, exchange: exchange)
    }
}
