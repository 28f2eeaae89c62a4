import PushModel

/// The routes that nothing is taken for, and when each may be tried with a few pushes.
struct HeldRoutes {
    /// What may be taken for a route now.
    enum Allowance: Hashable {
        /// Everything: the route is free.
        case all
        /// A few, to try it.
        case trial(limit: Int)
        /// Nothing before that time.
        case none(until: Timestamp)
    }

    /// A route that was just tried is not tried again before this, unless the sender says something new.
    private static let trialRest: Duration = .seconds(1)
    /// One whose trial another worker overtook, so that many nodes do not try it at once.
    private static let overtakenRest: Duration = .milliseconds(250)

    private struct Hold {
        var until: Timestamp
        let limit: Int
        /// What ``until`` was before a trial that is under way.
        var untilBefore: Timestamp?
    }

    private var holds: [PushRoute: Hold] = [:]

    /// No route is held.
    init() {}

    /// The routes that the sender holds, as of `now`.
    init(_ routes: [PushRoute: HeldRoute], at now: Timestamp) {
        holds = routes.mapValues { Hold(until: now + $0.retryAfter, limit: $0.limit) }
    }

    /// Whether no route is held.
    var isEmpty: Bool { holds.isEmpty }
    /// All of them.
    var routes: Set<PushRoute> { Set(holds.keys) }

    /// Whether a route is held.
    func contains(_ route: PushRoute) -> Bool { holds[route] != nil }

    /// What may be taken for a route.
    func allowance(of route: PushRoute, at now: Timestamp) -> Allowance {
        guard let hold = holds[route] else { return .all }
        return hold.until > now ? .none(until: hold.until) : .trial(limit: max(1, hold.limit))
    }

    /// A few pushes of a route, if it is held, are taken to try it.
    mutating func tried(_ route: PushRoute, at now: Timestamp) {
        guard let hold = holds[route] else { return }
        holds[route] = Hold(until: now + Self.trialRest, limit: hold.limit, untilBefore: hold.until)
    }

    /// Nothing came of trying a route: another worker was faster. It is tried again soon, unless the sender said something new.
    mutating func overtaken(_ route: PushRoute, at now: Timestamp) {
        guard let hold = holds[route], let before = hold.untilBefore else { return }
        holds[route] = Hold(until: max(before, now + Self.overtakenRest), limit: hold.limit)
    }

    /// The clock went back to `now`: no route waits for a later time.
    mutating func clamp(to now: Timestamp) {
        holds = holds.mapValues { Hold(until: min($0.until, now), limit: $0.limit) }
    }
}
