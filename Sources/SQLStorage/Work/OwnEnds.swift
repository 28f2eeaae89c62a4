import PushModel
package import Store
import Synchronization

/// Deliveries that the store ends by itself, counted by project, outcome and reason.
struct OwnEnds: Sendable {
    private struct Kind: Hashable {
        let project: ProjectID
        let outcome: LedgerOutcome
        let reason: String
    }

    private var counts: [Kind: Int] = [:]

    /// Counts one.
    mutating func count(_ project: ProjectID, _ outcome: LedgerOutcome, _ reason: String) {
        counts[Kind(project: project, outcome: outcome, reason: reason), default: 0] += 1
    }

    /// Counts those of another step.
    mutating func add(_ other: OwnEnds) {
        counts.merge(other.counts, uniquingKeysWith: +)
    }

    /// Takes them out.
    mutating func take() -> [StoreEnds] {
        defer { counts = [:] }
        return counts.map {
            StoreEnds(project: $0.project, outcome: $0.outcome, reason: $0.reason, count: $1)
        }
    }
}

extension SQLStore {
    /// Keeps what a committed step ended, until it is asked for.
    func keep(_ ends: OwnEnds) {
        ownEnds.withLock { $0.add(ends) }
    }

    /// From memory.
    package func takeOwnEnds() -> [StoreEnds] {
        ownEnds.withLock { $0.take() }
    }
}
