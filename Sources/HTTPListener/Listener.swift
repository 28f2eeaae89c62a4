import HTTPTypes
package import Hummingbird
package import Logging
import NIOCore
import ServiceLifecycle

/// An HTTP listener over any responder: HTTP/1.1 in the clear; with a certificate TLS, HTTP/2 and HTTP/1.1 by ALPN.
///
/// Runs until graceful shutdown: it then stops accepting and finishes running requests, for as long as the
/// configuration allows.
package struct Listener<Responder: HTTPResponder>: Service
where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
    private static var serverName: String { "Herald" }

    private let application: Application<Responder>
    private let connections: OpenConnections
    private let shutdownLimit: Duration
    private let logger: Logger
    /// The listener's certificates; none: it speaks no TLS.
    package let certificates: [ListenerCertificate]

    /// Prepares a listener.
    ///
    /// - Parameters:
    ///   - name: the listener's name in metrics and logs.
    ///   - responder: makes the responder, which says which connections proved a backend's credential.
    ///   - faultAnswer: answers the requests that the listener refuses by itself.
    ///   - onListening: called with the bound port once the socket listens.
    /// - Throws: an error whose description names the file when a certificate or key can't be used.
    package init(
        _ configuration: ListenerConfiguration, name: String, responder: (ProvenConnections) -> Responder,
        faultAnswer: @escaping FaultAnswer.Make, logger: Logger,
        onListening: @escaping @Sendable (_ port: Int) -> Void
    ) throws {
        let connections = OpenConnections(
            configuration.connectionLimits, of: name, idleLimit: configuration.idleLimit)
        let others = try configuration.otherCertificates.map {
            try ListenerCertificate(certificateFile: $0.certificateFile, keyFile: $0.keyFile)
        }
        let certificate = try configuration.tls.map {
            try ListenerCertificate(certificateFile: $0.certificateFile, keyFile: $0.keyFile, others: others)
        }
        let responder = responder(ProvenConnections(connections))
        let stack = ChannelStack(
            configuration, certificate, connections,
            streamResponder: responder.answering(as: Self.serverName, logger: logger), faultAnswer)
        application = Application(
            responder: responder, server: stack.server,
            configuration: ApplicationConfiguration(
                address: .hostname(configuration.host, port: configuration.port), serverName: Self.serverName,
                availableConnectionsDelegate: AcceptCeiling(total: configuration.connectionLimits.total)),
            onServerRunning: { channel in
                connections.watch(channel, logger: logger)
                onListening(channel.localAddress?.port ?? configuration.port)
            }, logger: logger)
        certificates = certificate.map { [$0] + others } ?? []
        self.connections = connections
        self.logger = logger
        shutdownLimit = configuration.shutdownLimit
    }

    /// Serves until graceful shutdown.
    ///
    /// - Throws: an `IOError` with `EADDRINUSE` when the port is in use.
    package func run() async throws {
        try await connections.serve(drainingWithin: shutdownLimit, logger: logger) { try await application.run() }
    }
}
