import CoreMetrics
import GRDB
import PushModel
import Synchronization

/// Runs all writes of the store, and lets those that wait at the same time share one commit and so one fsync.
///
/// While a commit is on its way to the disk, new writes gather; the next commit takes up to ``groupLimit`` of them in
/// the order they came. Each runs in a savepoint of its own, so one that fails takes back its own changes only. A
/// caller resumes after the commit: what it was told is on the disk. Cancelling the caller's task does not stop a write.
final class GroupCommitter: Sendable {
    /// The most writes in one transaction.
    static let groupLimit = 500
    /// The most writes that may wait; further ones are refused at once.
    static let queueLimit = 10_000

    /// Ends a write that ran: with its own error, the error of the commit, or its value.
    private typealias Finish = @Sendable (_ commitError: (any Error)?) -> Void

    private struct Job: Sendable {
        let run: @Sendable (Database) -> Finish
        let fail: @Sendable (any Error) -> Void
    }

    private struct Queue {
        var waiting: [Job] = []
        var isScheduled = false
    }

    private let pool: DatabasePool
    private let queue = Mutex(Queue())
    private let gauge: Gauge

    /// Messages that are not complete, as of the last commit.
    let activeMessages: Atomic<Int>

    /// - Parameter metrics: where the gauges of the queue go.
    /// - Throws: the database's error when the counter of active messages can't be read.
    init(pool: DatabasePool, metrics: any MetricsFactory) throws {
        self.pool = pool
        activeMessages = Atomic(try pool.read(Self.countActiveMessages))
        gauge = Gauge(label: MetricName.storeQueue.rawValue, factory: metrics)
        Gauge(label: MetricName.storeQueueLimit.rawValue, factory: metrics).record(Self.queueLimit)
    }

    /// Runs `body` in one of the next transactions and returns its value after the commit.
    func write<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
            let job = Job(
                run: { db in
                    let result = Result { try Self.inSavepoint(db, body) }
                    return { commitError in
                        switch (result, commitError) {
                        case (.success, .some(let error)): continuation.resume(throwing: error)
                        default: continuation.resume(with: result)
                        }
                    }
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
        var active = 0
        do {
            try db.inTransaction(.immediate) {
                for job in group {
                    finishes.append(job.run(db))
                    // A full disk or an I/O error may end the whole transaction (sqlite.org/lang_transaction.html):
                    // what ran before is gone, and what comes after must not begin a transaction of its own.
                    guard db.isInsideTransaction else {
                        throw DatabaseError(resultCode: .SQLITE_ABORT, message: "the transaction was aborted")
                    }
                }
                active = try Self.countActiveMessages(db)
                return .commit
            }
            activeMessages.store(active, ordering: .releasing)
        } catch {
            failure = error
        }
        for finish in finishes { finish(failure) }
        if let failure {
            for job in group.dropFirst(finishes.count) { job.fail(failure) }
        }
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

    /// The counter that the schema's triggers keep.
    private static func countActiveMessages(_ db: Database) throws -> Int {
        Int(try db.number("SELECT value FROM meta WHERE name = 'active_messages'") ?? 0)
    }
}
