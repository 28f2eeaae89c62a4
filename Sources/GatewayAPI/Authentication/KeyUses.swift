package import Logging
import PushModel
import ServiceLifecycle
package import Store
import Synchronization

/// When API keys were used last. A request notes it in memory; ``KeyUseWriter`` brings it to the store.
///
/// Safe to share. Holds a time for each key that was used since the last write: as many as there are keys that work.
package final class KeyUses: Sendable {
    private let times = Mutex<[String: Timestamp]>([:])

    /// No key was used yet.
    package init() {}

    /// Notes that a key was used.
    func note(_ id: String, at time: Timestamp) {
        times.withLock { $0[id] = max(time, $0[id] ?? time) }
    }

    /// Hands out what was noted since the last call.
    func take() -> [String: Timestamp] {
        times.withLock { times in
            defer { times = [:] }
            return times
        }
    }
}

/// Writes when keys were used last, one transaction a minute at most, and once more at the end.
package struct KeyUseWriter: Service {
    /// The time between two writes.
    static let interval: Duration = .seconds(60)

    private let uses: KeyUses
    private let store: any CredentialStore
    private let clock: any Clock<Duration>
    private let logger: Logger

    /// Prepares a writer; nothing is written before ``run()``.
    package init(_ uses: KeyUses, to store: any CredentialStore, clock: any Clock<Duration>, logger: Logger) {
        self.uses = uses
        self.store = store
        self.clock = clock
        self.logger = logger
    }

    /// Works until graceful shutdown or cancellation.
    package func run() async {
        await cancelWhenGracefulShutdown {
            do {
                while true {
                    try await clock.sleep(for: Self.interval)
                    await write()
                }
            } catch {
                // Cancelled: the gateway stops.
            }
        }
        await write()
    }

    /// Writes what was noted. What can't be written now is noted again by the next use.
    func write() async {
        let times = uses.take()
        guard !times.isEmpty else { return }
        do throws(StoreError) {
            try await store.noteUse(of: times)
        } catch {
            logger.debug("Key uses not written", metadata: ["error": "\(error.message)"])
        }
    }
}
