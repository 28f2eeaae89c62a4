package import Logging
package import PushModel
import ServiceLifecycle
package import Store
import Synchronization

/// Counts what happens with links, in memory, and adds it to the store once a second: a loss of power costs a second of
/// counts at most.
///
/// Safe to share. ``run()`` writes until graceful shutdown, and then the rest; it belongs in front of whatever counts in a
/// `ServiceGroup`, which ends services in the reverse order.
package final class LinkCounter: Service {
    /// Adds to the store, all or nothing.
    package typealias Write = @Sendable ([LinkCount]) async throws(StoreError) -> Void

    fileprivate struct Key: Hashable {
        let link: LinkID
        let day: Int
        let platform: LinkPlatform
        let event: LinkEvent
    }

    private struct Counts {
        var byKey: [Key: Int] = [:]
        /// Events that found no place.
        var lost = 0
    }

    /// A lock with what it guards.
    private final class Part: Sendable {
        let counts = Mutex(Counts())
    }

    private static let interval: Duration = .seconds(1)
    /// Rows of a transaction: some tens of milliseconds of the writer.
    private static let rowLimit = 2000
    /// Different counters that wait at most, while the store fails.
    private static let waitingLimit = 1_000_000
    private static let dayMilliseconds: Int64 = 86_400_000

    private let parts: [Part]
    private let partLimit: Int
    private let write: Write
    private let clock: any Clock<Duration>
    private let wallTime: WallTime
    private let logger: Logger

    /// - Parameter limit: different counters that wait at most; what comes beyond them is lost, and told in the log.
    package init(
        limit: Int = LinkCounter.waitingLimit, clock: any Clock<Duration> = ContinuousClock(),
        wallTime: @escaping WallTime, logger: Logger, write: @escaping Write
    ) {
        parts = (0..<16).map { _ in Part() }
        partLimit = max(1, limit / parts.count)
        self.write = write
        self.clock = clock
        self.wallTime = wallTime
        self.logger = logger
    }

    /// Counts an event of now. A lock for a part of the links is held for a moment; nothing waits.
    package func count(_ event: LinkEvent, of link: LinkID, on platform: LinkPlatform) {
        count(CollectionOfOne(event), of: link, on: platform, at: wallTime())
    }

    /// Counts events of `time`, each once, as ``count(_:of:on:)`` does.
    package func count(
        _ events: some Sequence<LinkEvent>, of link: LinkID, on platform: LinkPlatform, at time: Timestamp
    ) {
        let milliseconds = time.milliseconds
        let (day, rest) = milliseconds.quotientAndRemainder(dividingBy: Self.dayMilliseconds)
        for event in events {
            add(1, to: Key(link: link, day: Int(rest < 0 ? day - 1 : day), platform: platform, event: event))
        }
    }

    /// Writes once a second until graceful shutdown or cancellation, and then what is left.
    package func run() async {
        await cancelWhenGracefulShutdown {
            do {
                while true {
                    try await self.clock.sleep(for: Self.interval)
                    await self.flush()
                }
            } catch {
                // Cancelled: the gateway stops.
            }
        }
        await flush()
    }

    /// Writes what was counted; what the store does not take is kept for the next time.
    package func flush() async {
        var waiting: [LinkCount] = []
        var lost = 0
        for part in parts {
            let counts = part.counts.withLock { counts in
                defer { counts = Counts() }
                return counts
            }
            lost += counts.lost
            waiting += counts.byKey.map { key, count in
                LinkCount(link: key.link, day: key.day, platform: key.platform, event: key.event, count: count)
            }
        }
        if lost > 0 { logger.error("counts of links lost", metadata: ["count": "\(lost)"]) }
        // Neighbouring rows share pages.
        waiting.sort { ($0.link.rawValue, $0.day) < ($1.link.rawValue, $1.day) }
        await writeAll(waiting)
    }

    private func writeAll(_ waiting: [LinkCount]) async {
        var rest = waiting[...]
        while !rest.isEmpty {
            let batch = Array(rest.prefix(Self.rowLimit))
            do {
                try await write(batch)
            } catch {
                logger.warning("counts of links wait", metadata: ["rows": "\(rest.count)", "error": "\(error)"])
                for row in rest { add(row.count, to: Key(row)) }
                return
            }
            rest = rest.dropFirst(batch.count)
        }
    }

    private func add(_ count: Int, to key: Key) {
        let part = parts[Int(UInt64(bitPattern: key.link.rawValue) % UInt64(parts.count))]
        part.counts.withLock { counts in
            if let place = counts.byKey.index(forKey: key) {
                counts.byKey.values[place] += count
            } else if counts.byKey.count < partLimit {
                counts.byKey[key] = count
            } else {
                counts.lost += count
            }
        }
    }
}

extension LinkCounter.Key {
    fileprivate init(_ count: LinkCount) {
        self.init(link: count.link, day: count.day, platform: count.platform, event: count.event)
    }
}
