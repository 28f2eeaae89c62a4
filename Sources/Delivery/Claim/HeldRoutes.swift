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

    private var holds: [PushRoute: (until: Timestamp, limit: Int)] = [:]

    /// No route is held.
    init() {}

    /// The routes that the sender holds, as of `now`.
    init(_ routes: [PushRoute: HeldRoute], at now: Timestamp) {
        holds = routes.mapValues { (now + $0.retryAfter, $0.limit) }
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

    /// A few pushes of a route, if it is held, were taken to try it.
    mutating func tried(_ route: PushRoute, at now: Timestamp) {
        if let hold = holds[route] { holds[route] = (now + Self.trialRest, hold.limit) }
    }

    /// The clock went back to `now`: no route waits for a later time.
    mutating func clamp(to now: Timestamp) {
        holds = holds.mapValues { (min($0.until, now), $0.limit) }
    }
}
