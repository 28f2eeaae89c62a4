public import Logging
public import ServiceLifecycle

/// A simulated APNs: TLS, HTTP/2, Apple's checks, statuses, reasons and headers. Runs until graceful shutdown.
public final class SimulatedAPNS: Service {
    /// How a simulator listens and what it knows.
    public struct Configuration: Sendable {
        /// Where to listen; always a loopback address unless the operator says otherwise.
        public var host = "127.0.0.1"
        /// TCP port of the APNs side, 0 for any free one.
        public var port = 2197
        /// TCP port of the control endpoint (plain HTTP/1.1, loopback only), 0 for any free one; `nil`: none.
        public var controlPort: Int?
        /// Server certificate, provider keys and topics that it accepts.
        public var identity: SimulatorIdentity
        /// `SETTINGS_MAX_CONCURRENT_STREAMS`.
        public var streamLimit = 1000
        /// Wall time in milliseconds since 1970, to judge `iat`.
        public var wallTimeMilliseconds: @Sendable () -> Int64

        /// A configuration with the default address.
        public init(identity: SimulatorIdentity, wallTimeMilliseconds: @escaping @Sendable () -> Int64) {
            self.identity = identity
            self.wallTimeMilliseconds = wallTimeMilliseconds
        }
    }

    /// The rules for device tokens, changeable while it runs.
    public let rules: RuleBook
    /// Every push that arrived.
    public let recording: Recording

    /// Prepares a simulator.
    ///
    /// - Parameter onListening: called with the bound ports once both sockets listen.
    public init(
        _ configuration: Configuration, logger: Logger,
        onListening: @escaping @Sendable (_ port: Int, _ controlPort: Int?) -> Void
    ) {
        fatalError("pending")
    }

    /// Serves until graceful shutdown.
    public func run() async throws {
        fatalError("pending")
    }
}
