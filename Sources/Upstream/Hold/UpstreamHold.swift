import PushModel

/// What of an upstream gets no pushes for now, and until when: the part of ``UpstreamControl``, of the congestion
/// window and of the circuits that those who take work from the store need to know. A value without clock or I/O.
struct UpstreamHold: Equatable {
    /// Everything: a pause.
    var everything: HoldRest?
    /// Everything: no connection.
    var circuit: HoldRest?
    /// Everything: the service asked for it.
    var congestion: HoldRest?
    /// Which lanes have so many pushes waiting for their turn that no more are wanted.
    var crowd = CrowdedLanes.none
    /// Single routes.
    var routes: [PushRoute: HoldRest] = [:]
    /// Topics.
    var topics: [String: HoldRest] = [:]
    /// Routes whose pushes have other topics, too, than the app's own: these go on while that one is held.
    var mixedRoutes: Set<PushRoute> = []

    /// What holds a route, all together; `nil`: nothing.
    func rest(of route: PushRoute) -> HoldRest? {
        // The claims of a route do not know topics. An app's own is that of nearly all its pushes.
        let topic = mixedRoutes.contains(route) ? nil : topics[route.app.rawValue]
        let rest = [everything, circuit, congestion, routes[route], topic].compactMap { $0 }.reduce(nil) { sum, rest in
            sum.map { $0.joined(with: rest) } ?? rest
        }
        // Whatever else holds the route holds both lanes, and keeps new pushes away from the crowd as well.
        return rest ?? crowdRest
    }

    /// What a crowd asks for: nothing, until it is told that it is over.
    private var crowdRest: HoldRest? {
        switch crowd {
        case .none: nil
        case .bulk: .crowd
        case .all: HoldRest(until: .zero, isTrying: true, limit: HoldRest.crowdLimit)
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
