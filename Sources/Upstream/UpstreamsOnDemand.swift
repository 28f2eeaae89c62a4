import HTTP2Client
package import Logging
package import PushModel
import Synchronization

/// Upstreams that are opened when the first push comes for them and closed when none has come for a while: for services
/// that addresses name themselves, of which there may be thousands. Their requests are built by ``RequestBuilders``.
///
/// Lifecycle: ``send(_:at:to:describe:report:)`` opens; ``closeIdle()`` is to be called now and then; ``shutdown(within:)``
/// ends everything, once.
package final class UpstreamsOnDemand<Key: Hashable & Sendable>: Sendable {
    private struct OpenUpstream {
        let upstream: UpstreamClient
        let load: UpstreamLoad
        /// The routes of the pushes that went to it.
        var routes: Set<PushRoute> = []
        var lastUsedAt: Duration
    }

    private struct OpenUpstreams {
        var entries: [Key: OpenUpstream] = [:]
        var isShutDown = false
    }

    private enum Entrance {
        case open(UpstreamClient, UpstreamLoad)
        case full, shutDown
        case failed(UpstreamConfigurationError)
    }

    private let opener: UpstreamOpener
    private let builders: RequestBuilders
    private let limit: Int
    /// With so many open, a further one gets one connection: which bounds the connections of all.
    private let wideLimit: Int
    private let idleTime: Duration
    private let loadLimit: Int
    /// What all upstreams have in hand together.
    private let load: UpstreamLoad
    private let held = HeldRoutes()
    private let state = Mutex(OpenUpstreams())

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
    ///   - loadLimit: the most pushes of a lane that one upstream has in hand, and twice as many all of them together;
    ///     those beyond are held back, so that upstreams that do not answer fill no queue of other services.
    ///   - connectionLimit: the most connections of an upstream, at least 1. One that is opened when a hundred are there
    ///     gets one.
    ///   - http1: what reaches services without HTTP/2; `nil`: all have it.
    package convenience init(
        loopCount: Int, limit: Int, idleTime: Duration, loadLimit: Int, connectionLimit: Int,
        http1: (any HTTP1Client)? = nil, wallTime: @escaping WallTime, logger: Logger
    ) {
        let clock = ContinuousClock()
        let start = clock.now
        let uptime: Uptime = { start.duration(to: clock.now) }
        let engine = HTTP2Engine(loopCount: loopCount, logger: logger, keyLogFile: nil)
        let transport: any RequestTransport =
            if let http1 {
                FallbackTransport(
                    http2: EngineTransport(engine: engine), http1: http1,
                    lookup: { configuration throws(TransportFailure) in
                        try await engine.addresses(
                            of: configuration.host, port: configuration.port, allowedBy: configuration.addresses)
                    }, uptime: uptime)
            } else {
                EngineTransport(engine: engine)
            }
        self.init(
            transport: transport, limit: limit, idleTime: idleTime, loadLimit: loadLimit,
            connectionLimit: connectionLimit, wallTime: wallTime, uptime: uptime, logger: logger)
    }

    /// Prepares upstreams on a transport of its own.
    package init(
        transport: any RequestTransport, limit: Int, wideLimit: Int = 100, idleTime: Duration, loadLimit: Int,
        connectionLimit: Int, wallTime: @escaping WallTime, uptime: @escaping Uptime, logger: Logger
    ) {
        self.wideLimit = wideLimit
        let builders = RequestBuilders()
        self.builders = builders
        opener = UpstreamOpener(
            transport: transport, connectionLimit: connectionLimit, doubtfulAddresses: DoubtfulAddressLimits(),
            wallTime: wallTime, uptime: uptime, logger: logger, builders: builders)
        self.limit = max(1, limit)
        self.idleTime = idleTime
        self.loadLimit = max(1, loadLimit)
        load = UpstreamLoad(limit: 2 * self.loadLimit)
    }

    /// The clock that upstreams go by.
    package var uptime: Uptime { opener.uptime }

    /// Sends the pushes of `batch` at `indices` to one upstream; each gets one report.
    ///
    /// - Parameter describe: says how it is reached, when it is not open.
    package func send(
        _ batch: [Push], at indices: [Int], to key: Key, describe: () -> UpstreamDescription,
        report: @escaping @Sendable ([PushReport]) -> Void
    ) async {
        guard let first = indices.first else { return }
        let description = state.withLock { $0.entries[key] == nil } ? describe() : nil
        let routes = Set(indices.lazy.map { batch[$0].route })
        switch enter(key, description, routes) {
        case .open(let upstream, let load):
            let isUrgent = batch[first].lane == .interactive
            let taken = take(indices.count, isUrgent: isUrgent, from: load)
            if taken < indices.count {
                let rest = load.rest(at: opener.uptime())
                hold(indices.dropFirst(taken), because: upstream.service.overload, for: rest, report)
            }
            guard taken > 0 else { return }
            await upstream.send(batch, at: Array(indices.prefix(taken))) { reports in
                self.giveBack(reports, isUrgent: isUrgent, to: load)
                report(reports)
            }
        case .full:
            hold(indices[...], because: (description ?? describe()).service.overload, for: Self.rest, report)
        case .failed(let error):
            opener.logger.error("an upstream can't be opened", metadata: ["error": "\(error.message)"])
            report(indices.map { PushReport(index: $0, outcome: .notSent(.noRoute), latency: .zero) })
        case .shutDown:
            report(indices.map { PushReport(index: $0, outcome: .notSent(.shutdown), latency: .zero) })
        }
    }

    /// Takes up to `count` pushes in hand.
    private func take(_ count: Int, isUrgent: Bool, from load: UpstreamLoad) -> Int {
        let now = opener.uptime()
        let (room, isNewsOfAll) = self.load.take(count, isUrgent: isUrgent, at: now)
        let (taken, isNews) = load.take(room, isUrgent: isUrgent, at: now)
        if taken < room { self.load.giveBack(room - taken, isUrgent: isUrgent, isAnswered: false, at: now) }
        if isNews || isNewsOfAll { updateHeldRoutes() }
        return taken
    }

    private func giveBack(_ reports: [PushReport], isUrgent: Bool, to load: UpstreamLoad) {
        let now = opener.uptime()
        let isAnswered = reports.contains { report in
            switch report.outcome {
            case .accepted, .rejected, .throttled: report.isAttempt
            case .notSent, .unknown: false
            }
        }
        let isNewsOfAll = self.load.giveBack(reports.count, isUrgent: isUrgent, isAnswered: isAnswered, at: now)
        let isNews = load.giveBack(reports.count, isUrgent: isUrgent, isAnswered: isAnswered, at: now)
        if isNews || isNewsOfAll { updateHeldRoutes() }
    }

    private func hold(
        _ indices: ArraySlice<Int>, because refusal: Refusal, for rest: Duration,
        _ report: @Sendable ([PushReport]) -> Void
    ) {
        report(
            indices.map {
                PushReport(index: $0, outcome: .throttled(refusal, after: rest), latency: .zero, isAttempt: false)
            })
    }

    /// Takes the upstream of a key into use, and opens it if it is not there. Opening dials nothing, so it happens under
    /// the lock: one key never has two.
    private func enter(_ key: Key, _ description: UpstreamDescription?, _ routes: Set<PushRoute>) -> Entrance {
        let now = opener.uptime()
        let (entrance, closed): (Entrance, UpstreamClient?) = state.withLock { state in
            if state.isShutDown { return (.shutDown, nil) }
            if let entry = state.entries[key] {
                state.entries[key]?.lastUsedAt = now
                if !routes.isSubset(of: entry.routes) { state.entries[key]?.routes.formUnion(routes) }
                return (.open(entry.upstream, entry.load), nil)
            }
            guard let description else { return (.full, nil) }
            var closed: UpstreamClient?
            if state.entries.count >= limit {
                let idle = state.entries.filter { $0.value.load.isNone }.min {
                    $0.value.lastUsedAt < $1.value.lastUsedAt
                }
                guard let idle else { return (.full, nil) }
                closed = idle.value.upstream
                state.entries[idle.key] = nil
            }
            do throws(UpstreamConfigurationError) {
                let upstream = try opener.open(
                    description, isNarrow: state.entries.count >= wideLimit,
                    holdChanged: { [weak self] in self?.updateHeldRoutes() })
                let entry = OpenUpstream(
                    upstream: upstream, load: UpstreamLoad(limit: loadLimit), routes: routes, lastUsedAt: now)
                state.entries[key] = entry
                return (.open(upstream, entry.load), closed)
            } catch {
                return (.failed(error), closed)
            }
        }
        if let closed { close([closed]) }
        return entrance
    }

    /// The routes for which nothing more is wanted: those all of whose upstreams are crowded or hold them, and all while the
    /// upstreams have many in hand together. A crowded upstream beside others holds back its own pushes alone, as they come.
    package var heldRoutes: [PushRoute: HeldRoute] { held.routes(at: opener.uptime) }

    /// Sets what is called when ``heldRoutes`` changed.
    package func onHeldRoutesChange(_ body: @escaping @Sendable () -> Void) { held.onChange(body) }

    /// Reads anew which routes are held.
    private func updateHeldRoutes() {
        held.update {
            let isCrowded = load.isHolding
            var rests: [PushRoute: HoldRest] = [:]
            var free: Set<PushRoute> = []
            for entry in state.withLock({ Array($0.entries.values) }) {
                let crowd: HoldRest? = isCrowded || entry.load.isHolding ? .crowd : nil
                let hold = entry.upstream.hold
                for route in entry.routes {
                    guard let rest = hold.rest(of: route) ?? crowd else {
                        free.insert(route)
                        continue
                    }
                    // What is free soonest counts: a crowd lets interactive pushes go on.
                    rests[route] = rests[route].flatMap { Self.isSooner($0, rest) ? $0 : nil } ?? rest
                }
            }
            return rests.filter { !free.contains($0.key) }
        }
    }

    private static func isSooner(_ rest: HoldRest, _ other: HoldRest) -> Bool {
        if rest.isBulkOnly != other.isBulkOnly { return rest.isBulkOnly }
        return rest.until < other.until
    }

    /// Closes the upstreams that no push has come for since ``idleTime``.
    package func closeIdle() {
        let now = opener.uptime()
        let idle = state.withLock { state in
            let idle = state.entries.filter { $0.value.load.isNone && now - $0.value.lastUsedAt >= idleTime }
            for key in idle.keys { state.entries[key] = nil }
            return idle.values.map(\.upstream)
        }
        close(idle)
        if !idle.isEmpty { updateHeldRoutes() }
    }

    /// As ``UpstreamRouter/divide(among:)``.
    package func divide(among nodes: Int) {
        opener.nodes.value = nodes
        for upstream in state.withLock({ $0.entries.values.map(\.upstream) }) { upstream.divide(among: nodes) }
    }

    /// How many are open.
    package var count: Int { state.withLock { $0.entries.count } }

    /// One entry for each upstream that is open.
    package var upstreams: [UpstreamStatus] {
        state.withLock { Array($0.entries.values) }.map { entry in
            var status = entry.upstream.status
            status.routes = entry.routes
            status.projects = Set(entry.routes.map(\.project))
            return status
        }.sorted { $0.name < $1.name }
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
        // Before the connections: what waits to be built is turned away.
        await builders.shutdown()
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
