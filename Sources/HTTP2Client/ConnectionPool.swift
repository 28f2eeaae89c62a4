/// The connections to one endpoint with one credential, and the queue in front of them.
///
/// Lifecycle: opened by ``HTTP2Engine/openPool(_:)``; whoever opened it calls ``close(within:)``.
public final class ConnectionPool: Sendable {
    /// How a request ended.
    public struct Completion: Sendable {
        /// The request's place in the submitted batch.
        public let index: Int
        /// How it ended.
        public let exchange: Exchange
        /// From `submit` to the end.
        public let latency: Duration
    }

    /// What a pool is doing right now.
    public struct Statistics: Sendable {
        /// Connections that take requests or are finishing some.
        public var connections = 0
        /// Streams in use.
        public var streamsInUse = 0
        /// Streams that the peer allows over all active connections.
        public var streamLimit = 0
        /// Requests waiting for a stream.
        public var queued = 0
        /// The last failed dial, in words; `nil` after a successful one.
        public var lastFailure: String?
        /// Connections opened since the start.
        public var dials = 0
        /// GOAWAY frames received.
        public var goAways = 0

        /// All zero.
        public init() {}
    }

    private let id: PoolID
    private let mailbox: Mailbox
    private let gate: PoolGate

    init(id: PoolID, mailbox: Mailbox, gate: PoolGate) {
        self.id = id
        self.mailbox = mailbox
        self.gate = gate
    }

    /// Hands over a batch; suspends while the queue is full. `completion` is called on a loop thread (or on the
    /// caller's, when the pool is closed), in batches, each index of `requests` exactly once over all calls. It must
    /// not block.
    ///
    /// Cancelling the task does not cut the wait for room short: room comes within the queue time limit at the latest.
    public func submit(_ requests: [Request], completion: @escaping @Sendable ([Completion]) -> Void) async {
        let submission = Submission(requests: requests, completion: completion)
        var next = 0
        while next < requests.count {
            let granted = await gate.enter(requests.count - next, isUrgent: requests[next].isUrgent)
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
    public func close(within limit: Duration) async {
        gate.close()
        let latch = Latch()
        guard mailbox.post(.closePool(id, within: limit, latch)) else { return }
        await latch.wait()
    }

    /// Closes each connection once its streams are done and opens new ones as needed: for a credential that the peer
    /// holds against the connection.
    public func recycleConnections() {
        // A loop that has ended has no connections.
        _ = mailbox.post(.recycle(id))
    }

    /// What the pool is doing right now.
    public var statistics: Statistics { gate.statistics }
}
