import Logging
import NIOCore
import NIOHPACK
import NIOHTTP2

/// Serves one HTTP/2 connection, frame by frame.
///
/// It stands right behind `NIOHTTP2Handler`, without a channel per stream: a push is one request of one or two frames,
/// and a channel each would cost more than the whole answer. All calls come on the connection's event loop.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    /// Body bytes after which a request is answered without waiting for its end. Up to there even a body that is much
    /// too long is read, since not every client takes an answer to half a request.
    private static let longestBodyBytes = 1 << 20
    /// Both windows keep the protocol's initial size, as Apple's do, unless a scenario says otherwise.
    static let windowBytes = 65_535

    /// - receiving: headers came, the end not yet. Next: held, answering, silent, or gone by RST_STREAM.
    /// - held: a scenario has not let it be decided yet. Next: answering, silent, or gone.
    /// - answering: the answer waits for its delay. Next: gone.
    /// - silent: there will be no answer. Next: gone by RST_STREAM or with the connection.
    enum Stream {
        case receiving(PushRequest)
        case held(PushRequest)
        case answering
        case silent

        /// Whether the end of the connection waits for it.
        var isAwaited: Bool {
            switch self {
            case .silent: false
            case .receiving, .held, .answering: true
            }
        }
    }

    let number: Int
    let judge: PushJudge
    let limits: StreamLimits
    let scenarios: ScenarioBook
    let gate: FreezeGate
    let goAwayWatch: GoAwayWatch
    private let logger: Logger

    /// What it plays, and since which change of the scenarios.
    var play: ScenarioPlay?
    var generation: Int
    var credentials: ConnectionCredentials
    var streams: [HTTP2StreamID: Stream] = [:]
    /// The last stream that arrived, or that GOAWAY promised to look at.
    var lastStreamID = HTTP2StreamID.rootStream
    /// Whether the limit of streams is no more the one at the beginning.
    var isWide: Bool
    /// The limit of streams that was sent last.
    var streamLimit: Int
    /// SETTINGS that the client did not acknowledge yet.
    var settingsUnderWay = 1
    /// The rest of the connection's window.
    private(set) var windowLeftBytes = ConnectionHandler.windowBytes
    /// By how much a scenario opened the windows of streams.
    var windowBytesGiven: [HTTP2StreamID: Int] = [:]
    private var isDraining = false
    private var lastWrite: EventLoopFuture<Void>?
    private var date = HTTPDate()
    private(set) var context: ChannelHandlerContext?

    init(
        number: Int, judge: PushJudge, credentials: ConnectionCredentials, limits: StreamLimits,
        scenarios: ScenarioBook, play: ScenarioPlay?, generation: Int, goAwayWatch: GoAwayWatch, gate: FreezeGate,
        logger: Logger
    ) {
        self.number = number
        self.judge = judge
        self.credentials = credentials
        self.limits = limits
        self.scenarios = scenarios
        self.play = play
        self.generation = generation
        self.goAwayWatch = goAwayWatch
        self.gate = gate
        self.logger = logger
        streamLimit = play?.firstStreamLimit ?? limits.initial
        isWide = !limits.beginsWithOne || play?.firstStreamLimit != nil
        self.play?.settingsSent()
        setTokenInterval()
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        perform(act(.opened), context: context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        streams.removeAll()
    }

    // MARK: Frames

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !gate.isShut else { return }
        let frame = unwrapInboundIn(data)
        switch frame.payload {
        case .headers(let headers):
            receive(headers, on: frame.streamID, context: context)
        case .data(let data):
            receive(data, on: frame.streamID, context: context)
        case .rstStream:
            streams[frame.streamID] = nil
            closeWhenDrained(context: context)
        case .settings(.ack):
            settingsUnderWay -= 1
            perform(act(.settingsAcknowledged), context: context)
        case .goAway, .settings, .ping, .priority, .windowUpdate, .pushPromise, .alternativeService, .origin:
            break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
        context.fireChannelReadComplete()
    }

    private func receive(
        _ headers: HTTP2Frame.FramePayload.Headers, on id: HTTP2StreamID, context: ChannelHandlerContext
    ) {
        // A second block of headers is trailers, of which only the end matters.
        if streams[id] == nil {
            streams[id] = .receiving(PushRequest(headers.headers))
            lastStreamID = max(lastStreamID, id)
        }
        if headers.endStream { finish(id, context: context) }
    }

    private func receive(
        _ data: HTTP2Frame.FramePayload.Data, on id: HTTP2StreamID, context: ChannelHandlerContext
    ) {
        guard case .receiving(var request) = streams[id] else { return }
        guard case .byteBuffer(let bytes) = data.data else { return }
        // Taken out so that the body is not copied when it grows.
        streams[id] = .answering
        request.append(bytes)
        let isTooLong = request.bodyBytes > Self.longestBodyBytes
        streams[id] = .receiving(request)
        if data.endStream || isTooLong { finish(id, context: context) }
        if isTooLong, !data.endStream {
            write(HTTP2Frame(streamID: id, payload: .rstStream(.noError)), context: context)
        }
    }

    // MARK: Answers

    private func finish(_ id: HTTP2StreamID, context: ChannelHandlerContext) {
        guard case .receiving(let request) = streams[id] else { return }
        // Its end came: it is no more among those that receive.
        streams[id] = .answering
        drawAgainAfterChange(context: context)
        guard admits(request, on: id, context: context) else { return closeWhenDrained(context: context) }
        decide(request, on: id, context: context)
    }

    /// Holds a request against checks, rules and scenario, and answers it.
    func decide(_ request: PushRequest, on id: HTTP2StreamID, context: ChannelHandlerContext) {
        let time = judge.wallTimeMilliseconds()
        var answer = judge.judge(request, at: time, credentials: &credentials)
        let actions = act(
            .judged(stream: Int(id), status: answer.status, deviceToken: request.deviceToken ?? ""))
        let others = actions.filter { !answer.follow($0, now: time) }
        judge.record(request, at: time, connection: number, answer: answer)
        streams[id] = answer.status == nil ? .silent : .answering
        perform(others, on: id, context: context)
        guard answer.status != nil else { return closeWhenDrained(context: context) }
        guard answer.delayMilliseconds > 0 else { return respond(answer, on: id, context: context) }
        context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(Int64(answer.delayMilliseconds))) {
            guard let context = self.context else { return }
            self.respond(answer, on: id, context: context)
            context.flush()
        }
    }

    private func respond(_ answer: Answer, on id: HTTP2StreamID, context: ChannelHandlerContext) {
        // The client may have cancelled in the meantime.
        guard case .answering = streams.removeValue(forKey: id), !gate.isShut, let status = answer.status else {
            return
        }
        widen(context: context)
        var headers = HPACKHeaders()
        headers.reserveCapacity(5)
        headers.add(name: ":status", value: status == 200 ? "200" : "\(status)")
        headers.add(
            name: answer.isOfChannel ? "apns-request-id" : "apns-id", value: answer.apnsID, indexing: .nonIndexable)
        if let id = answer.channelID { headers.add(name: "apns-channel-id", value: id, indexing: .nonIndexable) }
        headers.add(name: "date", value: date.text(forMilliseconds: judge.wallTimeMilliseconds()))
        if let seconds = answer.retryAfterSeconds { headers.add(name: "retry-after", value: "\(seconds)") }
        if answer.additionalHeaderBytes > 0 { headers.add(contentsOf: answer.additionalHeaders) }
        if let body = body(of: answer) {
            headers.add(name: "content-type", value: "application/json")
            write(HTTP2Frame(streamID: id, payload: .headers(.init(headers: headers))), context: context)
            let data = HTTP2Frame.FramePayload.Data(data: .byteBuffer(body), endStream: true)
            write(HTTP2Frame(streamID: id, payload: .data(data)), context: context)
        } else {
            if !answer.isOfChannel { headers.add(name: "apns-unique-id", value: randomUUID(), indexing: .nonIndexable) }
            write(
                HTTP2Frame(streamID: id, payload: .headers(.init(headers: headers, endStream: true))), context: context)
        }
        closeWhenDrained(context: context)
    }

    private func body(of answer: Answer) -> ByteBuffer? {
        guard let reason = answer.reason else { return answer.body.map { ByteBuffer(string: $0) } }
        let timestamp = answer.timestamp.map { ",\"timestamp\":\($0)" } ?? ""
        // Reasons come from rules too: quoted by the standard library's rules for what JSON may not hold bare.
        return ByteBuffer(string: "{\"reason\":\(jsonString(reason))\(timestamp)}")
    }

    /// Apple allows one stream until it has answered one push with a good provider token.
    ///
    /// The new limit goes out just before that answer, so that a client learns of it while its stream is open
    /// (async-http-client 1.37 trips over a limit that changes on an idle connection).
    private func widen(context: ChannelHandlerContext) {
        guard !isWide, credentials.isKnown else { return }
        allowStreams(limits.limit, context: context)
        play?.settingsSent()
    }

    /// Says how many streams may be open from now on.
    func allowStreams(_ limit: Int, context: ChannelHandlerContext) {
        isWide = true
        streamLimit = limit
        send([HTTP2Setting(parameter: .maxConcurrentStreams, value: limit)], context: context)
    }

    func send(_ settings: [HTTP2Setting], context: ChannelHandlerContext) {
        settingsUnderWay += 1
        write(HTTP2Frame(streamID: .rootStream, payload: .settings(.settings(settings))), context: context)
    }

    func write(_ frame: HTTP2Frame, context: ChannelHandlerContext) {
        guard isDraining else { return context.write(wrapOutboundOut(frame), promise: nil) }
        let promise = context.eventLoop.makePromise(of: Void.self)
        lastWrite = promise.futureResult
        context.write(wrapOutboundOut(frame), promise: promise)
    }

    // MARK: Flow control

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case let update as NIOHTTP2WindowUpdatedEvent:
            openWindow(update, context: context)
        case let closed as StreamClosedEvent:
            if streams.removeValue(forKey: closed.streamID) != nil { closeWhenDrained(context: context) }
        default:
            break
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// Opens a window again that is half used up: that of the connection, or of a stream that still receives.
    private func openWindow(_ update: NIOHTTP2WindowUpdatedEvent, context: ChannelHandlerContext) {
        guard let size = update.inboundWindowSize else { return }
        if update.streamID == .rootStream { windowLeftBytes = size }
        guard play?.windowBytes == nil, size <= Self.windowBytes / 2 else { return }
        if update.streamID != .rootStream {
            guard case .receiving = streams[update.streamID] else { return }
        }
        let increment = HTTP2Frame.FramePayload.windowUpdate(windowSizeIncrement: Self.windowBytes - size)
        write(HTTP2Frame(streamID: update.streamID, payload: increment), context: context)
    }

    // MARK: The end

    /// Says GOAWAY, lets what was begun finish, then closes. Streams that are never answered are not waited for.
    func drain() {
        guard let context, !isDraining else { return }
        guard !gate.isShut else { return drop(isAbrupt: false, context: context) }
        release(upTo: lastStreamID, context: context)
        isDraining = true
        sayGoAway(code: .noError, debugData: #"{"reason":"Shutdown"}"#, context: context)
        context.flush()
        closeWhenDrained(context: context)
    }

    /// Closes once what was begun is answered.
    func close(context: ChannelHandlerContext) {
        isDraining = true
        closeWhenDrained(context: context)
    }

    /// GOAWAY with ``lastStreamID``.
    func sayGoAway(code: HTTP2ErrorCode, debugData: String, context: ChannelHandlerContext) {
        goAwayWatch.expectsGoAway = true
        let goAway = HTTP2Frame.FramePayload.goAway(
            lastStreamID: lastStreamID, errorCode: code, opaqueData: ByteBuffer(string: debugData))
        write(HTTP2Frame(streamID: .rootStream, payload: goAway), context: context)
        goAwayWatch.expectsGoAway = false
    }

    func closeWhenDrained(context: ChannelHandlerContext) {
        guard isDraining, !streams.values.contains(where: \.isAwaited) else { return }
        context.flush()
        let channel = context.channel
        guard let lastWrite else { return channel.close(promise: nil) }
        // Not before the last answer is on its way.
        lastWrite.whenComplete { _ in channel.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        logger.debug("HTTP/2 error", metadata: ["connection.id": "\(number)", "error": "\(error)"])
        if error is NIOHTTP2Errors.MaxStreamsViolation { judge.tally.streamLimitViolated() }
        // An error of one stream was answered with RST_STREAM; one of the connection with GOAWAY, and that is the end.
        if goAwayWatch.sawGoAway || !(error is any NIOHTTP2Error) { context.close(promise: nil) }
    }
}
