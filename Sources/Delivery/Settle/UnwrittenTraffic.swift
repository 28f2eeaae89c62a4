import PushModel
import Store

/// How deliveries ended that the store was not told yet, by project and minute. A value without a clock: minutes are those
/// of the ends.
///
/// Its size is bounded while the store takes nothing: by the minutes of a week for each configured project.
struct UnwrittenTraffic {
    private struct Minute: Hashable {
        let project: ProjectID
        /// The step of ``TrafficSpan/hour``.
        let number: Int64

        /// The step of a span that it is in: steps are whole minutes.
        func step(of span: TrafficSpan) -> Int64 {
            span.step(at: Timestamp(seconds: number * TrafficSpan.hour.stepSeconds))
        }
    }

    private typealias Counts = [Minute: [LedgerOutcome: Int]]

    private var waiting: Counts = [:]
    /// What the store is told at the moment.
    private var underway: Counts = [:]

    /// Counts ends.
    mutating func add(_ project: ProjectID, _ outcome: LedgerOutcome, _ count: Int, at time: Timestamp) {
        let minute = Minute(project: project, number: TrafficSpan.hour.step(at: time))
        waiting[minute, default: [:]][outcome, default: 0] += count
    }

    /// What is to be told to the store, which ``endWriting(isWritten:)`` follows. What no chart shows at `now` is dropped.
    mutating func beginWriting(at now: Timestamp) -> [TrafficCount] {
        let shown = TrafficSpan.week.steps(endingAt: now).lowerBound
        for (minute, counts) in waiting where minute.step(of: .week) >= shown {
            underway[minute, default: [:]].merge(counts, uniquingKeysWith: +)
        }
        waiting = [:]
        return TrafficSpan.allCases.flatMap { span in
            let first = span.steps(endingAt: now).lowerBound
            return Self.sums(of: underway, span).filter { $0.step >= first }
        }
    }

    /// The store took what it was told, or nothing of it: that waits for the next time.
    mutating func endWriting(isWritten: Bool) {
        if !isWritten { waiting.merge(underway) { $0.merging($1, uniquingKeysWith: +) } }
        underway = [:]
    }

    /// What the store does not know of a project.
    func counts(of project: ProjectID, _ span: TrafficSpan) -> [TrafficCount] {
        [waiting, underway].flatMap { counts in Self.sums(of: counts.filter { $0.key.project == project }, span) }
    }

    private static func sums(of counts: Counts, _ span: TrafficSpan) -> [TrafficCount] {
        struct Step: Hashable {
            let project: ProjectID
            let number: Int64
        }
        var sums: [Step: [LedgerOutcome: Int]] = [:]
        for (minute, counts) in counts {
            sums[Step(project: minute.project, number: minute.step(of: span)), default: [:]]
                .merge(counts, uniquingKeysWith: +)
        }
        return sums.map { TrafficCount(project: $0.project, span: span, step: $0.number, counts: $1) }
            .sorted { ($0.project.rawValue, $0.step) < ($1.project.rawValue, $1.step) }
    }
}
