import PushModel
import Store

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
