import PushModel

/// When a lane may claim: a value without clock, lock or I/O.
///
/// A lane claims while it has room (fewer pushes in flight than its limit) and reason to (a wake-up, or a retry that is
/// due). A claim takes its room before it asks the store and gives back what it did not get, so that a lane which is
/// being drained never looks empty while a claim is under way. One worker claims; any thread may do the rest.
struct LaneState {
    /// What the worker is to do.
    enum Action: Hashable {
        /// Claim up to `limit` deliveries; ``claimed(_:of:hasMore:nextDue:)`` follows.
        case claim(limit: Int)
        /// Wait for a signal, at most until then.
        case wait(until: Timestamp?)
        /// Return: the lane is stopped.
        case stop
    }

    /// The most that may be in flight.
    let inFlightLimit: Int
    /// The most that one claim takes.
    let claimLimit: Int
    /// The room that a claim waits for: pages of one row each, as answers trickle in, would waste the store's time.
    let leastRoom: Int
    /// Claimed and not settled, and what a running claim may bring.
    private(set) var inFlight = 0
    /// Whether there may be work in the store. At the start nobody knows, so: yes.
    private var hasWork = true
    /// When the next delivery falls due.
    private var due: Timestamp?
    /// Whether results can't be recorded: no claims meanwhile.
    private var isHeld = false
    /// No claim before this, because the last one failed.
    private var pausedUntil: Timestamp?
    /// Whether the lane claims no more. Final.
    private(set) var isStopped = false

    init(inFlightLimit: Int, claimLimit: Int, leastRoom: Int) {
        self.inFlightLimit = max(1, inFlightLimit)
        self.claimLimit = max(1, min(claimLimit, inFlightLimit))
        self.leastRoom = max(1, min(leastRoom, inFlightLimit))
    }

    /// Decides what the worker does now; a claim takes its room.
    mutating func next(at now: Timestamp) -> Action {
        if isStopped { return .stop }
        if let due, due <= now {
            hasWork = true
            self.due = nil
        }
        if let pausedUntil, hasWork {
            guard pausedUntil <= now else { return .wait(until: pausedUntil) }
            self.pausedUntil = nil
        }
        let room = inFlightLimit - inFlight
        guard hasWork, !isHeld, room >= leastRoom else {
            // Without room or with a failing store there is no point in waking for the time.
            return .wait(until: hasWork ? nil : due)
        }
        let limit = min(room, claimLimit)
        inFlight += limit
        hasWork = false
        due = nil
        return .claim(limit: limit)
    }

    /// A claim for `limit` brought `count`; `hasMore`: ask again; `nextDue`: when the store has more.
    ///
    /// `count` may be above `limit`: a page that was rescued comes back whole, even if room is scarcer now.
    mutating func claimed(_ count: Int, of limit: Int, hasMore: Bool, nextDue: Timestamp?) {
        inFlight += count - limit
        if hasMore { hasWork = true }
        if let nextDue { expect(nextDue) }
    }

    /// A claim for `limit` failed; the next one comes at `time`.
    mutating func claimFailed(of limit: Int, pausedUntil time: Timestamp) {
        inFlight -= limit
        hasWork = true
        pausedUntil = time
    }

    /// There may be work.
    mutating func wake() {
        hasWork = true
    }

    /// A delivery falls due at `time`.
    mutating func expect(_ time: Timestamp) {
        due = due.map { min($0, time) } ?? time
    }

    /// `count` pushes are settled.
    mutating func settled(_ count: Int) {
        precondition(count <= inFlight, "settled \(count) of \(inFlight)")
        inFlight -= count
    }

    /// Results can't be recorded, or can again.
    mutating func hold(_ isHeld: Bool) {
        self.isHeld = isHeld
    }

    /// No claims from now on.
    mutating func stop() {
        isStopped = true
    }
}
