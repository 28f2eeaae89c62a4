import HTTP2Client
package import Logging
package import PushModel
import Synchronization

/// Leads each push to the upstream of its route: one ``UpstreamClient`` for each `Key`, which is what must not be mixed
/// on a connection (endpoint, credential, trust, proxy).
///
/// Lifecycle: ``use(_:)`` sets the routes, as often as the configuration changes; ``shutdown(within:)`` ends
/// everything, once.
package final class UpstreamRouter<Key: Hashable & Sendable>: PushSender {
    /// How long a pool that is no longer needed may finish its requests.
    private static var drainLimit: Duration { .seconds(60) }

    private let opener: UpstreamOpener
    private let table = Mutex(RoutingTable<Key>())
    private let held = HeldRoutes()

    /// Prepares the router and the engine's loop threads; nothing is dialed before the first push.
    ///
    /// - Parameters:
    ///   - loopCount: loop threads of the engine, at least 1.
    ///   - connectionLimit: the most connections of an upstream, at least 1.
    ///   - keyLogFile: a file that TLS secrets are appended to, for reading recorded traffic; `nil`: none.
    ///   - doubtfulAddresses: when a share of refused addresses stops an app's pushes.
    package convenience init(
        loopCount: Int, connectionLimit: Int, keyLogFile: String?, doubtfulAddresses: DoubtfulAddressLimits,
        wallTime: @escaping WallTime, logger: Logger
    ) {
        let engine = HTTP2Engine(loopCount: loopCount, logger: logger, keyLogFile: keyLogFile)
        let clock = ContinuousClock()
        let start = clock.now
        self.init(
            transport: EngineTransport(engine: engine), connectionLimit: connectionLimit,
            doubtfulAddresses: doubtfulAddresses, wallTime: wallTime,
            uptime: { start.duration(to: clock.now) }, logger: logger)
    }

    /// Prepares the router on a transport of its own.
    package init(
        transport: any RequestTransport, connectionLimit: Int, doubtfulAddresses: DoubtfulAddressLimits,
        wallTime: @escaping WallTime, uptime: @escaping Uptime, logger: Logger
    ) {
        opener = UpstreamOpener(
            transport: transport, connectionLimit: connectionLimit, doubtfulAddresses: doubtfulAddresses,
            wallTime: wallTime, uptime: uptime, logger: logger)
    }

    /// The clocks that upstreams go by.
    package var clocks: (wallTime: WallTime, uptime: Uptime) { (opener.wallTime, opener.uptime) }

    /// Prepares single requests to a service beside the pushes; nothing is dialed before the first.
    package func requests(_ configuration: UpstreamConfiguration) throws(UpstreamConfigurationError) -> ServiceRequests
    {
        try ServiceRequests(configuration, transport: opener.transport)
    }

    /// Replaces the routes: upstreams that are no longer needed finish and close, those that stay keep their
    /// connections, unless they serve an app that they did not serve before: a service may bind a connection to the
    /// apps that its credential has when it first pushes, so those get new connections. Pushes without a route end as
    /// `notSent(no_route)`. Does nothing after ``shutdown(within:)``.
    ///
    /// - Parameter draw: adds each route to the draft; called again when another call was faster. Nothing changes when
    ///   it throws.
    package func use<Failure: Error>(
        _ draw: (inout RoutingDraft<Key>) throws(Failure) -> Void
    ) throws(Failure) {
        while true {
            let present = table.withLock { $0 }
            if present.isShutDown { return }
            var draft = RoutingDraft(
                present: present, opener: opener, holdChanged: { [weak self] in self?.updateHeldRoutes() })
            do {
                try draw(&draft)
            } catch {
                retire(draft.opened)
                throw error
            }
            let next = draft.table
            let isInForce = table.withLock { table in
                guard table.generation == present.generation else { return false }
                table = next
                return true
            }
            if isInForce {
                settle(from: present, to: next)
                return
            }
            // Another call was faster: begin again from what it left.
            retire(draft.opened)
        }
    }

    /// Does what follows from a change that is in force.
    private func settle(from old: RoutingTable<Key>, to new: RoutingTable<Key>) {
        retire(old.upstreams.filter { new.upstreams[$0.key] == nil }.map(\.value))
        let apps = new.apps
        for (identity, before) in old.apps {
            guard let after = apps[identity], !after.apps.isSubset(of: before.apps) else { continue }
            after.upstream.renew()
        }
        // An upstream that was opened while the number of gateways changed.
        for upstream in new.upstreams.values { upstream.divide(among: opener.nodes.value) }
        updateHeldRoutes()
    }

    /// So many gateways share the limits of connections and pace of each upstream from now on; each keeps to its part, one
    /// connection at least.
    package func divide(among nodes: Int) {
        opener.nodes.value = nodes
        for upstream in table.withLock({ $0.upstreams.values }) { upstream.divide(among: nodes) }
    }

    /// Closes upstreams in the background.
    ///
    /// A bridge from a synchronous call: the tasks end with the drain limit at the latest, or earlier when
    /// ``shutdown(within:)`` closes all pools, theirs included; nothing has to wait for them.
    private func retire(_ upstreams: [UpstreamClient]) {
        for upstream in upstreams {
            Task { await upstream.close(within: Self.drainLimit) }
        }
    }

    /// Sends a batch: grouped by upstream and lane, all groups at the same time, so that one whose queue is full
    /// doesn't hold back the others.
    package func send(_ batch: [Push], report: @escaping @Sendable ([PushReport]) -> Void) async {
        let (routes, isShutDown) = table.withLock { ($0.routes, $0.isShutDown) }
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

    /// One entry for each upstream.
    package var upstreams: [UpstreamStatus] {
        let (upstreams, routes) = table.withLock { (Array($0.upstreams.values), $0.routes) }
        return upstreams.map { upstream in
            var status = upstream.status
            status.routes = Set(routes.lazy.filter { $0.value === upstream }.map(\.key))
            status.projects = Set(status.routes.map(\.project))
            return status
        }.sorted { $0.name < $1.name }
    }

    /// Those of paused upstreams, topics and apps, of upstreams whose service asked for a rest, and of those whose
    /// circuit is not closed.
    package var heldRoutes: [PushRoute: HeldRoute] { held.routes(at: opener.uptime) }

    /// Sets what is called when ``heldRoutes`` changed.
    package func onHeldRoutesChange(_ body: @escaping @Sendable () -> Void) { held.onChange(body) }

    /// Reads anew which routes are held.
    private func updateHeldRoutes() {
        held.update {
            let routes = table.withLock { $0.routes }
            var holds: [ObjectIdentifier: UpstreamHold] = [:]
            for upstream in routes.values where holds[ObjectIdentifier(upstream)] == nil {
                holds[ObjectIdentifier(upstream)] = upstream.hold
            }
            var rests: [PushRoute: HoldRest] = [:]
            for (route, upstream) in routes {
                if let rest = holds[ObjectIdentifier(upstream)]?.rest(of: route) { rests[route] = rest }
            }
            return rests
        }
    }

    /// Gives back at once, as `notSent(shutdown)`, what would wait for a connection that is not there; what a
    /// connection takes goes on. ``shutdown(within:)`` follows.
    package func windDown() {
        for upstream in table.withLock({ $0.upstreams.values }) { upstream.windDown() }
    }

    /// Lets pushes in flight finish within `limit`, ends the others as `notSent` or `unknown`, closes everything.
    /// Idempotent: what comes later is answered `notSent`.
    package func shutdown(within limit: Duration) async {
        let upstreams = table.withLock { table in
            table.isShutDown = true
            table.routes = [:]
            table.generation += 1
            return table.upstreams.values
        }
        for upstream in upstreams { upstream.turnAway() }
        await opener.transport.shutdown(within: limit)
        table.withLock { $0.upstreams = [:] }
    }

    /// The part of a batch that takes the same queue.
    private struct Group {
        let upstream: UpstreamClient
        let lane: Lane
        var indices: [Int]
    }

    private static func grouped(
        _ batch: [Push], by routes: [PushRoute: UpstreamClient]
    ) -> (groups: [Group], unrouted: [Int]) {
        var groups: [Group] = []
        var unrouted: [Int] = []
        // By index, here and below: a copy of a push would retain all that it has.
        var start = 0
        while start < batch.count {
            let (route, lane) = (batch[start].route, batch[start].lane)
            // Most batches are one page of one broadcast: the same route over and over.
            let end = batch[start...].indices.first { batch[$0].route != route || batch[$0].lane != lane }
            let run = start..<(end ?? batch.count)
            start = run.upperBound
            guard let upstream = routes[route] else {
                unrouted.append(contentsOf: run)
                continue
            }
            // There are a handful of upstreams at most.
            let known = groups.firstIndex { $0.upstream === upstream && $0.lane == lane }
            if known == nil { groups.append(Group(upstream: upstream, lane: lane, indices: [])) }
            groups[known ?? groups.count - 1].indices.append(contentsOf: run)
        }
        return (groups, unrouted)
    }
}
