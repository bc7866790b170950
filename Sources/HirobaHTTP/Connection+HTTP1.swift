extension Connection {
    // MARK: Heads

    /// Reads until a whole head is there or the socket is empty, and begins to serve.
    func readHead() {
        guard let head = nextHead() else { return }
        loop.taskCount += 1
        // It runs in this turn of the loop. What the handler calls stays on the loop too, unless it has a thread of its own.
        task = Task(executorPreference: loop) { await self.serve(head) }
    }

    /// - Returns: `nil` when there is none yet, or none to be had.
    private func nextHead() -> HTTP1Head? {
        while true {
            if isSniffing, reader.bufferedBytes > 0 {
                switch reader.beginsHTTP2() {
                case true:
                    startHTTP2(with: reader.takeAll())
                    return nil
                case false: isSniffing = false
                case nil: break
                }
            }
            if !isSniffing {
                do throws(HTTP1Refusal) {
                    if let head = try reader.readHead() {
                        phase = .serving
                        deadlines.phase = .max
                        hasHeadStarted = false
                        return head
                    }
                } catch {
                    refuse(error)
                    return nil
                }
            }
            guard canRead else {
                waitForHead()
                return nil
            }
            switch fill() {
            case .count, .again: continue
            case .end, .failed:
                close()
                return nil
            }
        }
    }

    private func waitForHead() {
        phase = .head
        if reader.bufferedBytes > 0 {
            // Counted from the first byte, however slowly the others come.
            if !hasHeadStarted { deadlines.phase = loop.now + server.times.head }
            hasHeadStarted = true
        } else if isStopping {
            return close()
        } else {
            deadlines.phase = loop.now + server.times.idle
        }
        arm()
    }

    /// Answers what is no request, and closes: where the next one begins is anyone's guess.
    func refuse(_ refusal: HTTP1Refusal) {
        server.observe(.refused(refusal.status, reason: refusal.reason, peer: peer))
        let response = HTTPResponse.text(refusal.status, refusal.reason + "\n")
        guard case .bytes(let body) = response.body else { return }
        HTTP1Writer.appendHead(
            to: &pending, status: response.status, headers: response.headers, framing: .length(body.count),
            connection: .close, dateField: loop.dateField, serverField: server.serverField)
        pending += body
        startClosing()
    }

    // MARK: Serving

    /// One task answers one request after the other, as long as the next one is there already.
    private func serve(_ first: HTTP1Head) async {
        var head = first
        var turns = 0
        while true {
            let response = await server.handler(begin(head))
            deadlines.cancel = .max
            // To call what might wait has a price even when it does not wait, and most answers need not.
            if !answerAtOnce(response, to: head) { await answer(response, to: head) }
            if !pending.isEmpty { await sendPending() }
            guard phase == .serving else { break }
            turns += 1
            // A client that sends without end must not keep the others waiting.
            if turns % 64 == 0 { await Task.yield() }
            guard phase == .serving, let next = nextHead() else { break }
            head = next
        }
        task = nil
        loop.taskCount -= 1
    }

    private func begin(_ head: HTTP1Head) -> HTTPRequest {
        exchange.begin()
        if isHalfClosed { deadlines.cancel = loop.now + server.times.halfClosed }
        let request = HTTPRequest(
            method: head.method, target: head.target, pathStart: head.pathStart, pathEnd: head.pathEnd,
            headers: head.headers, body: requestBody(for: head), peer: peer, isSecure: transport.tls != nil,
            version: head.minorVersion == 0 ? .http10 : .http11)
        if deadlines.earliest < .max { arm() }
        return request
    }

    /// - Returns: false when there is something to wait for; then nothing was done.
    private func answerAtOnce(_ response: HTTPResponse, to head: HTTP1Head) -> Bool {
        guard phase == .serving else { return true }
        guard reader.remainingLength == 0, exchange.bodyFailure == nil, let goesOn = sendAtOnce(response, for: head)
        else { return false }
        guard phase == .serving else { return true }
        endExchange()
        if !goesOn { startClosing() }
        return true
    }

    private func answer(_ response: HTTPResponse, to head: HTTP1Head) async {
        var response = response
        if let answer = answerToBadBody(), !(400..<500).contains(response.status.rawValue) { response = answer }
        let canGoOn = await send(response, for: head)
        guard phase == .serving else { return }
        endExchange()
        guard canGoOn, await discardBody() else { return startClosing() }
    }

    private func endExchange() {
        exchange.close()
        wakeReader(.closed)
    }

    private func requestBody(for head: HTTP1Head) -> HTTPRequestBody {
        switch head.framing {
        case .none:
            return .empty
        case .length(let length):
            // A small body has mostly come along with its head.
            if length <= reader.bufferedBytes, case .bytes(let bytes)? = try? reader.readBody(atMost: length) {
                return HTTPRequestBody(bytes)
            }
        case .chunked:
            break
        }
        exchange.isBodyOpen = true
        exchange.owesContinue = head.expectsContinue
        let source = HTTP1BodySource(connection: self, exchange: exchange.number)
        if case .length(let length) = head.framing { return HTTPRequestBody(source: source, length: length) }
        return HTTPRequestBody(source: source, length: nil)
    }

    /// A handler need not know what is wrong with a body that it could not read; the client should.
    private func answerToBadBody() -> HTTPResponse? {
        switch exchange.bodyFailure {
        case .malformed:
            guard let refusal = exchange.bodyRefusal else { return nil }
            server.observe(.refused(refusal.status, reason: refusal.reason, peer: peer))
            return .text(refusal.status, refusal.reason + "\n")
        case .tooSlow:
            server.observe(.refused(.requestTimeout, reason: "the body came too slowly", peer: peer))
            return .text(.requestTimeout, "The body did not arrive in time.\n")
        case .disconnected, .tooLarge, nil:
            return nil
        }
    }
}
