import PushModel
import Store

/// Deliveries of a message that ended alike, and were not accepted.
struct FailureLine: Hashable {
    let message: MessageID
    let outcome: LedgerOutcome
    let reason: String

    /// How many of `settlements` there are of each.
    static func lines(of settlements: [Settlement]) -> [FailureLine: Int] {
        var lines: [FailureLine: Int] = [:]
        for place in settlements.indices {
            guard let entry = settlements[place].result.failure else { continue }
            let line = FailureLine(
                message: settlements[place].delivery.message, outcome: entry.outcome, reason: entry.reason ?? "")
            lines[line, default: 0] += 1
        }
        return lines
    }
}
