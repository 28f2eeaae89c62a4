import PushModel
import Store

/// Decides what a lane claims next, and for which project: a value without clock, lock or I/O.
///
/// - *Room.* A claim takes its room before the store is asked and gives back what it did not get, so that a lane that is
///   being drained never looks empty while a claim is under way.
/// - *Projects* share room and turns by weight (``FairShare``): neither a broadcast nor an upstream that does not answer
///   takes the lane from the others.
/// - *Within a project* pages and due deliveries take turns, and its open fan-outs go round (``ProjectQueue``).
/// - *Shards of other nodes* are left to these, unless they stand still (``OthersShards``).
/// - *Pace* cuts claims to what a message may have now (``MessagePaces``); it does not hold up others.
/// - *Held routes*: nothing is taken for them, but a few pushes when one is to be tried (``HeldRoutes``), and retries whose
///   senders wait (``AwaitedRetries``).
struct LaneSchedule {
    /// What the worker is to do.
    enum Action: Sendable {
        /// Read the store's offers; ``offered(_:_:projects:limitPerProject:at:)`` or ``refreshFailed(pausedUntil:)`` follows.
        case refresh
        /// Claim; ``finished(_:with:isDone:isOvertaken:at:)`` or ``failed(_:pausedUntil:)`` follows.
        case claim(ClaimOrder)
        /// Wait for a signal, at most until then.
        case wait(until: Timestamp?)
        /// Return: the lane is stopped.
        case stop
    }

    private(set) var share: FairShare
    private var queues: [ProjectID: ProjectQueue] = [:]
    private var paces: MessagePaces
    private var held = HeldRoutes()
    private var awaited = AwaitedRetries()
    private var offers = StoreOffers()
    private var others = OthersShards()
    private let nodes: LiveNodes
    private var permit = ClaimPermit()
    /// What claims are under way of.
    private var busyFanOuts: Set<OpenFanOut.ID> = []
    private var busyRoutes: Set<PushRoute> = []
    /// Whether single deliveries wait in the store for lack of room: new ones queue behind them.
    private var isBehind = false
    /// When the schedule was last asked.
    private var askedAt: Timestamp?

    init(_ size: LaneSize, nodes: LiveNodes = LiveNodes()) {
        share = FairShare(size)
        paces = MessagePaces(page: size.claim, nodes: nodes)
        self.nodes = nodes
    }

    private var size: LaneSize { share.size }
}

// MARK: - Deciding

extension LaneSchedule {
    /// Decides what the worker does now; a claim takes its room.
    mutating func next(at now: Timestamp) -> Action {
        if permit.isStopped { return .stop }
        if let askedAt, askedAt - now > StoreOffers.longestRest { forgetTimes(at: now) }
        askedAt = now
        offers.advance(to: now)
        switch permit.state(at: now) {
        case .stopped: return .stop
        // Without a worker or with a failing store there is no point in waking for the time.
        case .denied(let time): return .wait(until: time)
        case .allowed(let worker): return next(for: worker, at: now)
        }
    }

    private mutating func next(for worker: WorkerID, at now: Timestamp) -> Action {
        guard share.inFlight < size.inFlight else { return .wait(until: nil) }
        if offers.beginReading() { return .refresh }
        guard share.running < size.claims else { return .wait(until: nil) }
        var wakeUp = offers.wakeUp
        for project in share.turns {
            if let (source, limit, held) = claim(for: project, at: now, wakeUp: &wakeUp) {
                let order = ClaimOrder(
                    source: source, project: project, limit: limit, held: held,
                    tried: tried(by: source, of: project, besides: held), worker: worker, reading: offers.readings)
                take(order, at: now)
                return .claim(order)
            }
        }
        return .wait(until: wakeUp)
    }

    /// The clock went back, further than any wait that is kept here: nothing waits for a time that was wrong.
    private mutating func forgetTimes(at now: Timestamp) {
        permit.pause(until: nil)
        offers.forgetTimes()
        held.clamp(to: now)
        awaited.clamp(to: now)
        paces.forgetTimes()
        others.forget()
    }

    /// What is to be claimed: its source, how much, and the routes that nothing is to be taken for.
    private typealias Claim = (source: ClaimOrder.Source, limit: Int, held: Set<PushRoute>)

    private mutating func claim(for project: ProjectID, at now: Timestamp, wakeUp: inout Timestamp?) -> Claim? {
        guard let queue = queues[project], queue.hasWork, !share.isAhead(project) else { return nil }
        let room = min(share.room(of: project), size.claim)
        guard room >= share.leastRoom(of: project) else { return nil }
        if queue.isDueNext, let claim = dueClaim(queue, room: room, at: now, wakeUp: &wakeUp) { return claim }
        if let claim = pageClaim(queue, room: room, at: now, wakeUp: &wakeUp) { return claim }
        return queue.isDueNext ? nil : dueClaim(queue, room: room, at: now, wakeUp: &wakeUp)
    }

    private func dueClaim(
        _ queue: ProjectQueue, room: Int, at now: Timestamp, wakeUp: inout Timestamp?
    ) -> Claim? {
        for route in queue.dueRoutes where !busyRoutes.contains(route) {
            let retries = held.contains(route) ? awaited.due(of: route, limit: room, at: now) : []
            guard retries.isEmpty else { return (.awaited(route, retries), retries.count, []) }
            if let limit = limit(of: route, at: now, wakeUp: &wakeUp) { return (.due(route), min(room, limit), []) }
        }
        return nil
    }

    private mutating func pageClaim(
        _ queue: ProjectQueue, room: Int, at now: Timestamp, wakeUp: inout Timestamp?
    ) -> Claim? {
        let heldRoutes: Set<PushRoute> = held.isEmpty ? [] : queue.routes.filter(held.contains)
        for fanOut in queue.openFanOuts(besides: busyFanOuts) {
            var limit = room
            var closed = heldRoutes
            if let route = fanOut.route {
                guard let trial = self.limit(of: route, at: now, wakeUp: &wakeUp) else { continue }
                limit = min(limit, trial)
                closed.remove(route)
            } else if !closed.isEmpty, closed.count == queue.routes.count {
                // No route is free: the audience is not even looked at, except for a route that is to be tried.
                let trials = closed.compactMap { route in
                    self.limit(of: route, at: now, wakeUp: &wakeUp).map { (route, $0) }
                }
                guard let trial = trials.min(by: { $0.0.app.rawValue < $1.0.app.rawValue }) else { continue }
                limit = min(limit, trial.1)
                closed.remove(trial.0)
            }
            guard let paced = paces.room(of: fanOut.message, at: now) else { continue }
            guard paced > 0 else {
                if let ready = paces.ready(fanOut.message, at: now) { wakeUp.bringForward(to: ready) }
                continue
            }
            return (.page(fanOut), min(limit, paced), closed)
        }
        return nil
    }

    /// How many may be taken for a route: all, a few to try it, or `nil`: none before `wakeUp`.
    private func limit(of route: PushRoute, at now: Timestamp, wakeUp: inout Timestamp?) -> Int? {
        switch held.allowance(of: route, at: now) {
        case .all: return .max
        case .trial(let limit): return limit
        case .none(let time):
            wakeUp.bringForward(to: time)
            return nil
        }
    }

    /// The held route that a claim tries; `nil`: none.
    private func tried(
        by source: ClaimOrder.Source, of project: ProjectID, besides closed: Set<PushRoute>
    ) -> PushRoute? {
        let route: PushRoute? =
            switch source {
            case .page(let fanOut):
                fanOut.route ?? queues[project]?.routes.first { held.contains($0) && !closed.contains($0) }
            case .due(let route): route
            // What is claimed because its sender waits is no trial.
            case .awaited: nil
            }
        return route.flatMap { held.contains($0) ? $0 : nil }
    }

    private mutating func take(_ order: ClaimOrder, at now: Timestamp) {
        share.beginClaim(of: order.project, taking: order.limit)
        if let tried = order.tried { held.tried(tried, at: now) }
        switch order.source {
        case .page(let fanOut):
            busyFanOuts.insert(fanOut.id)
            paces.claimed(order.limit, of: fanOut.message)
            if !fanOut.isOwn { others.taken(fanOut.id) }
            queues[order.project]?.claimed(fanOut)
        case .due(let route):
            busyRoutes.insert(route)
            queues[order.project]?.claimedDue()
        case .awaited(let route, let retries):
            busyRoutes.insert(route)
            queues[order.project]?.claimedDue()
            awaited.removeFirst(retries.count, of: route)
        }
    }
}

// MARK: - Room

extension LaneSchedule {
    /// Claimed and not settled, and what running claims may bring.
    var inFlight: Int { share.inFlight }

    /// How many deliveries it has room for.
    var room: Int { size.inFlight }

    /// Whether half of the room is used, or more.
    var isHalfFull: Bool { inFlight * 2 >= size.inFlight }

    /// Takes room for deliveries that are claimed with their accept.
    ///
    /// - Returns: who claims; `nil`: there is no room, or others wait for it, or nothing may be claimed now.
    mutating func reserve(_ counts: [ProjectID: Int], at now: Timestamp) -> WorkerID? {
        guard !isBehind, case .allowed(let worker) = permit.state(at: now) else { return nil }
        guard share.inFlight + counts.values.reduce(0, +) <= size.direct, share.take(counts) else {
            isBehind = true
            offers.invalidate()
            return nil
        }
        return worker
    }

    /// `count` deliveries of a project are settled, or their room was not needed.
    mutating func settled(_ count: Int, of project: ProjectID) {
        share.giveBack(count, of: project)
    }
}

// MARK: - Answers of the store

extension LaneSchedule {
    /// The store's offers, read since ``Action/refresh``.
    mutating func offered(
        _ fanOuts: [OpenFanOut], _ dueRoutes: DueRoutes, projects: [Project], limitPerProject: Int, at now: Timestamp
    ) {
        let (claimable, nextOfOthers) = others.offered(fanOuts, at: now)
        let pages = Dictionary(grouping: claimable, by: \.project)
        let routes = Dictionary(grouping: dueRoutes.routes, by: \.project)
        for project in projects { queues[project.id, default: ProjectQueue()].configure(project) }
        for id in Set(queues.keys).union(pages.keys).union(routes.keys) {
            queues[id, default: ProjectQueue()].offered(pages[id] ?? [], routes[id] ?? [])
        }
        let known = Set(projects.map(\.id))
        queues = queues.filter { known.contains($0.key) || $0.value.hasWork }
        share.offered(to: projects, working: Set(queues.lazy.filter { $0.value.hasWork }.map(\.key)))
        if !hasDueDeliveries { isBehind = false }
        // Of a message, shards of other nodes are offered only when there is none for this one.
        let isTruncated =
            nodes.count > 1
            || pages.values.contains { fanOuts in
                let shards = Dictionary(grouping: fanOuts, by: \.message)
                return shards.count >= limitPerProject
                    || shards.values.contains { $0.count >= OpenFanOut.shardsPerMessage }
            }
        offers.read(isTruncated: isTruncated, next: dueRoutes.next, at: now)
        if let nextOfOthers { offers.expect(nextOfOthers) }
        paces.offered(fanOuts, keepsOthers: !held.isEmpty, at: now)
    }

    /// Whether single deliveries wait for room; those of held routes wait for something else.
    private var hasDueDeliveries: Bool {
        share.working.contains { queues[$0]?.dueRoutes.contains { !held.contains($0) } ?? false }
    }

    /// The store's offers could not be read.
    mutating func refreshFailed(pausedUntil time: Timestamp) {
        offers.failed()
        permit.pause(until: time)
    }

    /// A claim brought `count`.
    ///
    /// - Parameters:
    ///   - isDone: whether its fan-out has nothing more to claim; of a route, that is told by the count.
    ///   - isOvertaken: whether another worker claimed the page.
    mutating func finished(
        _ order: ClaimOrder, with count: Int, isDone: Bool, isOvertaken: Bool = false, at now: Timestamp
    ) {
        end(order, with: count)
        switch order.source {
        case .page(let fanOut):
            paces.count(count, of: fanOut.message, at: now)
            if isOvertaken { overtaken(order, of: fanOut, at: now) }
            guard isDone else { return }
            edit(order.project) { $0.remove(fanOut.id) }
            // What was offered meanwhile may be newer than what the claim saw.
            if offers.isTruncated || !order.held.isEmpty || fanOut.route != nil || order.reading != offers.readings {
                offers.invalidate()
            }
        case .due(let route):
            guard count < order.limit else { return }
            edit(order.project) { $0.remove(route) }
            if order.reading != offers.readings { offers.invalidate() }
            if !hasDueDeliveries { isBehind = false }
        case .awaited:
            // Whether anything else of the route is due is not known.
            offers.invalidate()
        }
    }

    /// Another worker claimed the page of an order.
    private mutating func overtaken(_ order: ClaimOrder, of fanOut: OpenFanOut, at now: Timestamp) {
        if let tried = order.tried { held.overtaken(tried, at: now) }
        guard !fanOut.isOwn else { return }
        offers.expect(others.overtaken(fanOut.id, at: now))
        edit(order.project) { $0.remove(fanOut.id) }
    }

    /// A claim failed; the next one comes at `time`.
    mutating func failed(_ order: ClaimOrder, pausedUntil time: Timestamp?) {
        end(order, with: 0)
        if case .awaited(let route, let retries) = order.source {
            for retry in retries { awaited.insert(retry, of: route) }
        }
        offers.invalidate()
        permit.pause(until: time)
    }

    private mutating func end(_ order: ClaimOrder, with count: Int) {
        share.endClaim(of: order.project, taking: order.limit, bringing: count)
        switch order.source {
        case .page(let fanOut):
            busyFanOuts.remove(fanOut.id)
            paces.returned(order.limit - count, of: fanOut.message)
        case .due(let route), .awaited(let route, _):
            busyRoutes.remove(route)
        }
    }

    /// Changes what a project has to claim.
    private mutating func edit(_ project: ProjectID, _ change: (inout ProjectQueue) -> Void) {
        var queue = queues.removeValue(forKey: project) ?? ProjectQueue()
        change(&queue)
        share.setWork(queue.hasWork, of: project)
        queues[project] = queue
    }
}

// MARK: - Events

extension LaneSchedule {
    /// There may be work.
    mutating func wake() {
        offers.invalidate()
    }

    /// A delivery falls due at `time`.
    mutating func expect(_ time: Timestamp) {
        offers.expect(time)
    }

    /// A retry whose sender waits falls due: it is claimed then, also if the route is held by then.
    mutating func expectAwaited(_ retry: AwaitedRetry, of route: PushRoute) {
        awaited.insert(retry, of: route)
        offers.expect(retry.due)
    }

    /// Results can't be recorded, or can again.
    mutating func hold(_ isHeld: Bool) {
        permit.hold(isHeld)
    }

    /// Which routes are held, as of `now`.
    mutating func hold(_ routes: [PushRoute: HeldRoute], at now: Timestamp) {
        held = HeldRoutes(routes, at: now)
        // Fan-outs may have been split meanwhile.
        offers.invalidate()
    }

    /// The shards that this node claims from before the others do.
    var shards: ShardShare { nodes.shards }

    /// The routes that nothing is to be taken for.
    var heldRoutes: Set<PushRoute> { held.routes }

    /// Whether nothing is to be taken for a route.
    func isHeld(_ route: PushRoute) -> Bool {
        held.contains(route)
    }

    /// Who claims from now on; `nil`: no claims.
    mutating func use(_ worker: WorkerID?) {
        permit.use(worker)
        offers.invalidate()
    }

    /// A worker was fenced: no claims before there is a new one.
    mutating func lose(_ worker: WorkerID) {
        permit.lose(worker)
    }

    /// Nothing of a message is claimed until the store offers it again.
    mutating func drop(_ message: MessageID) {
        for project in share.working { edit(project) { $0.remove(message) } }
        offers.invalidate()
    }

    /// No claims from now on.
    mutating func stop() {
        permit.stop()
    }

    /// Whether the lane claims no more. Final.
    var isStopped: Bool { permit.isStopped }

    /// When a message will be claimed to its end: by its pace, or as fast as it went lately.
    func expectedEnd(of message: MessageID, at now: Timestamp) -> Timestamp? {
        paces.expectedEnd(of: message, at: now)
    }

    /// Deliveries that the lane claims in a second when it is not held up.
    var rate: Double? { paces.rate }
}
