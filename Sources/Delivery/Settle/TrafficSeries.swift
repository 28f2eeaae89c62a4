package import PushModel
package import Store

/// How many deliveries of a project ended in each way, step by step, the newest step last.
package struct TrafficSeries: Hashable, Sendable {
    /// The span.
    package var span: TrafficSpan
    /// When the first step begins.
    package var start: Timestamp
    /// By step.
    package var counts: [[LedgerOutcome: Int]]

    /// Puts a series together.
    package init(span: TrafficSpan, start: Timestamp, counts: [[LedgerOutcome: Int]]) {
        self.span = span
        self.start = start
        self.counts = counts
    }

    /// The sum of counts of the span, for the steps that end with the one of `now`.
    init(_ span: TrafficSpan, endingAt now: Timestamp, summing counts: [TrafficCount]) {
        let steps = span.steps(endingAt: now)
        self.init(
            span: span, start: Timestamp(seconds: steps.lowerBound * span.stepSeconds),
            counts: Array(repeating: [:], count: steps.count))
        for count in counts where count.span == span && steps.contains(count.step) {
            self.counts[Int(count.step - steps.lowerBound)].merge(count.counts, uniquingKeysWith: +)
        }
    }

    /// How many ended in one way.
    package func total(_ outcome: LedgerOutcome) -> Int { counts.reduce(0) { $0 + ($1[outcome] ?? 0) } }
}
