import CNghttp2

/// What nghttp2 calls: each finds its session and says in Swift what happened.
enum HTTP2Callbacks {
    static func make() -> OpaquePointer? {
        var callbacks: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
        nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks) { _, header, context in
            if let header { owner(context)?.frameBegins(header.pointee) }
            return 0
        }
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, context in
            guard let frame, let session = owner(context) else { return 0 }
            session.headBegins(frame.pointee.hd.stream_id, isRequest: isRequest(frame))
            return 0
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameLength, value, valueLength, _, context in
            guard let frame, let session = owner(context), isRequest(frame),
                let stream = session.stream(frame.pointee.hd.stream_id)
            else { return 0 }
            stream.addField(
                UnsafeBufferPointer(start: name, count: nameLength),
                UnsafeBufferPointer(start: value, count: valueLength), limits: session.limits)
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
            guard let frame, let session = owner(context) else { return 0 }
            let header = frame.pointee.hd
            if header.type == UInt8(NGHTTP2_HEADERS.rawValue) {
                let endsStream = UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0
                session.headIsComplete(header.stream_id, isRequest: isRequest(frame), endsStream: endsStream)
            } else {
                session.frameCame(header)
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, id, data, length, context in
            owner(context)?.dataCame(id, UnsafeBufferPointer(start: data, count: length))
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, _, context in
            owner(context)?.streamClosed(id)
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, context in
            if let frame { owner(context)?.frameWent(frame.pointee.hd) }
            return 0
        }
        return callbacks
    }

    /// Called while frames are collected.
    static let readOutput: nghttp2_data_source_read_callback = { _, id, buffer, length, flags, _, context in
        guard let session = owner(context), let flags else { return Int(NGHTTP2_ERR_DEFERRED.rawValue) }
        guard
            let (count, isLast) = session.readOutput(id, into: UnsafeMutableBufferPointer(start: buffer, count: length))
        else { return Int(NGHTTP2_ERR_DEFERRED.rawValue) }
        if isLast { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
        return count
    }
}

private func owner(_ context: UnsafeMutableRawPointer?) -> HTTP2Session? {
    // The session owns the nghttp2 object, so it is alive whenever that calls.
    context.map { Unmanaged<HTTP2Session>.fromOpaque($0).takeUnretainedValue() }
}

/// Whether a HEADERS frame opens a request; otherwise it brings trailers.
private func isRequest(_ frame: UnsafePointer<nghttp2_frame>) -> Bool {
    frame.pointee.hd.type == UInt8(NGHTTP2_HEADERS.rawValue)
        && frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
}
