import PushModel

/// How the connections of an upstream are divided between proven device tokens and suspects (tokens that the service
/// has never accepted). The two never share a connection: the service narrows one on which tokens are refused.
///
/// | traffic of late   | proven     | suspects                   |
/// |-------------------|------------|----------------------------|
/// | proven only       | all        | none                       |
/// | suspects only     | none       | all: a new installation    |
/// | both              | all        | a quarter more, but at least one |
///
/// What suspects have beside proven traffic comes on top of the limit, so that a busy upstream keeps all of its
/// streams.
struct ConnectionBudget {
    /// Who may have how many connections.
    struct Division: Hashable {
        var proven: Int
        var suspects: Int
    }

    /// Who sent nothing for so long lets go of its connections. Long, because opening and closing them often looks like
    /// an attack to Apple.
    static let idleInterval: Duration = .seconds(300)

    /// Of all gateways that share it.
    private let total: Int
    /// Of this one.
    private var limit: Int
    private var provenAt: Timestamp?
    private var suspectsAt: Timestamp?
    private var division: Division?

    /// Divides `limit` connections, at least 2.
    init(limit: Int) {
        precondition(limit >= 2, "\(limit) connections can't be divided")
        total = limit
        self.limit = limit
    }

    /// Takes a part of the limit, at least one connection, since so many gateways share it.
    ///
    /// - Returns: the division from now on; `nil`: the same as before, or nothing was sent yet.
    mutating func divide(among nodes: Int, at now: Timestamp) -> Division? {
        limit = NodeCount.part(of: total, among: nodes)
        guard division != nil else { return nil }
        return redivided(at: now)
    }

    /// Takes note of what a batch consists of.
    ///
    /// - Returns: the division from now on; `nil`: the same as before.
    mutating func note(hasProven: Bool, hasSuspects: Bool, at now: Timestamp) -> Division? {
        if hasProven { provenAt = now }
        if hasSuspects { suspectsAt = now }
        return redivided(at: now)
    }

    private mutating func redivided(at now: Timestamp) -> Division? {
        let next = divided(isOfLate(provenAt, at: now), isOfLate(suspectsAt, at: now))
        guard next != division else { return nil }
        division = next
        return next
    }

    private func divided(_ hasProven: Bool, _ hasSuspects: Bool) -> Division {
        guard hasProven else { return Division(proven: 0, suspects: limit) }
        guard hasSuspects else { return Division(proven: limit, suspects: 0) }
        return Division(proven: limit, suspects: max(1, limit / 4))
    }

    /// A time in the future is of a clock that was set back meanwhile.
    private func isOfLate(_ time: Timestamp?, at now: Timestamp) -> Bool {
        guard let time else { return false }
        return now - time < Self.idleInterval
    }
}
