package import PushModel
package import Store

extension SQLStore: TrafficStore {
    /// One transaction, a row for each count.
    package func add(_ traffic: [TrafficCount]) async throws(StoreError) {
        guard !traffic.isEmpty else { return }
        try await write(rows: traffic.count) { db in try TrafficTable(db: db).add(traffic) }
    }

    /// A range of the primary key.
    package func traffic(
        of project: ProjectID, _ span: TrafficSpan, steps: ClosedRange<Int64>
    ) async throws(StoreError) -> [TrafficCount] {
        try await read { db in try TrafficTable(db: db).counts(of: project, span, steps: steps) }
    }

    /// By the index of steps, span after span.
    package func forgetTraffic(at now: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await write(rows: limit) { db in
            var left = limit
            for span in TrafficSpan.allCases where left > 0 {
                left -= try db.change(
                    TrafficTable.forget, [span.code, span.steps(endingAt: now).lowerBound, left])
            }
            return limit - left
        }
    }
}

/// The counts of charts within one transaction.
struct TrafficTable {
    let db: any Database

    static let addition = """
        INSERT INTO traffic (project, span, step, accepted, rejected, expired, cancelled) VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (project, span, step) DO UPDATE SET
            accepted = traffic.accepted + excluded.accepted, rejected = traffic.rejected + excluded.rejected,
            expired = traffic.expired + excluded.expired, cancelled = traffic.cancelled + excluded.cancelled
        """
    static let ofProject = """
        SELECT step, accepted, rejected, expired, cancelled FROM traffic
        WHERE project = ? AND span = ? AND step BETWEEN ? AND ? ORDER BY step
        """
    static let forget = """
        DELETE FROM traffic WHERE (project, span, step) IN (
            SELECT project, span, step FROM traffic INDEXED BY traffic_by_step WHERE span = ? AND step < ? LIMIT ?)
        """

    /// The outcomes in the order of the columns.
    private static let outcomes: [LedgerOutcome] = [.accepted, .rejected, .expired, .cancelled]

    func add(_ traffic: [TrafficCount]) throws {
        for count in traffic {
            let numbers = Self.outcomes.map { count.counts[$0] ?? 0 }
            try db.post(
                Self.addition,
                [
                    count.project.rawValue, count.span.code, count.step, numbers[0], numbers[1], numbers[2], numbers[3],
                ])
        }
    }

    func counts(of project: ProjectID, _ span: TrafficSpan, steps: ClosedRange<Int64>) throws -> [TrafficCount] {
        let rows = try db.rows(Self.ofProject, [project.rawValue, span.code, steps.lowerBound, steps.upperBound])
        return rows.map { row in
            var counts: [LedgerOutcome: Int] = [:]
            for (place, outcome) in Self.outcomes.enumerated() where row[place + 1] as Int > 0 {
                counts[outcome] = row[place + 1]
            }
            return TrafficCount(project: project, span: span, step: row[0], counts: counts)
        }
    }
}

extension TrafficSpan {
    /// The span as `traffic.span` holds it.
    var code: Int {
        switch self {
        case .hour: 0
        case .day: 1
        case .week: 2
        }
    }
}
