import Synchronization

/// How many pushes one upstream has in hand, by lane: handed over and not reported.
///
/// With a fifth of its limit in the bulk lane it is *crowded*: more are to stay in the store until half of these have gone.
/// That is backpressure, and means nothing for an upstream that does not answer: when nothing was heard of it for a while it
/// is *stuck*, and keeps none of the others waiting.
final class UpstreamLoad: Sendable {
    /// Without an answer for so long a crowded upstream is stuck.
    static let patience: Duration = .seconds(3)

    private struct Counts {
        var urgent = 0
        var normal = 0
        var isCrowded = false
        var isStuck = false
        /// The last answer, or the first push after there were none.
        var heardAt: Duration = .zero
        /// How many have gone since there were none, and since when.
        var gone = 0
        var busySince: Duration = .zero

        var isHolding: Bool { isCrowded && !isStuck }
    }

    private let limit: Int
    private let counts = Mutex(Counts())

    /// - Parameter limit: the most pushes of a lane.
    init(limit: Int) {
        self.limit = max(1, limit)
    }

    /// Whether it has none.
    var isNone: Bool { counts.withLock { $0.urgent + $0.normal == 0 } }

    /// Whether no more bulk pushes are wanted for now.
    var isHolding: Bool { counts.withLock { $0.isHolding } }

    /// For how long what finds no room should rest: until about half of what is in hand has gone, at the present speed.
    func rest(at now: Duration) -> Duration {
        counts.withLock { counts in
            guard counts.gone > 0 else { return Self.shortestRest }
            let each = (now - counts.busySince) / counts.gone
            return min(max(each * ((counts.urgent + counts.normal) / 2), Self.shortestRest), Self.longestRest)
        }
    }

    private static let shortestRest: Duration = .seconds(2)
    private static let longestRest: Duration = .seconds(60)

    /// Takes up to `count` pushes, so that there are no more than the limit of their lane.
    ///
    /// - Returns: how many it took, and whether ``isHolding`` has changed.
    func take(_ count: Int, isUrgent: Bool, at now: Duration) -> (taken: Int, isNews: Bool) {
        counts.withLock { counts in
            let before = counts.isHolding
            if counts.urgent + counts.normal == 0 {
                counts.heardAt = now
                counts.busySince = now
                counts.gone = 0
            }
            let taken = min(count, max(0, limit - (isUrgent ? counts.urgent : counts.normal)))
            if isUrgent { counts.urgent += taken } else { counts.normal += taken }
            if counts.normal >= crowdBegin { counts.isCrowded = true }
            if counts.isCrowded, now - counts.heardAt >= Self.patience { counts.isStuck = true }
            return (taken, counts.isHolding != before)
        }
    }

    /// Pushes are reported, or go elsewhere.
    ///
    /// - Parameter isAnswered: whether the upstream answered one of them.
    /// - Returns: whether ``isHolding`` has changed.
    @discardableResult
    func giveBack(_ count: Int, isUrgent: Bool, isAnswered: Bool, at now: Duration) -> Bool {
        counts.withLock { counts in
            let before = counts.isHolding
            counts.gone += count
            if isUrgent { counts.urgent -= count } else { counts.normal -= count }
            if isAnswered {
                counts.heardAt = now
                counts.isStuck = false
            }
            if counts.normal <= crowdBegin / 2 { counts.isCrowded = false }
            return counts.isHolding != before
        }
    }

    private var crowdBegin: Int { max(1, limit / 5) }
}
