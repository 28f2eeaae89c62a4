import PushModel
import Synchronization

/// The tokens of which Google has said that it has no credential for the push service behind them: those of Apple's devices or
/// of browsers. Safe to share.
final class OtherPlatforms: Sendable {
    /// The most that one of the two sets holds.
    static let limit = 50_000

    private struct Known {
        var recent: Set<Address> = []
        /// What was recent before; the oldest are forgotten with it.
        var former: Set<Address> = []
    }

    private let known = Mutex(Known())

    /// Whether Google said so of this one.
    func contains(_ address: Address) -> Bool {
        known.withLock { known in
            (!known.recent.isEmpty && known.recent.contains(address))
                || (!known.former.isEmpty && known.former.contains(address))
        }
    }

    /// Google said so. One that could not be remembered would speak for the app's Android devices.
    func insert(_ address: Address) {
        known.withLock { known in
            if known.recent.count >= Self.limit {
                known.former = known.recent
                known.recent = []
            }
            known.recent.insert(address)
        }
    }
}
