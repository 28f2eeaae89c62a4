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
        /// Counts the loops that pools were given, in turn.
        var nextLoop = 0
        var isStopping = false
    }

    private let loopCount: Int
    private let logger: Logger
    private let resolve: Resolve
    private let keyLog: KeyLog?
    private let state = Mutex(State())

    /// Prepares `loopCount` loop threads (at least 1).
    ///
    /// - Parameter keyLogFile: where the TLS secrets of all connections are appended, in the format of NSS; whoever
    ///   reads them can read the traffic, so the log has a warning. `nil`: nowhere. A file that can't be opened is
    ///   logged too, and does without.
    public convenience init(loopCount: Int, logger: Logger, keyLogFile: String? = nil) {
        self.init(loopCount: loopCount, logger: logger, keyLogFile: keyLogFile) { host, port in
            SocketAddress.resolve(host: host, port: port, isLiteral: false)
        }
    }

    /// - Parameter resolve: looks names up, on a thread of its own for each dial.
    init(loopCount: Int, logger: Logger, keyLogFile: String? = nil, resolve: @escaping Resolve) {
        self.loopCount = max(1, loopCount)
        self.logger = logger
        self.resolve = resolve
        keyLog = keyLogFile.flatMap { Self.openKeyLog($0, logger) }
    }

    private static func openKeyLog(_ path: String, _ logger: Logger) -> KeyLog? {
        do throws(TransportFailure) {
            let log = try KeyLog(path: path)
            logger.warning("TLS secrets are written to a file", metadata: ["file": "\(path)"])
            return log
        } catch {
            logger.warning("TLS secrets can't be written", metadata: ["details": "\(error.message)"])
            return nil
        }
    }

    /// Opens a pool; connections are made when requests need them.
    ///
    /// - Throws: ``TransportFailure`` `.tlsFailed` when the trust file or the identity can't be used, `.shutdown` after
    ///   ``shutdown(within:)``, `.connectFailed` when the threads can't be started or the proxy is no valid one.
    public func openPool(_ configuration: PoolConfiguration) throws(TransportFailure) -> ConnectionPool {
        if let problem = configuration.proxy?.problem(target: configuration.host) {
            throw TransportFailure(.connectFailed, problem)
        }
        let tls = try TLSContext(trust: configuration.trust, identity: configuration.identity, keyLog: keyLog)
        let loops = min(configuration.loopLimit, loopCount, configuration.connectionLimit)
        let first = takeLoops(max(1, loops), besideLast: configuration.isBesideLast)
        let shares = try (0..<max(1, loops)).map { number throws(TransportFailure) in
            try open(configuration.share(number, of: max(1, loops)), tls: tls, loop: first + number)
        }
        return ConnectionPool(shares: shares)
    }

    private func open(
        _ configuration: PoolConfiguration, tls: TLSContext, loop: Int
    ) throws(TransportFailure) -> ConnectionPool.Share {
        let gate = PoolGate(limit: configuration.queueLimit)
        let (id, mailbox) = try assignLoop(loop)
        guard mailbox.post(.openPool(id, configuration, tls, gate)) else { throw Self.closed }
        return ConnectionPool.Share(id: id, mailbox: mailbox, gate: gate)
    }

    private static let closed = TransportFailure(.shutdown, "the engine is shut down")

    /// The first of the next `count` loops, in turn; or of those that the last pool was given.
    private func takeLoops(_ count: Int, besideLast: Bool) -> Int {
        state.withLock { state in
            if !besideLast { state.nextLoop += count }
            return max(0, state.nextLoop - count)
        }
    }

    /// A number for a new pool, and its loop. The first pool starts the threads.
    private func assignLoop(_ number: Int) throws(TransportFailure) -> (PoolID, Mailbox) {
        try state.withLock { state throws(TransportFailure) in
            guard !state.isStopping else { throw Self.closed }
            while state.loops.count < loopCount {
                let ended = Latch()
                let mailbox = try EventLoop.start(
                    number: state.loops.count, resolve: resolve, logger: logger, ended: ended)
                state.loops.append(Loop(mailbox: mailbox, ended: ended))
            }
            let id = PoolID(value: state.nextPool)
            state.nextPool += 1
            return (id, state.loops[number % loopCount].mailbox)
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
