import CoreMetrics
import Store
import Synchronization

/// Runs small reads, and lets those that wait at the same time share one connection and one snapshot.
///
/// Taking a reader of the pool and beginning a transaction costs several times what a look-up by an index does. A read
/// sees every commit that was answered before it was asked for: a batch takes up what waits, and only then its snapshot
/// is made. Cancelling the caller's task does not stop a read.
final class ReadBatcher: Sendable {
    /// The most reads in one snapshot: others must not wait for long.
    static let batchLimit = 200
    /// Batches at the same time: a second one begins while the first one runs.
    static let concurrency = 2
    /// The most reads that may wait; further ones are refused at once.
    static let queueLimit = 10_000

    private struct Job: Sendable {
        let run: @Sendable (any Database) -> Void
        let fail: @Sendable (any Error) -> Void
    }

    private struct Queue {
        var waiting: [Job] = []
        /// Batches that run or are about to.
        var running = 0
    }

    private let engine: any StorageEngine
    private let queue = Mutex(Queue())
    private let gauge: Gauge

    /// - Parameter metrics: where the gauge of the queue goes.
    init(engine: any StorageEngine, metrics: any MetricsFactory) {
        self.engine = engine
        gauge = Gauge(storeQueue: "look_up", limit: Self.queueLimit, metrics: metrics)
        gauge.record(0)
    }

    /// Runs `body`, which must take microseconds, in one of the next snapshots.
    ///
    /// - Throws: ``StoreError`` `.busy` when ``queueLimit`` reads wait, otherwise the error of `body` or of the snapshot.
    func read<Value: Sendable>(_ body: @escaping @Sendable (any Database) throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
            enqueue(
                Job(
                    run: { db in continuation.resume(with: Result { try body(db) }) },
                    fail: { continuation.resume(throwing: $0) }))
        }
    }

    private func enqueue(_ job: Job) {
        enum Action { case refuse, wait, start }
        let action: Action = queue.withLock { queue in
            guard queue.waiting.count < Self.queueLimit else { return .refuse }
            queue.waiting.append(job)
            guard queue.running < Self.concurrency, queue.running == 0 || queue.waiting.count >= Self.batchLimit / 4
            else { return .wait }
            queue.running += 1
            return .start
        }
        switch action {
        case .refuse: job.fail(StoreError.busy("\(Self.queueLimit) look-ups wait for the store already."))
        case .wait: break
        case .start: start()
        }
    }

    private func start() {
        // The snapshot is made by the batch itself, after it took up what waits.
        engine.withReader { result in
            switch result {
            case .success(let connection): while self.runBatch(connection) {}
            case .failure(let error): while self.failBatch(error) {}
            }
        }
    }

    /// Runs what waits, in one snapshot if none of it fails; `false`: nothing waited, and this runner has ended.
    private func runBatch(_ connection: any ReadConnection) -> Bool {
        let batch = next()
        guard !batch.isEmpty else { return false }
        var place = 0
        do {
            while place < batch.count {
                try connection.inSnapshot { db in
                    // A read that failed may have ended the snapshot, or the connection: the others have another one.
                    repeat {
                        batch[place].run(db)
                        place += 1
                    } while place < batch.count && !db.isAborted
                }
            }
        } catch {
            for job in batch[place...] { job.fail(error) }
        }
        return true
    }

    private func failBatch(_ error: any Error) -> Bool {
        let batch = next()
        for job in batch { job.fail(error) }
        return !batch.isEmpty
    }

    private func next() -> [Job] {
        let (batch, waiting) = queue.withLock { queue in
            let batch = Array(queue.waiting.prefix(Self.batchLimit))
            queue.waiting.removeFirst(batch.count)
            if batch.isEmpty { queue.running -= 1 }
            return (batch, queue.waiting.count)
        }
        gauge.record(waiting)
        return batch
    }
}
