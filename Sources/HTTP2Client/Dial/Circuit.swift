/// Whether it is worth waiting for a connection.
package enum Circuit: String, Sendable, Hashable, CaseIterable, Comparable {
    /// Yes: requests wait up to the queue's time limit. Next: open, after several failed dials in a row.
    case closed
    /// No: nothing is dialed until the pause is over, and requests end at once. Next: half-open.
    case open
    /// One dial at a time is tried, and as many requests as a connection takes may wait for it. Next: closed, when the
    /// connection proves itself; open, when it fails.
    case halfOpen = "half_open"

    /// Worse is greater.
    package static func < (left: Circuit, right: Circuit) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .closed: 0
        case .halfOpen: 1
        case .open: 2
        }
    }
}
