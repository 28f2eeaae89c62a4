import PushModel
import Store

/// Reads reports within one snapshot.
struct ReportReader {
    let db: any Database

    static let newest = """
        SELECT \(MessageRow.columns) \(MessageRow.joins) WHERE m.project = ? AND m.seq < ? ORDER BY m.seq DESC LIMIT ?
        """

    /// The newest messages that are in `state`. Nearly all are complete; for the others there is an index, which SQLite
    /// uses only when the text has its very condition (sqlite.org/partialindex.html).
    static func newest(in state: MessageState) -> String {
        let source = state == .complete ? "every_message m" : "message m INDEXED BY message_open"
        let condition = state == .complete ? "" : " AND m.state <> 'COMPLETE'"
        return """
            SELECT \(MessageRow.columns) \(MessageRow.joins(from: source))
            WHERE m.project = ? AND m.seq < ?\(condition) AND m.state = '\(state.rawValue)' ORDER BY m.seq DESC LIMIT ?
            """
    }

    static let inPages = "SELECT coalesce(sum(open), 0) FROM page WHERE message = ?"
    /// A range of the clustered key: as many steps as the message has deliveries that wait, whatever others have.
    static let pending = """
        SELECT (SELECT count(*) FROM pending WHERE message = ?1)
            + (SELECT count(*) FROM message WHERE seq = ?1 AND worker IS NOT NULL)
        """

    /// Each figure comes from its own rows: that they balance is a law to be checked, not the way they are made.
    func report(_ row: MessageRow) throws -> DeliveryReport {
        let inFlight =
            (try db.number(Self.inPages, [row.seq]) ?? 0)
            + (try db.number(Self.pending, [row.seq]) ?? 0)
        let sums = try sums(of: row)
        let fanOut = try fanOut(row.seq)
        var report = DeliveryReport(
            message: row.summary, state: row.state, completedAt: row.completedAt,
            recipients: row.singles + fanOut.claimed, passedOver: fanOut.passed, ended: try Self.ended(sums),
            inFlight: Int(inFlight), platforms: try platforms(row, sums, fanOut),
            rejectedByReason: Self.rejectedByReason(sums), latency: Self.latency(sums),
            receipts: try ReceiptTable(db: db).sums(of: row.seq))
        report.latencies = LatencyHistogram(counts: sums.latencies)
        return report
    }

    static let fanOut = """
        SELECT coalesce(sum(claimed), 0), coalesce(sum(passed_ended), 0), coalesce(sum(passed_quarantined), 0),
            coalesce(sum(passed_stale), 0), coalesce(sum(claimed_android), 0), coalesce(sum(claimed_web), 0),
            coalesce(sum(passed_android), 0), coalesce(sum(passed_web), 0)
        FROM fan_out WHERE message = ?
        """

    private func fanOut(_ message: Int64) throws -> FanOutCounts {
        try db.row(Self.fanOut, [message]).map { FanOutCounts(row: $0) } ?? FanOutCounts()
    }

    /// The sums that are kept; of a message to one registration those of its entry.
    private func sums(of row: MessageRow) throws -> LedgerSums {
        guard case .registration = row.summary.recipient else { return try LedgerSums(of: row.seq, in: db) }
        var sums = LedgerSums()
        if let block = try MessageTable(db: db).entry(of: row.seq) {
            let platform = try platform(ofSingle: row)
            sums.add(block) { _ in platform }
        }
        return sums
    }

    private static func ended(_ sums: LedgerSums) throws -> [LedgerOutcome: Int] {
        var ended = Dictionary(uniqueKeysWithValues: LedgerOutcome.allCases.map { ($0, 0) })
        for (end, count) in sums.ends { ended[try LedgerOutcome(storedCase: end.outcome), default: 0] += count }
        return ended
    }

    private static func rejectedByReason(_ sums: LedgerSums) -> [String: Int] {
        var rejected: [String: Int] = [:]
        for (end, count) in sums.ends where end.outcome == LedgerOutcome.rejected.rawValue {
            rejected[end.reason, default: 0] += count
        }
        return rejected
    }

    private static func latency(_ sums: LedgerSums) -> LatencyPercentiles? {
        let histogram = LatencyHistogram(counts: sums.latencies)
        guard let p50 = histogram.percentile(50), let p90 = histogram.percentile(90),
            let p99 = histogram.percentile(99)
        else { return nil }
        return LatencyPercentiles(p50: p50, p90: p90, p99: p99)
    }
}
