import Delivery
import ServiceLifecycle
import UnixSignals

/// Refuses new messages as the first step of a shutdown, also on connections that stay open.
struct AcceptGate: Service {
    let acceptor: MessageAcceptor

    func run() async throws {
        do {
            try await gracefulShutdown()
        } catch is CancellationError {
            // Stopping either way.
        }
        acceptor.stop()
    }
}

/// Reads the project files and the listener's certificate again on SIGHUP.
struct ReloadService: Service {
    let hangups: UnixSignalsSequence
    let reloader: ProjectReloader
    /// `nil`: the listener has no certificate.
    let listener: ListenerWatch?

    func run() async throws {
        for await _ in hangups.cancelOnGracefulShutdown() {
            reloader.reload()
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
