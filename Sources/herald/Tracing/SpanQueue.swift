import Delivery
import Synchronization

/// Spans that wait for the collector. When it is full new ones are dropped and counted: nothing that is traced waits.
final class SpanQueue: Sendable {
    /// Why spans did not reach the collector: the metric label `reason`.
    enum Loss: String, CaseIterable, Sendable {
        /// The queue was full.
        case full
        /// The collector refused them for good.
        case refused
        /// The collector did not take them in time.
        case unreachable
    }

    /// What became of spans since the start.
    struct Counts: Sendable {
        /// In the queue.
        var waiting = 0
        /// Taken by the collector.
        var exported = 0
        /// That did not reach it.
        var lost: [Loss: Int] = [:]
    }

    /// The most spans that wait.
    static let standardLimit = 2048
    /// The most spans of one request.
    static let batchSize = 512

    private struct State {
        var spans: [FinishedSpan] = []
        var counts = Counts()
    }

    let limit: Int
    private let state = Mutex(State())
    /// Raised when a whole batch waits.
    let isReady = AutoResetEvent()

    init(limit: Int = standardLimit) {
        self.limit = limit
    }

    /// Takes a span in, from any thread.
    func append(_ span: FinishedSpan) {
        let isBatch = state.withLock { state in
            guard state.spans.count < limit else {
                state.counts.lost[.full, default: 0] += 1
                return false
            }
            state.spans.append(span)
            return state.spans.count % Self.batchSize == 0
        }
        if isBatch { isReady.raise() }
    }

    /// Takes out the oldest, at most a batch.
    func take() -> [FinishedSpan] {
        state.withLock { state in
            let batch = Array(state.spans.prefix(Self.batchSize))
            state.spans.removeFirst(batch.count)
            return batch
        }
    }

    /// Puts a batch back in front: it was not sent, or it is not known whether it was.
    func putBack(_ batch: [FinishedSpan]) {
        state.withLock { state in
            let room = max(0, limit - state.spans.count)
            state.spans.insert(contentsOf: batch.prefix(room), at: 0)
            if batch.count > room { state.counts.lost[.full, default: 0] += batch.count - room }
        }
    }

    /// Notes what the collector took.
    func exported(_ count: Int) { state.withLock { $0.counts.exported += count } }

    /// Notes what did not reach it.
    func lost(_ count: Int, _ loss: Loss) {
        if count > 0 { state.withLock { $0.counts.lost[loss, default: 0] += count } }
    }

    /// The figures now.
    var counts: Counts {
        state.withLock { state in
            var counts = state.counts
            counts.waiting = state.spans.count
            return counts
        }
    }
}
