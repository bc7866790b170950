import CNghttp2

/// The protocol state of one HTTP/2 connection: framing and field compression are nghttp2's, streams are ours. It has no
/// socket: `receive` takes what came in, `collectOutput` gives what is to go out, and what happened lies in `readyStreams`.
///
/// Belongs to its connection, which alone may call it.
final class HTTP2Session {
    var session: OpaquePointer?
    let limits: HTTPLimits
    var streams: [Int32: HTTP2Stream] = [:]
    /// Streams whose head is complete and that nobody serves yet. They are not served from within nghttp2, and those that
    /// the client resets in the same breath are never served at all.
    var readyStreams: [HTTP2Stream] = []
    /// The loop's time, set before each call.
    var now: UInt64
    /// When the head that is being received began; `nil` between heads.
    var headStart: UInt64?
    private var resets: FrameBudget
    private var idleFrames: FrameBudget
    private(set) var isTerminating = false
    /// How many streams the client is told it may have open.
    private(set) var streamLimit: Int
    let writeStall: UInt64
    /// How long a client may go on sending after its answer is whole.
    private let linger: UInt64
    /// The earliest time since it was last looked at by which such a client is stopped.
    var nextLinger: UInt64 = .max

    init?(limits: HTTPLimits, firstStreamLimit: Int? = nil, writeStall: UInt64, linger: UInt64, now: UInt64) {
        self.limits = limits
        streamLimit = min(firstStreamLimit ?? limits.streamsPerConnection, limits.streamsPerConnection)
        self.writeStall = writeStall
        self.linger = linger
        self.now = now
        resets = FrameBudget(limits.streamResets, now: now)
        idleFrames = FrameBudget(limits.idleFrames, now: now)
        var option: OpaquePointer?
        guard nghttp2_option_new(&option) == 0 else { return nil }
        defer { nghttp2_option_del(option) }
        // Windows are given back as handlers read, not as bytes arrive.
        nghttp2_option_set_no_auto_window_update(option, 1)
        // Closed streams are kept only for priorities, which nobody uses any more.
        nghttp2_option_set_no_closed_streams(option, 1)
        guard let callbacks = HTTP2Callbacks.make() else { return nil }
        defer { nghttp2_session_callbacks_del(callbacks) }
        let context = Unmanaged.passUnretained(self).toOpaque()
        guard nghttp2_session_server_new2(&session, callbacks, context, option) == 0 else { return nil }
        sendSettings()
    }

    deinit { nghttp2_session_del(session) }

    private func entry(_ id: nghttp2_settings_id, _ value: Int) -> nghttp2_settings_entry {
        nghttp2_settings_entry(settings_id: Int32(id.rawValue), value: UInt32(clamping: value))
    }

    /// Twice the most that a client is ever told, see `correctSettings`.
    private var streamLimitEntry: nghttp2_settings_entry {
        entry(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.streamsPerConnection * 2)
    }

    private func sendSettings() {
        let entries = [
            streamLimitEntry,
            entry(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.streamWindow),
            entry(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits.headBytes),
            // RFC 9218 section 2.1: the priorities of RFC 7540 are not used.
            entry(NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1),
        ]
        nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count)
        let window = Int32(clamping: max(65_535, limits.connectionWindow))
        nghttp2_session_set_local_window_size(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, window)
    }

    // MARK: Bytes

    /// - Returns: false when this was no HTTP/2 at all.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let used = nghttp2_session_mem_recv(
            session, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        if used >= 0 { return true }
        switch nghttp2_error(rawValue: Int32(used)) {
        case NGHTTP2_ERR_BAD_CLIENT_MAGIC:
            return false
        case NGHTTP2_ERR_FLOODED, NGHTTP2_ERR_TOO_MANY_CONTINUATIONS, NGHTTP2_ERR_CALLBACK_FAILURE:
            terminate(NGHTTP2_ENHANCE_YOUR_CALM)
        default:
            terminate(NGHTTP2_INTERNAL_ERROR)
        }
        return true
    }

    /// Appends frames until there is nothing to send, or `most` bytes are there.
    func collectOutput(into out: inout [UInt8], upTo most: Int) {
        while out.count < most {
            var data: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &data)
            guard count > 0 else { return }
            out.append(contentsOf: UnsafeBufferPointer(start: data, count: count))
            correctSettings(&out, UnsafeBufferPointer(start: data, count: count))
        }
    }

    /// nghttp2 ends the connection over a stream too many. RFC 9113 section 5.1.2 asks for no more than refusing it, which
    /// lets the client try again; so nghttp2 counts to twice the most, and the client is told the limit itself. Where our
    /// SETTINGS hold it, it is the first entry: 9 bytes of frame header, 2 of the entry's name.
    private func correctSettings(_ out: inout [UInt8], _ frame: UnsafeBufferPointer<UInt8>) {
        guard frame.count >= 15, frame[3] == UInt8(NGHTTP2_SETTINGS.rawValue),
            UInt32(frame[4]) & NGHTTP2_FLAG_ACK.rawValue == 0, frame[9] == 0,
            frame[10] == UInt8(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue)
        else { return }
        let start = out.count - frame.count + 11
        let limit = UInt32(clamping: streamLimit)
        for index in 0..<4 { out[start + index] = UInt8(truncatingIfNeeded: limit >> UInt32(24 - 8 * index)) }
    }

    /// - Returns: whether that is another limit than before.
    func setStreamLimit(_ limit: Int) -> Bool {
        let limit = max(0, min(limit, limits.streamsPerConnection))
        guard limit != streamLimit else { return false }
        streamLimit = limit
        var entry = streamLimitEntry
        nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), &entry, 1)
        return true
    }

    /// Whether nothing more will be said, by either side.
    var isFinished: Bool {
        nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
    }

    // MARK: Ends

    /// Says GOAWAY and takes no new streams; those there are go on (RFC 9113 section 6.8).
    func beginStopping() {
        goAway(lastStream: nil, code: NGHTTP2_NO_ERROR.rawValue, text: [])
        for stream in streams.values where stream.isEndless { stream.task?.cancel() }
    }

    /// Says GOAWAY; streams up to `lastStream` go on.
    func goAway(lastStream: Int32?, code: UInt32, text: [UInt8]) {
        let last = min(lastStream ?? .max, nghttp2_session_get_last_proc_stream_id(session))
        nghttp2_submit_goaway(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), last, code, text, text.count)
    }

    /// Says GOAWAY and is done.
    func terminate(_ code: nghttp2_error_code) {
        guard !isTerminating else { return }
        isTerminating = true
        nghttp2_session_terminate_session(session, code.rawValue)
    }

    func reset(_ stream: HTTP2Stream, _ code: nghttp2_error_code) {
        guard !stream.isClosed else { return }
        nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream.id, code.rawValue)
    }

    /// The socket is gone.
    func connectionClosed() {
        for stream in streams.values { stream.close() }
        streams = [:]
        readyStreams = []
    }

    // MARK: Bodies

    /// Gives the client back the window that `count` bytes of body took.
    func consume(_ count: Int, of stream: HTTP2Stream) {
        if stream.isClosed {
            nghttp2_session_consume_connection(session, count)
        } else {
            nghttp2_session_consume(session, stream.id, count)
        }
    }

    /// Tells nghttp2 that a stream it gave up on has bytes, or an end.
    func resume(_ stream: HTTP2Stream) {
        guard stream.isDeferred, !stream.isClosed else { return }
        stream.isDeferred = false
        nghttp2_session_resume_data(session, stream.id)
    }

    /// `100 Continue`, RFC 9113 section 8.1.
    func sendContinue(on stream: HTTP2Stream) {
        guard !stream.isClosed, !stream.hasAnswer else { return }
        HTTP2Fields(status: HTTPStatus(100)).withFields { fields, count in
            nghttp2_submit_headers(
                session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream.id, nil, fields, count, nil)
        }
    }

    /// Sends the head of an answer; with `hasBody` what `takeOutput` gives follows it.
    func answer(_ stream: HTTP2Stream, _ fields: HTTP2Fields, hasBody: Bool) {
        guard !stream.isClosed, !stream.hasAnswer else { return }
        stream.hasAnswer = true
        fields.withFields { fields, count in
            if hasBody {
                var provider = nghttp2_data_provider(
                    source: nghttp2_data_source(ptr: nil), read_callback: HTTP2Callbacks.readOutput)
                nghttp2_submit_response(session, stream.id, fields, count, &provider)
            } else {
                nghttp2_submit_response(session, stream.id, fields, count, nil)
            }
        }
    }

    // MARK: From nghttp2

    func headBegins(_ id: Int32, isRequest: Bool) {
        guard !isTerminating else { return }
        headStart = now
        guard isRequest else { return }
        let stream = HTTP2Stream(id: id)
        streams[id] = stream
        nghttp2_session_set_stream_user_data(session, id, Unmanaged.passUnretained(stream).toOpaque())
    }

    /// The stream, while nghttp2 and we both have it.
    func stream(_ id: Int32) -> HTTP2Stream? {
        guard let pointer = nghttp2_session_get_stream_user_data(session, id) else { return nil }
        return Unmanaged<HTTP2Stream>.fromOpaque(pointer).takeUnretainedValue()
    }

    func headIsComplete(_ id: Int32, isRequest: Bool, endsStream: Bool) {
        headStart = nil
        guard let stream = stream(id), !isTerminating else { return }
        if isRequest {
            if streams.count > streamLimit {
                reset(stream, NGHTTP2_REFUSED_STREAM)
            } else {
                readyStreams.append(stream)
            }
        }
        if endsStream { inputEnds(stream) }
    }

    func inputEnds(_ stream: HTTP2Stream) {
        stream.hasInputEnded = true
        stream.wakeReader(.ready)
    }

    func dataCame(_ id: Int32, _ bytes: UnsafeBufferPointer<UInt8>) {
        guard let stream = stream(id), !isTerminating, stream.lingerDeadline == .max else {
            nghttp2_session_consume_connection(session, bytes.count)
            return
        }
        stream.appendInput(bytes)
        stream.wakeReader(.ready)
    }

    /// Counts what costs us more than the client. (Priorities are ignored by nghttp2 before it tells of a whole frame.)
    func frameBegins(_ frame: nghttp2_frame_hd) {
        switch nghttp2_frame_type(UInt32(frame.type)) {
        case NGHTTP2_RST_STREAM:
            if !resets.spend(now: now) { terminate(NGHTTP2_ENHANCE_YOUR_CALM) }
        case NGHTTP2_PING, NGHTTP2_SETTINGS, NGHTTP2_PRIORITY:
            if !idleFrames.spend(now: now) { terminate(NGHTTP2_ENHANCE_YOUR_CALM) }
        default: break
        }
    }

    func frameCame(_ frame: nghttp2_frame_hd) {
        let endsStream = UInt32(frame.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0
        switch nghttp2_frame_type(UInt32(frame.type)) {
        case NGHTTP2_DATA:
            if endsStream {
                if let stream = stream(frame.stream_id) { inputEnds(stream) }
            } else if frame.length == 0, !idleFrames.spend(now: now) {
                terminate(NGHTTP2_ENHANCE_YOUR_CALM)
            }
        default: break
        }
    }

    func frameWent(_ frame: nghttp2_frame_hd) {
        guard UInt32(frame.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0 else { return }
        // The answer is whole and the rest of the request is not wanted (RFC 9113 section 8.1).
        guard let stream = stream(frame.stream_id), !stream.hasInputEnded else { return }
        // RST_STREAM with NO_ERROR says so. Some clients, the curl of Debian 12 among them, forget over it the answer that
        // they were about to read, so they get a moment to stop by themselves.
        stream.lingerDeadline = now + linger
        nextLinger = min(nextLinger, stream.lingerDeadline)
        nghttp2_session_consume_connection(session, stream.inputBytes)
        stream.dropInput()
    }

    func streamClosed(_ id: Int32) {
        guard let stream = streams.removeValue(forKey: id) else { return }
        nghttp2_session_set_stream_user_data(session, id, nil)
        if stream.inputBytes > 0 { nghttp2_session_consume_connection(session, stream.inputBytes) }
        stream.close()
    }

    /// Fills a DATA frame.
    func readOutput(_ id: Int32, into buffer: UnsafeMutableBufferPointer<UInt8>) -> (count: Int, isLast: Bool)? {
        guard let stream = stream(id) else { return nil }
        let count = stream.takeOutput(into: buffer)
        if stream.waitingOutput < Self.lowWater { stream.wakeWriters() }
        stream.writeDeadline = stream.waitingOutput > 0 ? now + writeStall : .max
        if stream.waitingOutput == 0, stream.hasOutputEnded { return (count, true) }
        if count > 0 { return (count, false) }
        stream.isDeferred = true
        return nil
    }

    /// Writers wait while more than `highWater` bytes of their answer are here, until less than `lowWater` are.
    static let highWater = 64 * 1024
    static let lowWater = 32 * 1024
}
