import CNghttp2

extension Connection {
    // MARK: Bytes

    /// From now on HTTP/2 is spoken here. `bytes` are what was received before that was known.
    func startHTTP2(with bytes: [UInt8]) {
        phase = .http2
        guard
            let session = HTTP2Session(
                limits: server.limits, firstStreamLimit: server.firstStreamLimit, writeStall: server.times.writeStall,
                linger: server.times.linger, now: loop.now)
        else { return close() }
        http2 = session
        if isRefused { session.terminate(NGHTTP2_ENHANCE_YOUR_CALM) }
        if isStopping { session.beginStopping() }
        deadlines.phase = loop.now + server.times.idle
        arm()
        if !bytes.isEmpty {
            guard bytes.withUnsafeBytes({ session.receive($0) }) else { return close() }
            startStreams()
        }
        http2Ready()
    }

    /// Something happened on the socket, or there was more to read than is fair to others.
    func http2Ready() {
        guard let session = http2 else { return }
        session.now = loop.now
        var turns = 0
        // While our answers are stuck nothing more is asked for, lest a client make us hold what it does not read.
        while canRead, pending.isEmpty, phase == .http2, turns < 8 {
            turns += 1
            switch transport.read(into: loop.readBuffer) {
            case .count(let count):
                let bytes = UnsafeRawBufferPointer(rebasing: loop.readBuffer[..<count])
                guard session.receive(bytes) else { return close() }
                if count < loop.readBuffer.count, transport.tls == nil, !isHalfClosed { canRead = false }
                startStreams()
                guard phase == .http2 else { return }
                // What is to be said goes out between reads, so that acknowledgements do not pile up.
                pumpNow()
            case .again: canRead = false
            case .end, .failed: return close()
            }
        }
        noteHead()
        pumpNow()
        // More is there, after as much as is fair to others, or after output that was stuck; the loop will not tell again.
        if canRead, pending.isEmpty, phase == .http2 {
            loop.execute { [self] in assumeIsolated { $0.http2Ready() } }
        }
    }

    /// Sends what the session has to say, soon: what several streams say in one turn of the loop goes out together.
    func pump() {
        if isPumpScheduled { return }
        isPumpScheduled = true
        loop.execute { [self] in
            assumeIsolated {
                $0.isPumpScheduled = false
                $0.pumpNow()
            }
        }
    }

    func pumpNow() {
        guard let session = http2, phase == .http2 else { return }
        session.now = loop.now
        while true {
            if pending.isEmpty {
                var out = loop.takeBuffer()
                session.collectOutput(into: &out, upTo: 48 * 1024)
                if session.nextLinger < .max {
                    deadlines.phase = min(deadlines.phase, session.nextLinger)
                    session.nextLinger = .max
                    arm()
                }
                guard !out.isEmpty else {
                    loop.giveBack(out)
                    break
                }
                let sent = write(out)
                if sent == out.count {
                    loop.giveBack(out)
                    continue
                }
                guard phase == .http2 else { return }
                pending = Array(out[sent...])
            } else {
                let sent = write(pending)
                guard phase == .http2 else { return }
                pending.removeFirst(sent)
                // What the client sends meanwhile does not give it more time to read.
                if sent == 0, deadlines.write < .max { return }
            }
            if !pending.isEmpty { return expectRoom() }
        }
        deadlines.write = .max
        armStreams()
        if session.isFinished { startClosing() }
    }

    /// - Returns: how much the socket took.
    private func write(_ bytes: [UInt8]) -> Int {
        var sent = 0
        while sent < bytes.count {
            switch bytes.withUnsafeBytes({ transport.write(UnsafeRawBufferPointer(rebasing: $0[sent...])) }) {
            case .count(let count): sent += count
            case .again:
                canWrite = false
                return sent
            case .end, .failed:
                close()
                return sent
            }
        }
        return sent
    }

    // MARK: Time

    /// A head that has begun must be complete in time, however many frames it comes in.
    private func noteHead() {
        guard let start = http2?.headStart else { return }
        deadlines.phase = min(deadlines.phase, start + server.times.head)
        arm()
    }

    /// Sets the deadline of a connection without streams.
    private func armStreams() {
        guard let session = http2, session.streams.isEmpty, session.headStart == nil else { return }
        if !isIdle {
            isIdle = true
            deadlines.phase = loop.now + server.times.idle
            arm()
        }
    }

    /// Makes sure that a deadline of a stream is looked at.
    func arm(_ stream: HTTP2Stream) {
        guard stream.earliestDeadline < deadlines.phase else { return }
        deadlines.phase = stream.earliestDeadline
        arm()
    }

    /// From `timerFired`: looks at everything that may be due.
    func http2Tick() {
        guard let session = http2 else { return }
        let now = loop.now
        session.now = now
        if let start = session.headStart, start + server.times.head <= now {
            server.observe(.refused(.requestTimeout, reason: "the head did not arrive in time", peer: peer))
            session.terminate(NGHTTP2_ENHANCE_YOUR_CALM)
            return pump()
        }
        if session.streams.isEmpty {
            session.terminate(NGHTTP2_NO_ERROR)
            return pump()
        }
        var next = session.headStart.map { $0 + server.times.head } ?? .max
        for stream in Array(session.streams.values) {
            if stream.readDeadline <= now {
                stream.readDeadline = .max
                stream.wakeReader(.late)
            }
            if stream.writeDeadline <= now {
                if pending.isEmpty {
                    // The client gives no window for this answer.
                    stream.writeDeadline = .max
                    session.reset(stream, NGHTTP2_CANCEL)
                } else {
                    // Nobody's answer goes on while the socket is full; that has a deadline of its own.
                    stream.writeDeadline = now + server.times.writeStall
                }
            }
            if stream.heartbeatDeadline <= now { beat(stream) }
            if stream.lingerDeadline <= now {
                stream.lingerDeadline = .max
                session.reset(stream, NGHTTP2_NO_ERROR)
            }
            next = min(next, stream.earliestDeadline)
        }
        deadlines.phase = next
        arm()
        pump()
    }

    private func beat(_ stream: HTTP2Stream) {
        guard let bytes = stream.heartbeat else {
            stream.heartbeatDeadline = .max
            return
        }
        if loop.now >= stream.lastWrite + stream.heartbeatInterval {
            stream.lastWrite = loop.now
            if stream.waitingOutput == 0 {
                stream.appendOutput(bytes)
                http2?.resume(stream)
            }
        }
        stream.heartbeatDeadline = stream.lastWrite + stream.heartbeatInterval
    }

    func stopHTTP2() {
        http2?.beginStopping()
        pump()
    }
}
