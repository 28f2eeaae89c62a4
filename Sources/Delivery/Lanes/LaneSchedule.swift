import PushModel
import Store

/// What a lane claims next, and for whom: a value without clock, lock or I/O.
///
/// - *Room.* A claim takes its room before the store is asked and gives back what it did not get, so that a lane that is
///   being drained never looks empty while a claim is under way.
/// - *Projects* share by weight: the one that has had the least, measured in claimed deliveries over weight, claims next
///   (stride scheduling). Where there are several projects, a quarter of the lane stays free for those who come: whoever
///   has its share of the rest in flight gets no more than what is free beyond that quarter. So neither a broadcast nor
///   an upstream that does not answer takes the lane from the others.
/// - *Within a project* pages and retries take turns, and its open fan-outs go round.
/// - *Pace* cuts claims to what a message may have now (``Pace``); it does not hold up others.
/// - *Held routes*: nothing is taken for them, but a few pushes when one is to be tried.
///
/// What the store has to offer is read when something happened (``wake()``), not before each claim.
struct LaneSchedule {
    /// What the worker is to do.
    enum Action: Sendable {
        /// Read the store's offers; ``offered(_:_:projects:cut:at:)`` or ``failed(at:)`` follows.
        case refresh
        /// Claim; ``finished(_:with:isDone:at:)`` or ``failed(_:pausedUntil:)`` follows.
        case claim(LaneOrder)
        /// Wait for a signal, at most until then.
        case wait(until: Timestamp?)
        /// Return: the lane is stopped.
        case stop
    }

    /// The size of a lane.
    struct Size {
        /// The most that may be in flight.
        var inFlight: Int
        /// The most that one claim takes.
        var claim: Int
        /// The room that a claim waits for: pages of one row each, as answers trickle in, would waste the store's time.
        var leastRoom: Int
        /// Claims under way at the same time.
        var claims: Int
    }

    /// What a project is to the lane.
    struct Tenant {
        var weight = 1
        /// Every route that its apps have.
        var routes: Set<PushRoute> = []
        var inFlight = 0
        /// Claims under way.
        var running = 0
        /// Deliveries claimed over weight: the one with the least is next.
        var pass = 0.0
        var fanOuts: [OpenFanOut] = []
        var dueRoutes: [PushRoute] = []
        /// The message that had the last page.
        var lastMessage = Int64.min
        var isDueNext = false

        /// Whether it has something to claim.
        var hasWork: Bool { !fanOuts.isEmpty || !dueRoutes.isEmpty }
        /// What it counts for where the lane is shared.
        var share: Int { inFlight > 0 || hasWork ? weight : 0 }
    }

    /// A message that is being fanned out.
    private struct Broadcast {
        var pace: Pace
        var meter = RateMeter()
    }

    /// The longest time between two looks at the store's offers: whatever else fails, nothing waits longer.
    private static let longestRest: Duration = .seconds(60)
    /// A route that was just tried is not tried again before this, unless the sender says something new.
    private static let trialRest: Duration = .seconds(1)

    /// Nobody waits so long for a retry that has fallen due.
    private static let longestWait: Duration = .seconds(60)

    /// Messages whose pace is kept while they are not offered, at most: with what is offered.
    private static let paceLimit = 4096

    let size: Size
    private var tenants: [ProjectID: Tenant] = [:]
    /// Those that have something to claim, those with claims under way, and the weights of all that have something in
    /// flight or to claim: each step asks for these, and there may be thousands of projects.
    private(set) var working: Set<ProjectID> = []
    private var claiming: Set<ProjectID> = []
    private(set) var weights = 0
    private var broadcasts: [MessageID: Broadcast] = [:]
    private var busyFanOuts: Set<OpenFanOut.ID> = []
    private var busyRoutes: Set<PushRoute> = []
    private var held: [PushRoute: (until: Timestamp, limit: Int)] = [:]
    /// Retries that somebody waits for, the earliest first: these are claimed although their route is held.
    private var awaited: [PushRoute: [AwaitedRetry]] = [:]
    private var speed = SpeedMeter()
    /// The pass of whoever claimed last: who comes anew begins there.
    private var virtualPass = 0.0
    private var running = 0
    /// Claimed and not settled, and what running claims may bring.
    private(set) var inFlight = 0
    /// Whether the store may have offers that are not known. At the start nobody knows, so: yes.
    private var needsOffers = true
    private var isRefreshing = false
    private var refreshedAt: Timestamp?
    /// How many times the offers were read: what a claim says about them may be older than what is known.
    private var offers = 0
    /// Whether the store has more fan-outs than it told.
    private var isCut = false
    /// When the next delivery falls due.
    private var due: Timestamp?
    /// Whether results can't be recorded: no claims meanwhile.
    private var isHeld = false
    /// No claim before this, because the last one failed.
    private var pausedUntil: Timestamp?
    /// Whether single deliveries wait in the store for lack of room: new ones queue behind them.
    private var isBehind = false
    /// When the schedule was last asked.
    private var askedAt: Timestamp?
    /// Who claims; `nil`: nobody, until there is a new worker.
    private var worker: WorkerID?
    /// Whether several projects share the lane.
    private var isShared = false
    /// Whether the lane claims no more. Final.
    private(set) var isStopped = false

    init(_ size: Size) {
        let inFlight = max(1, size.inFlight)
        self.size = Size(
            inFlight: inFlight, claim: max(1, min(size.claim, inFlight)),
            leastRoom: max(1, min(size.leastRoom, inFlight)), claims: max(1, size.claims))
    }
}

/// A retry that somebody waits for.
struct AwaitedRetry: Hashable, Sendable {
    let message: MessageID
    let due: Timestamp
}

/// A claim to be made.
struct LaneOrder: Sendable {
    /// Where from.
    enum Source: Sendable {
        /// A page of a fan-out.
        case page(OpenFanOut)
        /// Single deliveries and retries of a route.
        case due(PushRoute)
        /// Retries of a held route that somebody waits for, and no others.
        case awaited(PushRoute, [AwaitedRetry])
    }

    let source: Source
    let project: ProjectID
    let limit: Int
    /// Routes that nothing is to be taken for.
    let held: Set<PushRoute>
    let worker: WorkerID
    /// How many times the store's offers had been read.
    let offers: Int
}

// MARK: - Deciding

extension LaneSchedule {
    /// Decides what the worker does now; a claim takes its room.
    mutating func next(at now: Timestamp) -> Action {
        if isStopped { return .stop }
        if let askedAt, askedAt - now > Self.longestRest { forgetTimes(at: now) }
        askedAt = now
        if let due, due <= now {
            needsOffers = true
            self.due = nil
        }
        if let refreshedAt, now - refreshedAt >= Self.longestRest { needsOffers = true }
        // Without a worker or with a failing store there is no point in waking for the time.
        guard let worker, !isHeld else { return .wait(until: nil) }
        if let pausedUntil {
            guard pausedUntil <= now else { return .wait(until: pausedUntil) }
            self.pausedUntil = nil
        }
        guard inFlight < size.inFlight else { return .wait(until: nil) }
        if needsOffers, !isRefreshing {
            needsOffers = false
            isRefreshing = true
            due = nil
            return .refresh
        }
        guard running < size.claims else { return .wait(until: nil) }
        var wakeUp = refreshedAt.map { $0 + Self.longestRest }
        if let due { wakeUp = wakeUp.map { min($0, due) } ?? due }
        var turns = working.map { (pass: tenants[$0]?.pass ?? 0, project: $0) }
        func isBefore(_ left: (pass: Double, project: ProjectID), _ right: (pass: Double, project: ProjectID)) -> Bool {
            left.pass == right.pass ? left.project.rawValue < right.project.rawValue : left.pass < right.pass
        }
        // Nearly always the first one can claim: the others are sorted only when it can't.
        guard let first = turns.min(by: isBefore) else { return .wait(until: wakeUp) }
        if let order = order(for: first.project, worker: worker, at: now, wakeUp: &wakeUp) {
            take(order, at: now)
            return .claim(order)
        }
        turns.sort(by: isBefore)
        for turn in turns.dropFirst() {
            if let order = order(for: turn.project, worker: worker, at: now, wakeUp: &wakeUp) {
                take(order, at: now)
                return .claim(order)
            }
        }
        return .wait(until: wakeUp)
    }

    /// The clock went back, further than any wait that is kept here: nothing waits for a moment of the time that never was.
    private mutating func forgetTimes(at now: Timestamp) {
        pausedUntil = nil
        due = nil
        refreshedAt = nil
        needsOffers = true
        held = held.mapValues { (min($0.until, now), $0.limit) }
        awaited = awaited.mapValues { $0.map { AwaitedRetry(message: $0.message, due: min($0.due, now)) } }
        for message in broadcasts.keys { broadcasts[message]?.meter = RateMeter() }
    }

    /// Whether a project has had more than its share beside one whose claim is under way: that one goes on when the
    /// claim has ended. Otherwise whoever has fewer shards would get less.
    private func isAhead(_ tenant: Tenant) -> Bool {
        guard running > tenant.running else { return false }
        let slack = Double(size.claim) / Double(tenant.weight)
        return claiming.contains { tenants[$0].map { tenant.pass > $0.pass + slack } ?? false }
    }

    private mutating func order(
        for project: ProjectID, worker: WorkerID, at now: Timestamp, wakeUp: inout Timestamp?
    ) -> LaneOrder? {
        guard let tenant = tenants[project], !tenant.fanOuts.isEmpty || !tenant.dueRoutes.isEmpty else { return nil }
        guard !isAhead(tenant) else { return nil }
        let room = min(room(of: project), size.claim)
        guard room >= leastRoom(of: tenant) else { return nil }
        func dueOrder(_ wakeUp: inout Timestamp?) -> LaneOrder? {
            for route in tenant.dueRoutes where !busyRoutes.contains(route) {
                let retries = awaitedRetries(route, limit: room, at: now)
                guard retries.isEmpty else {
                    return LaneOrder(
                        source: .awaited(route, retries), project: project, limit: retries.count, held: [],
                        worker: worker, offers: offers)
                }
                guard let limit = trialLimit(route, at: now, wakeUp: &wakeUp) else { continue }
                return LaneOrder(
                    source: .due(route), project: project, limit: min(room, limit), held: [], worker: worker,
                    offers: offers)
            }
            return nil
        }
        if tenant.isDueNext, let order = dueOrder(&wakeUp) { return order }
        let page = pageOrder(of: project, tenant, room: room, worker: worker, at: now, wakeUp: &wakeUp)
        return page ?? (tenant.isDueNext ? nil : dueOrder(&wakeUp))
    }

    private mutating func pageOrder(
        of project: ProjectID, _ tenant: Tenant, room: Int, worker: WorkerID, at now: Timestamp,
        wakeUp: inout Timestamp?
    ) -> LaneOrder? {
        let heldRoutes = Set(held.isEmpty ? [] : tenant.routes.filter { held[$0] != nil })
        let open = tenant.fanOuts.filter { !busyFanOuts.contains($0.id) }
        let ordered =
            open.filter { $0.id.message > tenant.lastMessage } + open.filter { $0.id.message <= tenant.lastMessage }
        for fanOut in ordered {
            var limit = room
            var closed = heldRoutes
            if let route = fanOut.route {
                guard let trial = trialLimit(route, at: now, wakeUp: &wakeUp) else { continue }
                limit = min(limit, trial)
                closed.remove(route)
            } else if !closed.isEmpty, closed.count == tenant.routes.count {
                // Nobody can be reached: the audience is not even looked at, but for whom is to be tried.
                let trials = closed.compactMap { route in
                    trialLimit(route, at: now, wakeUp: &wakeUp).map { (route, $0) }
                }
                guard let trial = trials.min(by: { $0.0.app.rawValue < $1.0.app.rawValue }) else { continue }
                limit = min(limit, trial.1)
                closed.remove(trial.0)
            }
            guard let paced = broadcasts[fanOut.message]?.pace.room(page: size.claim, at: now) else { continue }
            guard paced > 0 else {
                if let ready = broadcasts[fanOut.message]?.pace.ready(page: size.claim, at: now) {
                    wakeUp = wakeUp.map { min($0, ready) } ?? ready
                }
                continue
            }
            return LaneOrder(
                source: .page(fanOut), project: project, limit: min(limit, paced), held: closed, worker: worker,
                offers: offers)
        }
        return nil
    }

    /// How many may be taken for a route: all, a few to try it, or `nil`: none before `wakeUp`.
    private func trialLimit(_ route: PushRoute, at now: Timestamp, wakeUp: inout Timestamp?) -> Int? {
        guard let hold = held[route] else { return .max }
        guard hold.until > now else { return max(1, hold.limit) }
        wakeUp = wakeUp.map { min($0, hold.until) } ?? hold.until
        return nil
    }

    /// The retries of a held route that are due and that somebody waits for.
    private func awaitedRetries(_ route: PushRoute, limit: Int, at now: Timestamp) -> [AwaitedRetry] {
        guard held[route] != nil, let retries = awaited[route] else { return [] }
        return Array(retries.prefix(limit).prefix { $0.due <= now })
    }

    private mutating func take(_ order: LaneOrder, at now: Timestamp) {
        running += 1
        tenants[order.project]?.running += 1
        claiming.insert(order.project)
        occupy(order.limit, of: order.project)
        virtualPass = tenants[order.project]?.pass ?? virtualPass
        charge(order.limit, to: order.project)
        var tried: PushRoute?
        switch order.source {
        case .page(let fanOut):
            busyFanOuts.insert(fanOut.id)
            broadcasts[fanOut.message]?.pace.claimed(order.limit)
            tenants[order.project]?.lastMessage = fanOut.id.message
            tenants[order.project]?.isDueNext = true
            tried = fanOut.route
            if tried == nil {
                tried = tenants[order.project]?.routes.first { held[$0] != nil && !order.held.contains($0) }
            }
        case .due(let route):
            busyRoutes.insert(route)
            tenants[order.project]?.isDueNext = false
            tried = route
        case .awaited(let route, let retries):
            // What is claimed because somebody waits for it is no trial.
            busyRoutes.insert(route)
            tenants[order.project]?.isDueNext = false
            awaited[route]?.removeFirst(retries.count)
            if awaited[route]?.isEmpty == true { awaited[route] = nil }
        }
        if let tried, let hold = held[tried] { held[tried] = (now + Self.trialRest, hold.limit) }
    }
}

// MARK: - Room

extension LaneSchedule {
    /// What stays free for projects that have less than their share.
    private var reserve: Int { isShared ? size.inFlight / 4 : 0 }

    /// A project's share of the lane, beside all that have something in flight or waiting.
    private func share(of tenant: Tenant) -> Int {
        let all = tenant.share > 0 ? weights : weights + tenant.weight
        return (size.inFlight - reserve) * tenant.weight / max(1, all)
    }

    /// How much a project may claim now.
    private func room(of project: ProjectID) -> Int {
        let tenant = tenants[project] ?? Tenant()
        let free = size.inFlight - inFlight
        return max(min(free, share(of: tenant) - tenant.inFlight), free - reserve)
    }

    private func leastRoom(of tenant: Tenant) -> Int {
        max(1, min(size.leastRoom, share(of: tenant) / 4))
    }

    private mutating func occupy(_ count: Int, of project: ProjectID) {
        inFlight += count
        edit(project) { $0.inFlight += count }
    }

    /// Changes what a project has in flight or to claim, and the sums of it.
    private mutating func edit(_ project: ProjectID, _ change: (inout Tenant) -> Void) {
        var tenant = tenants.removeValue(forKey: project) ?? Tenant(pass: virtualPass)
        weights -= tenant.share
        change(&tenant)
        weights += tenant.share
        if tenant.hasWork { working.insert(project) } else { working.remove(project) }
        tenants[project] = tenant
    }

    /// Sums anew what ``edit(_:_:)`` keeps.
    private mutating func sum() {
        working = Set(tenants.lazy.filter { $0.value.hasWork }.map(\.key))
        claiming = Set(tenants.lazy.filter { $0.value.running > 0 }.map(\.key))
        weights = tenants.values.reduce(0) { $0 + $1.share }
    }

    /// Counts deliveries as had by a project.
    private mutating func charge(_ count: Int, to project: ProjectID) {
        let weight = tenants[project]?.weight ?? 1
        tenants[project]?.pass += Double(count) / Double(weight)
    }

    private mutating func vacate(_ count: Int, of project: ProjectID) {
        precondition(
            count <= inFlight && count <= tenants[project]?.inFlight ?? 0, "\(count) of \(inFlight) come back")
        inFlight -= count
        edit(project) { $0.inFlight -= count }
    }

    /// Takes room for deliveries that are claimed with their accept.
    ///
    /// - Returns: who claims; `nil`: there is no room, or others wait for it, or nothing may be claimed now.
    mutating func reserve(_ counts: [ProjectID: Int], at now: Timestamp) -> WorkerID? {
        guard let worker, !isStopped, !isHeld, !isBehind, pausedUntil.map({ $0 <= now }) ?? true else { return nil }
        guard counts.allSatisfy({ $0.value <= room(of: $0.key) }),
            counts.values.reduce(0, +) + inFlight <= size.inFlight
        else {
            isBehind = true
            needsOffers = true
            return nil
        }
        for (project, count) in counts {
            occupy(count, of: project)
            charge(count, to: project)
        }
        return worker
    }

    /// `count` deliveries of a project are settled, or their room was not needed.
    mutating func settled(_ count: Int, of project: ProjectID) {
        vacate(count, of: project)
    }
}

// MARK: - What the store says

extension LaneSchedule {
    /// The store's offers, read since ``Action/refresh``.
    mutating func offered(
        _ fanOuts: [OpenFanOut], _ dueRoutes: DueRoutes, projects: [Project], limitPerProject: Int, at now: Timestamp
    ) {
        isRefreshing = false
        refreshedAt = now
        isShared = projects.count > 1
        var pages: [ProjectID: [OpenFanOut]] = [:]
        for fanOut in fanOuts { pages[fanOut.project, default: []].append(fanOut) }
        var routes: [ProjectID: [PushRoute]] = [:]
        for route in dueRoutes.routes { routes[route.project, default: []].append(route) }
        offers += 1
        isCut = pages.values.contains { fanOuts in
            let shards = Dictionary(grouping: fanOuts, by: \.message)
            return shards.count >= limitPerProject
                || shards.values.contains { $0.count >= OpenFanOut.shardsPerMessage }
        }
        for project in projects { know(project) }
        for id in Set(tenants.keys).union(pages.keys).union(routes.keys) {
            var tenant = tenants[id] ?? Tenant(pass: virtualPass)
            let wasIdle = tenant.fanOuts.isEmpty && tenant.dueRoutes.isEmpty
            tenant.fanOuts = (pages[id] ?? []).sorted { ($0.id.message, $0.id.shard) < ($1.id.message, $1.id.shard) }
            tenant.dueRoutes = routes[id] ?? []
            // Whoever had nothing to send has no claim on what was sent meanwhile.
            if wasIdle { tenant.pass = max(tenant.pass, virtualPass) }
            tenants[id] = tenant
        }
        sum()
        if !hasDueDeliveries { isBehind = false }
        if let next = dueRoutes.next { expect(next) }
        rememberPaces(of: fanOuts, at: now)
        forgetIdleTenants(but: Set(projects.map(\.id)))
    }

    /// Whether single deliveries wait for room; those of held routes wait for something else.
    private var hasDueDeliveries: Bool {
        working.contains { tenants[$0]?.dueRoutes.contains { held[$0] == nil } ?? false }
    }

    private mutating func know(_ project: Project) {
        var tenant = tenants[project.id] ?? Tenant(pass: virtualPass)
        tenant.weight = project.weight
        tenant.routes = []
        for app in project.apps.keys {
            for environment in [APNSEnvironment.production, .sandbox] {
                tenant.routes.insert(PushRoute(project: project.id, app: app, environment: environment))
            }
        }
        tenants[project.id] = tenant
    }

    private mutating func rememberPaces(of fanOuts: [OpenFanOut], at now: Timestamp) {
        var kept: [MessageID: Broadcast] = [:]
        for fanOut in fanOuts where kept[fanOut.message] == nil {
            var broadcast =
                broadcasts[fanOut.message] ?? Broadcast(pace: Pace(fanOut, page: size.claim, at: now))
            broadcast.pace.refresh(fanOut)
            kept[fanOut.message] = broadcast
        }
        // The store tells nothing of a message that only has shards for held routes; its pace goes on when it is back.
        if !held.isEmpty {
            for (id, broadcast) in broadcasts where kept[id] == nil && kept.count < Self.paceLimit {
                kept[id] = broadcast
            }
        }
        broadcasts = kept
    }

    private mutating func forgetIdleTenants(but known: Set<ProjectID>) {
        tenants = tenants.filter { id, tenant in
            known.contains(id) || tenant.inFlight > 0 || tenant.hasWork
        }
    }

    /// The store's offers could not be read.
    mutating func refreshFailed(pausedUntil time: Timestamp) {
        isRefreshing = false
        needsOffers = true
        pausedUntil = time
    }

    /// A claim brought `count`.
    ///
    /// - Parameter isDone: whether its fan-out has nothing more to claim; of a route, that is told by the count.
    mutating func finished(_ order: LaneOrder, with count: Int, isDone: Bool, at now: Timestamp) {
        end(order, with: count)
        switch order.source {
        case .page(let fanOut):
            // A pace says nothing about how fast the lane could be.
            if broadcasts[fanOut.message]?.pace.isLimited == false { speed.add(count, at: now) }
            broadcasts[fanOut.message]?.meter.add(count, at: now)
            guard isDone else { return }
            edit(order.project) { $0.fanOuts.removeAll { $0.id == fanOut.id } }
            // What was offered meanwhile may be newer than what the claim saw.
            if isCut || !order.held.isEmpty || fanOut.route != nil || order.offers != offers { needsOffers = true }
        case .due(let route):
            guard count < order.limit else { return }
            edit(order.project) { $0.dueRoutes.removeAll { $0 == route } }
            if order.offers != offers { needsOffers = true }
            if !hasDueDeliveries { isBehind = false }
        case .awaited:
            // Whether anything else of the route is due is not known.
            needsOffers = true
        }
    }

    /// A claim failed; the next one comes at `time`.
    mutating func failed(_ order: LaneOrder, pausedUntil time: Timestamp?) {
        end(order, with: 0)
        if case .awaited(let route, let retries) = order.source {
            for retry in retries { keep(retry, of: route) }
        }
        needsOffers = true
        pausedUntil = time
    }

    private mutating func end(_ order: LaneOrder, with count: Int) {
        running -= 1
        tenants[order.project]?.running -= 1
        if tenants[order.project]?.running == 0 { claiming.remove(order.project) }
        let difference = order.limit - count
        if difference > 0 { vacate(difference, of: order.project) } else { occupy(-difference, of: order.project) }
        charge(-difference, to: order.project)
        switch order.source {
        case .page(let fanOut):
            busyFanOuts.remove(fanOut.id)
            broadcasts[fanOut.message]?.pace.returned(difference)
        case .due(let route), .awaited(let route, _):
            busyRoutes.remove(route)
        }
    }
}

// MARK: - Events

extension LaneSchedule {
    /// There may be work.
    mutating func wake() {
        needsOffers = true
    }

    /// A delivery falls due at `time`.
    mutating func expect(_ time: Timestamp) {
        due = due.map { min($0, time) } ?? time
    }

    /// A retry that somebody waits for falls due: it is claimed then, also if the route is held by then.
    mutating func expectAwaited(_ retry: AwaitedRetry, of route: PushRoute) {
        keep(retry, of: route)
        expect(retry.due)
    }

    /// Keeps a retry in the order of time; those that were claimed otherwise, since the route was free, are forgotten.
    private mutating func keep(_ retry: AwaitedRetry, of route: PushRoute) {
        var retries = awaited[route] ?? []
        retries.removeAll { $0.message == retry.message || retry.due - $0.due > Self.longestWait }
        retries.insert(retry, at: retries.firstIndex { $0.due > retry.due } ?? retries.endIndex)
        awaited[route] = retries
    }

    /// Results can't be recorded, or can again.
    mutating func hold(_ isHeld: Bool) {
        self.isHeld = isHeld
    }

    /// Which routes are held, as of `now`.
    mutating func hold(_ routes: [PushRoute: HeldRoute], at now: Timestamp) {
        held = routes.mapValues { (now + $0.retryAfter, $0.limit) }
        // Fan-outs may have been split meanwhile.
        needsOffers = true
    }

    /// The routes that nothing is to be taken for.
    var heldRoutes: Set<PushRoute> { Set(held.keys) }

    /// Whether nothing is to be taken for a route.
    func isHeld(_ route: PushRoute) -> Bool {
        held[route] != nil
    }

    /// Who claims from now on; `nil`: nobody.
    mutating func use(_ worker: WorkerID?) {
        self.worker = worker
        needsOffers = true
    }

    /// A worker was fenced: nobody claims before there is a new one.
    mutating func lose(_ worker: WorkerID) {
        if self.worker == worker { self.worker = nil }
    }

    /// Nothing of a message is claimed until the store offers it again.
    mutating func drop(_ message: MessageID) {
        for id in working { edit(id) { $0.fanOuts.removeAll { $0.message == message } } }
        needsOffers = true
    }

    /// No claims from now on.
    mutating func stop() {
        isStopped = true
    }

    /// When a message will be claimed to its end: by its pace, or as fast as it went lately.
    func expectedEnd(of message: MessageID, at now: Timestamp) -> Timestamp? {
        guard let broadcast = broadcasts[message] else { return nil }
        if let end = broadcast.pace.end(at: now) { return end }
        guard let rate = broadcast.meter.rate(at: now) ?? speed.rate else { return nil }
        return now + .seconds(Double(broadcast.pace.remaining) / rate)
    }

    /// Deliveries that the lane claims in a second when it is not held up.
    var rate: Double? { speed.rate }
}
