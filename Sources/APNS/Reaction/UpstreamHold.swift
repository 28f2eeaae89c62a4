import PushModel

/// What of an upstream gets no pushes for now, and until when: the part of ``UpstreamControl``, of the pace and of the
/// circuits that whoever takes work from the store wants to know. A value without clock or I/O.
struct UpstreamHold: Equatable {
    /// How long something is held.
    struct Rest: Equatable {
        /// Nothing is wanted before, by the upstream's uptime.
        var until: Duration
        /// A try is under way: its end is a change.
        var isTrying = false
        /// How many pushes are wanted to try; `nil`: it needs no try, everything goes then.
        var limit: Int?
        /// Whether interactive pushes are wanted all the same.
        var isBulkOnly = false

        /// An upstream whose circuit is half-open wants so many pushes: one would do for the dial, but may be one that is
        /// refused for its own sake or takes the other pool.
        static let circuitLimit = 8
        /// What a crowded upstream gets when nothing was heard of it for a while.
        static let crowdLimit = 8

        /// What holds of both.
        func joined(with other: Rest) -> Rest {
            Rest(
                until: max(until, other.until), isTrying: isTrying || other.isTrying,
                limit: [limit, other.limit].compactMap { $0 }.min())
        }

        /// As others see it at `now`; `nil`: it is over.
        func route(at now: Duration) -> HeldRoute? {
            let left = max(.zero, until - now, isTrying ? SendPause.answerTime : .zero)
            if limit == nil, left == .zero { return nil }
            return HeldRoute(retryAfter: left, limit: limit ?? .max, isBulkOnly: isBulkOnly)
        }
    }

    /// Everything: a pause.
    var everything: Rest?
    /// Everything: no connection.
    var circuit: Rest?
    /// Everything: APNs asked for it.
    var pace: Rest?
    /// Which lanes have so many pushes waiting for their turn that no more are wanted.
    var crowd = PaceGate.Crowd.none
    /// Single routes.
    var routes: [PushRoute: Rest] = [:]
    /// Topics.
    var topics: [String: Rest] = [:]
    /// Routes whose pushes have other topics, too, than the app's own: these go on while that one is held.
    var mixedRoutes: Set<PushRoute> = []

    /// What holds a route, all together; `nil`: nothing.
    func rest(of route: PushRoute) -> Rest? {
        // The claims of a route do not know topics. An app's own is that of nearly all its pushes.
        let topic = mixedRoutes.contains(route) ? nil : topics[route.app.rawValue]
        let rest = [everything, circuit, pace, routes[route], topic].compactMap { $0 }.reduce(nil) { sum, rest in
            sum.map { $0.joined(with: rest) } ?? rest
        }
        // Whatever else holds the route holds both lanes, and keeps new pushes away from the crowd as well.
        return rest ?? crowdRest
    }

    /// What a crowd asks for: nothing, until it is told that it is over.
    private var crowdRest: Rest? {
        switch crowd {
        case .none: nil
        case .bulk: Rest(until: .zero, isTrying: true, limit: Rest.crowdLimit, isBulkOnly: true)
        case .all: Rest(until: .zero, isTrying: true, limit: Rest.crowdLimit)
        }
    }

    /// Keeps the times of `old` that differ only by the inaccuracy of reading two clocks one after the other.
    mutating func steady(by old: UpstreamHold) {
        guard var circuit, let before = old.circuit else { return }
        let range = before.until - Self.inaccuracy...before.until + Self.inaccuracy
        if range.contains(circuit.until) { circuit.until = before.until }
        self.circuit = circuit
    }

    private static let inaccuracy: Duration = .milliseconds(50)
}

extension SendPause {
    /// What the pause holds back; `nil`: it is none.
    var rest: UpstreamHold.Rest? {
        switch waitingState {
        case nil: nil
        case .until(let time): UpstreamHold.Rest(until: time, limit: 1)
        case .answer: UpstreamHold.Rest(until: .zero, isTrying: true, limit: 1)
        }
    }
}
