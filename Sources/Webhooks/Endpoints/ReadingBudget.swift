import Delivery
import Synchronization

/// Keeps reading events for webhooks from taking the time of deliveries: while these use their room, all endpoints together
/// read and encode for a small share of the time, which grows with what they lack. So one that falls behind catches up
/// before retention takes what it has not got.
package final class ReadingBudget: Sendable {
    /// The share of one processor's time: of an endpoint that lacks nothing, and of one that lacks ``fullLag`` events.
    private static let (least, most) = (0.05, 0.5)
    /// Events behind the newest from which on the share grows no more.
    private static let fullLag: Int64 = 100_000
    /// A rest longer than this is cut: what is measured has the wait for the store in it, and a page that took long by
    /// chance is no reason to stand still.
    static let longest: Duration = .milliseconds(500)

    private let clock: any Clock<Duration>
    private let isBusy: @Sendable () -> Bool
    /// How much of a rest is owed.
    private let debt = Mutex(Duration.zero)

    /// Prepares a budget.
    ///
    /// - Parameter isBusy: whether deliveries use their room, so that reading would slow them down. Cheap.
    package init(clock: any Clock<Duration>, isBusy: @escaping @Sendable () -> Bool) {
        self.clock = clock
        self.isBusy = isBusy
    }

    /// The share of one processor's time for an endpoint that lacks so many events.
    static func share(behind lag: Int64) -> Double {
        let part = Double(min(max(lag, 0), fullLag)) / Double(fullLag)
        return least + (most - least) * part
    }

    /// The rest that is owed.
    var owed: Duration { debt.withLock { $0 } }

    /// Reading and encoding took this long, of an endpoint that lacks `lag` events.
    func spend(_ time: Duration, behind lag: Int64) {
        guard isBusy() else { return debt.withLock { $0 = .zero } }
        debt.withLock { $0 = min($0 + time / Self.share(behind: lag), Self.longest) }
    }

    /// Rests for what was spent, as long as deliveries use their room.
    func rest() async {
        let owed = owed
        guard owed > .zero, isBusy() else { return }
        await clock.pause(owed)
        debt.withLock { $0 = max(.zero, $0 - owed) }
    }
}
