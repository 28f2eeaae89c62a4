import Foundation
import GRDB
import PushModel
import Store

/// The sums of a message's entries: `tally` and `latency` as they should be.
struct LedgerSums: Equatable {
    struct End: Hashable {
        let outcome: String
        let reason: String
    }

    private(set) var ends: [End: Int] = [:]
    private(set) var latencies: [Int: Int] = [:]

    static let tally = "SELECT outcome, reason, count FROM tally WHERE message = ?"
    static let latency = "SELECT bucket, count FROM latency WHERE message = ?"

    /// No entry.
    init() {}

    /// The sums that are kept of a message.
    init(of message: Int64, in db: Database) throws {
        let rows = try Row.fetchCursor(db.cachedStatement(sql: Self.tally), arguments: [message])
        while let row = try rows.next() { ends[End(outcome: row[0], reason: row[1])] = row[2] }
        let buckets = try Row.fetchCursor(db.cachedStatement(sql: Self.latency), arguments: [message])
        while let row = try buckets.next() { latencies[row[0]] = row[1] }
    }

    mutating func add(_ block: LedgerBlock) {
        // An array by reason and outcome: hashing a text for each entry would take longer than all else.
        let outcomes = LedgerOutcome.allCases
        var counts = [Int](repeating: 0, count: outcomes.count * (block.reasons.count + 1))
        for entry in block.entries {
            let code = LedgerBlock.bit(of: entry.outcome).trailingZeroBitCount
            counts[Int(entry.reason + 1) * outcomes.count + code] += 1
            if entry.outcome == .accepted {
                latencies[LatencyHistogram.bucket(forMilliseconds: entry.latencyMilliseconds), default: 0] += 1
            }
        }
        for (place, reason) in ([""] + block.reasons).enumerated() {
            for outcome in outcomes {
                let code = LedgerBlock.bit(of: outcome).trailingZeroBitCount
                let count = counts[place * outcomes.count + code]
                if count > 0 { ends[End(outcome: outcome.rawValue, reason: reason), default: 0] += count }
            }
        }
    }
}
