import CNghttp2

/// nghttp2's callbacks: cast, check, call.
enum HTTP2Callbacks {
    static func install(on callbacks: OpaquePointer?) {
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameCount, value, valueCount, _, context in
            guard let frame = unsafe frame else { return 0 }
            unsafe withSession(context) { session in
                unsafe session.headerArrived(
                    stream: frame.pointee.hd.stream_id, name: UnsafeBufferPointer(start: name, count: nameCount),
                    value: UnsafeBufferPointer(start: value, count: valueCount))
            }
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
            _, _, stream, data, count, context in
            unsafe withSession(context) { session in
                unsafe session.dataArrived(stream: stream, bytes: UnsafeBufferPointer(start: data, count: count))
            }
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
            guard let frame = unsafe frame else { return 0 }
            unsafe withSession(context) { unsafe HTTP2Callbacks.frameArrived(frame, at: $0) }
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, context in
            guard let frame = unsafe frame else { return 0 }
            unsafe withSession(context) { unsafe HTTP2Callbacks.frameWritten(frame, by: $0) }
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, code, context in
            unsafe withSession(context) { $0.streamClosed(stream, code: code) }
            return 0
        }
        unsafe nghttp2_session_callbacks_set_error_callback2(callbacks) { _, code, text, count, context in
            // A wrong field is the stream's affair; the connection goes on.
            guard code != NGHTTP2_ERR_HTTP_HEADER.rawValue else { return 0 }
            let bytes = unsafe UnsafeRawBufferPointer(start: text, count: count)
            unsafe withSession(context) { unsafe $0.violationFound(String(decoding: bytes, as: UTF8.self)) }
            return 0
        }
    }

    static func frameWritten(_ frame: UnsafePointer<nghttp2_frame>, by session: HTTP2Session) {
        let header = unsafe frame.pointee.hd
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            if UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0 {
                session.endWritten(stream: header.stream_id)
            }
        // nghttp2 ends a session in which the peer broke the rules by a GOAWAY that says which.
        case NGHTTP2_GOAWAY.rawValue:
            let goAway = unsafe frame.pointee.goaway
            if unsafe goAway.error_code != NGHTTP2_NO_ERROR.rawValue {
                let details = unsafe String(decoding: debugData(of: goAway), as: UTF8.self)
                unsafe session.violationFound("\(session.errorName(goAway.error_code)): \(details)")
            }
        default: break
        }
    }

    static func frameArrived(_ frame: UnsafePointer<nghttp2_frame>, at session: HTTP2Session) {
        let header = unsafe frame.pointee.hd
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            if UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0 {
                session.endArrived(stream: header.stream_id)
            }
        case NGHTTP2_SETTINGS.rawValue:
            if UInt32(header.flags) & NGHTTP2_FLAG_ACK.rawValue == 0 { session.settingsArrived() }
        case NGHTTP2_PING.rawValue:
            if UInt32(header.flags) & NGHTTP2_FLAG_ACK.rawValue != 0 { session.pongArrived() }
        case NGHTTP2_GOAWAY.rawValue:
            let goAway = unsafe frame.pointee.goaway
            unsafe session.goAwayArrived(
                lastStream: goAway.last_stream_id, code: goAway.error_code, debugData: debugData(of: goAway))
        default:
            break  // the other frames need no answer from us
        }
    }

    /// The beginning of a GOAWAY frame's debug data.
    private static func debugData(of goAway: nghttp2_goaway) -> UnsafeBufferPointer<UInt8> {
        unsafe UnsafeBufferPointer(start: goAway.opaque_data, count: min(goAway.opaque_data_len, 512))
    }

    /// `source` carries the slot.
    static func readBody(
        _ buffer: UnsafeMutablePointer<UInt8>?, _ length: Int, _ flags: UnsafeMutablePointer<UInt32>?,
        _ source: UnsafeMutablePointer<nghttp2_data_source>?, _ context: UnsafeMutableRawPointer?
    ) -> Int {
        guard let context = unsafe context, let flags = unsafe flags, let source = unsafe source else {
            return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
        }
        let target = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: length)
        let slot = unsafe Int(bitPattern: source.pointee.ptr) - 1
        var copied = 0
        unsafe withSession(context) { session in
            let (count, isLast) = unsafe session.copyBody(slot: slot, into: target)
            if isLast { unsafe flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
            copied = count
        }
        return copied
    }
}

/// Calls `body` with the session behind a callback's context, without counting the reference: the caller into
/// nghttp2 is a method of that session, and holds it.
@inline(__always)
private func withSession(_ context: UnsafeMutableRawPointer?, _ body: (HTTP2Session) -> Void) {
    guard let context = unsafe context else { return }
    unsafe Unmanaged<HTTP2Session>.fromOpaque(context)._withUnsafeGuaranteedRef(body)
}
