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

/// Reads the project files again on SIGHUP.
struct ReloadService: Service {
    let hangups: UnixSignalsSequence
    let reloader: ProjectReloader

    func run() async throws {
        for await _ in hangups.cancelOnGracefulShutdown() {
            reloader.reload()
        }
    }
}
