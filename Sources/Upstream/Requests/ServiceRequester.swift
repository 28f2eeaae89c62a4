import HTTP2Client
package import Logging
import PushModel
import Synchronization

/// Sends single requests that are no pushes: one pool of one connection for each `Key` (endpoint, credential, trust,
/// proxy), opened by the first request and closed when none has come for a while.
///
/// Nothing is repeated here: the caller reads the answer and decides.
///
/// Lifecycle: ``shutdown(within:)`` ends everything, once.
package final class ServiceRequester<Key: Hashable & Sendable>: Sendable {
    private struct Entry {
        let pool: any RequestPool
        let tokens: (any AuthorizationSource)?
        /// The token that the pool was given last.
        var announced: AuthorizationToken?
        /// Requests under way.
        var users = 0
        var lastUsedAt: Duration
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var isShutDown = false
    }

    private let transport: any RequestTransport
    private let uptime: Uptime
    private let logger: Logger
    private let state = Mutex(State())

    /// After so long without a request a pool is closed, when the next request to another comes.
    private static var idleTime: Duration { .seconds(300) }
    /// How long a pool that is closed may finish its requests.
    private static var drainLimit: Duration { .seconds(60) }
    /// Longer answers are cut off: room for a list of 10,000 channels, whose ids have no fixed length.
    package static var responseLimitBytes: Int { 4 << 20 }

    /// Prepares the requester and one loop thread; nothing is dialed before the first request.
    package convenience init(logger: Logger) {
        let clock = ContinuousClock()
        let start = clock.now
        self.init(
            transport: EngineTransport(engine: HTTP2Engine(loopCount: 1, logger: logger, keyLogFile: nil)),
            uptime: { start.duration(to: clock.now) }, logger: logger)
    }

    /// Prepares the requester on a transport of its own.
    package init(transport: any RequestTransport, uptime: @escaping Uptime, logger: Logger) {
        self.transport = transport
        self.uptime = uptime
        self.logger = logger
    }

    /// Sends one request and waits for its answer, which comes within the pool's deadlines.
    ///
    /// - Parameters:
    ///   - keptFields: the answer's header fields that are kept, in lower case; those of the first request to a key count.
    ///   - describe: says how the key's endpoint is reached and with which tokens, when no pool is open.
    package func send(
        _ request: ServiceRequest, to key: Key, keeping keptFields: [String],
        describe: () -> (configuration: UpstreamConfiguration, tokens: (any AuthorizationSource)?)
    ) async -> ServiceAnswer {
        let pool: any RequestPool
        switch enter(key, keptFields, describe) {
        case .success(let open): pool = open
        case .failure(let ended): return .notSent(ended.cause)
        }
        let fields = request.fields.map { HeaderField($0.name, $0.value, indexing: .first) }
        let sent = Request(
            method: request.method, path: request.path, headers: fields, body: request.body, isUrgent: false)
        let exchange = await pool.exchange(sent)
        leave(key)
        return ServiceAnswer(exchange)
    }

    /// Why a request is not sent.
    private struct NoPool: Error {
        let cause: TransportCause
    }

    /// Takes the pool of a key into use, with the token in force, and opens it if it is not there. Opening dials nothing,
    /// so it happens under the lock.
    private func enter(
        _ key: Key, _ keptFields: [String],
        _ describe: () -> (configuration: UpstreamConfiguration, tokens: (any AuthorizationSource)?)
    ) -> Result<any RequestPool, NoPool> {
        let now = uptime()
        let description = state.withLock { $0.entries[key] == nil } ? describe() : nil
        let (result, idle) = state.withLock { state -> (Result<any RequestPool, NoPool>?, [any RequestPool]) in
            if state.isShutDown { return (.failure(NoPool(cause: .shutdown)), []) }
            let idle = state.entries.filter {
                $0.key != key && $0.value.users == 0 && now - $0.value.lastUsedAt >= Self.idleTime
            }
            for key in idle.keys { state.entries[key] = nil }
            let closed = idle.values.map(\.pool)
            if state.entries[key] == nil {
                // Closed as idle by a request to another key, since the look above.
                guard let description else { return (nil, closed) }
                do throws(TransportFailure) {
                    let pool = try transport.openPool(Self.pool(description.configuration, keptFields))
                    state.entries[key] = Entry(pool: pool, tokens: description.tokens, lastUsedAt: now)
                } catch {
                    logger.error("a service can't be reached", metadata: ["error": "\(error.message)"])
                    return (.failure(NoPool(cause: .noRoute)), closed)
                }
            }
            return (Self.use(&state.entries[key], at: now), closed)
        }
        for pool in idle {
            // A bridge from a synchronous call: it ends with the drain limit at the latest.
            Task { await pool.close(within: Self.drainLimit) }
        }
        return result ?? enter(key, keptFields, describe)
    }

    /// Counts a request in and gives the pool the token in force, if it has another.
    private static func use(_ entry: inout Entry?, at now: Duration) -> Result<any RequestPool, NoPool> {
        guard let pool = entry?.pool else { return .failure(NoPool(cause: .noRoute)) }
        do throws(AuthorizationFailure) {
            if let token = try entry?.tokens?.current(), token.number > entry?.announced?.number ?? -1 {
                // Connections that saw a token of another series may not see this one.
                if let last = entry?.announced, last.series != token.series { pool.recycleConnections() }
                pool.setFields([HeaderField("authorization", token.authorization, indexing: .never)])
                entry?.announced = token
            }
        } catch {
            return .failure(NoPool(cause: .signingFailed))
        }
        entry?.users += 1
        entry?.lastUsedAt = now
        return .success(pool)
    }

    private static func pool(_ configuration: UpstreamConfiguration, _ keptFields: [String]) -> PoolConfiguration {
        var pool = configuration.poolConfiguration
        pool.connectionLimit = 1
        pool.responseLimitBytes = responseLimitBytes
        pool.responseFields = keptFields
        return pool
    }

    private func leave(_ key: Key) {
        let now = uptime()
        state.withLock { state in
            state.entries[key]?.users -= 1
            state.entries[key]?.lastUsedAt = now
        }
    }

    /// Takes note that the service called the token of a key expired: the next request brings a new one.
    package func expireToken(of key: Key) {
        state.withLock { state in
            guard let entry = state.entries[key], let token = entry.announced else { return }
            entry.tokens?.expire(token.issuedAt)
        }
    }

    /// Takes no more requests, lets those in flight finish within `limit`. Idempotent.
    package func shutdown(within limit: Duration) async {
        state.withLock { $0.isShutDown = true }
        await transport.shutdown(within: limit)
        state.withLock { $0.entries = [:] }
    }
}
