public import Logging

/// The loop threads. Each runs epoll and owns its connections entirely: socket, TLS, HTTP/2 session.
///
/// Lifecycle: threads start with the first pool and end in ``shutdown(within:)``, which must be called once.
public final class HTTP2Engine: Sendable {
    /// Prepares `loopCount` loop threads (at least 1).
    public init(loopCount: Int, logger: Logger) {
        fatalError("pending")
    }

    /// Opens a pool; connections are made when requests need them.
    ///
    /// - Throws: ``TransportFailure`` `.tlsFailed` when the trust file can't be read.
    public func openPool(_ configuration: PoolConfiguration) throws(TransportFailure) -> ConnectionPool {
        fatalError("pending")
    }

    /// Closes all pools as ``ConnectionPool/close(within:)`` does, then ends the threads. Idempotent.
    public func shutdown(within limit: Duration) async {
        fatalError("pending")
    }
}
