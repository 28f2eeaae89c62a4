import Synchronization

/// How many pushes a simulated service takes within a minute, from a sender and for one target. Safe to share.
final class MinuteQuota: Sendable {
    /// Whose quota is used up.
    enum Excess: Hashable {
        case sender, target
    }

    private struct Counts {
        var minute: Int64 = 0
        var all = 0
        var targets: [String: Int] = [:]
    }

    private let perMinute: Int?
    private let perTarget: Int?
    private let counts = Mutex(Counts())

    /// `nil`: no limit.
    init(perMinute: Int?, perTarget: Int?) {
        self.perMinute = perMinute
        self.perTarget = perTarget
    }

    /// A push came for a target, at this time since 1970: whose quota it exceeds; `nil`: no one's.
    func take(for target: String, atMilliseconds now: Int64) -> Excess? {
        guard perMinute != nil || perTarget != nil else { return nil }
        let minute = now / 60_000
        return counts.withLock { counts in
            if counts.minute != minute { counts = Counts(minute: minute) }
            counts.all += 1
            counts.targets[target, default: 0] += 1
            if let perMinute, counts.all > perMinute { return .sender }
            if let perTarget, counts.targets[target] ?? 0 > perTarget { return .target }
            return nil
        }
    }
}
