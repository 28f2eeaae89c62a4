import PushModel

/// How much is known of what the store offers. It is read when something happened, not before each claim.
struct StoreOffers {
    private enum State {
        /// Something may have changed since they were read; so it is at the start. Next: reading.
        case unknown
        /// They are being read; stale: something changed meanwhile. Next: known, or unknown when stale or failed.
        case reading(isStale: Bool)
        /// They were read at that time. Next: unknown.
        case known(Timestamp)
    }

    /// The longest time between two readings: whatever else fails, no delivery waits longer.
    static let longestRest: Duration = .seconds(60)

    private var state = State.unknown
    /// When the next delivery falls due.
    private var due: Timestamp?
    /// How many times they were read: what a claim says about them may be older than what is known.
    private(set) var readings = 0
    /// Whether the store has more fan-outs than it named.
    private(set) var isTruncated = false

    /// Something may have changed.
    mutating func invalidate() {
        switch state {
        case .reading: state = .reading(isStale: true)
        case .unknown, .known: state = .unknown
        }
    }

    /// A delivery falls due at `time`.
    mutating func expect(_ time: Timestamp) {
        due.bringForward(to: time)
    }

    /// Takes note of the time: a delivery may have fallen due, or the last reading be too old.
    mutating func advance(to now: Timestamp) {
        if let due, due <= now {
            self.due = nil
            invalidate()
        }
        if case .known(let time) = state, now - time >= Self.longestRest { invalidate() }
    }

    /// Whether they are to be read now; `true` once: ``read(isTruncated:next:at:)`` or ``failed()`` follows.
    mutating func beginReading() -> Bool {
        guard case .unknown = state else { return false }
        state = .reading(isStale: false)
        due = nil
        return true
    }

    /// They were read.
    ///
    /// - Parameter next: when the next delivery falls due, as the store says.
    mutating func read(isTruncated: Bool, next: Timestamp?, at now: Timestamp) {
        if case .reading(isStale: true) = state { state = .unknown } else { state = .known(now) }
        readings += 1
        self.isTruncated = isTruncated
        if let next { expect(next) }
    }

    /// They could not be read.
    mutating func failed() {
        state = .unknown
    }

    /// When they are to be read although nothing happens; `nil`: not while they are being read, but for what falls due.
    var wakeUp: Timestamp? {
        var time = due
        if case .known(let read) = state { time.bringForward(to: read + Self.longestRest) }
        return time
    }

    /// The clock went back: the time of the reading and what falls due are worth nothing.
    mutating func forgetTimes() {
        due = nil
        invalidate()
    }
}

extension Timestamp? {
    /// Makes it `time`, unless it is earlier.
    mutating func bringForward(to time: Timestamp) {
        self = map { min($0, time) } ?? time
    }
}
