import PushModel
import Store
import Synchronization

/// A batch that was handed to the upstream, and which of its pushes have been answered.
final class SentBatch: Sendable {
    /// The deliveries, in the order of the pushes.
    let deliveries: [OpenDelivery]
    private let isAnswered: Mutex<[Bool]>

    init(_ deliveries: [OpenDelivery]) {
        self.deliveries = deliveries
        isAnswered = Mutex(Array(repeating: false, count: deliveries.count))
    }

    /// The reports that are the first for their push. A second one would settle a delivery twice and break the
    /// ledger's law, so it goes no further.
    func firsts(of reports: [PushReport]) -> [PushReport] {
        isAnswered.withLock { isAnswered in
            reports.filter { report in
                guard isAnswered.indices.contains(report.index), !isAnswered[report.index] else { return false }
                isAnswered[report.index] = true
                return true
            }
        }
    }
}

/// What is known about a claimed delivery and not recorded yet.
enum Finding: Sendable {
    /// The upstream answered at `time`; `isAttempt`: see ``PushModel/PushReport/isAttempt``.
    case answered(OpenDelivery, Outcome, isAttempt: Bool, time: Timestamp)
    /// The result is clear without an attempt.
    case decided(Settlement, Lane)

    /// The message of the delivery.
    var message: MessageID {
        switch self {
        case .answered(let delivery, _, _, _): delivery.claim.message
        case .decided(let settlement, _): settlement.delivery.message
        }
    }

    /// The lane where the delivery counts as in flight.
    var lane: Lane {
        switch self {
        case .answered(let delivery, _, _, _): delivery.lane
        case .decided(_, let lane): lane
        }
    }
}

/// Findings on their way to the settler, from any thread.
///
/// Every finding belongs to a delivery that is in flight, so the lanes' in-flight limits are the limit of this queue.
final class AnswerBuffer: Sendable {
    private enum Entry {
        case reports(SentBatch, [PushReport], time: Timestamp)
        case decided([Settlement], Lane)

        var count: Int {
            switch self {
            case .reports(_, let reports, _): reports.count
            case .decided(let settlements, _): settlements.count
            }
        }
    }

    private struct State {
        var entries: [Entry] = []
        var isFinishing = false
    }

    private let state = Mutex(State())
    /// Raised when there is something to take or nothing more will come.
    let changed = Signal()

    /// Takes answers in: one lock and one append for all of them, on the thread of the upstream.
    ///
    /// - Returns: how many of the reports were no first answer and were left out.
    func append(_ reports: [PushReport], of batch: SentBatch, at time: Timestamp) -> Int {
        let firsts = batch.firsts(of: reports)
        if !firsts.isEmpty { append(.reports(batch, firsts, time: time)) }
        return reports.count - firsts.count
    }

    /// Takes results in that needed no attempt.
    func append(_ settlements: [Settlement], in lane: Lane) {
        if !settlements.isEmpty { append(.decided(settlements, lane)) }
    }

    private func append(_ entry: Entry) {
        state.withLock { $0.entries.append(entry) }
        changed.raise()
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

    /// Takes out the oldest findings: entries until there are `count` findings or more.
    func take(atLeast count: Int) -> [Finding] {
        let entries: [Entry] = state.withLock { state in
            var taken = 0
            var sum = 0
            while taken < state.entries.count, sum < count {
                sum += state.entries[taken].count
                taken += 1
            }
            let entries = Array(state.entries.prefix(taken))
            state.entries.removeFirst(taken)
            return entries
        }
        return entries.flatMap { entry -> [Finding] in
            switch entry {
            case .reports(let batch, let reports, let time):
                reports.map {
                    .answered(batch.deliveries[$0.index], $0.outcome, isAttempt: $0.isAttempt, time: time)
                }
            case .decided(let settlements, let lane):
                settlements.map { .decided($0, lane) }
            }
        }
    }
}
