package import Logging
import ServiceLifecycle
package import Store

/// Cleans the files of the store once more when a reader stood in the way, until it is done.
package struct FileCleaner: Service {
    /// Time between two attempts.
    static let interval: Duration = .seconds(5)
    /// The longest time between two attempts that failed: each may write the whole file before it does.
    static let longestInterval: Duration = .seconds(320)

    private let store: any StoreRetention
    private let clock: any Clock<Duration>
    private let logger: Logger

    /// Prepares a cleaner.
    package init(_ store: any StoreRetention, clock: any Clock<Duration>, logger: Logger) {
        self.store = store
        self.clock = clock
        self.logger = logger
    }

    /// Works until graceful shutdown or cancellation.
    package func run() async {
        await cancelWhenGracefulShutdown {
            do {
                var interval = Self.interval
                while true {
                    try await clock.sleep(for: interval)
                    guard store.hasUncleanFiles else { continue }
                    interval = await clean() ? Self.interval : min(interval * 2, Self.longestInterval)
                }
            } catch {
                // Cancelled: the gateway stops, and cleans when it closes the store.
            }
        }
    }

    /// - Returns: whether the store did not fail.
    private func clean() async -> Bool {
        do throws(StoreError) {
            if try await store.cleanFiles() != .reader {
                logger.notice("no file of the store's log holds what was removed any more")
            }
            return true
        } catch {
            logger.warning("the store's files can't be cleaned", metadata: ["error": "\(error)"])
            return false
        }
    }
}
