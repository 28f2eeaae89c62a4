import CNghttp2

/// The client side of an HTTP/2 connection without any I/O: bytes in, bytes out. Owns the `nghttp2_session`.
///
/// Callbacks only note what happened (``takeEvents()``, ``nextClosed()``); the connection acts on it after the call
/// into nghttp2 has returned, so nothing re-enters the library. Loop-confined.
@safe final class HTTP2Session {
    /// One open stream. Slots are used again, so a steady flow of requests allocates no stream memory of ours.
    struct Stream {
        fileprivate(set) var id: Int32 = 0
        /// Held until the stream is closed: nghttp2 reads the head's bytes when it writes the HEADERS.
        fileprivate var head: RequestHead?
        /// The same of the fields that the pool adds.
        fileprivate var common: RequestHead?
        fileprivate var body: [UInt8] = []
        fileprivate var bodySent = 0
        /// The final answer's status; 0 before it.
        fileprivate(set) var status = 0
        fileprivate(set) var headers: [HeaderField] = []
        /// What `headers` count towards the limit.
        fileprivate var headerBytes = 0
        fileprivate(set) var answer: [UInt8] = []
        /// The answer is complete (END_STREAM came).
        fileprivate(set) var isAnswered = false
        /// Where the frame that ends the request (END_STREAM, RFC 9113 §8.1) begins in the outbound byte stream; `nil`
        /// while nghttp2 has not written it. Before it has some of that frame the peer has no whole request.
        fileprivate(set) var endStart: UInt64?
    }

    /// A stream that closed: take it with ``take(_:)``.
    struct Closed {
        let slot: Int
        let code: UInt32
    }

    /// What the peer said about the connection since the last look.
    struct Events {
        /// MAX_CONCURRENT_STREAMS after a SETTINGS frame.
        var streamLimit: Int?
        /// The last GOAWAY frame.
        var goAway: GoAway?
        /// A PING was answered.
        var pong = false
    }

    /// The bytes written so far.
    private(set) var produced: UInt64 = 0
    /// Why the peer broke the protocol, if it did.
    private(set) var violation: String?

    private var session: OpaquePointer?
    /// Deleted after `session`, whose memory it is.
    private let memory = SessionMemory()
    /// `slotLimit` slots, all initialized: a pointer and no array, because the callbacks touch a slot several times per
    /// request and each touch of an array behind a class costs a check of access and uniqueness.
    private let streams: UnsafeMutablePointer<Stream>
    private let slotLimit: Int
    /// Slots that have been used; those above are as new.
    private var slotCount = 0
    private var freeSlots: [Int] = []
    /// The stream that nghttp2 spoke of last, and its slot.
    private var recent: (id: Int32, slot: Int) = (0, 0)
    private var closed: [Closed] = []
    private var events = Events()
    /// Bytes of the open streams' bodies that are in no frame yet.
    private var unwrittenBodyBytes = 0
    private var headerBlock: HeaderBlock
    private let answerLimitBytes: Int
    /// The names of the answer's fields that are wanted; `nil`: all.
    private let keptFields: [[UInt8]]?
    /// The names of those that are wanted of one answer in each read.
    private let sampledFields: [[UInt8]]
    /// The stream of that answer; 0: none yet in this read.
    private var sampledStream: Int32 = 0

    /// The code of a stream that the peer did not process (RFC 9113 §8.7).
    static let refusedStream = NGHTTP2_REFUSED_STREAM.rawValue

    /// The most bytes of header fields kept of one answer; those beyond are passed over.
    private static let headerLimitBytes = 16_384
    /// Our receive window for all streams together: answers are small, and the peer shall never wait for us.
    private static let windowBytes: Int32 = 16 << 20

    /// Begins a session: the connection preface and SETTINGS are ready to be sent. At most `slotLimit` streams may be
    /// open at a time.
    init(
        authority: String, answerLimitBytes: Int, keptFields: [String]? = nil, sampledFields: [String] = [],
        slotLimit: Int = 1000
    ) throws(TransportFailure) {
        headerBlock = HeaderBlock(authority: authority)
        self.answerLimitBytes = answerLimitBytes
        self.keptFields = keptFields?.map { Array($0.utf8) }
        self.sampledFields = sampledFields.map { Array($0.utf8) }
        self.slotLimit = slotLimit
        unsafe streams = .allocate(capacity: slotLimit)
        unsafe streams.initialize(repeating: Stream(), count: slotLimit)
        try open()
        let settings = [
            nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0)
        ]
        try check(unsafe nghttp2_submit_settings(session, 0, settings, settings.count), "SETTINGS")
        try check(unsafe nghttp2_session_set_local_window_size(session, 0, 0, Self.windowBytes), "window")
    }

    deinit {
        unsafe nghttp2_session_del(session)
        unsafe streams.deinitialize(count: slotLimit)
        unsafe streams.deallocate()
    }

    private func open() throws(TransportFailure) {
        var callbacks: OpaquePointer?
        var option: OpaquePointer?
        defer {
            unsafe nghttp2_session_callbacks_del(callbacks)
            unsafe nghttp2_option_del(option)
        }
        try check(unsafe nghttp2_session_callbacks_new(&callbacks), "callbacks")
        try check(unsafe nghttp2_option_new(&option), "option")
        unsafe HTTP2Callbacks.install(on: callbacks)
        // Without it nghttp2 takes 100 for granted until SETTINGS come.
        unsafe nghttp2_option_set_peer_max_concurrent_streams(option, 1)
        // Not retained: the session is deleted with `self`, and no callback comes after that.
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        var functions = unsafe memory.functions
        try check(
            unsafe nghttp2_session_client_new3(&session, callbacks, context, option, &functions), "session")
    }

    private func check(_ code: Int32, _ step: String) throws(TransportFailure) {
        guard code == 0 else {
            throw TransportFailure(.protocolError, "HTTP/2 \(step): \(Self.text(of: code))")
        }
    }

    private static func text(of code: Int32) -> String {
        unsafe nghttp2_strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
    }

    // MARK: Bytes

    /// Takes bytes of the peer.
    func receive(_ bytes: UnsafeRawBufferPointer) throws(TransportFailure) {
        sampledStream = 0
        let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let count = unsafe nghttp2_session_mem_recv(session, start, bytes.count)
        guard count >= 0 else {
            throw TransportFailure(.protocolError, violation ?? "HTTP/2: \(Self.text(of: Int32(count)))")
        }
    }

    /// Appends everything that may be sent now to `output`. Streams can close in it.
    func produce(into output: inout OutputBuffer) throws(TransportFailure) {
        while true {
            var chunk: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(session, &chunk)
            guard count >= 0 else {
                throw TransportFailure(.protocolError, "HTTP/2: \(Self.text(of: Int32(count)))")
            }
            guard count > 0 else { return }
            unsafe output.append(UnsafeRawBufferPointer(start: chunk, count: count))
            produced += UInt64(count)
        }
    }

    /// Neither side has anything to say any more.
    var isOver: Bool {
        unsafe nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
    }

    /// Bytes of further bodies that the peer's flow-control window for the whole connection has room for (RFC 9113
    /// §6.9.1): below 0 when bodies wait for it already.
    var freeWindowBytes: Int {
        Int(unsafe nghttp2_session_get_remote_window_size(session)) - unwrittenBodyBytes
    }

    /// Bytes that nghttp2 holds for this session.
    var memoryBytes: Int { memory.heldBytes }

    // MARK: Streams

    /// Opens a stream for `request`; its HEADERS go out with the next ``produce(into:)``. `nil` when the connection's
    /// stream ids are used up.
    func submit(_ request: Request) throws(TransportFailure) -> Int? {
        var id: Int32 = 0
        let slot = unsafe withUnsafePointer(to: request) { unsafe submit($0, &id) }
        if let slot { return slot }
        return try refuse(id)
    }

    /// The same, without a copy of the request. `common`: fields that are sent beside its own. `id`: the stream's id or
    /// nghttp2's error.
    func submit(_ request: UnsafePointer<Request>, with common: RequestHead? = nil, _ id: inout Int32) -> Int? {
        let slot = freeSlots.popLast() ?? slotCount
        precondition(slot < slotLimit, "more streams than the connection's limit")
        slotCount = max(slotCount, slot + 1)
        let stream = unsafe streams + slot
        unsafe stream.pointee.head = request.pointee.head
        unsafe stream.pointee.common = common
        unsafe stream.pointee.body = request.pointee.body
        unsafe unwrittenBodyBytes += request.pointee.body.count
        let isEmpty = unsafe request.pointee.body.isEmpty
        id = unsafe headerBlock.withFields(of: request, and: common) { fields, count in
            // Slot numbers travel as pointers, one too high, because 0 would be "none"; they are never followed.
            let userData = unsafe UnsafeMutableRawPointer(bitPattern: slot + 1)
            var provider = unsafe nghttp2_data_provider(
                source: nghttp2_data_source(ptr: userData),
                read_callback: { _, _, buffer, length, flags, source, context in
                    unsafe HTTP2Callbacks.readBody(buffer, length, flags, source, context)
                })
            return unsafe isEmpty
                ? nghttp2_submit_request(session, nil, fields, count, nil, userData)
                : nghttp2_submit_request(session, nil, fields, count, &provider, userData)
        }
        guard id > 0 else {
            release(slot)
            return nil
        }
        unsafe stream.pointee.id = id
        return slot
    }

    /// What an `id` below 1 of ``submit(_:_:)`` means: `nil` when the stream ids are used up.
    func refuse(_ id: Int32) throws(TransportFailure) -> Int? {
        if id == NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE.rawValue { return nil }
        throw TransportFailure(.protocolError, "HTTP/2 request: \(Self.text(of: id))")
    }

    /// Resets a stream; it closes with the next ``produce(into:)``.
    func cancel(_ slot: Int) throws(TransportFailure) {
        let code = NGHTTP2_CANCEL.rawValue
        try check(unsafe nghttp2_submit_rst_stream(session, 0, streams[slot].id, code), "RST_STREAM")
    }

    /// The stream in `slot`, open or just closed.
    func stream(_ slot: Int) -> Stream { unsafe streams[slot] }

    /// Takes what is known of a closed stream and frees its slot.
    func take(_ slot: Int) -> Stream {
        let stream = unsafe (streams + slot).move()
        unsafe (streams + slot).initialize(to: Stream())
        unwrittenBodyBytes -= stream.body.count - stream.bodySent
        freeSlots.append(slot)
        return stream
    }

    private func release(_ slot: Int) {
        _ = take(slot)
    }

    // MARK: The connection

    func submitPing() throws(TransportFailure) {
        try check(unsafe nghttp2_submit_ping(session, 0, nil), "PING")
    }

    /// Says goodbye: GOAWAY without error.
    func submitGoAway() throws(TransportFailure) {
        try check(unsafe nghttp2_submit_goaway(session, 0, 0, NGHTTP2_NO_ERROR.rawValue, nil, 0), "GOAWAY")
    }

    /// What happened to the connection since the last call.
    func takeEvents() -> Events {
        defer { events = Events() }
        return events
    }

    /// Streams that closed since the last call, oldest first. The caller gives the emptied array back, so that its
    /// memory serves again.
    func swapClosed(_ other: inout [Closed]) {
        swap(&closed, &other)
    }

    var hasClosedStreams: Bool { !closed.isEmpty }
}

// MARK: - What the callbacks say

extension HTTP2Session {
    /// Ids are not used twice, so what was found last holds as long as nghttp2 speaks of the same stream.
    private func slot(of streamID: Int32) -> Int? {
        if recent.id == streamID { return recent.slot }
        let userData = unsafe nghttp2_session_get_stream_user_data(session, streamID)
        guard let slot = unsafe userData.map({ Int(bitPattern: $0) - 1 }) else { return nil }
        recent = (streamID, slot)
        return slot
    }

    func headerArrived(
        stream id: Int32, name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>
    ) {
        guard let slot = slot(of: id) else { return }
        let stream = unsafe streams + slot
        if unsafe name.first == UInt8(ascii: ":") {
            // The only pseudo field of an answer; nghttp2 has checked that it is three digits. An interim answer (1xx)
            // is followed by the final one.
            var status = 0
            for index in 0..<value.count { status = unsafe status * 10 + Int(value[index] &- 0x30) }
            unsafe stream.pointee.status = status
            if unsafe !stream.pointee.headers.isEmpty {
                unsafe stream.pointee.headers.removeAll()
                unsafe stream.pointee.headerBytes = 0
            }
            return
        }
        guard unsafe isKept(name) || isSampled(name, of: id) else { return }
        // RFC 9113 §6.5.2 counts 32 bytes for what a field costs beside its text.
        let size = unsafe stream.pointee.headerBytes + name.count + value.count + 32
        guard size <= Self.headerLimitBytes else { return }
        unsafe stream.pointee.headerBytes = size
        let field = unsafe HeaderField(String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self))
        unsafe stream.pointee.headers.append(field)
    }

    func isKept(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let keptFields else { return true }
        return unsafe Self.contains(name, keptFields)
    }

    func isSampled(_ name: UnsafeBufferPointer<UInt8>, of stream: Int32) -> Bool {
        guard sampledStream == 0 || sampledStream == stream, unsafe Self.contains(name, sampledFields) else {
            return false
        }
        sampledStream = stream
        return true
    }

    private static func contains(_ name: UnsafeBufferPointer<UInt8>, _ fields: [[UInt8]]) -> Bool {
        for index in fields.indices where fields[index].count == name.count {
            if unsafe name.elementsEqual(fields[index]) { return true }
        }
        return false
    }

    func dataArrived(stream id: Int32, bytes: UnsafeBufferPointer<UInt8>) {
        guard let slot = slot(of: id) else { return }
        let room = unsafe answerLimitBytes - streams[slot].answer.count
        unsafe streams[slot].answer.append(contentsOf: bytes.prefix(max(0, room)))
    }

    func endArrived(stream id: Int32) {
        guard let slot = slot(of: id) else { return }
        unsafe streams[slot].isAnswered = streams[slot].status >= 200
    }

    func settingsArrived() {
        let limit = unsafe nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
        events.streamLimit = Int(limit)
    }

    func goAwayArrived(lastStream: Int32, code: UInt32, debugData: UnsafeBufferPointer<UInt8>) {
        events.goAway = unsafe GoAway(
            code: code, error: errorName(code), lastStream: lastStream, debugData: debugData)
    }

    func pongArrived() {
        events.pong = true
    }

    func violationFound(_ text: String) {
        if violation == nil { violation = text }
    }

    func endWritten(stream id: Int32) {
        guard let slot = slot(of: id) else { return }
        // nghttp2 tells of a frame before it hands the bytes out: `produced` does not count them yet.
        unsafe streams[slot].endStart = produced
    }

    func streamClosed(_ id: Int32, code: UInt32) {
        guard let slot = slot(of: id) else { return }
        closed.append(Closed(slot: slot, code: code))
    }

    /// Copies the next part of a body; the second value says whether it was the last.
    func copyBody(slot: Int, into buffer: UnsafeMutableRawBufferPointer) -> (Int, Bool) {
        let stream = unsafe streams + slot
        let start = unsafe stream.pointee.bodySent
        let total = unsafe stream.pointee.body.count
        let count = min(buffer.count, total - start)
        unsafe stream.pointee.body.withUnsafeBytes { body in
            unsafe buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: body[start..<start + count]))
        }
        unsafe stream.pointee.bodySent = start + count
        unwrittenBodyBytes -= count
        return (count, start + count == total)
    }

    /// An HTTP/2 error code's name (RFC 9113 §7).
    func errorName(_ code: UInt32) -> String {
        unsafe nghttp2_http2_strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
    }
}
