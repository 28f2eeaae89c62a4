import PushModel
import Store

/// Messages that are complete with the end of their only delivery, which their worker has claimed: changed with one statement
/// where each statement goes to a server.
struct ClaimedEnds {
    let worker: WorkerID
    private var ends: [(message: Int64, time: Timestamp, block: Int64)] = []

    /// For PostgreSQL. The places of a message's values are found by halving; no index by worker is asked, which has all that
    /// the worker has claimed and, until the next vacuum, had claimed.
    static let complete = """
        UPDATE message SET state = CASE state WHEN 'CANCELLED' THEN 'CANCELLED' ELSE 'COMPLETE' END,
            completed_at = (?2::bigint[])[width_bucket(seq, ?1::bigint[])],
            block = (?3::bigint[])[width_bucket(seq, ?1::bigint[])], worker = NULL, route = NULL
        WHERE seq = ANY (?1::bigint[]) AND worker IS NOT DISTINCT FROM ?4
        """

    init(worker: WorkerID) {
        self.worker = worker
    }

    /// - Parameter block: the ledger block with its entry.
    mutating func add(_ message: Int64, at time: Timestamp, block: Int64) {
        ends.append((message, time, block))
    }

    func write(to db: any Database) throws {
        guard !ends.isEmpty else { return }
        let ends = ends.sorted { $0.message < $1.message }
        try db.post(
            Self.complete,
            [ends.map(\.message), ends.map(\.time.milliseconds), ends.map(\.block), worker.rawValue])
    }
}
