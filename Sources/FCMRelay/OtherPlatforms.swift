import PushModel
import Synchronization

/// The tokens of which Google has said that it has no credential for the push service behind them: those of Apple's devices or
/// of browsers. Safe to share.
final class OtherPlatforms: Sendable {
    /// The most that are remembered.
    static let limit = 50_000

    private let addresses = Mutex<Set<Address>>([])

    /// Whether Google said so of this one.
    func contains(_ address: Address) -> Bool { addresses.withLock { !$0.isEmpty && $0.contains(address) } }

    /// Google said so.
    func insert(_ address: Address) {
        addresses.withLock { if $0.count < Self.limit { $0.insert(address) } }
    }
}
