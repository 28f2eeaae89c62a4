import PushModel
import Store
import Synchronization

/// A batch that was handed to the upstream, and what has been answered of it and not taken by the settler.
final class SentBatch: Sendable {
    /// What is known about one delivery.
    struct Answer {
        let index: Int
        let outcome: Outcome
        let isAttempt: Bool
        let isBeingProbed: Bool
        /// The push service's own id of an accepted push.
        let upstreamID: String?
        let time: Timestamp
    }

    private struct State {
        var isAnswered: [Bool]
        var chunks: [(reports: [PushReport], time: Timestamp)] = []
        /// Whether it waits in the buffer.
        var isQueued = false
        /// What its span says, until that is recorded.
        var trace: SendTrace?
    }

    /// The deliveries, in the order of the pushes.
    let deliveries: DeliveryList
    /// The lane where they count as in flight.
    let lane: Lane
    /// Who claimed them.
    let worker: WorkerID
    /// Its span; `nil`: no message of it is traced.
    let trace: SendTrace?
    private let state: Mutex<State>

    init(_ deliveries: DeliveryList, lane: Lane, worker: WorkerID, trace: SendTrace? = nil) {
        self.trace = trace
        self.deliveries = deliveries
        self.lane = lane
        self.worker = worker
        state = Mutex(State(isAnswered: Array(repeating: false, count: deliveries.count), trace: trace))
    }

    /// Takes answers in. A second answer to a push would settle a delivery twice and break the ledger's law, so it goes
    /// no further.
    ///
    /// - Returns: how many were taken, and whether the batch is to be queued.
    func add(_ reports: [PushReport], at time: Timestamp) -> (count: Int, isNew: Bool) {
        state.withLock { state in
            var kept: [PushReport]?
            for (place, report) in reports.enumerated() {
                if state.isAnswered.indices.contains(report.index), !state.isAnswered[report.index] {
                    state.isAnswered[report.index] = true
                    kept?.append(report)
                } else if kept == nil {
                    kept = Array(reports[..<place])
                }
            }
            let firsts = kept ?? reports
            guard !firsts.isEmpty else { return (0, false) }
            if trace != nil { state.trace?.failures += firsts.count { $0.outcome != .accepted } }
            state.chunks.append((firsts, time))
            defer { state.isQueued = true }
            return (firsts.count, !state.isQueued)
        }
    }

    /// Takes out what the span of the batch says once the last push is answered; `nil`: it is not, or was taken, or
    /// nothing is traced.
    func takeTrace() -> SendTrace? {
        guard trace != nil else { return nil }
        return state.withLock { state in
            guard !state.isAnswered.contains(false) else { return nil }
            return state.trace.take()
        }
    }

    /// How many were answered since the last time.
    var answered: Int {
        state.withLock { state in state.chunks.reduce(0) { $0 + $1.reports.count } }
    }

    /// Takes out what was answered since the last time, in the order of the batch.
    func take() -> [Answer] {
        let chunks = state.withLock { state in
            state.isQueued = false
            defer { state.chunks = [] }
            return state.chunks
        }
        // Numbers are sorted, not the answers.
        var order: [UInt64] = []
        order.reserveCapacity(chunks.reduce(0) { $0 + $1.reports.count })
        for (number, chunk) in chunks.enumerated() {
            for (place, report) in chunk.reports.enumerated() {
                order.append(UInt64(report.index) << 40 | UInt64(number) << 20 | UInt64(place))
            }
        }
        order.sort()
        return order.map { key in
            let chunk = chunks[Int(key >> 20) & 0xfffff]
            let report = chunk.reports[Int(key) & 0xfffff]
            return Answer(
                index: report.index, outcome: report.outcome, isAttempt: report.isAttempt,
                isBeingProbed: report.isBeingProbed, upstreamID: report.upstreamID, time: chunk.time)
        }
    }
}

/// What is known about claimed deliveries, on its way to the settler, from any thread.
///
/// Everything here belongs to deliveries that are in flight, so the lanes' in-flight limits are the limit of this queue.
final class AnswerBuffer: Sendable {
    /// Something to be settled.
    enum Entry {
        /// The upstream answered some of a batch.
        case answered(SentBatch)
        /// Results that are clear without an attempt.
        case decided([Settlement], Lane, WorkerID)
        /// Deliveries that belong to another worker by now: only their room comes back.
        case dropped(Int, of: ProjectID, Lane)
    }

    private struct State {
        var entries: [Entry] = []
        var isStopping = false
        var isFinishing = false
    }

    private let state = Mutex(State())
    /// Raised when there is something to take or nothing more will come.
    let changed = AutoResetEvent()

    /// Takes answers in, on the thread of the upstream: the reports themselves are not copied.
    ///
    /// - Returns: how many of the reports were no first answer and were left out.
    func append(_ reports: [PushReport], of batch: SentBatch, at time: Timestamp) -> Int {
        let (count, isNew) = batch.add(reports, at: time)
        if isNew { append(.answered(batch)) }
        return reports.count - count
    }

    /// Takes results in that needed no attempt.
    func append(_ settlements: [Settlement], in lane: Lane, by worker: WorkerID) {
        if !settlements.isEmpty { append(.decided(settlements, lane, worker)) }
    }

    /// Takes note of deliveries that are not sent, because they belong to another worker by now.
    func drop(_ batch: SentBatch, of project: ProjectID) {
        append(.dropped(batch.deliveries.count, of: project, batch.lane))
    }

    private func append(_ entry: Entry) {
        state.withLock { $0.entries.append(entry) }
        changed.raise()
    }

    /// The gateway stops: what is open anyway is not worth waiting for a store that refuses it.
    func stop() {
        state.withLock { $0.isStopping = true }
        changed.raise()
    }

    /// Whether ``stop()`` was called.
    var isStopping: Bool {
        state.withLock { $0.isStopping }
    }

    /// Nothing more is expected: the settler returns when it has recorded what is here.
    func finish() {
        state.withLock { $0.isFinishing = true }
        changed.raise()
    }

    /// Whether ``finish()`` was called.
    var isFinishing: Bool {
        state.withLock { $0.isFinishing }
    }

    /// Takes out everything, the oldest first.
    func take() -> [Entry] {
        state.withLock { state in
            defer { state.entries = [] }
            return state.entries
        }
    }
}
