package import Logging
import NIOCore
import ServiceLifecycle
import Synchronization

/// A simulated APNs: TLS, HTTP/2, Apple's checks, statuses, reasons and headers. Runs until graceful shutdown.
///
/// Like Apple it allows one stream on a new connection and widens after the first answer, binds a connection to one
/// team and key (or takes the client's certificate instead), and says GOAWAY before it goes. Beyond what Apple checks stand the ``RuleBook``, and the
/// ``ScenarioBook`` with an APNs in trouble.
package final class SimulatedAPNS: Service {
    /// How a simulator listens and what it knows.
    package struct Configuration: Sendable {
        /// Where to listen; always a loopback address unless the operator says otherwise.
        package var host = "127.0.0.1"
        /// TCP port of the APNs side, 0 for any free one.
        package var port = 2197
        /// TCP port of the management host of channels, 0 for any free one; `nil`: none.
        package var channelPort: Int?
        /// TCP port of the control endpoint (plain HTTP/1.1, loopback only), 0 for any free one; `nil`: none.
        package var controlPort: Int?
        /// Server certificate, provider keys and topics that it accepts.
        package var identity: SimulatorIdentity
        /// A PEM file of certificate authorities: a client whose certificate one of them issued needs no provider token.
        /// `nil`: clients are not asked for certificates.
        package var clientCAFile: String?
        /// `SETTINGS_MAX_CONCURRENT_STREAMS`.
        package var streamLimit = 1000
        /// Whether a connection begins with one stream and gets ``streamLimit`` when the first push with a good
        /// provider token was answered, as with Apple.
        package var beginsWithOneStream = true
        /// The scenarios to begin with; `nil`: those of `scenarios.json` in the identity's directory, if it is there.
        package var scenarios: ScenarioSet?
        /// How many pushes are remembered.
        package var recordingLimit = 10_000
        /// A file to which every push is appended as a line of JSON (``RecordedPush``); `nil`: none.
        package var recordingFile: String?
        /// How long open requests may take after the start of a graceful shutdown.
        package var shutdownGrace = Duration.seconds(5)
        /// Wall time in milliseconds since 1970, to judge `iat` and for the `date` of answers.
        package var wallTimeMilliseconds: @Sendable () -> Int64

        /// A configuration with the default address.
        package init(identity: SimulatorIdentity, wallTimeMilliseconds: @escaping @Sendable () -> Int64) {
            self.identity = identity
            self.wallTimeMilliseconds = wallTimeMilliseconds
        }
    }

    /// The rules for device tokens, changeable while it runs.
    package let rules: RuleBook
    /// What connections play, changeable while it runs.
    package let scenarios: ScenarioBook
    /// The broadcast channels, changeable while it runs.
    package let channels: ChannelBook
    /// Every push that arrived, and every request about channels.
    package let recording: Recording
    /// What was counted since the start.
    package var statistics: Statistics { tally.statistics }

    private let configuration: Configuration
    private let logger: Logger
    private let onListening: @Sendable (_ port: Int, _ controlPort: Int?) -> Void
    private let tally = Tally()
    private let boundChannelPort = Mutex<Int?>(nil)

    /// The port of the management host of channels, once it listens; `nil`: there is none.
    package var channelPort: Int? { boundChannelPort.withLock { $0 } }

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
        rules = RuleBook()
        scenarios = ScenarioBook(wallTimeMilliseconds: configuration.wallTimeMilliseconds)
        channels = ChannelBook()
        recording = Recording(limit: configuration.recordingLimit)
    }

    /// Serves until graceful shutdown, or at once to the end when the task is cancelled.
    ///
    /// - Throws: ``SimulatorError`` when a file is garbled or an address is in use.
    package func run() async throws {
        if let saved = try RuleSet(file: configuration.identity.rulesFile) { rules.merge(saved) }
        if let set = try configuration.scenarios ?? ScenarioSet(file: configuration.identity.scenariosFile) {
            scenarios.set(set)
        }
        let file = try configuration.recordingFile.map { try RecordingFile<RecordedPush>(path: $0, logger: logger) }
        let open = OpenConnections()
        let listener = try await listener(.push, configuration.port, open)
        var others: [any Channel] = []
        let control: (any Channel)?
        do {
            if let port = configuration.channelPort {
                let management = try await self.listener(.management, port, open)
                others.append(management)
                boundChannelPort.withLock { $0 = management.localAddress?.port ?? port }
            }
            control = try await controlListener(open)
            if let control { others.append(control) }
        } catch {
            try await close([listener] + others)
            throw error
        }
        let failure = await untilShutdown(listener, control, file)
        try await close([listener] + others)
        await open.drain(grace: failure == nil ? configuration.shutdownGrace : .zero)
        recording.finish()
        try await file?.finish(recording)
        if let failure, !(failure is CancellationError) { throw failure }
    }

    private func listener(_ host: APNSHost, _ port: Int, _ open: OpenConnections) async throws -> any Channel {
        let verifier = try ProviderTokenVerifier(configuration.identity.providerKeys)
        let judge = PushJudge(
            host: host, checks: RequestChecks(verifier: verifier),
            channels: ChannelChecks(verifier: verifier, book: channels), rules: rules, recording: recording,
            tally: tally,
            wallTimeMilliseconds: configuration.wallTimeMilliseconds)
        let acceptor = Acceptor(
            tls: try configuration.identity.tlsContext(clientCAFile: configuration.clientCAFile), judge: judge,
            limits: .init(limit: configuration.streamLimit, beginsWithOne: configuration.beginsWithOneStream),
            scenarios: scenarios, open: open, logger: logger)
        return try await listen(configuration.host, port) { acceptor.set(up: $0) }
    }

    private func controlListener(_ open: OpenConnections) async throws -> (any Channel)? {
        guard let port = configuration.controlPort else { return nil }
        let control = ControlEndpoint(
            rules: rules, scenarios: scenarios, channels: channels, recording: recording, tally: tally)
        return try await listen("127.0.0.1", port) { control.set(up: $0, open) }
    }

    /// Announces the ports and waits for the end.
    ///
    /// - Returns: `nil` after a graceful shutdown, otherwise why it ends at once.
    private func untilShutdown(
        _ listener: any Channel, _ control: (any Channel)?, _ file: RecordingFile<RecordedPush>?
    ) async -> (any Error)? {
        let port = listener.localAddress?.port ?? configuration.port
        logger.info("Simulated APNs listens", metadata: ["host": "\(configuration.host)", "port": "\(port)"])
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

    private func close(_ channels: [any Channel]) async throws {
        for channel in channels {
            do {
                try await channel.close()
            } catch ChannelError.alreadyClosed {
                // Closed is what was asked for.
            }
        }
    }
}
