import Foundation
import Logging
import UnixSignals

/// Ends the process when an orderly shutdown takes too long, or when it is asked for twice.
///
/// Nothing is lost by that: what was accepted is in the store, and an abrupt end is what the next start is made for.
struct ShutdownWatch: Sendable {
    /// The signals that begin the orderly shutdown.
    let signals: UnixSignalsSequence
    /// How long it may take.
    let limit: Duration
    let logger: Logger

    /// Watches until it is cancelled.
    func run() async {
        await withTaskGroup(of: Void.self) { tasks in
            var isStopping = false
            for await signal in signals {
                // The code a shell gives a program that a signal ended.
                if isStopping { exit(128 + signal.rawValue) }
                isStopping = true
                logger.notice("stopping", metadata: ["limit": "\(limit)"])
                tasks.addTask { await endAfterLimit() }
            }
            tasks.cancelAll()
        }
    }

    private func endAfterLimit() async {
        do {
            // The limit of the whole process, on the real clock; the end of the shutdown cancels it.
            try await Task.sleep(for: limit)
        } catch {
            // Cancelled: the shutdown came to its end in time.
            return
        }
        logger.warning("the shutdown took too long and was cut short; the next start goes on with what is left")
        exit(0)
    }
}
