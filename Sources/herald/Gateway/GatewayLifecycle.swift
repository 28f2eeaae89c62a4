import Delivery
import ServiceLifecycle
import UnixSignals

/// The first step of a shutdown: refuses new messages, also on connections that stay open, and lets the delivery wind
/// down beside the requests that are under way. A caller that does not come to its end takes no time from the pushes.
struct AcceptGate: Service {
    let acceptor: MessageAcceptor
    let runner: DeliveryRunner
    /// Begins with it.
    let departure: NodeHeartbeat.Departure

    func run() async throws {
        do {
            try await gracefulShutdown()
        } catch is CancellationError {
            // Stopping either way.
        }
        acceptor.stop()
        runner.stop()
        departure.begin()
    }
}

/// The delivery, which ``AcceptGate`` stops: it may be over before its turn to stop comes.
struct DeliveryService: Service {
    let runner: DeliveryRunner

    func run() async throws {
        try await runner.run()
        do {
            try await gracefulShutdown()
        } catch is CancellationError {
            // Stopping either way.
        }
    }
}

/// Reads the project files and the listener's certificate again on SIGHUP; of stored projects it tries the newest version
/// once more.
struct ReloadService: Service {
    let hangups: UnixSignalsSequence
    let reloader: ProjectReloader
    /// `nil`: projects are files.
    let storedProjects: StoredProjectsState?
    /// `nil`: the listener has no certificate.
    let listener: ListenerWatch?

    func run() async throws {
        for await _ in hangups.cancelOnGracefulShutdown() {
            if let storedProjects { storedProjects.tryAgain() } else { reloader.reload() }
            listener?.reload()
        }
    }
}

/// A listener whose failures to listen name its own place in the configuration.
struct NamedListener: Service {
    let server: any Service
    let configuration: GatewayConfiguration
    /// The settings of its address.
    let host: GatewayConfiguration.Setting
    let port: GatewayConfiguration.Setting

    func run() async throws {
        do {
            try await server.run()
        } catch let error as CancellationError {
            throw error
        } catch {
            throw Failure(starting: configuration, error, host: host, port: port)
        }
    }
}
