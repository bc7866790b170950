import CNghttp2

extension Connection {
    /// Begins to serve the requests whose heads have come.
    func startStreams() {
        guard let session = http2 else { return }
        while !session.readyStreams.isEmpty {
            let ready = session.readyStreams
            session.readyStreams = []
            for stream in ready where !stream.isClosed {
                // A client that resets and opens streams must not have more handlers at work than streams.
                guard streamTasks < server.limits.streamsPerConnection * 2 else {
                    session.reset(stream, NGHTTP2_REFUSED_STREAM)
                    continue
                }
                if isIdle {
                    // Streams have deadlines of their own.
                    isIdle = false
                    deadlines.phase = session.headStart.map { $0 + server.times.head } ?? .max
                }
                loop.taskCount += 1
                streamTasks += 1
                let id = stream.id
                stream.task = Task(executorPreference: loop) { await self.serveStream(id) }
            }
        }
    }

    private func serveStream(_ id: Int32) async {
        if let stream = http2?.streams[id] { await answer(stream) }
        streamTasks -= 1
        loop.taskCount -= 1
    }

    private func answer(_ stream: HTTP2Stream) async {
        var response: HTTPResponse
        do throws(HTTP1Refusal) {
            try stream.checkHead(server.limits)
            response = await server.handler(request(of: stream))
            if stream.inputFailure == .tooSlow, !(400..<500).contains(response.status.rawValue) {
                server.observe(.refused(.requestTimeout, reason: "the body came too slowly", peer: peer))
                response = .text(.requestTimeout, "The body did not arrive in time.\n")
            }
        } catch {
            server.observe(.refused(error.status, reason: error.reason, peer: peer))
            response = .text(error.status, error.reason + "\n")
        }
        if !stream.isClosed { await send(response, on: stream) }
        pump()
    }

    private func request(of stream: HTTP2Stream) -> HTTPRequest {
        let target = String(decoding: stream.path, as: UTF8.self)
        let body: HTTPRequestBody
        if stream.hasInputEnded {
            let bytes = stream.takeAllInput()
            http2?.consume(bytes.count, of: stream)
            body = HTTPRequestBody(bytes)
        } else {
            body = HTTPRequestBody(
                source: HTTP2BodySource(connection: self, stream: stream.id), length: stream.contentLength)
        }
        var request = HTTPRequest(
            method: HTTPMethod(String(decoding: stream.method, as: UTF8.self)), target: target, headers: stream.headers,
            body: body, peer: peer, isSecure: transport.tls != nil, version: .http2)
        let handle = self.handle ?? HTTPConnection(self)
        self.handle = handle
        request.connection = handle
        request.stream = stream.id
        return request
    }

    // MARK: Request bodies

    func nextBodyPiece(ofStream id: Int32) async throws(HTTPBodyError) -> [UInt8]? {
        guard let stream = http2?.streams[id] else { throw .disconnected }
        while true {
            if let failure = stream.inputFailure { throw failure }
            if let piece = stream.takeInput() {
                http2?.consume(piece.count, of: stream)
                pump()
                return piece
            }
            if stream.hasInputEnded { return nil }
            if stream.expectsContinue {
                stream.expectsContinue = false
                http2?.sendContinue(on: stream)
                pump()
            }
            guard !stream.isClosed, stream.reader == nil else { throw .disconnected }
            // As for HTTP/1.1: a least rate over all the time the handler waits.
            let rate = UInt64(max(1, server.limits.bodyMinimumRate))
            let allowed = server.times.bodyGrace + stream.receivedBytes * 1000 / rate
            let start = loop.now
            stream.readDeadline = start + (allowed > stream.waitedTime ? allowed - stream.waitedTime : 0)
            arm(stream)
            let wake = await withCheckedContinuation { stream.reader = $0 }
            stream.readDeadline = .max
            switch wake {
            case .ready: stream.waitedTime += loop.now - start
            case .late: stream.inputFailure = .tooSlow
            case .closed: throw stream.inputFailure ?? .disconnected
            }
        }
    }

    // MARK: Answers

    private func send(_ response: HTTPResponse, on stream: HTTP2Stream) async {
        var response = response
        var file: OpenFile?
        if case .file(let path, let offset, let length) = response.body, response.status.allowsBody {
            file = await openFile(path, holding: offset, length)
            if stream.isClosed { return }
            if file == nil { response = .text(.internalServerError, "The file cannot be sent.\n") }
        }
        if !(200..<1000).contains(response.status.rawValue) {
            server.observe(.fault("a handler answered with the status \(response.status.rawValue)"))
            response = .text(.internalServerError, "The answer is not well formed.\n")
        }
        var fields = HTTP2Fields(status: response.status)
        fields.add(response.headers)
        let length: Int? =
            switch response.body {
            case .none: 0
            case .bytes(let bytes): bytes.count
            case .file(_, _, let length): length
            case .stream: nil
            }
        if let length, response.status.allowsBody { fields.add("content-length".utf8, String(length).utf8) }
        fields.add("date".utf8, loop.dateField.dropFirst(6).dropLast(2))
        if let name = server.serverName { fields.add("server".utf8, name.utf8) }

        let hasBody = response.status.allowsBody && length != 0 && !stream.method.elementsEqual("HEAD".utf8)
        stream.lastWrite = loop.now
        if hasBody, case .bytes(let bytes) = response.body {
            stream.appendOutput(bytes)
            stream.writeDeadline = loop.now + server.times.writeStall
            arm(stream)
        }
        if case .stream = response.body {} else if file == nil || !hasBody { stream.hasOutputEnded = true }
        http2?.answer(stream, fields, hasBody: hasBody)
        guard hasBody else {
            stream.hasOutputEnded = true
            return
        }
        switch response.body {
        case .none, .bytes: return
        case .file(_, let offset, let length):
            if let file { await send(file, from: offset, length, on: stream) }
        case .stream(let produce):
            await produceBody(produce, on: stream)
        }
    }

    private func send(_ file: OpenFile, from start: Int, _ length: Int, on stream: HTTP2Stream) async {
        var offset = start
        while offset < start + length {
            let count = min(start + length - offset, 64 * 1024)
            let bytes = await read(file, offset, count)
            guard !stream.isClosed else { return }
            guard bytes.count == count else {
                // The file has become shorter than the length that was promised.
                http2?.reset(stream, NGHTTP2_INTERNAL_ERROR)
                return
            }
            offset += count
            guard await write(bytes, on: stream, isLast: offset == start + length) else { return }
        }
    }

    private func produceBody(
        _ produce: @Sendable (any HTTPResponseWriter) async throws -> Void, on stream: HTTP2Stream
    ) async {
        // The head goes out before the first byte is made.
        pump()
        do {
            try await produce(HTTP2ResponseWriter(connection: self, stream: stream.id))
        } catch {
            guard !stream.isClosed else { return }
            guard isStopping, stream.isEndless else {
                server.observe(.fault("an answer was cut off: \(error)"))
                http2?.reset(stream, NGHTTP2_INTERNAL_ERROR)
                return
            }
        }
        stream.heartbeat = nil
        stream.heartbeatDeadline = .max
        stream.hasOutputEnded = true
        http2?.resume(stream)
    }

    /// - Returns: false when the stream is gone.
    private func write(_ bytes: [UInt8], on stream: HTTP2Stream, isLast: Bool) async -> Bool {
        guard !stream.isClosed, !stream.hasOutputEnded else { return false }
        stream.lastWrite = loop.now
        stream.appendOutput(bytes)
        if stream.writeDeadline == .max {
            stream.writeDeadline = loop.now + server.times.writeStall
            arm(stream)
        }
        stream.hasOutputEnded = isLast
        http2?.resume(stream)
        pump()
        if isLast { return true }
        while stream.waitingOutput > HTTP2Session.highWater, !stream.isClosed {
            await withCheckedContinuation { stream.writers.append($0) }
        }
        return !stream.isClosed
    }

    func writePiece(_ bytes: [UInt8], ofStream id: Int32) async throws {
        guard let stream = http2?.streams[id] else { throw HTTPResponseWriterError.disconnected }
        if stream.hasOutputEnded { throw HTTPResponseWriterError.ended }
        if bytes.isEmpty { return }
        guard await write(bytes, on: stream, isLast: false) else { throw HTTPResponseWriterError.disconnected }
    }

    func keepAnswerAlive(with bytes: [UInt8], every interval: Duration, stream id: Int32) {
        guard let stream = http2?.streams[id], !stream.hasOutputEnded else { return }
        stream.heartbeat = bytes
        stream.heartbeatInterval = max(interval.milliseconds, 1)
        stream.heartbeatDeadline = loop.now + stream.heartbeatInterval
        arm(stream)
        if isStopping { withUnsafeCurrentTask { $0?.cancel() } }
    }
}

/// The body of one HTTP/2 request.
struct HTTP2BodySource: HTTPBodySource {
    let connection: Connection
    let stream: Int32

    func next() async throws(HTTPBodyError) -> [UInt8]? { try await connection.nextBodyPiece(ofStream: stream) }
}

struct HTTP2ResponseWriter: HTTPResponseWriter {
    let connection: Connection
    let stream: Int32

    func write(_ bytes: [UInt8]) async throws { try await connection.writePiece(bytes, ofStream: stream) }

    func keepAlive(with bytes: [UInt8], every interval: Duration) async {
        await connection.keepAnswerAlive(with: bytes, every: interval, stream: stream)
    }
}
