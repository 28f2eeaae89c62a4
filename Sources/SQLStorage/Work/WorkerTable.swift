import Logging
package import PushModel
package import Store

extension SQLStore {
    /// A new row; on the disk before it is answered, so that its number is never given twice.
    package func enroll(_ name: String, for lease: Duration) async throws(StoreError) -> WorkerID {
        try await write(.lease) { [engine] db in
            try WorkerTable(db: db).enroll(name, until: engine.leaseTime(db) + lease)
        }
    }

    /// Moves the end of the lease.
    package func renew(_ worker: WorkerID, for lease: Duration) async throws(StoreError) {
        try await write(.lease) { [engine] db in
            try WorkerTable(db: db).check(worker)
            try db.change(
                "UPDATE worker SET lease_until = greatest(lease_until, ?) WHERE id = ?",
                [(engine.leaseTime(db) + lease).milliseconds, worker.rawValue])
        }
    }

    /// Ends workers, gives back their claims and ends their pauses. The gateway that holds the lock of the store is the
    /// only one: workers that enrolled before it opened the store are gone.
    package func takeOver(at time: Timestamp) async throws(StoreError) -> Int {
        let rescued = try await write(.lease) { [engine] db in
            try WorkerTable(db: db).takeOver(
                at: time, leasesBefore: engine.endOfLeases(db), earlier: engine.earlierWorkers)
        }
        if rescued > 0 { logger.info("Deliveries rescued", metadata: ["store.rescued": "\(rescued)"]) }
        return rescued
    }
}

extension StoreError {
    /// Others have what a worker had claimed.
    static func fenced(_ worker: WorkerID) -> StoreError {
        StoreError(.fenced, "The lease of worker \(worker.rawValue) was taken over.")
    }
}

/// Workers within one transaction.
struct WorkerTable {
    let db: any Database

    static let isRunning = "SELECT 1 FROM worker WHERE id = ? AND ended_at IS NULL"
    static let lapsed = """
        SELECT id FROM worker INDEXED BY worker_running WHERE ended_at IS NULL AND lease_until < ?
        """
    static let earlier = "SELECT id FROM worker WHERE id <= ? AND ended_at IS NULL"
    static let givePendingBack = """
        UPDATE pending SET worker = NULL, attempts = attempts + 1, unknown_attempts = unknown_attempts + 1,
            interruptions = interruptions + 1, last_cause = ?2, not_before = least(not_before, ?3)
        WHERE worker = ?1
        """
    /// A delivery that its message names as claimed gets a row of its own.
    static let makePending = """
        INSERT INTO pending (message, registration, lane, route, is_held, not_before, attempts, unknown_attempts,
            interruptions, last_cause)
        SELECT seq, registration, lane, route, CASE state WHEN 'ACTIVE' THEN 0 ELSE 1 END, least(accepted_at, ?3), 1, 1, 1, ?2
        FROM message INDEXED BY message_claimed WHERE worker = ?1
        """
    static let release = "UPDATE message SET worker = NULL, route = NULL WHERE worker = ?"
    static let openInPages = "SELECT coalesce(sum(open), 0) FROM page WHERE worker = ?"
    static let openShards = """
        UPDATE fan_out SET is_open = 1 WHERE (message, shard) IN (
            SELECT p.message, p.shard FROM page p CROSS JOIN message m ON m.seq = p.message
            WHERE p.worker = ? AND m.state = 'ACTIVE')
        """
    static let givePagesBack = """
        UPDATE page SET worker = NULL, interruptions = interruptions + 1 WHERE worker = ?
        """
    /// So many rows of ended workers stay, for who looks into the store.
    private static let kept: Int64 = 100

    func enroll(_ name: String, until lease: Timestamp) throws -> WorkerID {
        let id = try db.insert(
            "INSERT INTO worker (name, lease_until) VALUES (?, ?)", [name, lease.milliseconds], key: "id")
        try db.change("DELETE FROM worker WHERE id < ? AND ended_at IS NOT NULL", [id - Self.kept])
        return WorkerID(rawValue: id)
    }

    /// Whether a worker still owns what it claimed.
    func isRunning(_ worker: WorkerID) throws -> Bool {
        try db.number(Self.isRunning, [worker.rawValue]) != nil
    }

    /// Throws `.fenced` unless a worker still owns what it claimed.
    func check(_ worker: WorkerID) throws {
        guard try isRunning(worker) else {
            throw StoreError.fenced(worker)
        }
    }

    func takeOver(at time: Timestamp, leasesBefore end: Timestamp, earlier: Int64) throws -> Int {
        let lapsed = try Set(db.numbers(Self.lapsed, [end.milliseconds]))
        let gone = try Set(db.numbers(Self.earlier, [earlier]))
        var rescued = 0
        for worker in lapsed.union(gone).sorted() {
            rescued += try db.change(
                Self.givePendingBack, [worker, TransportCause.interrupted.rawValue, time.milliseconds])
            rescued += try db.change(
                Self.makePending, [worker, TransportCause.interrupted.rawValue, time.milliseconds])
            try db.change(Self.release, [worker])
            rescued += Int(try db.number(Self.openInPages, [worker]) ?? 0)
            try db.change(Self.openShards, [worker])
            try db.change(Self.givePagesBack, [worker])
            try RoutePauseTable(db: db).end(worker, at: time)
            try db.change("UPDATE worker SET ended_at = ? WHERE id = ?", [time.milliseconds, worker])
        }
        return rescued
    }
}
