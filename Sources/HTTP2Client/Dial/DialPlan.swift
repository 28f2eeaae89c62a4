/// When a pool dials, how many connections at once, and how many requests may wait for them. A value: no I/O, and the
/// time and the random source are parameters.
///
/// Each of these can hold a dial back:
/// - **need**: only requests that neither a free stream nor a connection on its way will take are worth a dial;
/// - **width**: one dial at a time until a connection has proven itself, then a few;
/// - **rate**: ``EndpointDialBudget``, whatever becomes of the connections;
/// - **failures**: the pause of ``BackOff`` after a failed dial, which grows until a connection has lasted;
/// - **circuit**: after several failed dials in a row nothing waits for a connection any more, see ``Circuit``.
struct DialPlan {
    /// What the pool may do.
    struct Limits {
        /// Connections at a time, draining ones left out.
        var connections = 4
        /// Dials under way at a time, once a connection has proven itself.
        var width = 3
        /// Failed dials in a row that open the circuit.
        var failures = 5
        /// Requests that may wait while the circuit is half-open.
        var probes = 1000
    }

    /// What the pool's requests need, and what its connections give.
    struct Demand: Equatable {
        /// Requests that wait.
        var queued = 0
        /// Streams that may be opened now.
        var freeStreams = 0
        /// Connections that connect or warm up: dials that have yet to show what they are worth.
        var starting = 0
        /// Proven connections whose peer must answer a PING first, and has had no time for it.
        var doubtful = 0
        /// Proven connections whose peer has let a PING wait: nothing is expected of them any more.
        var silent = 0
        /// Proven connections that are in use.
        var proven = 0
        /// The most streams that one of the proven connections allows.
        var streamsPerConnection = 0
        /// The peer said goodbye to a connection at work: its successor is wanted before a request waits for it.
        var wantsSuccessor = false

        /// Connections that are allowed on top of the limit.
        var extra = 0

        /// What counts against the limit.
        var connections: Int { starting + doubtful + silent + proven }
    }

    private var limits: Limits
    private let budget: EndpointDialBudget
    private var backOff: BackOff
    /// No dial before; set by the last failure.
    private var pausedUntil = Instant(nanoseconds: .min)
    /// When the last failure was counted.
    private var failedAt = Instant(nanoseconds: .min)

    init(limits: Limits, budget: EndpointDialBudget, backOff: BackOff) {
        self.limits = limits
        self.budget = budget
        self.backOff = backOff
    }

    /// Changes how many connections there may be.
    mutating func limitConnections(to limit: Int) { limits.connections = limit }

    // MARK: Decisions

    /// How many connections to dial now; they are taken off the budget.
    mutating func dials(
        for demand: Demand, at now: Instant, using random: inout some RandomNumberGenerator
    ) -> Int {
        let wanted = self.wanted(for: demand)
        guard wanted > 0, pausedUntil <= now else { return 0 }
        return budget.take(upTo: wanted, at: now, using: &random)
    }

    /// When a dial that is wanted will be allowed; `nil`: none is wanted, or nothing holds it back.
    func heldUntil(for demand: Demand, at now: Instant) -> Instant? {
        guard wanted(for: demand) > 0 else { return nil }
        let time = max(pausedUntil, budget.heldUntil ?? pausedUntil)
        return time > now ? time : nil
    }

    /// Whether nothing but the need holds a dial back.
    func mayDial(at now: Instant) -> Bool { pausedUntil <= now && budget.heldUntil.map { $0 <= now } ?? true }

    private func wanted(for demand: Demand) -> Int {
        guard demand.freeStreams == 0 else { return 0 }
        let share = max(1, demand.streamsPerConnection)
        let forQueue = demand.queued / share + (demand.queued % share > 0 ? 1 : 0)
        let width = demand.proven > 0 && backOff.failures == 0 ? max(1, limits.width) : 1
        let wanted = min(max(forQueue, demand.wantsSuccessor && demand.connections == 0 ? 1 : 0), width)
        let room = max(1, limits.connections) + demand.extra - demand.connections
        return max(0, min(wanted - demand.starting - demand.doubtful, room))
    }

    /// How many requests may wait for a stream; the others end at once.
    func mayWait(for demand: Demand, at now: Instant) -> Int {
        switch circuit(for: demand, at: now) {
        case .closed: return .max
        case .halfOpen: return max(1, limits.probes)
        case .open: return 0
        }
    }

    // MARK: What became of the dials

    /// A connection failed before it proved itself, or was given up.
    ///
    /// Dials that were under way together fail together, when the network does: they count as one.
    mutating func dialFailed(
        startedAt start: Instant, at now: Instant, using random: inout some RandomNumberGenerator
    ) {
        guard start >= failedAt else { return }
        failedAt = now
        pausedUntil = now.adding(nanoseconds: backOff.failed(using: &random))
    }

    /// The first answer on a connection that shows that the peer accepts us. The failures before it count until it has
    /// lasted: an endpoint that takes a connection only to end it soon is dialed no more often than one that takes none.
    mutating func connectionProved() {
        pausedUntil = Instant(nanoseconds: .min)
    }

    /// A proven connection has lived for a while: the failures before it are over.
    mutating func connectionLasted() {
        backOff.succeeded()
    }

    /// A proven connection is going before it has lasted: the pause that it ended begins anew.
    mutating func youngConnectionLeft(at now: Instant, using random: inout some RandomNumberGenerator) {
        guard backOff.failures > 0 else { return }
        pausedUntil = max(pausedUntil, now.adding(nanoseconds: backOff.pause(using: &random)))
    }

    /// A proven connection that has lasted is going. Dials beside it may have failed meanwhile: that alone must neither
    /// keep its successor waiting nor open the circuit.
    mutating func provenConnectionLeft(at now: Instant) {
        backOff.forget(downTo: max(1, limits.failures) - 1)
        pausedUntil = min(pausedUntil, now)
    }

    // MARK: The circuit

    /// Failed dials in a row.
    var failures: Int { backOff.failures }

    /// Where the circuit stands. While a connection works it is closed, however the dials beside it fare.
    func circuit(for demand: Demand, at now: Instant) -> Circuit {
        guard backOff.failures >= max(1, limits.failures), demand.proven + demand.doubtful + demand.silent == 0 else {
            return .closed
        }
        return now < pausedUntil ? .open : .halfOpen
    }

    /// When an open circuit becomes half-open; `nil`: it is not open.
    func openUntil(for demand: Demand, at now: Instant) -> Instant? {
        circuit(for: demand, at: now) == .open ? pausedUntil : nil
    }
}
