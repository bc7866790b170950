/// One event of a `text/event-stream`.
package struct ServerSentEvent: Sendable, Hashable {
    package var id: String?
    package var event: String?
    package var data: String
    package var retry: Duration?

    package init(id: String? = nil, event: String? = nil, data: String = "", retry: Duration? = nil) {
        self.id = id
        self.event = event
        self.data = data
        self.retry = retry
    }

    /// The event as it goes over the wire (HTML Living Standard, section 9.2.6). Line ends inside `id` and `event` become
    /// blanks; each line of `data` becomes a line of its own.
    package var encoded: [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(data.utf8.count + 48)
        if let id { Self.append("id: ", oneLine: id, to: &out) }
        if let event { Self.append("event: ", oneLine: event, to: &out) }
        if let retry {
            let (seconds, attoseconds) = retry.components
            Self.append("retry: ", oneLine: String(seconds * 1000 + attoseconds / 1_000_000_000_000_000), to: &out)
        }
        out.append(contentsOf: "data: ".utf8)
        var previous: UInt8 = 0
        for byte in data.utf8 {
            switch byte {
            case 10 where previous == 13: break
            case 10, 13: out.append(contentsOf: "\ndata: ".utf8)
            default: out.append(byte)
            }
            previous = byte
        }
        out.append(contentsOf: "\n\n".utf8)
        return out
    }

    private static func append(_ field: String, oneLine text: String, to out: inout [UInt8]) {
        out.append(contentsOf: field.utf8)
        for byte in text.utf8 { out.append(byte == 10 || byte == 13 || byte == 0 ? 32 : byte) }
        out.append(10)
    }
}

/// Sends events to one client.
package struct ServerSentEventSender: Sendable {
    private let writer: any HTTPResponseWriter

    package init(_ writer: any HTTPResponseWriter) { self.writer = writer }

    /// - Throws: when the client is gone.
    package func send(_ event: ServerSentEvent) async throws { try await writer.write(event.encoded) }
}

extension HTTPResponse {
    /// A stream of events that lasts until `body` returns, the client goes or the server stops; the latter two cancel the
    /// task. A comment goes out whenever there was nothing to say for `heartbeat`, so that proxies keep the connection
    /// and a client that is gone is noticed.
    package static func events(
        heartbeat: Duration = .seconds(15), headers: HTTPHeaders = HTTPHeaders(),
        _ body: @escaping @Sendable (ServerSentEventSender) async throws -> Void
    ) -> HTTPResponse {
        var headers = headers
        headers["Content-Type"] = "text/event-stream"
        headers["Cache-Control"] = "no-store"
        // nginx would otherwise hold events back until its buffer is full.
        headers["X-Accel-Buffering"] = "no"
        return HTTPResponse(
            .ok, headers: headers,
            body: .stream { writer in
                await writer.keepAlive(with: Array(":\n\n".utf8), every: heartbeat)
                try await body(ServerSentEventSender(writer))
            })
    }
}
