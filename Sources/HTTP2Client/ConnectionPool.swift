/// The connections to one endpoint with one credential, and the queue in front of them.
///
/// Lifecycle: opened by ``HTTP2Engine/openPool(_:)``; whoever opened it calls ``close(within:)``.
package final class ConnectionPool: Sendable {
    /// How a request ended.
    package struct Completion: Sendable {
        /// The request's place in the submitted batch.
        package let index: Int
        /// How it ended.
        package let exchange: Exchange
        /// From `submit` to the end.
        package var latency: Duration { .nanoseconds(latencyNanoseconds) }
        /// From the request's HEADERS to the end, both to the turn of the loop: the part of ``latency`` that is not the
        /// wait for a stream. `nil` when no stream was opened for it.
        package var streamLatency: Duration? {
            streamNanoseconds < 0 ? nil : .nanoseconds(streamNanoseconds)
        }

        /// Whole numbers: a `Duration` has 128 bits, and not everybody asks for it.
        private let latencyNanoseconds: Int64
        /// -1: none.
        private let streamNanoseconds: Int64

        init(index: Int, exchange: Exchange, latencyNanoseconds: Int64, streamNanoseconds: Int64?) {
            self.index = index
            self.exchange = exchange
            self.latencyNanoseconds = latencyNanoseconds
            self.streamNanoseconds = streamNanoseconds ?? -1
        }

        /// An end without a stream.
        init(index: Int, exchange: Exchange, latency: Duration) {
            self.init(
                index: index, exchange: exchange, latencyNanoseconds: latency.wholeNanoseconds, streamNanoseconds: nil)
        }
    }

    /// What a pool is doing right now.
    package struct Statistics: Sendable {
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

    private let id: PoolID
    /// Of the loop that it lives on.
    let mailbox: Mailbox
    private let gate: PoolGate

    init(id: PoolID, mailbox: Mailbox, gate: PoolGate) {
        self.id = id
        self.mailbox = mailbox
        self.gate = gate
    }

    /// Hands over a batch; suspends while the queue is full. `completion` is called on the pool's loop thread (or on the
    /// caller's, when the pool is closed), in batches, each index of `requests` exactly once over all calls. It must not
    /// block.
    ///
    /// Urgent requests have a queue of their own, but those of one batch go in order: urgent ones that must not wait do
    /// not belong in a batch with others.
    ///
    /// Cancelling the task does not cut the wait for room short: room comes within the queue time limit at the latest.
    ///
    /// - Parameter isWanted: asked on the loop thread by ``reconsider()`` about what waits for a stream, by its place in the
    ///   batch. It must not block. `nil`: everything is wanted.
    package func submit(
        _ requests: [Request], isWanted: (@Sendable (_ index: Int) -> Bool)? = nil,
        completion: @escaping @Sendable ([Completion]) -> Void
    ) async {
        let submission = Submission(requests: requests, isWanted: isWanted, completion: completion)
        var next = 0
        while next < requests.count {
            let isUrgent = requests[next].isUrgent
            var end = next + 1
            while end < requests.count, requests[end].isUrgent == isUrgent { end += 1 }
            let granted = await gate.enter(end - next, isUrgent: isUrgent)
            let range = next..<next + granted
            guard granted > 0, mailbox.post(.submit(id, submission, range)) else {
                let failure = TransportFailure(.shutdown, "the pool is closed")
                return submission.fail(next..<requests.count, failure)
            }
            next = range.upperBound
        }
    }

    /// Stops taking requests, ends queued ones as `notSent(shutdown)`, lets streams in flight finish within `limit`,
    /// ends the rest as `unanswered(shutdown)`, closes the connections. Idempotent.
    package func close(within limit: Duration) async {
        gate.close()
        let latch = Latch()
        if mailbox.post(.closePool(id, within: limit, latch)) { await latch.wait() }
    }

    /// Closes each connection once its streams are done and opens new ones as needed: for a credential that the peer
    /// holds against the connection.
    package func recycleConnections() {
        // A loop that has ended has no connections.
        _ = mailbox.post(.recycle(id))
    }

    /// Sets header fields that every request carries beside its own, from now on: they are attached when its stream is
    /// opened. So a value that changes while requests wait goes out in order: on no connection is an earlier one sent
    /// after a later one. In order with ``recycleConnections()`` too: connections that were told to go before see
    /// nothing of the new fields.
    package func setFields(_ fields: [HeaderField]) {
        let head = RequestHead(method: "", fields: fields)
        // A loop that has ended opens no streams.
        _ = mailbox.post(.setFields(id, head))
    }

    /// Stops dialing, and gives up dials that are under way. From now on a request waits only while there is a connection
    /// that it can wait for; otherwise it ends as `notSent(shutdown)`, at once. ``close(within:)`` follows.
    package func windDown() {
        // In a loop that has ended nothing waits.
        _ = mailbox.post(.windDown(id))
    }

    /// Asks the submitters about everything that waits for a stream, and for a second about what comes to wait; what is
    /// not wanted any more ends as `notSent(withdrawn)`.
    package func reconsider() {
        // In a loop that has ended nothing waits.
        _ = mailbox.post(.reconsider(id))
    }

    /// Changes how many connections the pool may have, from now on; 0: one, as soon as there is a request. A surplus of
    /// connections, those with the fewest streams first, takes no more requests and closes once its streams are done.
    package func setConnectionLimit(_ limit: Int) {
        // A loop that has ended has no connections.
        _ = mailbox.post(.limitConnections(id, limit))
    }

    /// What the pool is doing right now.
    package var statistics: Statistics {
        var statistics = gate.statistics
        statistics.wakeUps = mailbox.wakeUps
        return statistics
    }
}

extension ConnectionPool.Statistics {
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
