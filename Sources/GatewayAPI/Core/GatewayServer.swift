package import HTTPListener
import Hummingbird
import HummingbirdCore
import NIOCore
import ServiceLifecycle

/// A listener of the gateway. Runs until graceful shutdown: it then stops accepting and finishes running requests, for
/// as long as the configuration allows.
package struct GatewayServer: Service {
    private let listener: Listener<HostResponder>

    /// The listener's certificates; none: it speaks no TLS.
    package var certificates: [ListenerCertificate] { listener.certificates }

    /// Prepares a server.
    ///
    /// - Parameter onListening: called with the bound port once the socket listens.
    /// - Throws: an error whose description names the file when a certificate or key can't be used.
    package init(
        listener: GatewayListener, services: GatewayServices,
        onListening: @escaping @Sendable (_ port: Int) -> Void
    ) throws {
        let router = GatewayRouter(services: services, limits: listener.bodyLimits, routes: listener.routes)
        self.listener = try Listener(
            listener.http, name: listener.routes.name, responder: router.responder(provenConnections:),
            faultAnswer: FaultAnswer.init, logger: services.logger, onListening: onListening)
    }

    /// Serves until graceful shutdown.
    ///
    /// - Throws: an `IOError` with `EADDRINUSE` when the port is in use.
    package func run() async throws { try await listener.run() }
}
