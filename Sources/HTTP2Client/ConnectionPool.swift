/// The connections to one endpoint with one credential, and the queue in front of them.
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

    init() {
        fatalError("pending")
    }

    /// Hands over a batch; suspends while the queue is full. `completion` is called on a loop thread (or on the
    /// caller's, when the pool is closed), in batches, each index of `requests` exactly once over all calls. It must
    /// not block.
    public func submit(_ requests: [Request], completion: @escaping @Sendable ([Completion]) -> Void) async {
        fatalError("pending")
    }

    /// Stops taking requests, ends queued ones as `notSent(shutdown)`, lets streams in flight finish within `limit`,
    /// ends the rest as `unanswered(shutdown)`, closes the connections. Idempotent.
    public func close(within limit: Duration) async {
        fatalError("pending")
    }

    /// Closes each connection once its streams are done and opens new ones as needed: for a credential that the peer
    /// holds against the connection.
    public func recycleConnections() {
        fatalError("pending")
    }

    /// What the pool is doing right now.
    public var statistics: Statistics { fatalError("pending") }
}
