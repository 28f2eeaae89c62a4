import Logging
import PushModel
import Store
import Synchronization
import Traces

/// Claims the deliveries of one lane and hands their pushes to the upstream, as the lane's schedule says.
///
/// Several claims may be under way at once, and while one page is being built and handed over the next is read.
final class LaneWorker: Sendable {
    let gate: LaneGate
    let lease: WorkerLease
    let store: any MessageStore & DeliveryStore
    private let sender: any PushSender
    let composer: any PushComposer
    private let projects: ProjectDirectory
    private let answers: AnswerBuffer
    private let waiters: EndWaiters
    private let metrics: DeliveryMetrics
    /// `nil`: nothing is traced.
    let tracer: StepTracer?
    let clock: any Clock<Duration>
    private let wallTime: WallTime
    let random: @Sendable () -> Double
    let logger: Logger
    let cache = MessageCache(limit: cacheLimit)
    /// Store calls that failed in a row.
    let failures = Atomic(0)

    /// Messages that one lane keeps at hand.
    private static let cacheLimit = 64
    /// Messages that take turns in a project, beside those that have a pace of their own.
    private static let messagesPerProject = 64
    /// The longest sleep on the monotonic clock for a wall time: the wall clock may be set meanwhile.
    private static let longestSleep: Duration = .seconds(60)

    init(
        gate: LaneGate, lease: WorkerLease, store: any MessageStore & DeliveryStore, sender: any PushSender,
        composer: any PushComposer, projects: ProjectDirectory, answers: AnswerBuffer, waiters: EndWaiters,
        metrics: DeliveryMetrics, tracer: StepTracer? = nil,
        clock: any Clock<Duration>, wallTime: @escaping WallTime, random: @escaping @Sendable () -> Double,
        logger: Logger
    ) {
        self.gate = gate
        self.lease = lease
        self.store = store
        self.sender = sender
        self.composer = composer
        self.projects = projects
        self.answers = answers
        self.waiters = waiters
        self.metrics = metrics
        self.tracer = tracer
        self.clock = clock
        self.wallTime = wallTime
        self.random = random
        self.logger = logger
    }

    /// Works until the task is cancelled; a stopped lane claims nothing more, but what was claimed with its accept may
    /// still come. Hand-overs may be under way at the end: they end with the sender.
    func run() async {
        let timer = gate.timer(on: clock)
        await withDiscardingTaskGroup { group in
            group.addTask { await timer.run() }
            while !Task.isCancelled {
                handOver(gate.takeDirect())
                let now = wallTime()
                switch gate.next(at: now) {
                case .stop:
                    await gate.change()
                case .wait(let time):
                    if let time { timer.wake(within: min(max(.milliseconds(1), time - now), Self.longestSleep)) }
                    await gate.change()
                case .refresh:
                    group.addTask { await self.refresh() }
                case .claim(let order):
                    group.addTask { await self.claim(order) }
                }
            }
        }
    }
}

// MARK: - Claiming

extension LaneWorker {
    private func refresh() async {
        do throws(StoreError) {
            var fanOuts: [OpenFanOut] = []
            if gate.lane == .bulk {
                let (held, shards) = gate.read { ($0.heldRoutes, $0.shards) }
                fanOuts = try await store.openFanOuts(
                    limitPerProject: Self.messagesPerProject, held: held, share: shards)
            }
            let routes = try await store.dueRoutes(gate.lane, at: wallTime())
            failures.store(0, ordering: .relaxed)
            let (projects, now) = (projects.projects, wallTime())
            gate.update {
                $0.offered(fanOuts, routes, projects: projects, limitPerProject: Self.messagesPerProject, at: now)
            }
        } catch {
            let time = pauseEnd(after: error)
            gate.update { $0.refreshFailed(pausedUntil: time) }
        }
    }

    private func claim(_ order: ClaimOrder) async {
        let start = tracer?.now
        let deliveries: [ClaimedDelivery]
        do throws(StoreError) {
            var (isDone, isOvertaken) = (false, false)
            switch order.source {
            case .page(let fanOut):
                let claim = try await store.claimPage(
                    of: fanOut.id, limit: order.limit, held: order.held, by: order.worker, at: wallTime())
                deliveries = claim.page?.deliveries ?? []
                (isDone, isOvertaken) = (claim.isDone, claim.isOvertaken)
            case .due(let route):
                deliveries = try await store.claimDue(
                    gate.lane, route, limit: order.limit, by: order.worker, at: wallTime())
            case .awaited(let route, let retries):
                deliveries = try await store.claimDue(
                    gate.lane, route, of: retries.map(\.message), by: order.worker, at: wallTime())
            }
            failures.store(0, ordering: .relaxed)
            let now = wallTime()
            gate.update { [isDone, isOvertaken] in
                $0.finished(
                    order, with: deliveries.count, isDone: isDone, isOvertaken: isOvertaken, at: now)
            }
        } catch {
            fail(order, error)
            if let start { traceFailure(of: order, error, from: start) }
            return
        }
        guard !deliveries.isEmpty else { return }
        metrics.inFlight(gate.inFlight, in: gate.lane)
        await prepare(deliveries, worker: order.worker, since: start)
    }

    private func fail(_ order: ClaimOrder, _ error: StoreError) {
        guard !error.isConflict else {
            if lease.lose(order.worker) {
                logger.warning("the worker's lease was taken over", metadata: ["worker": "\(order.worker.rawValue)"])
            }
            gate.update {
                $0.failed(order, pausedUntil: nil)
                $0.lose(order.worker)
            }
            return
        }
        let time = pauseEnd(after: error)
        if error.isOutcomeUnknown { lease.giveUp(order.worker) }
        gate.update {
            $0.failed(order, pausedUntil: time)
            if error.isOutcomeUnknown { $0.lose(order.worker) }
        }
    }

    /// When the store is asked again after an error.
    private func pauseEnd(after error: StoreError) -> Timestamp {
        let count = failures.add(1, ordering: .relaxed).newValue
        let delay = StoreBackoff.delay(failures: count, random: random())
        if !Task.isCancelled {
            logger.error(
                "claiming deliveries failed",
                metadata: ["lane": "\(gate.lane)", "error": "\(error)", "retry": "\(delay)"])
        }
        return wallTime() + delay
    }
}

// MARK: - Handing over

extension LaneWorker {
    /// Builds the pushes of claimed deliveries and sends them; what needs no attempt goes to the settler.
    ///
    /// - Parameter start: when the claim began, for its trace.
    private func prepare(_ claims: [ClaimedDelivery], worker: WorkerID, since start: TraceTime?) async {
        let singles = await loadSingles(of: claims)
        var builder = PushBatchBuilder(
            claims, lane: gate.lane, now: wallTime(), random: random, notesTraced: tracer != nil,
            mayLeave: { [lease] in lease.maySend(worker) })
        var place = 0
        while place < claims.count {
            let id = claims[place].message
            var entry = singles[id]
            var isReadable = true
            if entry == nil { (entry, isReadable) = await loadOrTell(id, in: claims[place].project, for: worker) }
            if let entry { open(entry.message, entry.content, in: &builder) }
            let project = entry.flatMap { projects.project($0.message.project) }
            // All deliveries of the message that stand together; a page has only those.
            repeat {
                if let entry {
                    builder.add(place) { look($0, project, entry) }
                } else if isReadable {
                    builder.addMissing(place)
                } else {
                    builder.addUnreadable(place)
                }
                place += 1
            } while place < claims.count && claims[place].message == id
        }
        finish(builder, worker: worker, since: start)
    }

    /// The deliveries that are added next are of this message.
    private func open(_ message: Message, _ content: any MessageContent, in builder: inout PushBatchBuilder) {
        metrics.subjects.note(message, label: content.label)
        builder.open(message, content, isAwaited: isAwaited(message.id))
    }

    /// Whether somebody waits for the end of a message's delivery; those go in the interactive lane.
    private func isAwaited(_ message: MessageID) -> Bool {
        gate.lane == .interactive && waiters.isAwaited(message)
    }

    /// Keeps what was composed for a message that was just accepted, until its first page is claimed.
    func expect(_ message: Message, _ content: any MessageContent, _ pushes: [App: any ComposedPush]) {
        cache.insertAccepted(message, content, pushes)
    }

    private func look(
        _ key: AppKey, _ project: Project?, _ entry: MessageCache.Entry
    ) -> (app: App?, push: (any ComposedPush)?) {
        guard let project, let app = project.apps[key] else { return (nil, nil) }
        guard app.isServed else { return (app, nil) }
        switch cache.push(of: entry, project: project, app: app, composer: composer) {
        case .success(let push): return (app, push)
        case .failure(let invalid):
            logger.warning(
                "a message can't be built any more",
                metadata: [
                    "message.id": "\(entry.message.id)", "app": "\(app.id)",
                    "reason": "\(invalid.violations.first?.description ?? "")",
                ])
            return (app, nil)
        }
    }

    /// Sends deliveries that were claimed with their accept: message and finished pushes come with them.
    private func handOver(_ direct: [(claims: DirectClaims, worker: WorkerID)]) {
        guard let worker = direct.first?.worker else { return }
        let (own, others) = (direct.filter { $0.worker == worker }, direct.filter { $0.worker != worker })
        var builder = PushBatchBuilder(
            own.flatMap(\.claims.deliveries), lane: gate.lane, now: wallTime(), random: random,
            notesTraced: tracer != nil, mayLeave: { [lease] in lease.maySend(worker) })
        var place = 0
        for item in own {
            let claims = item.claims
            open(claims.message, claims.content, in: &builder)
            let project = projects.project(claims.message.project)
            for _ in claims.deliveries {
                builder.add(place) { (project?.apps[$0], claims.pushes[$0]) }
                place += 1
            }
        }
        metrics.inFlight(gate.inFlight, in: gate.lane)
        finish(builder, worker: worker, since: own.lazy.compactMap(\.claims.committedAt).min())
        handOver(others)
    }

    /// Hands a builder's batches to the upstream, a task for each: a full upstream holds up its own batch only. They are no
    /// children of this task, because nothing but the sender's shutdown ends a hand-over, and one that hangs must not
    /// keep the gateway from stopping. The in-flight limit is their limit.
    private func finish(_ builder: PushBatchBuilder, worker: WorkerID, since start: TraceTime?) {
        let claim = traceClaim(builder, from: start)
        answers.append(builder.decided, in: gate.lane, by: worker)
        for batch in builder.batches {
            let sent = SentBatch(
                batch.deliveries, lane: gate.lane, worker: worker, trace: trace(of: batch, after: claim))
            guard lease.maySend(worker) else {
                // Another worker has these by now, or may: they are not sent, and the settler gives their room back.
                gate.update { $0.lose(worker) }
                answers.drop(sent, of: batch.route.project)
                continue
            }
            let pushes = batch.pushes
            Task { await send(pushes, sent) }
        }
    }

    private func send(_ pushes: [Push], _ sent: SentBatch) async {
        await sender.send(pushes) { [answers, wallTime, logger, tracer] reports in
            let surplus = answers.append(reports, of: sent, at: wallTime())
            if surplus > 0 {
                logger.error("the upstream answered a push twice", metadata: ["count": "\(surplus)"])
            }
            sent.takeTrace()?.record(in: tracer)
        }
    }
}
