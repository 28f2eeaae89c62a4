/// What a pool is doing right now.
package struct PoolStatistics: Sendable {
    /// Connections that take requests or are finishing some.
    package var connections = 0
    /// Streams in use.
    package var streamsInUse = 0
    /// Streams that the peer allows over all active connections.
    package var streamLimit = 0
    /// Requests waiting for a stream.
    package var queued = 0
    /// The last failed dial, in words; `nil` after a successful one.
    package var lastFailure: String?
    /// Connections opened since the start.
    package var dials = 0
    /// Dials that failed: the connection was not made, or ended or was given up before it proved itself.
    package var failedDials = 0
    /// Whether requests wait for a connection; over several pools the worst of them.
    package var circuit = Circuit.closed
    /// Connections that have proven themselves and take requests.
    package var workingConnections = 0
    /// When the circuit lets the next dial through: past, where it is half-open; `nil` where it is closed.
    var dialsAt: Instant?
    /// Whether the circuit is half-open and a dial, or what it is for, is under way.
    package var isTrying = false
    /// Connections that resumed the TLS session of an earlier one.
    package var resumed = 0
    /// GOAWAY frames received.
    package var goAways = 0
    /// The same by the peer's reason, or by the error code's name when there is none. Bounded: what is beyond is
    /// counted under `other`.
    package var goAwaysByReason: [String: Int] = [:]
    /// Bytes given to the sockets, TLS included.
    package var bytesSent: Int64 = 0
    /// How often a mailbox woke its loop, for whatever pool: one wake-up serves all that was posted before the loop
    /// looked.
    package var wakeUps = 0

    /// How long an open circuit gives everything back: zero where it is half-open, `nil` where it is closed. Over
    /// several pools the shortest.
    package var nextDial: Duration? { dialsAt.map { .nanoseconds($0.elapsed(since: .now())) } }

    /// All zero.
    package init() {}
}

extension PoolStatistics {
    /// Says that nothing is dialed for a while, beside what the pool itself waits for.
    ///
    /// - Parameter rest: zero: one connection may be tried.
    package mutating func rest(for rest: Duration, isTrying: Bool) {
        circuit = max(circuit, rest > .zero ? .open : .halfOpen)
        let next = rest > .zero ? Instant.now().adding(rest) : Instant(nanoseconds: 0)
        dialsAt = max(dialsAt ?? next, next)
        self.isTrying = self.isTrying || isTrying
    }

    /// Adds the figures of another pool; not the wake-ups, which may be those of the same loop.
    package mutating func add(_ other: Self) {
        connections += other.connections
        streamsInUse += other.streamsInUse
        streamLimit += other.streamLimit
        queued += other.queued
        lastFailure = lastFailure ?? other.lastFailure
        dials += other.dials
        failedDials += other.failedDials
        circuit = max(circuit, other.circuit)
        workingConnections += other.workingConnections
        dialsAt = [dialsAt, other.dialsAt].compactMap { $0 }.min()
        isTrying = isTrying || other.isTrying
        goAways += other.goAways
        goAwaysByReason.merge(other.goAwaysByReason, uniquingKeysWith: +)
        resumed += other.resumed
        bytesSent += other.bytesSent
    }
}
