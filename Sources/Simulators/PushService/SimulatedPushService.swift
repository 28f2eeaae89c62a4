package import Logging
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOSSL
import NIOTLS
import ServiceLifecycle

/// A simulated push service of browsers: TLS, HTTP/2, the rules of RFC 8030 with the deviations and answers of one of the
/// public services. It also plays the browsers: it hands out subscriptions and reads what arrives with their keys. Runs
/// until graceful shutdown.
package final class SimulatedPushService: Service {
    /// How a simulator listens and what it knows.
    package struct Configuration: Sendable {
        /// Where to listen; always a loopback address unless the operator says otherwise.
        package var host = "127.0.0.1"
        /// TCP port, 0 for any free one.
        package var port = 2200
        /// TCP port of the control endpoint (plain HTTP/1.1, loopback only), 0 for any free one; `nil`: none.
        package var controlPort: Int?
        /// The certificates of its server.
        package var identity: PushServiceIdentity
        /// Whose service it plays.
        package var dialect = PushServiceDialect.mozilla
        /// The scenarios to begin with, of those that all services play.
        package var scenarios = ScenarioSet()
        /// Pushes a minute, beyond which the sender is slowed down; `nil`: no limit.
        package var pushesPerMinute: Int?
        /// Pushes to one subscription a minute, beyond which it is slowed down; `nil`: no limit.
        package var pushesPerSubscription: Int?
        /// A file to which every push is appended as a line of JSON (``RecordedWebPush``); `nil`: none.
        package var recordingFile: String?
        /// How many pushes are remembered.
        package var recordingLimit = 10_000
        /// `SETTINGS_MAX_CONCURRENT_STREAMS`, as at Google's service.
        package var streamLimit = 100
        /// Wall time in milliseconds since 1970, to judge `exp`.
        package var wallTimeMilliseconds: @Sendable () -> Int64

        /// A configuration with the default address.
        package init(identity: PushServiceIdentity, wallTimeMilliseconds: @escaping @Sendable () -> Int64) {
            self.identity = identity
            self.wallTimeMilliseconds = wallTimeMilliseconds
        }
    }

    /// The subscriptions that it takes pushes for.
    package let subscriptions: SubscriptionBook
    /// What it answers in place of its own judgement, changeable while it runs.
    package let rules = PushServiceRules()
    /// What connections play, changeable while it runs.
    package let scenarios: ScenarioBook
    /// Every push that arrived.
    package let recording: ArrivalLog<RecordedWebPush>

    private let configuration: Configuration
    private let logger: Logger
    private let onListening: @Sendable (_ port: Int, _ controlPort: Int?) -> Void

    /// Prepares a simulator.
    ///
    /// - Parameter onListening: called with the bound ports once both sockets listen.
    package init(
        _ configuration: Configuration, logger: Logger,
        onListening: @escaping @Sendable (_ port: Int, _ controlPort: Int?) -> Void
    ) {
        self.configuration = configuration
        self.logger = logger
        self.onListening = onListening
        subscriptions = SubscriptionBook(dialect: configuration.dialect)
        scenarios = ScenarioBook(wallTimeMilliseconds: configuration.wallTimeMilliseconds)
        recording = ArrivalLog(limit: configuration.recordingLimit)
    }

    /// Serves until graceful shutdown.
    ///
    /// - Throws: ``SimulatorError`` when a file is garbled or an address is in use.
    package func run() async throws {
        scenarios.set(try configuration.scenarios.ofAllServices())
        let file = try configuration.recordingFile.map {
            try RecordingFile<RecordedWebPush>(path: $0, logger: logger)
        }
        let open = OpenConnections()
        let listener = try await listener(open)
        let port = listener.localAddress?.port ?? configuration.port
        subscriptions.listens(at: "https://\(configuration.host):\(port)")
        let control: (any Channel)?
        do {
            control = try await controlListener(open)
        } catch {
            try await listener.close()
            throw error
        }
        let failure = await untilShutdown(port, control, file)
        for channel in [listener] + (control.map { [$0] } ?? []) {
            do {
                try await channel.close()
            } catch ChannelError.alreadyClosed {
                // Closed is what was asked for.
            }
        }
        await open.drain(grace: .zero)
        recording.finish()
        try await file?.finish(recording)
        if let failure, !(failure is CancellationError) { throw failure }
    }

    /// Announces the ports and waits for the end.
    ///
    /// - Returns: `nil` after a graceful shutdown, otherwise why it ends at once.
    private func untilShutdown(
        _ port: Int, _ control: (any Channel)?, _ file: RecordingFile<RecordedWebPush>?
    ) async -> (any Error)? {
        logger.info("The simulated push service listens", metadata: ["port": "\(port)"])
        onListening(port, control?.localAddress?.port)
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                if let file { group.addTask { try await file.follow(self.recording) } }
                group.addTask { try await gracefulShutdown() }
                defer { group.cancelAll() }
                try await group.next()
            }
            return nil
        } catch {
            return error
        }
    }

    private func listener(_ open: OpenConnections) async throws -> any Channel {
        let acceptor = PushServiceAcceptor(
            tls: try configuration.identity.tlsContext(),
            judge: PushServiceJudge(
                dialect: configuration.dialect, subscriptions: subscriptions, rules: rules,
                quota: MinuteQuota(
                    perMinute: configuration.pushesPerMinute, perTarget: configuration.pushesPerSubscription),
                recording: recording, wallTimeMilliseconds: configuration.wallTimeMilliseconds),
            scenarios: scenarios, streamLimit: configuration.streamLimit, open: open, logger: logger)
        return try await listen(configuration.host, configuration.port) { acceptor.set(up: $0) }
    }

    private func controlListener(_ open: OpenConnections) async throws -> (any Channel)? {
        guard let port = configuration.controlPort else { return nil }
        let control = PushServiceControl(
            subscriptions: subscriptions, rules: rules, scenarios: scenarios, recording: recording)
        return try await listen("127.0.0.1", port) { control.set(up: $0, open) }
    }
}

/// Sets accepted sockets up: TLS, then HTTP/2, a channel for each stream.
private struct PushServiceAcceptor: Sendable {
    let tls: NIOSSLContext
    let judge: PushServiceJudge
    let scenarios: ScenarioBook
    let streamLimit: Int
    let open: OpenConnections
    let logger: Logger

    func set(up channel: any Channel) -> EventLoopFuture<Void> {
        open.add(channel)
        return channel.eventLoop.makeCompletedFuture {
            let gate = NIOLoopBound(FreezeGate(), eventLoop: channel.eventLoop)
            let negotiation = ApplicationProtocolNegotiationHandler { result, channel in
                guard result == .negotiated("h2") else {
                    logger.debug("A client without HTTP/2 was dropped")
                    return channel.close()
                }
                return addHTTP2(to: channel, behind: gate.value)
            }
            try channel.pipeline.syncOperations.addHandlers(
                NIOSSLServerHandler(context: tls), gate.value, negotiation)
        }
    }

    private func addHTTP2(to channel: any Channel, behind gate: FreezeGate) -> EventLoopFuture<Void> {
        let stage = NIOLoopBound(
            ScenarioStage(
                scenarios, on: channel, gate: gate, streamLimit: streamLimit,
                wallTimeMilliseconds: judge.wallTimeMilliseconds), eventLoop: channel.eventLoop)
        return channel.configureHTTP2Pipeline(
            mode: .server,
            initialLocalSettings: [
                HTTP2Setting(parameter: .maxConcurrentStreams, value: stage.value.firstStreamLimit),
                HTTP2Setting(parameter: .maxHeaderListSize, value: 16_384),
            ]
        ) { stream in
            stream.eventLoop.makeCompletedFuture {
                try stream.pipeline.syncOperations.addHandlers(
                    HTTP2FramePayloadToHTTP1ServerCodec(), WebPushStreamHandler(judge: judge, stage: stage.value))
            }
        }.map { _ in stage.value.begin() }
    }
}

/// Reads the one request of a stream and writes its answer.
private final class WebPushStreamHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let judge: PushServiceJudge
    private let stage: ScenarioStage
    private var request: WebPushRequest?
    private var stream = 0
    private var context: ChannelHandlerContext?

    init(judge: PushServiceJudge, stage: ScenarioStage) {
        self.judge = judge
        self.stage = stage
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        stream = ScenarioStage.number(of: context.channel)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        stage.closed(stream)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): request = WebPushRequest(head: head)
        case .body(let part):
            // One byte beyond the limit is enough to refuse it.
            let room = PushServiceJudge.readLimitBytes - (request?.body.count ?? 0)
            request?.body.append(contentsOf: part.readableBytesView.prefix(max(0, room)))
        case .end:
            guard let request else { return }
            self.request = nil
            stage.arrived(on: stream) { self.decide(request) }
        }
    }

    private func decide(_ request: WebPushRequest) {
        guard let context else { return }
        give(
            judge.answer(to: request) { status, subscription in
                stage.judged(stream, status: status, target: subscription)
            }, context)
    }

    private func give(_ answer: WebPushAnswer, _ context: ChannelHandlerContext) {
        // A stream that closes without an answer is reset.
        guard !answer.isReset else { return context.close(promise: nil) }
        guard answer.status != 0 else { return }
        guard answer.delayMilliseconds > 0 else { return write(answer, context) }
        context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(Int64(answer.delayMilliseconds))) {
            if let context = self.context { self.write(answer, context) }
        }
    }

    private func write(_ answer: WebPushAnswer, _ context: ChannelHandlerContext) {
        var headers = answer.headers
        headers.replaceOrAdd(name: "content-length", value: "\(answer.body.utf8.count)")
        let head = HTTPResponseHead(
            version: .http2, status: HTTPResponseStatus(statusCode: answer.status), headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if !answer.body.isEmpty {
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: answer.body)))), promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
