import HTTP2Client
package import Logging
package import PushModel
import Signing
import Synchronization

/// Sends pushes to APNs: one pool for each (endpoint, team, key), one provider token for each (team, key).
///
/// Lifecycle: ``use(_:)`` sets the ways, as often as the configuration changes; ``shutdown(within:)`` ends everything,
/// once.
package final class APNSSender: PushSender {
    /// Routes and the upstreams they lead to; replaced as a whole.
    struct Ways {
        var routes: [PushRoute: Upstream] = [:]
        var upstreams: [UpstreamKey: Upstream] = [:]
        /// Counts replacements, so that one that was prepared on outdated ways is noticed.
        var generation = 0
        var isShutDown = false
    }

    /// How long a pool that is no longer needed may finish its requests.
    static let drainLimit: Duration = .seconds(60)

    let transport: any RequestTransport
    let wallTime: WallTime
    let uptime: Uptime
    let badDeviceTokens: BadDeviceTokenLimits
    let connectionLimit: Int
    let logger: Logger
    let ways = Mutex(Ways())
    private let held = HeldRoutes()

    /// Prepares the sender; nothing is dialed before the first push.
    ///
    /// - Parameters:
    ///   - loopCount: loop threads of the engine, at least 1.
    ///   - connectionLimit: the most connections of an upstream, at least 1.
    ///   - keyLogFile: where TLS secrets are appended for whoever must read the traffic; `nil`: nowhere.
    ///   - badDeviceTokens: when a share of BadDeviceToken stops an app's pushes.
    package convenience init(
        loopCount: Int, connectionLimit: Int = 4, keyLogFile: String? = nil,
        badDeviceTokens: BadDeviceTokenLimits = BadDeviceTokenLimits(), wallTime: @escaping WallTime, logger: Logger
    ) {
        let engine = HTTP2Engine(loopCount: loopCount, logger: logger, keyLogFile: keyLogFile)
        let clock = ContinuousClock()
        let start = clock.now
        self.init(
            transport: EngineTransport(engine: engine), connectionLimit: connectionLimit,
            badDeviceTokens: badDeviceTokens, wallTime: wallTime,
            uptime: { start.duration(to: clock.now) }, logger: logger)
    }

    init(
        transport: any RequestTransport, connectionLimit: Int = 4,
        badDeviceTokens: BadDeviceTokenLimits = BadDeviceTokenLimits(), wallTime: @escaping WallTime,
        uptime: @escaping Uptime, logger: Logger
    ) {
        self.transport = transport
        self.connectionLimit = connectionLimit
        self.badDeviceTokens = badDeviceTokens
        self.wallTime = wallTime
        self.uptime = uptime
        self.logger = logger
    }

    /// Sends a batch: grouped by upstream and lane, all groups at the same time, so that one whose queue is full doesn't
    /// hold back the others.
    package func send(_ batch: [Push], report: @escaping @Sendable ([PushReport]) -> Void) async {
        let (routes, isShutDown) = ways.withLock { ($0.routes, $0.isShutDown) }
        let (groups, unrouted) = Self.grouped(batch, by: routes)
        if !unrouted.isEmpty {
            let cause: TransportCause = isShutDown ? .shutdown : .noRoute
            report(unrouted.map { PushReport(index: $0, outcome: .notSent(cause), latency: .zero) })
        }
        if groups.count == 1 {
            await groups[0].upstream.send(batch, at: groups[0].indices, report: report)
            return
        }
        await withDiscardingTaskGroup { tasks in
            for group in groups {
                tasks.addTask { await group.upstream.send(batch, at: group.indices, report: report) }
            }
        }
    }

    /// One entry for each pool.
    package var upstreams: [UpstreamStatus] {
        let (upstreams, routes) = ways.withLock { (Array($0.upstreams.values), $0.routes) }
        return upstreams.map { upstream in
            var status = upstream.status
            status.projects = Set(routes.lazy.filter { $0.value === upstream }.map(\.key.project))
            return status
        }.sorted { $0.name < $1.name }
    }

    /// Those of paused upstreams, topics and apps, of upstreams that APNs wants left alone, and of those whose circuit is
    /// not closed.
    package var heldRoutes: [PushRoute: HeldRoute] { held.routes(at: uptime) }

    /// Sets whom to tell when ``heldRoutes`` changed.
    package func onHeldRoutesChange(_ body: @escaping @Sendable () -> Void) { held.onChange(body) }

    /// Reads anew which routes are held.
    func updateHeldRoutes() {
        held.update {
            let routes = ways.withLock { $0.routes }
            var holds: [ObjectIdentifier: UpstreamHold] = [:]
            for upstream in routes.values where holds[ObjectIdentifier(upstream)] == nil {
                holds[ObjectIdentifier(upstream)] = upstream.hold
            }
            var rests: [PushRoute: UpstreamHold.Rest] = [:]
            for (route, upstream) in routes {
                if let rest = holds[ObjectIdentifier(upstream)]?.rest(of: route) { rests[route] = rest }
            }
            return rests
        }
    }

    /// Gives back at once, as `notSent(shutdown)`, what would wait for a connection that is not there; what a connection
    /// takes goes on. ``shutdown(within:)`` follows.
    package func windDown() {
        for upstream in ways.withLock({ $0.upstreams.values }) { upstream.windDown() }
    }

    /// Lets pushes in flight finish within `limit`, ends the others as `notSent` or `unknown`, closes everything.
    /// Idempotent: what comes later is answered `notSent`.
    package func shutdown(within limit: Duration) async {
        let upstreams = ways.withLock { ways in
            ways.isShutDown = true
            ways.routes = [:]
            ways.generation += 1
            return ways.upstreams.values
        }
        for upstream in upstreams { upstream.turnAway() }
        await transport.shutdown(within: limit)
        ways.withLock { $0.upstreams = [:] }
    }

    /// The part of a batch that takes the same queue.
    private struct Group {
        let upstream: Upstream
        let lane: Lane
        var indices: [Int]
    }

    private static func grouped(
        _ batch: [Push], by routes: [PushRoute: Upstream]
    ) -> (groups: [Group], unrouted: [Int]) {
        var groups: [Group] = []
        var unrouted: [Int] = []
        // Most batches are one page of one broadcast: the same route over and over.
        var last: (route: PushRoute, position: Int)?
        // By index, here and below: a copy of a push would retain all that it has.
        for index in batch.indices {
            if let last, groups[last.position].lane == batch[index].lane, last.route == batch[index].route {
                groups[last.position].indices.append(index)
            } else if let upstream = routes[batch[index].route] {
                let lane = batch[index].lane
                // There are a handful of upstreams at most.
                let known = groups.firstIndex { $0.upstream === upstream && $0.lane == lane }
                let position = known ?? groups.count
                if known == nil { groups.append(Group(upstream: upstream, lane: lane, indices: [])) }
                groups[position].indices.append(index)
                last = (batch[index].route, position)
            } else {
                unrouted.append(index)
            }
        }
        return (groups, unrouted)
    }
}
