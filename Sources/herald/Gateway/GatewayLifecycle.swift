import APNS
import Delivery
import ServiceLifecycle
import UnixSignals

/// Closes the connections to APNs after everything that sends has stopped.
struct SenderService: Service {
    let sender: APNSSender
    let limit: Duration

    func run() async throws {
        var remaining = limit
        do {
            try await gracefulShutdown()
        } catch is CancellationError {
            // Another service failed: nothing is waited for.
            remaining = .zero
        }
        await sender.shutdown(within: remaining)
    }
}

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
