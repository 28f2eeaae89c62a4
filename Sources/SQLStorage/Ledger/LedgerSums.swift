import PushModel
import Store

/// The sums of a message's entries: `tally` and `latency` as they should be.
struct LedgerSums: Equatable {
    struct End: Hashable {
        let outcome: String
        let reason: String
        let platform: Platform
    }

    private(set) var ends: [End: Int] = [:]
    private(set) var latencies: [Int: Int] = [:]

    static let tally = "SELECT outcome, reason, platform, count FROM tally WHERE message = ?"
    static let latency = "SELECT bucket, count FROM latency WHERE message = ?"

    /// No entry.
    init() {}

    /// The sums that are kept of a message.
    init(of message: Int64, in db: any Database) throws {
        let rows = try db.cursor(Self.tally, [message])
        while let row = try rows.next() {
            ends[End(outcome: row[0], reason: row[1], platform: try Platform(stored: row[2]))] = row[3]
        }
        let buckets = try db.cursor(Self.latency, [message])
        while let row = try buckets.next() { latencies[row[0]] = row[1] }
    }

    /// - Parameter platform: that of the registration with this key.
    mutating func add(_ block: LedgerBlock, platform: (Int64) throws -> Platform) rethrows {
        // An array by reason and outcome: hashing a text for each entry would take longer than all else.
        let outcomes = LedgerOutcome.allCases
        var counts = [PlatformCounts](repeating: PlatformCounts(), count: outcomes.count * (block.reasons.count + 1))
        for entry in block.entries {
            let code = LedgerBlock.bit(of: entry.outcome).trailingZeroBitCount
            counts[Int(entry.reason + 1) * outcomes.count + code][try platform(entry.key)] += 1
            if entry.outcome == .accepted {
                latencies[LatencyHistogram.bucket(forMilliseconds: entry.latencyMilliseconds), default: 0] += 1
            }
        }
        for (place, reason) in ([""] + block.reasons).enumerated() {
            for outcome in outcomes {
                let code = LedgerBlock.bit(of: outcome).trailingZeroBitCount
                for platform in Platform.allCases {
                    let count = counts[place * outcomes.count + code][platform]
                    guard count > 0 else { continue }
                    ends[End(outcome: outcome.rawValue, reason: reason, platform: platform), default: 0] += count
                }
            }
        }
    }
}
