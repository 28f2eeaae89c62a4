package import HTTPListener

/// The largest bodies in bytes. Most routes need less than the limit, and take no more than they need.
package struct BodyLimits: Hashable, Sendable {
    /// Of a request.
    package var standard: Int
    /// Of a batch of messages (`messages:batchSend`).
    package var batch: Int

    /// Puts limits together.
    package init(standard: Int = 4 << 20, batch: Int = 32 << 20) {
        self.standard = standard
        self.batch = batch
    }
}

/// A listener of the gateway: where it listens, and what it answers.
package struct GatewayListener: Sendable {
    /// Where it listens.
    package var http: ListenerConfiguration
    /// The largest request bodies.
    package var bodyLimits: BodyLimits
    /// What is answered here.
    package var routes: Routes

    /// What a listener answers.
    package enum Routes: Hashable, Sendable {
        /// The API, `/healthz`, and whether the gateway is ready; with `withOperations` also why not, and `/metrics`:
        /// there is no listener for these.
        case api(withOperations: Bool)
        /// `/healthz`, `/readyz` with everything that it knows, and `/metrics`.
        case operations

        /// The listener's name in metrics and logs.
        var name: String { self == .operations ? "operations" : "api" }
    }

    /// Describes a listener.
    package init(
        _ http: ListenerConfiguration, bodyLimits: BodyLimits = BodyLimits(),
        routes: Routes = .api(withOperations: true)
    ) {
        self.http = http
        self.bodyLimits = bodyLimits
        self.routes = routes
    }
}
