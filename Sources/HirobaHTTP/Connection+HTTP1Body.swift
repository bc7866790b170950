/// The body of one HTTP/1.1 request.
struct HTTP1BodySource: HTTPBodySource {
    let connection: Connection
    let exchange: UInt64

    func next() async throws(HTTPBodyError) -> [UInt8]? { try await connection.nextBodyPiece(of: exchange) }
}

extension Connection {
    private static let pieceSize = 64 * 1024

    /// The next piece, read from the socket only now: nobody asking means nobody reading, and the client waits.
    func nextBodyPiece(of number: UInt64) async throws(HTTPBodyError) -> [UInt8]? {
        while true {
            guard number == exchange.number, exchange.isBodyOpen, phase == .serving else { throw .disconnected }
            if let failure = exchange.bodyFailure { throw failure }
            switch readBodyPart() {
            case .bytes(let bytes):
                exchange.receivedBytes += UInt64(bytes.count)
                exchange.owesContinue = false
                return bytes
            case .end: return nil
            case .needsMore: break
            case nil: continue
            }
            if exchange.owesContinue {
                exchange.owesContinue = false
                // RFC 9110 section 10.1.1; senseless once the answer has begun.
                if !exchange.isAnswerOpen {
                    pending += HTTP1Writer.goOn
                    flush()
                }
            }
            if canRead {
                switch fill() {
                case .count, .again: continue
                case .end, .failed:
                    exchange.bodyFailure = .disconnected
                    continue
                }
            }
            guard readWaiter == nil else { throw .disconnected }
            try await waitForBody(of: number)
        }
    }

    /// - Returns: `nil` when the body turned out to be malformed, which is noted.
    private func readBodyPart() -> HTTP1Reader.BodyPart? {
        do throws(HTTP1Refusal) {
            return try reader.readBody(atMost: Self.pieceSize)
        } catch {
            exchange.bodyFailure = .malformed
            exchange.bodyRefusal = error
            return nil
        }
    }

    /// A body may take its time as long as it has brought, all in all, the least rate. Only the time in which the handler
    /// waits counts, since in all other time it is we who hold the client back.
    private func waitForBody(of number: UInt64) async throws(HTTPBodyError) {
        let rate = UInt64(max(1, server.limits.bodyMinimumRate))
        let allowed = server.times.bodyGrace + exchange.receivedBytes * 1000 / rate
        let start = loop.now
        deadlines.read = start + (allowed > exchange.waitedTime ? allowed - exchange.waitedTime : 0)
        arm()
        let wake = await withCheckedContinuation { readWaiter = $0 }
        deadlines.read = .max
        guard number == exchange.number else { throw .disconnected }
        switch wake {
        case .ready: exchange.waitedTime += loop.now - start
        case .late: exchange.bodyFailure = .tooSlow
        case .closed: throw .disconnected
        }
    }

    /// Whether what is left of the body is worth reading to keep the connection. Asked before the head of the answer is
    /// written, which must tell.
    func canDiscardBody() -> Bool {
        if exchange.owesContinue || exchange.bodyFailure != nil { return false }
        guard let remaining = reader.remainingLength else { return true }
        return remaining <= server.limits.drainBytes
    }

    /// Reads what the handler left of the body.
    /// - Returns: whether the next request can be read.
    func discardBody() async -> Bool {
        var left = server.limits.drainBytes
        deadlines.read = .max
        let end = loop.now + server.times.bodyGrace
        while phase == .serving {
            switch readBodyPart() {
            case .end: return true
            case .bytes(let bytes):
                left -= bytes.count
                guard left >= 0 else { return false }
                continue
            case .needsMore: break
            case nil: return false
            }
            if canRead {
                switch fill() {
                case .count, .again: continue
                case .end, .failed: return false
                }
            }
            deadlines.read = end
            arm()
            let wake = await withCheckedContinuation { readWaiter = $0 }
            deadlines.read = .max
            guard wake == .ready else { return false }
        }
        return false
    }
}
