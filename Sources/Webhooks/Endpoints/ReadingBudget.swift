import Synchronization

/// Keeps reading events for webhooks from taking the time of deliveries: while these are under way, all endpoints together
/// read and encode for a small share of the time.
package final class ReadingBudget: Sendable {
    /// The share of one processor's time.
    private static let share = 0.05

    private let clock: any Clock<Duration>
    private let isBusy: @Sendable () -> Bool
    /// How much of a rest is owed.
    private let debt = Mutex(Duration.zero)
    /// A rest longer than this is cut: a page that took long by chance is no reason to stand still.
    private static let longest: Duration = .seconds(2)

    /// Prepares a budget.
    ///
    /// - Parameter isBusy: whether deliveries are under way. Cheap.
    package init(clock: any Clock<Duration>, isBusy: @escaping @Sendable () -> Bool) {
        self.clock = clock
        self.isBusy = isBusy
    }

    /// Reading and encoding took this long.
    func spend(_ time: Duration) {
        guard isBusy() else { return debt.withLock { $0 = .zero } }
        debt.withLock { $0 = min($0 + time / Self.share, Self.longest) }
    }

    /// Rests for what was spent, as long as deliveries are under way.
    func rest() async {
        let owed = debt.withLock { $0 }
        guard owed > .zero, isBusy() else { return }
        // Cancelled: the gateway stops, and nothing is read any more.
        try? await clock.sleep(for: owed)
        debt.withLock { $0 = max(.zero, $0 - owed) }
    }
}
