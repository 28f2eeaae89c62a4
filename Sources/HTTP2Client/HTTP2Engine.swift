public import Logging
import Synchronization

/// The loop threads. Each runs epoll and owns its connections entirely: socket, TLS, HTTP/2 session.
///
/// Lifecycle: threads start with the first pool and end in ``shutdown(within:)``, which must be called once.
public final class HTTP2Engine: Sendable {
    private struct Loop {
        let mailbox: Mailbox
        let ended: Latch
    }

    private struct State {
        var loops: [Loop] = []
        var nextPool = 0
        var isStopping = false
    }

    private let loopCount: Int
    private let logger: Logger
    private let state = Mutex(State())

    /// Prepares `loopCount` loop threads (at least 1).
    public init(loopCount: Int, logger: Logger) {
        self.loopCount = max(1, loopCount)
        self.logger = logger
    }

    /// Opens a pool; connections are made when requests need them.
    ///
    /// - Throws: ``TransportFailure`` `.tlsFailed` when the trust file can't be read, `.shutdown` after
    ///   ``shutdown(within:)``, `.connectFailed` when the threads can't be started.
    public func openPool(_ configuration: PoolConfiguration) throws(TransportFailure) -> ConnectionPool {
        let tls = try TLSContext(trust: configuration.trust)
        let loops = min(configuration.loopLimit, loopCount, configuration.connectionLimit)
        let shares = try (0..<max(1, loops)).map { number throws(TransportFailure) in
            try open(configuration.share(number, of: max(1, loops)), tls: tls)
        }
        return ConnectionPool(shares: shares)
    }

    private func open(
        _ configuration: PoolConfiguration, tls: TLSContext
    ) throws(TransportFailure) -> ConnectionPool.Share {
        let gate = PoolGate(limit: configuration.queueLimit)
        let (id, mailbox) = try assignLoop()
        guard mailbox.post(.openPool(id, configuration, tls, gate)) else { throw Self.closed }
        return ConnectionPool.Share(id: id, mailbox: mailbox, gate: gate)
    }

    private static let closed = TransportFailure(.shutdown, "the engine is shut down")

    /// A number for a new pool and its loop, in turn. The first pool starts the threads.
    private func assignLoop() throws(TransportFailure) -> (PoolID, Mailbox) {
        try state.withLock { state throws(TransportFailure) in
            guard !state.isStopping else { throw Self.closed }
            while state.loops.count < loopCount {
                let ended = Latch()
                let mailbox = try EventLoop.start(number: state.loops.count, logger: logger, ended: ended)
                state.loops.append(Loop(mailbox: mailbox, ended: ended))
            }
            let id = PoolID(value: state.nextPool)
            state.nextPool += 1
            return (id, state.loops[id.value % loopCount].mailbox)
        }
    }

    /// Closes all pools as ``ConnectionPool/close(within:)`` does, then ends the threads. Idempotent.
    public func shutdown(within limit: Duration) async {
        let loops = state.withLock { state in
            state.isStopping = true
            return state.loops
        }
        // A loop that has ended already is only waited for.
        for loop in loops { _ = loop.mailbox.post(.stop(within: limit)) }
        for loop in loops { await loop.ended.wait() }
    }
}
