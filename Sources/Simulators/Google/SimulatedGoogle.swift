package import Logging
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL
import NIOTLS
import ServiceLifecycle
import Synchronization

/// A simulated Google: `POST /token` and `POST /v1/projects/{p}/messages:send` over TLS, HTTP/2 and HTTP/1.1, with
/// Google's checks, statuses and bodies (fcm.md, fcm-relay.md). Runs until graceful shutdown.
package final class SimulatedGoogle: Service {
    /// How a simulator listens and what it knows.
    package struct Configuration: Sendable {
        /// Where to listen; always a loopback address unless the operator says otherwise.
        package var host = "127.0.0.1"
        /// TCP port, 0 for any free one.
        package var port = 2199
        /// TCP port of the control endpoint (plain HTTP/1.1, loopback only), 0 for any free one; `nil`: none.
        package var controlPort: Int?
        /// Server certificate and service account.
        package var identity: GoogleIdentity
        /// `SETTINGS_MAX_CONCURRENT_STREAMS`; Google's.
        package var streamLimit = 100
        /// After how many requests a connection says GOAWAY; `nil`: never.
        package var goAwayAfter: Int?
        /// Messages a minute, beyond which the answer is 429 for the project; `nil`: no limit.
        package var messagesPerMinute: Int?
        /// Messages to one token a minute, beyond which the answer is 429 for the device; `nil`: no limit.
        package var messagesPerDevice: Int?
        /// The scenarios to begin with, of those that all services play; over HTTP/2 alone.
        package var scenarios = ScenarioSet()
        /// How many messages are remembered.
        package var recordingLimit = 10_000
        /// A file to which every message is appended as a line of JSON (``RecordedPush``); `nil`: none.
        package var recordingFile: String?
        /// How long open requests may take after the start of a graceful shutdown.
        package var shutdownGrace = Duration.seconds(2)
        /// Wall time in milliseconds since 1970.
        package var wallTimeMilliseconds: @Sendable () -> Int64

        /// A configuration with the default address.
        package init(identity: GoogleIdentity, wallTimeMilliseconds: @escaping @Sendable () -> Int64) {
            self.identity = identity
            self.wallTimeMilliseconds = wallTimeMilliseconds
        }
    }

    /// The rules, changeable while it runs.
    package let rules = GoogleRuleBook()
    /// What connections play, changeable while it runs.
    package let scenarios: ScenarioBook
    /// Every message that arrived: `deviceToken` is the target, `reason` the error code, `apnsID` Google's name.
    package let recording: Recording

    private let configuration: Configuration
    private let logger: Logger
    private let onListening: @Sendable (_ port: Int, _ controlPort: Int?) -> Void
    private let judge = Mutex<GoogleJudge?>(nil)
    private let connections = Atomic<Int>(0)

    /// Prepares a simulator.
    ///
    /// - Parameter onListening: called with the bound ports once both sockets listen and the account's key file is
    ///   written.
    package init(
        _ configuration: Configuration, logger: Logger,
        onListening: @escaping @Sendable (_ port: Int, _ controlPort: Int?) -> Void
    ) {
        self.configuration = configuration
        self.logger = logger
        self.onListening = onListening
        scenarios = ScenarioBook(wallTimeMilliseconds: configuration.wallTimeMilliseconds)
        recording = Recording(limit: configuration.recordingLimit)
    }

    /// How many access tokens were asked for.
    package var tokenRequests: Int { judge.withLock { $0 }?.tokenRequests ?? 0 }

    /// Takes back every access token: the next message of each is unauthenticated.
    package func revokeTokens() { judge.withLock { $0 }?.tokens.revokeAll() }

    /// Serves until graceful shutdown, or at once to the end when the task is cancelled.
    ///
    /// - Throws: ``SimulatorError`` when a file is garbled or an address is in use.
    package func run() async throws {
        scenarios.set(try configuration.scenarios.ofAllServices())
        let file = try configuration.recordingFile.map { try RecordingFile<RecordedPush>(path: $0, logger: logger) }
        let open = OpenConnections()
        let tls = try configuration.identity.tlsContext()
        let listener = try await listen(configuration.host, configuration.port) { channel in
            self.set(up: channel, tls, open)
        }
        let port = listener.localAddress?.port ?? configuration.port
        let control: (any Channel)?
        do {
            try prepare(port: port)
            control = try await controlListener(open)
        } catch {
            try await listener.close()
            throw error
        }
        let failure = await untilShutdown(port, control, file)
        for channel in [listener, control].compactMap(\.self) { channel.close(promise: nil) }
        await open.drain(grace: failure == nil ? configuration.shutdownGrace : .zero)
        recording.finish()
        try await file?.finish(recording)
        if let failure, !(failure is CancellationError) { throw failure }
    }

    private func prepare(port: Int) throws {
        let judge = GoogleJudge(
            identity: configuration.identity, rules: rules, recording: recording,
            tokens: try GoogleTokenEndpoint(configuration.identity, port: port),
            quota: MinuteQuota(
                perMinute: configuration.messagesPerMinute, perTarget: configuration.messagesPerDevice),
            wallTimeMilliseconds: configuration.wallTimeMilliseconds)
        self.judge.withLock { $0 = judge }
        try configuration.identity.writeAccount(port: port)
    }

    private func controlListener(_ open: OpenConnections) async throws -> (any Channel)? {
        guard let port = configuration.controlPort else { return nil }
        let control = GoogleControl(rules: rules, scenarios: scenarios, recording: recording)
        return try await listen("127.0.0.1", port) { control.set(up: $0, open) }
    }

    private func set(up channel: any Channel, _ tls: NIOSSLContext, _ open: OpenConnections) -> EventLoopFuture<Void> {
        open.add(channel)
        // The port is not announced yet when there is no judge.
        guard let judge = judge.withLock({ $0 }) else { return channel.close() }
        let connection = GoogleConnection(
            number: connections.add(1, ordering: .relaxed).newValue, channel: channel,
            goAwayAfter: configuration.goAwayAfter)
        return channel.eventLoop.makeCompletedFuture {
            let gate = FreezeGate()
            try channel.pipeline.syncOperations.addHandlers(NIOSSLServerHandler(context: tls), gate)
            let stage = ScenarioStage(
                scenarios, on: channel, gate: gate, streamLimit: configuration.streamLimit,
                wallTimeMilliseconds: configuration.wallTimeMilliseconds)
            try channel.pipeline.syncOperations.addHandler(
                Self.negotiation(NIOLoopBound(stage, eventLoop: channel.eventLoop)) { stream, stage in
                    try stream.pipeline.syncOperations.addHandler(
                        GoogleHandler(judge: judge, connection: connection, stage: stage))
                })
        }
    }

    /// HTTP/2 for who chose it, HTTP/1.1 for the others, which play no scenario.
    private static func negotiation(
        _ stage: NIOLoopBound<ScenarioStage>,
        _ setUp: @escaping @Sendable (any Channel, ScenarioStage?) throws -> Void
    ) -> ApplicationProtocolNegotiationHandler {
        ApplicationProtocolNegotiationHandler { result, channel in
            guard result == .negotiated("h2") else {
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try setUp(channel, nil)
                }
            }
            var connection = NIOHTTP2Handler.ConnectionConfiguration()
            // A stream beyond the limit is answered with GOAWAY, as Google does.
            connection.initialSettings = nioDefaultSettings.filter { $0.parameter != .maxConcurrentStreams }
            connection.initialSettings.append(
                HTTP2Setting(parameter: .maxConcurrentStreams, value: stage.value.firstStreamLimit))
            var stream = NIOHTTP2Handler.StreamConfiguration()
            // A sender under test may well cancel a thousand requests that a rule leaves unanswered.
            stream.streamResetFrameRateLimit.maximumCount = 100_000
            connection.controlFrameRateLimit.maximumCount = 10_000
            return channel.configureHTTP2Pipeline(
                mode: .server, connectionConfiguration: connection, streamConfiguration: stream
            ) { stream in
                stream.eventLoop.makeCompletedFuture {
                    try stream.pipeline.syncOperations.addHandler(HTTP2FramePayloadToHTTP1ServerCodec())
                    try setUp(stream, stage.value)
                }
            }.map { _ in stage.value.begin() }
        }
    }

    /// Announces the ports and waits for the end.
    ///
    /// - Returns: `nil` after a graceful shutdown, otherwise why it ends at once.
    private func untilShutdown(_ port: Int, _ control: (any Channel)?, _ file: RecordingFile<RecordedPush>?) async -> (
        any Error
    )? {
        logger.info("Simulated Google listens", metadata: ["host": "\(configuration.host)", "port": "\(port)"])
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
}
