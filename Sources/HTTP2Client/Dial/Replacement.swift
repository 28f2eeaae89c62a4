/// When a connection that the peer holds at one stream or none gets a successor, while requests wait. A value: no I/O, and
/// the time is a parameter.
///
/// A peer may narrow a connection for what was sent on it and never widen it again; another connection has all its
/// streams. It may as well mean the sender, so the pause doubles with each successor:
///
/// | successors, each within 20 minutes of the one before | requests wait, and the connection is narrow, for |
/// |---|---|
/// | 0 | 20 s |
/// | 1 | 40 s |
/// | 2 | 80 s |
/// | 5 and more | 600 s |
struct Replacement {
    private var pause = Self.shortest
    private var replacedAt: Instant?
    /// Since when requests wait, gaps left out.
    private var waitingSince: Instant?
    /// Since when none waits; `nil`: some do, or none ever did.
    private var emptySince: Instant?
    /// The successor is dialed since; `nil`: none is wanted.
    private(set) var since: Instant?

    private static let shortest: Int64 = 20_000_000_000
    private static let longest: Int64 = 600_000_000_000
    /// Requests that come in batches wait with gaps between them.
    private static let gap: Int64 = 5_000_000_000

    /// Takes note of how things stand, whenever they may have changed.
    ///
    /// - Parameters:
    ///   - isWaiting: whether requests wait for a stream.
    ///   - narrowSince: since when the connection is narrow that has been so the longest; `nil`: none is.
    mutating func note(isWaiting: Bool, narrowSince: Instant?, at now: Instant) {
        noteWaiting(isWaiting, at: now)
        guard let narrowSince else {
            since = nil
            return
        }
        if let due = due(narrowSince: narrowSince, at: now), due <= now { since = now }
    }

    private mutating func noteWaiting(_ isWaiting: Bool, at now: Instant) {
        guard isWaiting else {
            emptySince = emptySince ?? now
            return
        }
        if let emptySince, now.elapsed(since: emptySince) > Self.gap { waitingSince = nil }
        emptySince = nil
        waitingSince = waitingSince ?? now
    }

    /// When the successor of a connection that is narrow since `narrowSince` is due if requests go on waiting; `nil`: none
    /// wait, or one is on its way.
    func due(narrowSince: Instant, at now: Instant) -> Instant? {
        guard since == nil, emptySince == nil, let waitingSince else { return nil }
        let pause = pause(at: now)
        let due = max(narrowSince, waitingSince).adding(nanoseconds: pause)
        return replacedAt.map { max(due, $0.adding(nanoseconds: pause)) } ?? due
    }

    /// The successor stands.
    mutating func replaced(at now: Instant) {
        pause = min(pause(at: now) * 2, Self.longest)
        replacedAt = now
        since = nil
    }

    private func pause(at now: Instant) -> Int64 {
        guard let replacedAt, now.elapsed(since: replacedAt) <= 2 * Self.longest else { return Self.shortest }
        return pause
    }
}
