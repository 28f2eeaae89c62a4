import CoreMetrics
import GRDB
import PushModel
import Synchronization

/// Runs all writes of the store, and lets those that wait at the same time share one commit and so one fsync.
///
/// While a commit is on its way to the disk, new writes gather; the next commit takes up to ``groupLimit`` of them in
/// the order they came. One that fails takes back its own changes only: nearly none does, so they run without savepoints,
/// and when one fails the transaction is rolled back and all of its writes run again, each in a savepoint of its own. So
/// a write may run twice, and nothing but what it does to the database may come of that. A caller resumes after the
/// commit: what it was told is on the disk. Cancelling the caller's task does not stop a write.
///
/// Claims and renewals of leases need no fsync of their own: a group that holds nothing else is committed with
/// `synchronous = NORMAL`. The last of such commits may be lost with the power (never by the end of the process, and
/// never one without those after it: the journal is a sequence, and the next durable commit syncs all that is before
/// it). That is harmless: what a lost claim had taken is due again, and its worker ended with the power as well. What
/// was sent under a lost claim and not settled may be sent again, just as under a claim that was kept.
final class GroupCommitter: Sendable {
    /// The most writes in one transaction.
    static let groupLimit = 500
    /// The most writes that may wait; further ones are refused at once.
    static let queueLimit = 10_000

    /// Ends a write that ran: with its own error, the error of the commit, or its value.
    private typealias Finish = @Sendable (_ commitError: (any Error)?) -> Void

    private struct Job: Sendable {
        let isDurable: Bool
        /// `isAlone`: in a savepoint. What failed without one leaves half of it in the transaction.
        let run: @Sendable (Database, _ isAlone: Bool) -> (finish: Finish, hasFailed: Bool)
        let fail: @Sendable (any Error) -> Void
    }

    private struct Queue {
        var waiting: [Job] = []
        var isScheduled = false
    }

    private let pool: DatabasePool
    private let queue = Mutex(Queue())
    private let gauge: Gauge

    private let loadState: Mutex<LoadState>
    /// Whether the connection that writes syncs each commit.
    private let isSyncing = Mutex(true)

    /// What is not complete, as of the last commit.
    var load: StoreLoad { loadState.withLock { $0.load } }

    /// - Parameter metrics: where the gauges of the queue go.
    /// - Throws: the database's error when the counters of the load can't be read.
    init(pool: DatabasePool, metrics: any MetricsFactory) throws {
        self.pool = pool
        var load = LoadState()
        load.apply(try pool.read { db in try LoadChange.all(after: -1, in: db) })
        loadState = Mutex(load)
        gauge = Gauge(label: MetricName.storeQueue.rawValue, factory: metrics)
        Gauge(label: MetricName.storeQueueLimit.rawValue, factory: metrics).record(Self.queueLimit)
    }

    /// Runs `body` in one of the next transactions and returns its value after the commit.
    ///
    /// - Parameter isDurable: whether it must survive a loss of power.
    func write<Value: Sendable>(
        isDurable: Bool, _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
            let job = Job(
                isDurable: isDurable,
                run: { db, isAlone in
                    let result = Result { try isAlone ? Self.inSavepoint(db, body) : body(db) }
                    let finish: Finish = { commitError in
                        switch (result, commitError) {
                        case (.success, .some(let error)): continuation.resume(throwing: error)
                        default: continuation.resume(with: result)
                        }
                    }
                    let hasFailed = if case .failure = result { true } else { false }
                    return (finish, hasFailed)
                },
                fail: { continuation.resume(throwing: $0) })
            enqueue(job)
        }
    }

    private func enqueue(_ job: Job) {
        enum Action { case refuse, wait, schedule }
        let (action, waiting): (Action, Int) = queue.withLock { queue in
            guard queue.waiting.count < Self.queueLimit else { return (.refuse, queue.waiting.count) }
            queue.waiting.append(job)
            guard !queue.isScheduled else { return (.wait, queue.waiting.count) }
            queue.isScheduled = true
            return (.schedule, queue.waiting.count)
        }
        // Another thread may overtake this record; the end of each commit puts it right.
        gauge.record(waiting)
        switch action {
        case .refuse:
            job.fail(StoreError(.unavailable, "\(Self.queueLimit) writes wait for the store already."))
        case .wait: break
        case .schedule: schedule()
        }
    }

    private func schedule() {
        pool.asyncWriteWithoutTransaction { db in self.commitNext(db) }
    }

    /// Commits one group, then goes to the end of the connection's queue if more wait.
    private func commitNext(_ db: Database) {
        let group = queue.withLock { queue in
            let group = Array(queue.waiting.prefix(Self.groupLimit))
            queue.waiting.removeFirst(group.count)
            return group
        }
        gauge.record(queue.withLock { $0.waiting.count })
        commit(group, db)
        let waiting = queue.withLock { queue in
            queue.isScheduled = !queue.waiting.isEmpty
            return queue.waiting.count
        }
        gauge.record(waiting)
        if waiting > 0 { schedule() }
    }

    private func commit(_ group: [Job], _ db: Database) {
        var finishes: [Finish] = []
        var failure: (any Error)?
        do {
            try sync(group.contains(where: \.isDurable), db)
            if let all = try commitTogether(group, db) {
                finishes = all
            } else {
                try commitEach(group, db, &finishes)
            }
        } catch {
            failure = error
            Self.cover(error, db)
        }
        for finish in finishes { finish(failure) }
        if let failure {
            for job in group.dropFirst(finishes.count) { job.fail(failure) }
        }
    }

    /// Writes over a commit whose sync failed: it may stand complete in the log, and a process that ends now would find it
    /// there as committed, though its writers are told that it failed. The next transaction takes its place in the log; one
    /// that changes nothing else is best. If that fails too, what was refused may come to life after a restart.
    private static func cover(_ error: any Error, _ db: Database) {
        let codes: [ResultCode] = [.SQLITE_IOERR, .SQLITE_FULL]
        guard let code = (error as? DatabaseError)?.resultCode, codes.contains(code), !db.isInsideTransaction else {
            return
        }
        // The error that is told is the first one.
        try? db.inTransaction(.immediate) {
            try db.execute(sql: "UPDATE meta SET value = value + 1 WHERE name = 'write_probe'")
            return .commit
        }
    }

    /// Commits a group none of which fails; `nil`: one did, and nothing was changed.
    private func commitTogether(_ group: [Job], _ db: Database) throws -> [Finish]? {
        var finishes: [Finish] = []
        finishes.reserveCapacity(group.count)
        var changes: [LoadChange] = []
        var hasFailed = false
        try db.inTransaction(.immediate) {
            for job in group {
                let (finish, failed) = job.run(db, false)
                // An error that was caught inside may have ended the transaction all the same.
                guard !failed, db.isInsideTransaction else {
                    hasFailed = true
                    return .rollback
                }
                finishes.append(finish)
            }
            changes = try changesOfLoad(db)
            return .commit
        }
        guard !hasFailed else { return nil }
        loadState.withLock { [changes] in $0.apply(changes) }
        return finishes
    }

    /// Commits what does not fail of a group. `finishes` has those that ran, also when the commit fails.
    private func commitEach(_ group: [Job], _ db: Database, _ finishes: inout [Finish]) throws {
        var changes: [LoadChange] = []
        try db.inTransaction(.immediate) {
            for job in group {
                finishes.append(job.run(db, true).finish)
                // A full disk or an I/O error may end the whole transaction (sqlite.org/lang_transaction.html): what
                // ran before is gone, and what comes after must not begin a transaction of its own.
                guard db.isInsideTransaction else {
                    throw DatabaseError(resultCode: .SQLITE_ABORT, message: "the transaction was aborted")
                }
            }
            changes = try changesOfLoad(db)
            return .commit
        }
        loadState.withLock { [changes] in $0.apply(changes) }
    }

    private func changesOfLoad(_ db: Database) throws -> [LoadChange] {
        try LoadChange.all(after: loadState.withLock { $0.lastChange }, in: db)
    }

    private static func inSavepoint<Value>(_ db: Database, _ body: (Database) throws -> Value) throws -> Value {
        var value: Value?
        try db.inSavepoint {
            value = try body(db)
            return .commit
        }
        guard let value else { throw StoreError(.failed, "A write was rolled back.") }
        return value
    }

    /// Sets whether the next commits are synced (sqlite.org/pragma.html#pragma_synchronous); not inside a transaction.
    private func sync(_ isDurable: Bool, _ db: Database) throws {
        guard isSyncing.withLock({ $0 }) != isDurable else { return }
        try db.execute(sql: isDurable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL")
        isSyncing.withLock { $0 = isDurable }
    }
}

/// The load of a project after a change, as the schema's triggers count it.
struct LoadChange: Sendable {
    static let after = """
        SELECT name, messages, bytes, change FROM project INDEXED BY project_changed WHERE change > ? ORDER BY change
        """

    let project: ProjectID
    let sum: StoreLoad.Sum
    let number: Int64

    /// The projects whose load changed after change `number`, in the order of change.
    static func all(after number: Int64, in db: Database) throws -> [LoadChange] {
        let rows = try Row.fetchCursor(db.cachedStatement(sql: after), arguments: [number])
        var changes: [LoadChange] = []
        while let row = try rows.next() {
            changes.append(
                LoadChange(
                    project: try ProjectID(stored: row[0]),
                    sum: StoreLoad.Sum(messages: row[1], bytes: row[2]), number: row[3]))
        }
        return changes
    }
}

/// The load as of a change.
private struct LoadState {
    private(set) var load = StoreLoad()
    private(set) var lastChange: Int64 = 0

    mutating func apply(_ changes: [LoadChange]) {
        for change in changes {
            let before = load.byProject[change.project] ?? StoreLoad.Sum()
            load.total.messages += change.sum.messages - before.messages
            load.total.bytes += change.sum.bytes - before.bytes
            load.byProject[change.project] = change.sum.messages == 0 ? nil : change.sum
            lastChange = max(lastChange, change.number)
        }
    }
}
