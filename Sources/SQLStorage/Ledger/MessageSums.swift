import PushModel
import Store

/// The sums that reports show, `tally` and `latency`: many rows with one statement, each message once.
struct MessageSums {
    private let db: any Database
    private let tallies = RowBatch()
    private let buckets = RowBatch()
    private var latencies = LatencyCounts()

    init(db: any Database) {
        self.db = db
    }

    func add(
        _ count: Int, _ outcome: LedgerOutcome, _ reason: String, _ platform: Platform, of message: Int64
    ) throws {
        tallies.bind(message)
        tallies.bind(outcome.rawValue)
        tallies.bind(reason)
        tallies.bind(platform.code)
        tallies.bind(count)
        tallies.endRow()
        if tallies.count == RowBatch.limit { try tallies.post(Self.addToTally, to: db) }
    }

    mutating func add(latencies entries: [LedgerBlock.Entry], of message: Int64) throws {
        for entry in entries { latencies.add(entry.latencyMilliseconds) }
        try latencies.take { [buckets, db] bucket, count in
            buckets.bind(message)
            buckets.bind(bucket)
            buckets.bind(count)
            buckets.endRow()
            if buckets.count == RowBatch.limit { try buckets.post(Self.addToLatency, to: db) }
        }
    }

    func write() throws {
        try tallies.post(Self.addToTally, to: db)
        try buckets.post(Self.addToLatency, to: db)
    }

    private static let addToTally = """
        INSERT INTO tally (message, outcome, reason, platform, count) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (message, outcome, reason, platform) DO UPDATE SET count = tally.count + excluded.count
        """
    private static let addToLatency = """
        INSERT INTO latency (message, bucket, count) VALUES (?, ?, ?)
        ON CONFLICT (message, bucket) DO UPDATE SET count = latency.count + excluded.count
        """
}

/// Counts by bucket in an array: a dictionary would cost more than all else that is done for an accepted delivery.
private struct LatencyCounts {
    private var counts = [Int](repeating: 0, count: LatencyHistogram.bucket(forMilliseconds: .max) + 1)
    private var touched: [Int] = []

    mutating func add(_ milliseconds: Int64) {
        let bucket = LatencyHistogram.bucket(forMilliseconds: milliseconds)
        if counts[bucket] == 0 { touched.append(bucket) }
        counts[bucket] += 1
    }

    /// Gives each bucket that has a count, and begins anew.
    mutating func take(_ body: (_ bucket: Int, _ count: Int) throws -> Void) rethrows {
        for bucket in touched {
            try body(bucket, counts[bucket])
            counts[bucket] = 0
        }
        touched.removeAll(keepingCapacity: true)
    }
}
