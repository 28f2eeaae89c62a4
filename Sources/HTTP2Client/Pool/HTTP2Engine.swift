package import Logging
import Synchronization

/// The loop threads. Each runs epoll and owns its connections entirely: socket, TLS, HTTP/2 session.
///
/// Lifecycle: threads start with the first pool and end in ``shutdown(within:)``, which must be called once.
package final class HTTP2Engine: Sendable {
    private struct Loop {
        let mailbox: Mailbox
        let ended: Latch
    }

    private struct State {
        var loops: [Loop] = []
        var nextPool = 0
        /// The loop of the pool that was opened last.
        var loop = 0
        /// By endpoint; one stays when its pools are closed, so that opening them anew gives no new one.
        var budgets: [String: EndpointDialBudget] = [:]
        var isStopping = false
    }

    private let loopCount: Int
    private let logger: Logger
    private let lookups: NameLookups
    private let trustStores = TrustStores()
    private let keyLog: KeyLog?
    private let state = Mutex(State())

    /// Prepares `loopCount` loop threads (at least 1).
    ///
    /// - Parameter keyLogFile: where the TLS secrets of all connections are appended, in the format of NSS; they
    ///   open the traffic to every reader, so the log has a warning. `nil`: nowhere. A file that can't be opened is
    ///   logged too, and does without.
    package convenience init(loopCount: Int, logger: Logger, keyLogFile: String? = nil) {
        self.init(loopCount: loopCount, logger: logger, keyLogFile: keyLogFile) { host, port in
            SocketAddress.resolve(host: host, port: port, isLiteral: false)
        }
    }

    /// - Parameter resolve: looks names up, on threads of their own.
    init(loopCount: Int, logger: Logger, keyLogFile: String? = nil, resolve: @escaping Resolve) {
        self.loopCount = max(1, loopCount)
        self.logger = logger
        lookups = NameLookups(resolve)
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
    package func openPool(_ configuration: PoolConfiguration) throws(TransportFailure) -> ConnectionPool {
        if let problem = configuration.proxy?.problem(target: configuration.host) {
            throw TransportFailure(.connectFailed, problem)
        }
        let tls = try TLSSource(
            trust: configuration.trust, identity: configuration.identity, keyLog: keyLog, stores: trustStores,
            logger: logger)
        let gate = PoolGate(limit: configuration.queueLimit)
        let (id, mailbox) = try assignLoop(besideLast: configuration.isBesideLast)
        let budget = budget(for: configuration)
        budget.widen(by: configuration.burst)
        guard mailbox.post(.openPool(id, configuration, tls, gate, budget)) else { throw Self.closed }
        return ConnectionPool(id: id, mailbox: mailbox, gate: gate)
    }

    /// The dial budget of the configuration's endpoint.
    func budget(for configuration: PoolConfiguration) -> EndpointDialBudget {
        let endpoint = authorityForm(host: configuration.host, port: configuration.port)
        return state.withLock { state in
            if let budget = state.budgets[endpoint] { return budget }
            let budget = EndpointDialBudget(interval: configuration.dialInterval)
            state.budgets[endpoint] = budget
            return budget
        }
    }

    private static let closed = TransportFailure(.shutdown, "the engine is shut down")

    /// A number for a new pool, and its loop: the next one in turn, or the last pool's. The first pool starts the threads.
    private func assignLoop(besideLast: Bool) throws(TransportFailure) -> (PoolID, Mailbox) {
        try state.withLock { state throws(TransportFailure) in
            guard !state.isStopping else { throw Self.closed }
            while state.loops.count < loopCount {
                let ended = Latch()
                let mailbox = try EventLoop.start(
                    number: state.loops.count, lookups: lookups, logger: logger, ended: ended)
                state.loops.append(Loop(mailbox: mailbox, ended: ended))
            }
            let id = PoolID(value: state.nextPool)
            if !besideLast, state.nextPool > 0 { state.loop = (state.loop + 1) % loopCount }
            state.nextPool += 1
            return (id, state.loops[state.loop].mailbox)
        }
    }

    /// Looks up the addresses of a host, and leaves out those that may not be dialed.
    ///
    /// - Throws: ``TransportFailure`` `.connectFailed` when there is none.
    package func addresses(
        of host: String, port: Int, allowedBy policy: AddressPolicy
    ) async throws(TransportFailure) -> [String] {
        let deadline = Instant.now().adding(.seconds(10))
        let found = await withCheckedContinuation { continuation in
            if SocketAddress.isAddress(host) {
                return continuation.resume(
                    returning: SocketAddress.resolve(host: host, port: port, isLiteral: true))
            }
            lookups.addresses(of: host, port: port, by: deadline) { continuation.resume(returning: $0) }
        }
        let allowed = try found.get().filter(policy.allows)
        if allowed.isEmpty {
            throw TransportFailure(.connectFailed, "\(host): no address of it is one of the Internet")
        }
        return allowed.map(\.host)
    }

    /// Closes all pools as ``ConnectionPool/close(within:)`` does, then ends the threads. Idempotent.
    package func shutdown(within limit: Duration) async {
        let loops = state.withLock { state in
            state.isStopping = true
            return state.loops
        }
        // A loop that has ended already is only waited for.
        for loop in loops { _ = loop.mailbox.post(.stop(within: limit)) }
        for loop in loops { await loop.ended.wait() }
        lookups.stop()
    }
}
