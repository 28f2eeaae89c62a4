package import Logging
package import PushModel
import ServiceLifecycle
import Synchronization

/// The free space of the store's file system: while there is less than a limit, new messages are refused, so that what was
/// accepted can be recorded to its end.
///
/// It looks once before it runs, then every few seconds until graceful shutdown.
package final class DiskSpace: Service, Sendable {
    /// How it is.
    package struct State: Hashable, Sendable {
        /// Free bytes; `nil`: they can't be read.
        package var freeBytes: Int?
        /// Below so many new messages are refused; 0: never.
        package var limitBytes: Int
        /// Whether new messages are refused now.
        package var isLow = false
        /// Days until the limit is reached at the rate of the last day; `nil`: not known yet, or it is not being filled.
        package var daysLeft: Double?

        /// Describes a disk.
        package init(freeBytes: Int?, limitBytes: Int, isLow: Bool = false, daysLeft: Double? = nil) {
            self.freeBytes = freeBytes
            self.limitBytes = limitBytes
            self.isLow = isLow
            self.daysLeft = daysLeft
        }
    }

    private struct Watch {
        var state: State
        var trend = SpaceTrend()
        var lastWarning: Timestamp?
    }

    private static let interval: Duration = .seconds(5)
    /// With fewer days left it warns, once a day.
    private static let notice: Double = 7

    private let read: @Sendable () -> Int?
    private let clock: any Clock<Duration>
    private let wallTime: WallTime
    private let logger: Logger
    private let watch: Mutex<Watch>
    private let low = Atomic(false)

    /// Looks for the first time.
    ///
    /// - Parameters:
    ///   - limitBytes: below so many free bytes new messages are refused; 0: never.
    ///   - read: the free bytes; `nil`: they can't be read, which refuses nothing.
    package init(
        limitBytes: Int, read: @escaping @Sendable () -> Int?, clock: any Clock<Duration>,
        wallTime: @escaping WallTime, logger: Logger
    ) {
        self.read = read
        self.clock = clock
        self.wallTime = wallTime
        self.logger = logger
        watch = Mutex(Watch(state: State(freeBytes: nil, limitBytes: limitBytes)))
        look()
    }

    /// How it is, as of the last look.
    package var state: State { watch.withLock { $0.state } }

    /// Whether new messages are refused now; asked for each of them.
    package var isLow: Bool { low.load(ordering: .relaxed) }

    /// Looks until graceful shutdown or cancellation.
    package func run() async {
        await cancelWhenGracefulShutdown {
            do {
                while true {
                    try await self.clock.sleep(for: Self.interval)
                    self.look()
                }
            } catch {
                // Cancelled: the gateway stops.
            }
        }
    }

    /// Looks now.
    package func look() {
        let (free, now) = (read(), wallTime())
        let (before, state, isWarned) = watch.withLock { watch in
            let before = watch.state
            watch.state.freeBytes = free
            watch.state.isLow = Self.isLow(free, before)
            if let free {
                watch.trend.add(free, at: now)
                watch.state.daysLeft = watch.trend.daysLeft(until: watch.state.limitBytes)
            }
            let isDue = watch.lastWarning.map { now - $0 >= .seconds(86_400) } ?? true
            let isWarned = isDue && (watch.state.daysLeft.map { $0 < Self.notice } ?? false)
            if isWarned { watch.lastWarning = now }
            return (before, watch.state, isWarned)
        }
        low.store(state.isLow, ordering: .relaxed)
        log(state, before, isWarned)
    }

    /// Once it is low, an eighth more than the limit must be free: otherwise each message that is refused would let the next
    /// one in.
    private static func isLow(_ free: Int?, _ before: State) -> Bool {
        guard let free else { return before.isLow }
        return free < before.limitBytes + (before.isLow ? before.limitBytes / 8 : 0)
    }

    private func log(_ state: State, _ before: State, _ isWarned: Bool) {
        let metadata: Logger.Metadata = [
            "free": "\(state.freeBytes ?? 0)", "limit": "\(state.limitBytes)",
        ]
        if state.isLow, !before.isLow {
            logger.warning("the disk is nearly full and new messages are refused", metadata: metadata)
        } else if before.isLow, !state.isLow {
            logger.notice("the disk has room again and messages are accepted", metadata: metadata)
        }
        guard isWarned, let days = state.daysLeft else { return }
        logger.warning(
            "the disk will be full soon at today's rate",
            metadata: metadata.merging(["days": "\((days * 10).rounded() / 10)"]) { $1 })
    }
}

/// How fast a disk fills: free bytes of the last day, one figure for each ten minutes. A value without clock.
struct SpaceTrend: Sendable {
    private static let step: Duration = .seconds(600)
    private static let window: Duration = .seconds(86_400)
    /// A shorter time says nothing of a day.
    private static let shortest: Duration = .seconds(3600)

    private var figures: [(time: Timestamp, free: Int)] = []
    private var newest: (time: Timestamp, free: Int)?

    /// Takes a figure. A clock that was set back begins a new day.
    mutating func add(_ free: Int, at time: Timestamp) {
        if let last = figures.last, time < last.time { figures = [] }
        newest = (time, free)
        guard figures.last.map({ time - $0.time >= Self.step }) ?? true else { return }
        figures.append((time, free))
        figures.removeAll { time - $0.time > Self.window }
    }

    /// Days until `limit` bytes are left; `nil`: it does not get less, or that is not known yet.
    func daysLeft(until limit: Int) -> Double? {
        guard let first = figures.first, let newest, newest.time - first.time >= Self.shortest else { return nil }
        let used = first.free - newest.free
        guard used > 0 else { return nil }
        let days = Double((newest.time - first.time).wholeMilliseconds) / 86_400_000
        return max(0, Double(newest.free - limit)) / (Double(used) / days)
    }
}
