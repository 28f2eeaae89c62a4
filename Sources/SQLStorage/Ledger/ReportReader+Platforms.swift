import PushModel
import Store

extension ReportReader {
    /// What the shards of a message counted.
    struct FanOutCounts {
        var claimed = 0
        var passed = PassedOver()
        var claimedByPlatform = PlatformCounts()
        var passedByPlatform = PlatformCounts()

        /// Nothing: the message has no shards.
        init() {}

        /// Reads a row of ``ReportReader/fanOut``.
        init(row: Row) {
            claimed = row[0]
            passed = PassedOver(ended: row[1], quarantined: row[2], stale: row[3])
            (claimedByPlatform[.android], claimedByPlatform[.web]) = (row[4], row[5])
            claimedByPlatform[.apple] = claimed - claimedByPlatform[.android] - claimedByPlatform[.web]
            (passedByPlatform[.android], passedByPlatform[.web]) = (row[6], row[7])
            let all = passed.ended + passed.quarantined + passed.stale
            passedByPlatform[.apple] = all - passedByPlatform[.android] - passedByPlatform[.web]
        }
    }

    static let registration = "SELECT registration FROM every_message WHERE seq = ?"
    /// A range of the clustered key, with the deliveries of a list of at most ``NewMessage/smallListLimit``.
    static let waitingByChannel = """
        SELECT r.channel, count(*) FROM pending p CROSS JOIN route r ON r.id = p.route WHERE p.message = ? GROUP BY 1
        """

    /// The figures of each platform that has some. What a shard claimed and has not ended is in flight: that these are
    /// together as many as the rows of open deliveries is a law to be checked.
    func platforms(
        _ row: MessageRow, _ sums: LedgerSums, _ fanOut: FanOutCounts
    ) throws -> [Platform: PlatformReport] {
        var reports: [Platform: PlatformReport] = [:]
        for (end, count) in sums.ends {
            reports[end.platform, default: PlatformReport()]
                .ended[try LedgerOutcome(storedCase: end.outcome), default: 0] += count
        }
        if row.singles > 0 {
            for (platform, count) in try waiting(row, sums) {
                reports[platform, default: PlatformReport()].inFlight += count
            }
            for (platform, report) in reports {
                reports[platform]?.recipients = report.inFlight + report.ended.values.reduce(0, +)
            }
        }
        for platform in Platform.allCases {
            let (claimed, passed) = (fanOut.claimedByPlatform[platform], fanOut.passedByPlatform[platform])
            guard claimed > 0 || passed > 0 else { continue }
            var report = reports[platform] ?? PlatformReport()
            report.recipients += claimed
            report.passedOver = passed
            report.inFlight += claimed - report.ended.values.reduce(0, +)
            reports[platform] = report
        }
        return reports
    }

    /// The open deliveries of those that were made at accept.
    private func waiting(_ row: MessageRow, _ sums: LedgerSums) throws -> [Platform: Int] {
        if case .registration = row.summary.recipient {
            return sums.ends.isEmpty ? [try platform(ofSingle: row): 1] : [:]
        }
        let rows = try db.rows(Self.waitingByChannel, [row.seq])
        return try rows.reduce(into: [:]) { counts, row in
            counts[try Channel(stored: row[0]).platform, default: 0] += row[1]
        }
    }

    /// The platform that a message to one registration goes to.
    func platform(ofSingle row: MessageRow) throws -> Platform {
        guard let key = try db.number(Self.registration, [row.seq]) else { throw StoreError.invalid("a message") }
        var apps = KeyApps(db: db)
        return try apps.platform(of: key, in: row.summary.project.rawValue)
    }
}
