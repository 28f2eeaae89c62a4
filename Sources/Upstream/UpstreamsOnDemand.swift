import HTTP2Client
package import Logging
package import PushModel
import Synchronization

/// Upstreams that are opened when the first push comes for them and closed when none has come for a while: for services
/// that addresses name themselves, of which there may be thousands.
///
/// Lifecycle: ``send(_:at:to:describe:report:)`` opens; ``closeIdle()`` is to be called now and then; ``shutdown(within:)``
/// ends everything, once.
package final class UpstreamsOnDemand<Key: Hashable & Sendable>: Sendable {
    private struct Entry {
        let upstream: UpstreamClient
        /// Hand-overs under way.
        var users: Int
        var lastUsedAt: Duration
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var isShutDown = false
    }

    private enum Entrance {
        case open(UpstreamClient)
        case full, shutDown
        case failed(UpstreamConfigurationError)
    }

    private let opener: UpstreamOpener
    private let limit: Int
    private let idleTime: Duration
    private let state = Mutex(State())

    /// How long an upstream that is closed may finish its requests.
    private static var drainLimit: Duration { .seconds(60) }
    /// For how long a push is held back when there are too many upstreams.
    private static var rest: Duration { .seconds(5) }

    /// Prepares upstreams and the engine's loop threads; nothing is dialed before the first push.
    ///
    /// - Parameters:
    ///   - limit: the most upstreams that are open, at least 1. Beyond it the one that was idle longest is closed; while
    ///     none is idle, pushes are held back.
    ///   - idleTime: after so long without a push an upstream may be closed.
    ///   - connectionLimit: the most connections of an upstream, at least 1.
    package convenience init(
        loopCount: Int, limit: Int, idleTime: Duration, connectionLimit: Int, wallTime: @escaping WallTime,
        logger: Logger
    ) {
        let clock = ContinuousClock()
        let start = clock.now
        self.init(
            transport: EngineTransport(engine: HTTP2Engine(loopCount: loopCount, logger: logger, keyLogFile: nil)),
            limit: limit, idleTime: idleTime, connectionLimit: connectionLimit, wallTime: wallTime,
            uptime: { start.duration(to: clock.now) }, logger: logger)
    }

    /// Prepares upstreams on a transport of its own.
    package init(
        transport: any RequestTransport, limit: Int, idleTime: Duration, connectionLimit: Int,
        wallTime: @escaping WallTime, uptime: @escaping Uptime, logger: Logger
    ) {
        opener = UpstreamOpener(
            transport: transport, connectionLimit: connectionLimit, doubtfulAddresses: DoubtfulAddressLimits(),
            wallTime: wallTime, uptime: uptime, logger: logger)
        self.limit = max(1, limit)
        self.idleTime = idleTime
    }

    /// Sends the pushes of `batch` at `indices` to one upstream; each gets one report.
    ///
    /// - Parameter describe: says how it is reached, when it is not open.
    package func send(
        _ batch: [Push], at indices: [Int], to key: Key, describe: () -> UpstreamDescription,
        report: @escaping @Sendable ([PushReport]) -> Void
    ) async {
        let description = state.withLock { $0.entries[key] == nil } ? describe() : nil
        switch enter(key, description) {
        case .open(let upstream):
            await upstream.send(batch, at: indices, report: report)
            leave(key)
        case .full:
            let overload = (description ?? describe()).service.overload
            report(
                indices.map {
                    PushReport(
                        index: $0, outcome: .throttled(overload, after: Self.rest), latency: .zero, isAttempt: false)
                })
        case .failed(let error):
            opener.logger.error("an upstream can't be opened", metadata: ["error": "\(error.message)"])
            report(indices.map { PushReport(index: $0, outcome: .notSent(.noRoute), latency: .zero) })
        case .shutDown:
            report(indices.map { PushReport(index: $0, outcome: .notSent(.shutdown), latency: .zero) })
        }
    }

    /// Takes the upstream of a key into use, and opens it if it is not there. Opening dials nothing, so it happens under
    /// the lock: one key never has two.
    private func enter(_ key: Key, _ description: UpstreamDescription?) -> Entrance {
        let now = opener.uptime()
        let (entrance, closed): (Entrance, UpstreamClient?) = state.withLock { state in
            if state.isShutDown { return (.shutDown, nil) }
            if let upstream = state.entries[key]?.upstream {
                state.entries[key]?.users += 1
                state.entries[key]?.lastUsedAt = now
                return (.open(upstream), nil)
            }
            guard let description else { return (.full, nil) }
            var closed: UpstreamClient?
            if state.entries.count >= limit {
                let idle = state.entries.filter { $0.value.users == 0 }.min {
                    $0.value.lastUsedAt < $1.value.lastUsedAt
                }
                guard let idle else { return (.full, nil) }
                closed = idle.value.upstream
                state.entries[idle.key] = nil
            }
            do throws(UpstreamConfigurationError) {
                let upstream = try opener.open(description, holdChanged: {})
                state.entries[key] = Entry(upstream: upstream, users: 1, lastUsedAt: now)
                return (.open(upstream), closed)
            } catch {
                return (.failed(error), closed)
            }
        }
        if let closed { close([closed]) }
        return entrance
    }

    private func leave(_ key: Key) {
        let now = opener.uptime()
        state.withLock { state in
            state.entries[key]?.users -= 1
            state.entries[key]?.lastUsedAt = now
        }
    }

    /// Closes the upstreams that no push has come for since ``idleTime``.
    package func closeIdle() {
        let now = opener.uptime()
        let idle = state.withLock { state in
            let idle = state.entries.filter { $0.value.users == 0 && now - $0.value.lastUsedAt >= idleTime }
            for key in idle.keys { state.entries[key] = nil }
            return idle.values.map(\.upstream)
        }
        close(idle)
    }

    /// How many are open.
    package var count: Int { state.withLock { $0.entries.count } }

    /// One entry for each upstream that is open.
    package var upstreams: [UpstreamStatus] {
        state.withLock { $0.entries.values.map(\.upstream) }.map(\.status).sorted { $0.name < $1.name }
    }

    /// As ``PushSender/windDown()``.
    package func windDown() {
        for upstream in state.withLock({ $0.entries.values.map(\.upstream) }) { upstream.windDown() }
    }

    /// As ``PushSender/shutdown(within:)``.
    package func shutdown(within limit: Duration) async {
        let upstreams = state.withLock { state in
            state.isShutDown = true
            return state.entries.values.map(\.upstream)
        }
        for upstream in upstreams { upstream.turnAway() }
        await opener.transport.shutdown(within: limit)
        state.withLock { $0.entries = [:] }
    }

    /// Closes upstreams in the background.
    ///
    /// A bridge from a synchronous call: the tasks end with the drain limit at the latest, or earlier when
    /// ``shutdown(within:)`` closes all pools, theirs included; nothing has to wait for them.
    private func close(_ upstreams: [UpstreamClient]) {
        for upstream in upstreams {
            Task { await upstream.close(within: Self.drainLimit) }
        }
    }
}
