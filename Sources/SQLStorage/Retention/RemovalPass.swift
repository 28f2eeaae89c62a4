/// What a step removed of a project.
struct RemovedRows: Hashable, Sendable {
    /// How many payloads, receipts, messages, sums or registrations.
    var count = 0
    /// Where the next step begins; `nil`: nothing else of the project is out of date.
    var next: Int64?
}

/// Where the removal of a part stands, and how much its next step takes. Kept in memory: a pass that was broken off
/// begins anew, and what it removed is gone.
struct RemovalPass: Hashable, Sendable {
    /// Projects up to this one are done; empty: none.
    private(set) var doneUpTo = ""
    /// Where the next step of the project after it begins, see ``RemovalStep/after``.
    private(set) var after: Int64 = 0
    var size = StepSize()

    /// Goes on in a project, or to the next one when nothing of it is left.
    mutating func go(on next: Int64?, of project: String) {
        after = next ?? 0
        if next == nil { doneUpTo = project }
    }

    /// Begins with the first project again.
    mutating func restart() {
        (doneUpTo, after) = ("", 0)
    }
}
