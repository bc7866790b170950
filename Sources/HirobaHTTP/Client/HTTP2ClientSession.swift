import CNghttp2

/// The client's side of the protocol on one connection: framing is nghttp2's, and so is field compression of what comes in;
/// what goes out is compressed by `HPACKEncoder`. It has no socket: `receive` takes what came in and leaves in `events` what
/// it meant, `collectOutput` gives what is to go out.
///
/// Belongs to its connection, which alone may call it.
final class HTTP2ClientSession {
    enum Event {
        /// SETTINGS: so many streams may be open.
        case limited(to: Int)
        /// The answer lies in the second; it is to be given back by `recycle`.
        case answered(stream: Int32, Stream)
        case reset(stream: Int32, code: UInt32)
        case goAway(last: Int32, code: UInt32, debug: [UInt8])
        case pingAnswered
    }

    /// A request on its way and its answer as it comes in.
    final class Stream {
        fileprivate var request: HTTP2ClientRequest?
        fileprivate var sent = 0
        fileprivate var status = 0
        fileprivate var headers = HTTPHeaders()
        fileprivate var body: [UInt8] = []
        fileprivate var hasEnded = false

        fileprivate init() {}

        func answer(on connection: Int) -> HTTP2Answer {
            HTTP2Answer(status: status, headers: headers, body: body, connection: connection)
        }

        /// Begins anew. The memory that the last answer took is used again, if nobody holds it any more.
        fileprivate func start(_ request: HTTP2ClientRequest) {
            self.request = request
            sent = 0
            status = 0
            headers.removeAll()
            body.removeAll(keepingCapacity: true)
            hasEnded = false
        }
    }

    private var session: OpaquePointer?
    private let origin: HTTP2SharedFields
    /// All that were ever needed at once; they are used again.
    private var streams: [Stream] = []
    private var freeStreams: [Stream] = []
    private var encoder = HPACKEncoder()
    private var events: [Event] = []

    private static let mostAnswer = 64 * 1024
    private static let mostFields = 100
    private static let mostHead = 16 * 1024

    init?(origin: HTTP2SharedFields) {
        self.origin = origin
        guard let callbacks = Self.makeCallbacks() else { return nil }
        defer { nghttp2_session_callbacks_del(callbacks) }
        let context = Unmanaged.passUnretained(self).toOpaque()
        guard nghttp2_session_client_new(&session, callbacks, context) == 0 else { return nil }
        let settings = [
            nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue), value: UInt32(Self.mostHead)),
        ]
        nghttp2_submit_settings(session, Self.noFlags, settings, settings.count)
    }

    deinit { nghttp2_session_del(session) }

    private static let noFlags = UInt8(NGHTTP2_FLAG_NONE.rawValue)

    // MARK: Out

    /// - Returns: the number of the stream; `nil` when the session can open none.
    func open(_ request: HTTP2ClientRequest) -> Int32? {
        let stream = freeStreams.popLast() ?? makeStream()
        stream.start(request)
        let context = Unmanaged.passUnretained(stream).toOpaque()
        // nghttp2 must know HEAD, whose answer has no body though it gives a length. The head itself is put in when it is
        // sent.
        var method = Self.field(":method", request.method == .head ? "HEAD" : "POST")
        var provider = nghttp2_data_provider(
            source: nghttp2_data_source(ptr: context), read_callback: Self.readBody)
        let id =
            request.hasBody
            ? nghttp2_submit_request(session, nil, &method, 1, &provider, context)
            : nghttp2_submit_request(session, nil, &method, 1, nil, context)
        if id > 0 { return id }
        freeStreams.append(stream)
        return nil
    }

    private static func field(_ name: StaticString, _ value: StaticString) -> nghttp2_nv {
        // nghttp2 only reads; its type says otherwise.
        nghttp2_nv(
            name: UnsafeMutablePointer(mutating: name.utf8Start),
            value: UnsafeMutablePointer(mutating: value.utf8Start), namelen: name.utf8CodeUnitCount,
            valuelen: value.utf8CodeUnitCount,
            flags: UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue))
    }

    private func makeStream() -> Stream {
        let stream = Stream()
        streams.append(stream)
        return stream
    }

    func cancel(_ stream: Int32) {
        nghttp2_submit_rst_stream(session, Self.noFlags, stream, NGHTTP2_CANCEL.rawValue)
    }

    func ping() { nghttp2_submit_ping(session, Self.noFlags, nil) }

    func sayGoodbye() { nghttp2_session_terminate_session(session, NGHTTP2_NO_ERROR.rawValue) }

    /// Appends frames until there is nothing to send, or `most` bytes are there.
    func collectOutput(into out: inout [UInt8], upTo most: Int) {
        while out.count < most {
            var data: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &data)
            guard count > 0 else { return }
            // One frame at a time.
            let frame = UnsafeBufferPointer(start: data, count: count)
            if count >= Self.frameHead, frame[3] == UInt8(NGHTTP2_HEADERS.rawValue) {
                appendHead(frame, to: &out)
            } else {
                out.append(contentsOf: frame)
            }
        }
    }

    private static let frameHead = 9
    /// What every server takes (RFC 9113 section 6.5.2).
    private static let mostFrame = 16_384

    /// A HEADERS frame, with the head of its request in place of what nghttp2 was given.
    private func appendHead(_ frame: UnsafeBufferPointer<UInt8>, to out: inout [UInt8]) {
        let start = out.count
        out.append(contentsOf: frame[..<Self.frameHead])
        let id = frame[5..<9].reduce(0) { $0 << 8 | Int32($1) }
        withStream(id) { stream in stream.request?.encodeHead(origin: origin, by: &encoder, to: &out) }
        let length = out.count - start - Self.frameHead
        if length <= Self.mostFrame {
            Self.setLength(length, at: start, in: &out)
        } else {
            continueHead(at: start, in: &out)
        }
    }

    /// Cuts a head that is too long for one frame (RFC 9113 section 6.10).
    private func continueHead(at start: Int, in out: inout [UInt8]) {
        let head = Array(out[start..<start + Self.frameHead])
        let block = Array(out[(start + Self.frameHead)...])
        out.removeSubrange(start...)
        let endHeaders = UInt8(NGHTTP2_FLAG_END_HEADERS.rawValue)
        for from in stride(from: 0, to: block.count, by: Self.mostFrame) {
            let part = block[from..<min(from + Self.mostFrame, block.count)]
            let frame = out.count
            out += head + part
            Self.setLength(part.count, at: frame, in: &out)
            if from > 0 {
                out[frame + 3] = UInt8(NGHTTP2_CONTINUATION.rawValue)
                out[frame + 4] = 0
            }
            if part.endIndex < block.count { out[frame + 4] &= ~endHeaders } else { out[frame + 4] |= endHeaders }
        }
    }

    private static func setLength(_ length: Int, at start: Int, in out: inout [UInt8]) {
        for index in 0..<3 { out[start + index] = UInt8(truncatingIfNeeded: length >> (16 - 8 * index)) }
    }

    /// Whether nothing more will be said, by either side.
    var isFinished: Bool {
        nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
    }

    // MARK: In

    /// - Returns: false when what came was no HTTP/2.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        nghttp2_session_mem_recv(session, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count) >= 0
    }

    /// The answer in it was told.
    func recycle(_ stream: Stream) { freeStreams.append(stream) }

    var hasEvents: Bool { !events.isEmpty }

    /// Exchanges the events for an empty list, whose memory is used again.
    func takeEvents(into list: inout [Event]) { swap(&list, &events) }

    // MARK: From nghttp2

    /// Calls `body` with the stream, if it is open. Nobody counts the reference: `streams` keeps it alive.
    @inline(__always)
    private func withStream(_ id: Int32, _ body: (Stream) -> Void) {
        guard let context = nghttp2_session_get_stream_user_data(session, id) else { return }
        Unmanaged<Stream>.fromOpaque(context)._withUnsafeGuaranteedRef(body)
    }

    private func fieldCame(_ id: Int32, _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
        withStream(id) { stream in
            if name.first == UInt8(ascii: ":") {
                // An interim answer (1xx) may have come before.
                stream.headers.removeAll()
                stream.status = value.reduce(0) { $0 * 10 + Int($1 &- 48) }
            } else if stream.headers.count < Self.mostFields,
                stream.headers.bytes.count + name.count + value.count <= Self.mostHead
            {
                stream.headers.add(name: name, value: value)
            }
        }
    }

    private func dataCame(_ id: Int32, _ bytes: UnsafeBufferPointer<UInt8>) {
        withStream(id) { stream in
            let room = Self.mostAnswer - stream.body.count
            stream.body.append(contentsOf: bytes.prefix(max(0, room)))
        }
    }

    private func frameCame(_ pointer: UnsafePointer<nghttp2_frame>) {
        let head = pointer.pointee.hd
        switch nghttp2_frame_type(UInt32(head.type)) {
        case NGHTTP2_HEADERS, NGHTTP2_DATA:
            if UInt32(head.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0 {
                withStream(head.stream_id) { $0.hasEnded = true }
            }
        case NGHTTP2_SETTINGS:
            guard UInt32(head.flags) & NGHTTP2_FLAG_ACK.rawValue == 0 else { return }
            let limit = nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
            events.append(.limited(to: Int(limit)))
            let entries = UnsafeBufferPointer(start: pointer.pointee.settings.iv, count: pointer.pointee.settings.niv)
            for entry in entries where entry.settings_id == Int32(NGHTTP2_SETTINGS_HEADER_TABLE_SIZE.rawValue) {
                encoder.setTableSize(Int(entry.value))
            }
        case NGHTTP2_GOAWAY:
            let goAway = pointer.pointee.goaway
            let debug = Array(UnsafeBufferPointer(start: goAway.opaque_data, count: goAway.opaque_data_len))
            events.append(.goAway(last: goAway.last_stream_id, code: goAway.error_code, debug: debug))
        case NGHTTP2_PING:
            if UInt32(head.flags) & NGHTTP2_FLAG_ACK.rawValue != 0 { events.append(.pingAnswered) }
        default: break
        }
    }

    private func streamClosed(_ id: Int32, _ code: UInt32) {
        withStream(id) { stream in
            nghttp2_session_set_stream_user_data(session, id, nil)
            stream.request = nil
            if stream.hasEnded, stream.status >= 200 {
                events.append(.answered(stream: id, stream))
            } else {
                events.append(.reset(stream: id, code: code))
                freeStreams.append(stream)
            }
        }
    }

    // MARK: Callbacks

    private static func makeCallbacks() -> OpaquePointer? {
        var callbacks: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameLength, value, valueLength, _, context in
            guard let frame else { return 0 }
            withOwner(context) {
                $0.fieldCame(
                    frame.pointee.hd.stream_id, UnsafeBufferPointer(start: name, count: nameLength),
                    UnsafeBufferPointer(start: value, count: valueLength))
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, id, data, length, context in
            withOwner(context) { $0.dataCame(id, UnsafeBufferPointer(start: data, count: length)) }
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
            if let frame { withOwner(context) { $0.frameCame(frame) } }
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, code, context in
            withOwner(context) { $0.streamClosed(id, code) }
            return 0
        }
        return callbacks
    }

    private static let readBody: nghttp2_data_source_read_callback = { _, _, buffer, length, flags, source, _ in
        guard let buffer, let context = source?.pointee.ptr else {
            return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
        let stream = Unmanaged<Stream>.fromOpaque(context).takeUnretainedValue()
        guard let (count, isLast) = stream.request?.copyBody(from: stream.sent, to: buffer, atMost: length) else {
            return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
        stream.sent += count
        if isLast { flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
        return count
    }
}

@inline(__always)
private func withOwner(_ context: UnsafeMutableRawPointer?, _ body: (HTTP2ClientSession) -> Void) {
    guard let context else { return }
    // The session owns the nghttp2 object, so it is alive whenever that calls.
    Unmanaged<HTTP2ClientSession>.fromOpaque(context)._withUnsafeGuaranteedRef(body)
}
