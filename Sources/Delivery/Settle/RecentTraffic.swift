package import PushModel
package import Store

/// How far back traffic is looked at, and in which steps.
package enum TrafficSpan: String, Hashable, Sendable, CaseIterable {
    /// An hour by minutes.
    case hour
    /// A day by quarters of an hour.
    case day
    /// A week by two hours.
    case week

    /// The length of a step in seconds.
    package var stepSeconds: Int64 {
        switch self {
        case .hour: 60
        case .day: 900
        case .week: 7200
        }
    }

    /// How many steps there are.
    package var steps: Int {
        switch self {
        case .hour: 60
        case .day: 96
        case .week: 84
        }
    }
}

/// How many deliveries of a project ended in each way, step by step, the newest step last. Only what this process has
/// recorded.
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

    /// How many ended in one way.
    package func total(_ outcome: LedgerOutcome) -> Int { counts.reduce(0) { $0 + ($1[outcome] ?? 0) } }
}

/// How deliveries ended, by project and span, in memory alone. A value without a clock: steps are those of the ends.
///
/// Its size is bounded: 240 steps of four outcomes for each configured project.
struct RecentTraffic {
    private struct Slot {
        var number: Int64 = .min
        var counts: [LedgerOutcome: Int] = [:]
    }

    private struct Ring {
        let span: TrafficSpan
        /// A step has the place that its number leaves over ``TrafficSpan/steps``.
        var slots: [Slot]

        init(_ span: TrafficSpan) {
            self.span = span
            slots = Array(repeating: Slot(), count: span.steps)
        }

        mutating func add(_ outcome: LedgerOutcome, _ count: Int, at time: Timestamp) {
            let number = Self.floor(time.seconds, span.stepSeconds)
            let place = self.place(of: number)
            if slots[place].number < number { slots[place] = Slot(number: number) }
            guard slots[place].number == number else { return }
            slots[place].counts[outcome, default: 0] += count
        }

        func series(at now: Timestamp) -> TrafficSeries {
            let last = Self.floor(now.seconds, span.stepSeconds)
            let first = last - Int64(span.steps) + 1
            return TrafficSeries(
                span: span, start: Timestamp(seconds: first * span.stepSeconds),
                counts: (first...last).map { number in
                    let slot = slots[place(of: number)]
                    return slot.number == number ? slot.counts : [:]
                })
        }

        private func place(of number: Int64) -> Int {
            Int(number - Self.floor(number, Int64(span.steps)) * Int64(span.steps))
        }

        private static func floor(_ value: Int64, _ divisor: Int64) -> Int64 {
            let (quotient, rest) = value.quotientAndRemainder(dividingBy: divisor)
            return rest < 0 ? quotient - 1 : quotient
        }
    }

    private var rings: [ProjectID: [Ring]] = [:]

    /// Counts ends. What is older than a span is not counted in it.
    mutating func add(_ project: ProjectID, _ outcome: LedgerOutcome, _ count: Int, at time: Timestamp) {
        var own = rings[project] ?? TrafficSpan.allCases.map(Ring.init)
        // Not held by the dictionary while it changes: nothing is copied.
        rings[project] = nil
        for place in own.indices { own[place].add(outcome, count, at: time) }
        rings[project] = own
    }

    /// The steps of a span that end with the one of `now`.
    func series(of project: ProjectID, _ span: TrafficSpan, at now: Timestamp) -> TrafficSeries {
        let ring = rings[project]?.first { $0.span == span } ?? Ring(span)
        return ring.series(at: now)
    }
}

/// Adds up ends of a batch, most of which are of one project, minute and outcome.
struct TrafficTally {
    private(set) var runs: [Run] = []

    /// Ends that are alike.
    struct Run {
        let project: ProjectID
        let outcome: LedgerOutcome
        let time: Timestamp
        let minute: Int64
        var count: Int
    }

    /// Counts an end.
    mutating func add(_ project: ProjectID, _ outcome: LedgerOutcome, at time: Timestamp) {
        let minute = time.seconds / 60
        if let last = runs.indices.last, runs[last].outcome == outcome, runs[last].minute == minute,
            runs[last].project == project
        {
            runs[last].count += 1
        } else {
            runs.append(Run(project: project, outcome: outcome, time: time, minute: minute, count: 1))
        }
    }
}
