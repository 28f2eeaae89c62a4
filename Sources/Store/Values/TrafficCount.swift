package import PushModel

/// How far back traffic is looked at, and in which steps. A step is a whole number of minutes, and has the number that the
/// steps since 1970 give it.
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

    /// The number of the step in which a time is.
    package func step(at time: Timestamp) -> Int64 {
        let (quotient, rest) = time.seconds.quotientAndRemainder(dividingBy: stepSeconds)
        return rest < 0 ? quotient - 1 : quotient
    }

    /// The numbers of the span's steps, the last of which is that of `now`.
    package func steps(endingAt now: Timestamp) -> ClosedRange<Int64> {
        let last = step(at: now)
        return last - Int64(steps) + 1...last
    }
}

/// How many deliveries of a project ended in each way within a step.
package struct TrafficCount: Hashable, Sendable {
    /// The project.
    package var project: ProjectID
    /// The span whose step it is.
    package var span: TrafficSpan
    /// The step.
    package var step: Int64
    /// By how they ended.
    package var counts: [LedgerOutcome: Int]

    /// Puts a count together.
    package init(project: ProjectID, span: TrafficSpan, step: Int64, counts: [LedgerOutcome: Int]) {
        self.project = project
        self.span = span
        self.step = step
        self.counts = counts
    }
}
