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
    private var queue = RequestQueue()
    private var connections: [Connection] = []
    private var backOff: BackOff
    private var nextDial = Instant(nanoseconds: .min)
    private var lastFailure: TransportFailure?
    private var alarm = Alarm()
    /// Requests that left the queue in this turn of the loop.
    private var left = 0
    private var dials = 0
    private var goAways = 0
    /// By connections that are gone.
    private var bytesSent: Int64 = 0
    /// Whether the loop has it on its list for this turn.
    var isTouched = false

    /// Requests given to one connection before the next one is looked at: enough to fill a record.
    private static let stride = 32

    init(id: PoolID, configuration: PoolConfiguration, tls: TLSContext, gate: PoolGate, loop: EventLoop) {
        self.id = id
        self.loop = loop
        self.gate = gate
        settings = PoolSettings(configuration, tls: tls)
        backOff = BackOff(floor: configuration.backOffFloor, ceiling: configuration.backOffCeiling)
    }

    /// Asks for ``work()`` in this turn of the loop.
    func touch() { loop.touch(self) }

    // MARK: Requests

    /// Takes requests that came through the gate.
    func enqueue(_ submission: Submission, _ range: Range<Int>) {
        let batch = Batch(submission: submission, queuedAt: loop.now)
        switch phase {
        case .open:
            for index in range { queue.append(Ticket(batch: batch, index: index)) }
        case .closing, .closed:
            left += range.count
            for index in range { end(Ticket(batch: batch, index: index), .notSent(Self.closing)) }
        }
        touch()
    }

    private static let closing = TransportFailure(.shutdown, "the pool is closing")

    /// Ends a request.
    func end(_ ticket: Ticket, _ exchange: Exchange) {
        if ticket.batch.add(index: ticket.index, exchange: exchange, now: loop.now) { loop.deliverLater(ticket.batch) }
    }

    /// Gives waiting requests to connections, ends those that waited too long, dials when there is need.
    func work() {
        expireQueue()
        if !queue.isEmpty {
            for connection in connections { connection.checkSilence() }
        }
        while !queue.isEmpty, let connection = roomiest() { fill(connection) }
        dialIfNeeded()
        arm()
    }

    private func roomiest() -> Connection? {
        var best: (connection: Connection, free: Int)?
        for connection in connections {
            let free = connection.freeStreams
            if free > best?.free ?? 0 { best = (connection, free) }
        }
        return best?.connection
    }

    private func fill(_ connection: Connection) {
        for _ in 0..<min(connection.freeStreams, Self.stride) {
            guard let ticket = queue.popFirst() else { break }
            guard connection.open(ticket) else {
                queue.putBack(ticket)
                break
            }
            left += 1
        }
        // Out of nghttp2 at once: a lower SETTINGS must not find requests parked there.
        connection.push(all: false)
        loop.flushLater(connection)
    }

    private func expireQueue() {
        let limit = loop.now.adding(nanoseconds: -settings.queueTimeout)
        guard let oldest = queue.oldest, oldest <= limit else { return }
        let failure = queueFailure()
        while let ticket = queue.popFirst(queuedBy: limit) {
            left += 1
            end(ticket, .notSent(failure))
        }
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

    // MARK: Connections

    /// One dial at a time, and only while no stream is free: a connection that has yet to show what it can do counts as
    /// a dial.
    private func dialIfNeeded() {
        guard case .open = phase, !queue.isEmpty, loop.now >= nextDial else { return }
        var counted = 0
        for connection in connections where !connection.isDraining {
            if connection.isBecomingUsable || connection.freeStreams > 0 { return }
            counted += 1
        }
        guard counted < settings.configuration.connectionLimit || counted == 0 else { return }
        let connection = loop.makeConnection(for: self)
        connections.append(connection)
        connection.start(rotation: dials)
        dials += 1
    }

    /// SETTINGS came on a new connection.
    func connectionOpened() {
        lastFailure = nil
        touch()
    }

    /// An answer showed that the peer accepts us.
    func connectionProved() {
        if backOff.failures > 0 { backOff.succeeded() }
    }

    func goAwayReceived() {
        goAways += 1
        touch()
    }

    /// A connection is gone. One that never proved itself counts as a failed dial: a peer that accepts connections
    /// only to drop them must not be dialed in a tight circle.
    func connectionClosed(_ connection: Connection, reason: ConnectionState.CloseReason, failure: TransportFailure?) {
        connections.removeAll { $0 === connection }
        bytesSent += connection.bytesSent
        if !connection.isProven, reason != .shutdown, case .open = phase {
            lastFailure = failure ?? lastFailure
            let pause = backOff.failed(using: &loop.random)
            nextDial = loop.now.adding(nanoseconds: pause)
        }
        if case .closing = phase { finishIfDone() }
        touch()
    }

    /// Replaces all connections, each once its streams are done.
    func recycle() {
        for connection in connections { connection.retire(by: nil) }
        touch()
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
            if let oldest = queue.oldest { next = oldest.adding(nanoseconds: settings.queueTimeout) }
            if !queue.isEmpty, nextDial > loop.now { next = min(next, nextDial) }
        case .closing(let deadline, _): next = deadline
        case .closed: return
        }
        if next.nanoseconds < .max, alarm.needsEntry(at: next) { loop.add(next, owner: .pool(id)) }
    }

    // MARK: The end

    /// Closes; the latch opens when it is done. A second call can only shorten the time.
    func close(within limit: Duration, _ latch: Latch) {
        let deadline = loop.now.adding(limit)
        switch phase {
        case .open:
            phase = .closing(deadline: deadline, [latch])
            gate.close()
            while let ticket = queue.popFirst() {
                left += 1
                end(ticket, .notSent(Self.closing))
            }
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
        loop.remove(self, opening: latches)
    }

    /// At the end of a turn: lets callers in for those that left, and shows the figures.
    func publish() {
        var statistics = ConnectionPool.Statistics()
        for connection in connections where !connection.isConnecting {
            statistics.connections += 1
            statistics.streamsInUse += connection.openStreams
            statistics.streamLimit += connection.capacity
        }
        statistics.lastFailure = lastFailure?.message
        statistics.dials = dials
        statistics.goAways = goAways
        statistics.bytesSent = connections.reduce(bytesSent) { $0 + $1.bytesSent }
        gate.publish(statistics)
        if left > 0 { gate.leave(left) }
        left = 0
    }
}

/// A pool's configuration in the form the hot path wants: times in nanoseconds, names put together.
struct PoolSettings {
    let configuration: PoolConfiguration
    let tls: TLSContext
    let serverName: String
    let authority: String
    let connectTimeout: Int64
    let streamTimeout: Int64
    let queueTimeout: Int64
    let pingInterval: Int64
    let pingTimeout: Int64
    let drainTimeout: Int64

    init(_ configuration: PoolConfiguration, tls: TLSContext) {
        self.configuration = configuration
        self.tls = tls
        serverName = configuration.serverName ?? configuration.host
        // RFC 3986 §3.2.2: an IPv6 address stands in brackets; the default port of https is left out.
        let host = serverName.contains(":") ? "[\(serverName)]" : serverName
        authority = configuration.port == 443 ? host : "\(host):\(configuration.port)"
        connectTimeout = configuration.connectTimeout.wholeNanoseconds
        streamTimeout = configuration.streamTimeout.wholeNanoseconds
        queueTimeout = configuration.queueTimeout.wholeNanoseconds
        let interval = configuration.pingInterval.wholeNanoseconds
        pingInterval = interval > 0 ? interval : .max
        pingTimeout = configuration.pingTimeout.wholeNanoseconds
        drainTimeout = configuration.drainTimeout.wholeNanoseconds
    }

    /// How long sent bytes may stay unacknowledged by TCP: a little longer than HTTP/2's own check takes.
    var unacknowledgedLimit: Duration { configuration.pingInterval + configuration.pingTimeout }
}
