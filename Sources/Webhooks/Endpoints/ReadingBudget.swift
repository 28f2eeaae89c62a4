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

    /// Rests after reading that took `time`, as long as deliveries are under way.
    func rest(after time: Duration) async {
        guard isBusy() else { return debt.withLock { $0 = .zero } }
        let owed = debt.withLock { debt in
            debt = min(debt + time / Self.share, Self.longest)
            return debt
        }
        try? await clock.sleep(for: owed)
        // Cancelled: the gateway stops, and nothing is read any more.
        debt.withLock { $0 = max(.zero, $0 - owed) }
    }
}
