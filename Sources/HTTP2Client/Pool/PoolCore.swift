/// A pool on its loop: the queue, the connections, and when to dial. Loop-confined.
///
/// All its connections live on one loop, so that choosing among them needs no lock. The engine spreads pools over loops;
/// a pool that outgrows a thread is opened several times by its owner.
final class PoolCore {
    /// Whether the pool takes requests.
    private enum Phase {
        /// Next: closing.
        case open
        /// Streams in flight may finish until `deadline`; then the latches open. Next: closed.
        case closing(deadline: Instant, [Latch])
        /// Next: nothing.
        case closed
    }

    let id: PoolID
    let settings: PoolSettings
    /// Lets go of the pool when it is closed, and runs until then.
    private let loop: EventLoop
    private let gate: PoolGate
    private var phase = Phase.open
    private var waiting: WaitingRequests
    private(set) var connections: [Connection] = []
    private var plan: DialPlan
    private let budget: EndpointDialBudget?
    private var connectionLimit: Int
    private var wantsSuccessor = false
    /// The fields that each stream is opened with, beside its request's own; in place of a method there is none.
    var commonFields: RequestHead?
    /// Whether nothing waits for a connection that is not there.
    private var isWindingDown = false
    private var replacement = Replacement()
    /// When the next connection may be replaced because of server errors.
    private var serverErrorPause: ServerErrorPause
    private var lastFailure: TransportFailure?
    private var alarm = Alarm()
    private var assignment = StreamAssignment<Connection>()
    /// What ``PoolConfiguration/reachChanged`` was called about last.
    private var reach = Reach()
    private var counts = PoolCounts()
    /// Whether the loop has it on its list for this turn.
    var isTouched = false

    /// What holds requests back, or not.
    private struct Reach: Equatable {
        var dialsAt: Instant?
        var isTrying = false
        var isWorking = false
    }

    /// Requests given to one connection before the next one is looked at: enough to fill a record.
    private static let stride = 32

    /// - Parameter budget: the endpoint's, widened by the pool's burst, which goes with the pool; `nil`: the pool has one
    ///   to itself.
    init(
        id: PoolID, configuration: PoolConfiguration, tls: TLSSource, gate: PoolGate, loop: EventLoop,
        budget: EndpointDialBudget? = nil
    ) {
        self.id = id
        self.loop = loop
        self.gate = gate
        settings = PoolSettings(configuration, tls: tls)
        waiting = WaitingRequests(of: settings, on: loop)
        plan = DialPlan(configuration, budget: budget)
        self.budget = budget
        connectionLimit = configuration.connectionLimit
        serverErrorPause = ServerErrorPause(floor: configuration.serverErrorInterval)
    }

    /// Asks for ``work()`` in this turn of the loop.
    func touch() { loop.touch(self) }

    // MARK: Requests

    /// Takes requests that came through the gate.
    func enqueue(_ requestBatch: RequestBatch, _ range: Range<Int>) {
        let isOpen = if case .open = phase { true } else { false }
        waiting.append(requestBatch, range, isOpen: isOpen)
        touch()
    }

    /// The submitters changed their mind: what waits, and is not wanted any more, ends.
    func reconsider() {
        waiting.reconsider()
        touch()
    }

    /// Ends a request.
    func end(_ ticket: Ticket, _ exchange: Exchange) {
        loop.end(ticket, exchange)
    }

    /// Gives waiting requests to connections, ends those that waited too long or in vain, dials when there is need.
    func work() {
        expireQueue()
        if !waiting.isEmpty {
            for connection in connections { connection.checkSilence() }
        }
        assignment.reserve(among: connections, hasUrgent: waiting.hasUrgent, at: loop.now)
        assignStreams()
        if case .open = phase {
            if isWindingDown {
                turnAway()
            } else {
                noteLasting()
                replaceNarrow()
                breakCircuit()
            }
            dialIfNeeded()
            trimSurplus()
        }
        arm()
    }

    /// A proven connection that has lived for a while ends the row of failed dials before it, once.
    private func noteLasting() {
        guard plan.failures > 0 else { return }
        for connection in connections where connection.isProven && !connection.isDraining { noteLasting(connection) }
    }

    private func noteLasting(_ connection: Connection) {
        guard connection.hasLasted, connection.standing.last() else { return }
        plan.connectionLasted()
    }

    // MARK: Connections on top of the limit

    /// How many connections there may be.
    private var allowedConnections: Int { max(1, connectionLimit) + extra }

    /// Connections that are allowed on top of the limit: one for urgent requests, so that the others keep all of theirs,
    /// and one in the place of a connection that is of no use.
    private var extra: Int {
        let isUrgent = assignment.allowsExtra(beyond: connectionLimit, at: loop.now)
        let isReplacing = replacement.since != nil || isSilent
        return (isUrgent ? 1 : 0) + (isReplacing ? 1 : 0)
    }

    /// Requests wait, and the peers of all proven connections have let a PING wait.
    private var isSilent: Bool { !waiting.isEmpty && connections.areSilent }

    /// A proven connection that is held at one stream or none, while requests wait, gets a successor after a while, and
    /// goes when that one stands.
    private func replaceNarrow() {
        let narrowest = connections.noteNarrow(at: loop.now)
        replacement.note(isWaiting: !waiting.isEmpty, narrowSince: narrowest?.narrowSince, at: loop.now)
        guard let narrowest, let since = replacement.since,
            connections.contains(where: { $0.isProven && !$0.isDraining && $0.dialedAt >= since })
        else { return }
        replacement.replaced(at: loop.now)
        narrowest.standing.retire()
        narrowest.retire(by: loop.now.adding(nanoseconds: settings.streamTimeout))
    }

    /// What was on top of the limit and is not wanted any more goes when its streams are done.
    private func trimSurplus() {
        let taking = connections.count { !$0.isDraining }
        if taking > allowedConnections { retireSurplus(of: allowedConnections) }
    }

    private func retireSurplus(of limit: Int) {
        for connection in connections.surplus(of: limit) {
            connection.standing.retire()
            connection.retire(by: Instant(nanoseconds: .max))
        }
    }

    // MARK: Choosing

    /// Opens streams for what waits, as long as there are any.
    private func assignStreams() {
        while !waiting.isEmpty {
            let action = assignment.next(
                among: connections, hasUrgent: waiting.hasUrgent, hasNormal: waiting.hasNormal)
            switch action {
            case .openUrgent(let connection)?: fill(connection, isUrgent: true)
            case .openNormal(let connection)?: fill(connection, isUrgent: false)
            case nil: return
            }
        }
    }

    private func fill(_ connection: Connection, isUrgent: Bool) {
        var opened = 0
        for _ in 0..<min(isUrgent ? connection.freeStreams : connection.freeNormalStreams, Self.stride) {
            guard let ticket = waiting.popFirst(isUrgent: isUrgent) else { break }
            guard connection.open(ticket) else {
                waiting.putBack(ticket)
                break
            }
            opened += 1
        }
        waiting.opened(opened, isUrgent: isUrgent)
        // Out of nghttp2 at once: a lower SETTINGS must not find requests parked there.
        connection.push(all: false)
        loop.flushLater(connection)
    }

    private func expireQueue() {
        guard let time = waiting.expiresAt, time <= loop.now else { return }
        waiting.expire(queueFailure())
    }

    /// Why requests waited in vain: the failed dial, if there is no connection.
    private func queueFailure() -> TransportFailure {
        let waited = "waited \(settings.configuration.queueTimeout)"
        guard connections.allSatisfy({ $0.isConnecting || $0.isDraining }) else {
            return TransportFailure(.timedOut, "\(waited) for a stream")
        }
        guard let lastFailure else { return TransportFailure(.timedOut, "\(waited) for a connection") }
        return TransportFailure(lastFailure.kind, "\(waited) for a connection; last attempt: \(lastFailure.message)")
    }

    /// Ends what waits for a connection while the circuit is open: those that came first may wait when it is half-open.
    private func breakCircuit() {
        guard !waiting.isEmpty, plan.failures > 0 else { return }
        let limit = plan.mayWait(for: demand, at: loop.now)
        guard waiting.count > limit else { return }
        let last = lastFailure?.message ?? "the connection did not prove itself"
        let failure = TransportFailure(
            .connectFailed, "the circuit is open after \(plan.failures) failed dials; last attempt: \(last)")
        waiting.cut(to: limit, failure)
    }

    // MARK: Connections

    /// What the plan needs to know.
    private var demand: DialPlan.Demand {
        var demand = DialPlan.Demand()
        demand.queued = waiting.count
        // What is kept for urgent requests is no room for the others.
        let isNormal = waiting.hasNormal
        connections.count(into: &demand) { isNormal ? assignment.freeNormalStreams(of: $0) : $0.freeStreams }
        demand.wantsSuccessor = wantsSuccessor
        demand.extra = extra
        return demand
    }

    private func dialIfNeeded() {
        guard !isWindingDown, !waiting.isEmpty || wantsSuccessor else { return }
        let demand = demand
        if demand.connections > 0 { wantsSuccessor = false }
        let count = plan.dials(for: demand, at: loop.now, using: &loop.random)
        for _ in 0..<count {
            let connection = loop.makeConnection(for: self)
            connections.append(connection)
            counts.dials += 1
            wantsSuccessor = false
            loop.dial(connection, counts.dials - 1)
        }
    }

    /// SETTINGS came on a new connection.
    func connectionOpened() {
        lastFailure = nil
        touch()
    }

    /// The first answer on a connection that shows that the peer accepts us.
    func connectionProved() {
        plan.connectionProved()
    }

    /// A new connection resumed the TLS session of an earlier one.
    func sessionResumed() { counts.resumed += 1 }

    /// The peer says goodbye. To a connection at work a successor is dialed while it finishes; one that idles has none
    /// before it is needed.
    func goAwayReceived(_ goAway: GoAway, by connection: Connection) {
        counts.goAways.note(goAway)
        noteLeft(connection)
        if connection.isProven, connection.openStreams > 0 { wantsSuccessor = true }
        touch()
    }

    /// Whether a connection that has been in use for long enough may go: one at work only when its successor can be dialed
    /// now, which then happens.
    func mayRetire(_ connection: Connection) -> Bool {
        guard connection.isProven, connection.openStreams > 0 || !waiting.isEmpty else { return true }
        guard plan.mayDial(at: loop.now) else { return false }
        wantsSuccessor = true
        touch()
        return true
    }

    /// A proven connection goes, or is told to: what that means for the next dial. One that has not lasted counts once.
    private func noteLeft(_ connection: Connection) {
        guard connection.isProven else { return }
        if connection.hasLasted {
            noteLasting(connection)
            plan.provenConnectionLeft(at: loop.now)
        } else if connection.standing.leave() {
            plan.youngConnectionLeft(at: loop.now, using: &loop.random)
        }
    }

    /// A connection did not prove itself in time: it finishes what it has, and no request waits for it any more.
    func connectionGivenUp(_ connection: Connection, _ failure: TransportFailure) {
        dialFailed(connection, failure)
        touch()
    }

    /// A connection is gone. One that never proved itself counts as a failed dial: a peer that accepts connections
    /// only to drop them must not be dialed in a tight circle. One that we closed for no fault of the peer's does not, nor
    /// one that was not needed.
    func connectionClosed(_ connection: Connection, reason: ConnectionState.CloseReason, failure: TransportFailure?) {
        connections.removeAll { $0 === connection }
        assignment.remove(connection)
        counts.bytesSent += connection.bytesSent
        noteLeft(connection)
        if connection.standing.isFailureDue, !connection.isUnneeded, let failure {
            dialFailed(connection, failure)
        }
        if case .closing = phase { finishIfDone() }
        touch()
    }

    private func dialFailed(_ connection: Connection, _ failure: TransportFailure) {
        guard case .open = phase else { return }
        if failure.lacksHTTP2, settings.configuration.leavesWithoutHTTP2 { return waiting.cut(to: 0, failure) }
        counts.failedDials += 1
        lastFailure = failure
        plan.dialFailed(startedAt: connection.dialedAt, at: loop.now, using: &loop.random)
    }

    /// Replaces all connections, each once its streams are done.
    func recycle() {
        for connection in connections { connection.retire(by: nil) }
        touch()
    }

    /// Changes how many connections there may be. The streams of a surplus connection end in their own time.
    func setConnectionLimit(_ limit: Int) {
        plan.limitConnections(to: limit)
        connectionLimit = limit
        retireSurplus(of: limit > 0 ? limit + extra : 0)
        touch()
    }

    /// Whether a connection may be replaced because it answers nothing but 500; takes the turn.
    func mayReplaceAfterServerErrors() -> Bool {
        serverErrorPause.take(at: loop.now)
    }

    /// A connection answers with something else than 500.
    func answersWell(_ connection: Connection) {
        if serverErrorPause.isGrowing { serverErrorPause.helped(dialedAt: connection.dialedAt) }
    }

    // MARK: Time

    /// A deadline may have passed.
    func wake(at time: Instant) {
        guard alarm.fires(at: time) else { return }
        if case .closing(let deadline, _) = phase, deadline <= loop.now {
            for connection in connections { connection.shutdownDeadlinePassed() }
        }
        touch()
    }

    private func arm() {
        var next = Instant(nanoseconds: .max)
        switch phase {
        case .open:
            if let time = waiting.expiresAt { next = time }
            if !isWindingDown, !waiting.isEmpty || wantsSuccessor, let held = plan.heldUntil(for: demand, at: loop.now)
            {
                next = min(next, held)
            }
            // Then it is half-open, which shows in the figures.
            if plan.failures > 0, let end = plan.openUntil(for: demand, at: loop.now) { next = min(next, end) }
            if !isWindingDown { next = min(next, nextReplacementCheck) }
            // Then there is one too many.
            if assignment.extraUntil > loop.now, connections.count > connectionLimit {
                next = min(next, assignment.extraUntil)
            }
        case .closing(let deadline, _): next = deadline
        case .closed: return
        }
        if next.nanoseconds < .max, alarm.needsEntry(at: next) { loop.add(next, owner: .pool(id)) }
    }

    /// When a narrow connection gets a successor, if requests go on waiting.
    private var nextReplacementCheck: Instant {
        var next = Instant(nanoseconds: .max)
        guard !waiting.isEmpty else { return next }
        for connection in connections {
            guard let since = connection.narrowSince, let due = replacement.due(narrowSince: since, at: loop.now) else {
                continue
            }
            next = min(next, due)
        }
        return next
    }

    // MARK: The end

    /// From now on requests wait only for connections that are there.
    func windDown() {
        isWindingDown = true
        for connection in connections where connection.isConnecting { connection.retire(by: nil) }
        touch()
    }

    /// Ends what waits when there is nothing to wait for.
    private func turnAway() {
        guard connections.allSatisfy({ $0.isDraining || $0.capacity == 0 && $0.openStreams == 0 }) else { return }
        waiting.turnAway()
    }

    /// Closes; the latch opens when it is done. A second call can only shorten the time.
    func close(within limit: Duration, _ latch: Latch) {
        let deadline = loop.now.adding(limit)
        switch phase {
        case .open:
            phase = .closing(deadline: deadline, [latch])
            gate.close()
            waiting.turnAway()
        case .closing(let earlier, let latches):
            phase = .closing(deadline: min(earlier, deadline), latches + [latch])
        case .closed: return latch.open()
        }
        // The pool's deadline takes the place of the connections' own.
        for connection in connections { connection.retire(by: Instant(nanoseconds: .max)) }
        finishIfDone()
        touch()
    }

    private func finishIfDone() {
        guard connections.isEmpty, case .closing(_, let latches) = phase else { return }
        phase = .closed
        budget?.widen(by: -settings.configuration.burst)
        loop.remove(self, opening: latches)
    }

    /// At the end of a turn: lets callers in for those that left, and shows the figures.
    func publish() {
        var statistics = counts.statistics(with: connections)
        statistics.lastFailure = lastFailure?.message
        noteCircuit(in: &statistics)
        gate.publish(statistics)
        let left = waiting.takeLeft()
        if left.urgent > 0 { gate.leave(left.urgent, isUrgent: true) }
        if left.normal > 0 { gate.leave(left.normal, isUrgent: false) }
        let reach = Reach(
            dialsAt: statistics.dialsAt, isTrying: statistics.isTrying, isWorking: statistics.workingConnections > 0)
        if reach != self.reach {
            self.reach = reach
            settings.configuration.reachChanged?()
        }
    }

    private func noteCircuit(in statistics: inout PoolStatistics) {
        guard plan.failures > 0 else { return }
        let demand = demand
        statistics.circuit = plan.circuit(for: demand, at: loop.now)
        switch statistics.circuit {
        case .closed: break
        case .open: statistics.dialsAt = plan.openUntil(for: demand, at: loop.now)
        case .halfOpen:
            statistics.dialsAt = Instant(nanoseconds: 0)
            statistics.isTrying = demand.queued > 0 || demand.starting > 0
        }
    }
}
