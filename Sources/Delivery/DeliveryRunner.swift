package import Logging
package import Metrics
package import PushModel
import ServiceLifecycle
package import Store
import Synchronization
package import Traces

/// Moves accepted messages to the upstream and the answers into the ledger: claims, sends, settles, retries, expires.
///
/// Two lanes claim from the store and hand batches to the upstream; its answers gather in a buffer, from which one
/// settler records them. What is claimed belongs to the store's worker that this run enrolled; it is renewed as long as
/// the run lives, and a new one is enrolled when others took over meanwhile.
///
/// Runs until graceful shutdown, then stops claiming, waits for what is in flight (at most ``DeliveryLimits/shutdown``)
/// and settles it. After that it shuts the sender down, which ends what is left as not sent or unknown, and settles this
/// too: a retry keeps its history. What has no answer even then, or can't be recorded, stays claimed in the store, and
/// is taken over as after a crash.
package final class DeliveryRunner: Service {
    private let store: any MessageStore & DeliveryStore
    private let sender: any PushSender
    private let limits: DeliveryLimits
    private let clock: any Clock<Duration>
    private let wallTime: WallTime
    private let random: @Sendable () -> Double
    private let logger: Logger
    private let metrics: DeliveryMetrics
    private let lease: WorkerLease
    /// Who waits for the end of a delivery.
    let waiters = EndWaiters()
    private let interactive: LaneGate
    private let bulk: LaneGate
    private let workers: [Lane: LaneWorker]
    private let settler: Settler
    private let answers: AnswerBuffer
    private let heldRoutes: HeldRouteReader
    private let notifier: RouteNotifier
    private let leaseKeeper: LeaseKeeper
    private let upkeep: StoreUpkeep
    private let stopping = AutoResetEvent()
    /// Stays true, unlike the event, which is seen once.
    private let isStopping = Atomic(false)

    /// How long the sender may take to end what is left, and the settler to record these outcomes.
    private static let endLimit: Duration = .seconds(2)

    /// Prepares a runner; nothing starts before ``run()``.
    ///
    /// - Parameters:
    ///   - name: names its workers for operators: host and process.
    ///   - admission: what waits, of which the runner keeps the gauge; the same object as the acceptor's.
    ///   - nodes: how many gateways share the store.
    ///   - wallTime: does not jump back while the runner lives (``SteadyTime``); the same as the acceptor's.
    ///   - metrics: where the figures go.
    ///   - random: numbers in `0 ..< 1`, for the spread of retries.
    ///   - tracer: records the steps of traced messages; `nil`: nothing is traced.
    package init(
        name: String = "herald", store: any MessageStore & DeliveryStore & EventStore, sender: any PushSender,
        composer: any PushComposer, projects: ProjectDirectory, limits: DeliveryLimits, refusals: RefusalCatalog,
        admission: Admission, nodes: LiveNodes = LiveNodes(), clock: any Clock<Duration>,
        wallTime: @escaping WallTime, random: @escaping @Sendable () -> Double,
        metrics: any MetricsFactory = MetricsSystem.factory, tracer: StepTracer? = nil, logger: Logger
    ) {
        let interactive = LaneGate(.interactive, size: limits.interactiveLane, nodes: nodes)
        let bulk = LaneGate(.bulk, size: limits.bulkLane, nodes: nodes)
        let answers = AnswerBuffer()
        self.answers = answers
        let metrics = DeliveryMetrics(inFlightLimit: limits.inFlight, refusals: refusals, factory: metrics)
        self.store = store
        self.sender = sender
        self.limits = limits
        self.clock = clock
        self.wallTime = wallTime
        self.random = random
        self.logger = logger
        self.metrics = metrics
        lease = WorkerLease(on: clock)
        self.interactive = interactive
        self.bulk = bulk
        let (lease, waiters) = (lease, waiters)
        func worker(_ gate: LaneGate) -> LaneWorker {
            LaneWorker(
                gate: gate, lease: lease, store: store, sender: sender, composer: composer, projects: projects,
                answers: answers, waiters: waiters, metrics: metrics, tracer: tracer, clock: clock, wallTime: wallTime,
                random: random, logger: logger)
        }
        workers = [.interactive: worker(interactive), .bulk: worker(bulk)]
        let awaited = AwaitedResults(
            waiters: waiters, gates: [.interactive: interactive, .bulk: bulk], refusals: refusals)
        settler = Settler(
            answers: answers, gates: awaited.gates, lease: lease, waiters: waiters, awaited: awaited, store: store,
            metrics: metrics, tracer: tracer, clock: clock, random: random, logger: logger,
            gathering: limits.roomToGather < 4 * Settler.gatheringLimit ? .zero : limits.gathering)
        let gates = [interactive, bulk]
        let notifier = RouteNotifier(
            store: store, lease: lease, rest: limits.noticeRest, clock: clock, wallTime: wallTime, logger: logger)
        self.notifier = notifier
        heldRoutes = HeldRouteReader(of: sender, for: gates, notifying: notifier, wallTime: wallTime)
        let upkeep = StoreUpkeep(
            store: store, gates: gates, admission: admission, metrics: metrics, clock: clock, wallTime: wallTime,
            random: random, logger: logger)
        self.upkeep = upkeep
        leaseKeeper = LeaseKeeper(
            name: name, store: store, lease: lease, gates: gates, clock: clock, wallTime: wallTime, random: random,
            logger: logger, onEnrollment: { notifier.enrolled() }, onTakeover: { upkeep.cancelled.raise() })
    }

    /// Why deliveries of a project ended within the last hour that were not accepted, the most frequent reasons first. Only
    /// what this process has recorded.
    package func recentReasons(of project: ProjectID) -> [ReasonCount] {
        metrics.recentReasons(of: project, at: wallTime())
    }

    /// How many deliveries ended how, by app, topic and label.
    package var endsByName: [NamedEnds] { metrics.endsByName }

    /// Whether pushes use half the room of a lane or more: what else is done then takes time from them.
    package var isSaturated: Bool { gates.contains { $0.read { $0.isHalfFull } } }

    /// How deliveries of a project ended within a span, step by step: what all processes told the store, and what this one has
    /// recorded since. What is told at this moment may be missing.
    package func traffic(
        of project: ProjectID, _ span: TrafficSpan
    ) async throws(StoreError) -> TrafficSeries {
        let now = wallTime()
        let written = try await store.traffic(of: project, span, steps: span.steps(endingAt: now))
        return TrafficSeries(
            span, endingAt: now, summing: written + metrics.unwrittenTraffic(of: project, span))
    }

    private var gates: [LaneGate] { [interactive, bulk] }

    private func gate(_ lane: Lane) -> LaneGate {
        switch lane {
        case .interactive: interactive
        case .bulk: bulk
        }
    }
}

// MARK: - Events and questions

extension DeliveryRunner {
    /// Tells the runner that a lane has new work. Cheap; from any thread.
    package func wake(_ lane: Lane) {
        gate(lane).wake()
    }

    /// A message was just accepted: its lane uses what was composed for the checks.
    func expect(_ message: Message, _ content: any MessageContent, _ pushes: [App: any ComposedPush]) {
        workers[message.lane]?.expect(message, content, pushes)
    }

    /// An operator paused, resumed or cancelled a message.
    func controlled(_ message: MessageID, _ control: MessageControl) {
        for gate in gates { gate.update { $0.drop(message) } }
        if control == .cancel { upkeep.cancelled.raise() }
    }

    /// See ``MessageController/expectedEnd(of:)``.
    func expectedEnd(of message: MessageID) -> Timestamp? {
        let now = wallTime()
        return bulk.read { $0.expectedEnd(of: message, at: now) }
    }

    /// Deliveries that the bulk lane claimed a second lately; `nil`: none.
    var recentRate: Double? {
        bulk.read { $0.rate }
    }

    /// Whether nothing is to be taken for a route in a lane.
    func isHeld(_ route: PushRoute, in lane: Lane) -> Bool {
        gate(lane).isHeld(route)
    }

    /// Waits for the end of a delivery whose caller has entered; see ``EndWaiters/end(of:atMost:on:)``.
    func end(of message: MessageID, atMost limit: Duration) async -> DeliveryEnd? {
        await waiters.end(of: message, atMost: limit, on: clock)
    }

    /// Another process that shares the store recorded something: tells callers the ends that it recorded. Those that wait
    /// since the call before are looked for.
    ///
    /// - Parameter read: how the only deliveries of messages ended, as the ledger has it; asked once, or not at all.
    /// - Returns: whether callers are left that were not looked for yet.
    package func lookForEnds(
        _ read: ([MessageID]) async throws(StoreError) -> [MessageID: RecordedEnd]
    ) async throws(StoreError) -> Bool {
        let (messages, hasOthers) = waiters.lookedFor()
        guard !messages.isEmpty else { return hasOthers }
        waiters.found(
            try await read(messages).mapValues { DeliveryEnd(outcome: $0.outcome, reason: $0.reason) })
        return hasOthers
    }

    /// Takes room in a lane; `nil`: there is none.
    func reserve(_ counts: [ProjectID: Int], in lane: Lane) -> Reservation? {
        gate(lane).reserve(counts, at: wallTime())
    }

    /// Takes room for one delivery in a lane, which may be full for a moment; just after the start nothing may be claimed yet.
    /// `nil`: there was none for a second.
    func room(for project: ProjectID, in lane: Lane) async -> Reservation? {
        for _ in 0..<50 {
            if let reservation = reserve([project: 1], in: lane) { return reservation }
            guard !Task.isCancelled else { return nil }
            await clock.pause(.milliseconds(20))
        }
        return reserve([project: 1], in: lane)
    }

    /// Gives room back.
    func release(_ reservation: Reservation) {
        gate(reservation.lane).vacate(reservation.counts)
    }

    /// A commit in whose name deliveries were to be claimed may have been done; see ``WorkerLease/giveUp(_:)``.
    func giveUp(_ worker: WorkerID) {
        lease.giveUp(worker)
        for gate in gates { gate.update { $0.lose(worker) } }
    }

    /// Sends a push past the lanes and waits for its answer; `nil`: none came in time.
    func answer(to push: Push, within limit: Duration) async -> PushReport? {
        await AwaitedPush(push: push, sender: sender, clock: clock, wallTime: wallTime).answer(within: limit)
    }

    /// Records the answer to a push that was sent before its delivery was claimed, in the room that was taken for it.
    func record(_ report: PushReport, of claim: ClaimedDelivery, reserved reservation: Reservation) {
        let delivery = OpenDelivery(unknown: claim, lane: reservation.lane)
        let result = delivery.settlement(
            of: report.outcome, at: wallTime(), upstreamID: report.upstreamID, random: random())
        var attempts = AttemptCounts()
        attempts.add(report.outcome, on: delivery.channel.platform)
        metrics.count(attempts)
        answers.append([Settlement(delivery: claim, result: result)], in: reservation.lane, by: reservation.worker)
    }

    /// Sends what was claimed, and gives back the room that it does not take.
    func deliver(_ claims: [DirectClaims], reserved reservation: Reservation) {
        gate(reservation.lane).deliver(claims, reserved: reservation)
    }
}

// MARK: - Running

extension DeliveryRunner {
    /// Takes over what an earlier run left, then works until graceful shutdown; in any case, shuts the sender down.
    package func run() async throws {
        await withGracefulShutdownHandler {
            guard await prepare() else { return await endSender() }
            await work()
        } onGracefulShutdown: {
            self.stop()
        }
    }

    /// Takes over and enrols, however long the store takes to allow it: a gateway that ended because its disk is full
    /// would be started again and again, and no operator could ask it why.
    ///
    /// - Returns: `false` when the gateway is stopped first.
    private func prepare() async -> Bool {
        var failures = 0
        while !isStopping.load(ordering: .acquiring), !Task.isCancelled {
            do throws(StoreError) {
                try await takeUp()
                return true
            } catch {
                failures += 1
                let delay = StoreBackoff.delay(failures: failures, random: random())
                logger.error(
                    "taking up deliveries of an earlier run failed",
                    metadata: ["error": "\(error)", "retry": "\(delay)"])
                await stopping.wait(atMost: delay, on: clock)
            }
        }
        return false
    }

    private func takeUp() async throws(StoreError) {
        try await store.clampTimes(to: wallTime())
        let left = try await store.takeOver(at: wallTime())
        if left > 0 {
            logger.notice("took up deliveries of an earlier run", metadata: ["count": "\(left)"])
        }
        // Before there is a worker: with it claims begin, with an accept too.
        heldRoutes.start()
        try await leaseKeeper.enroll()
    }

    /// No claims from now on; ``run()`` returns when what is in flight is settled. A graceful shutdown of the runner does
    /// the same.
    package func stop() {
        isStopping.store(true, ordering: .releasing)
        waiters.stop()
        for gate in gates { gate.update { $0.stop() } }
        stopping.raise()
    }

    private func work() async {
        await withTaskGroup(of: Void.self) { group in
            for worker in workers.values {
                group.addTask { await worker.run() }
            }
            group.addTask { await self.leaseKeeper.run() }
            group.addTask { await self.upkeep.run() }
            group.addTask { await self.notifier.run() }
            async let settled: Void = settler.run()
            await stopping.wait()
            for gate in gates { gate.update { $0.stop() } }
            // What is on the wire is waited for; what has no connection would be waited for in vain.
            sender.windDown()
            settler.stop()
            await atMost(limits.shutdown) { await self.drained() }
            await endSender()
            settler.finish()
            await settled
            group.cancelAll()
        }
        await endUpkeep()
        let left = gates.reduce(0) { $0 + $1.inFlight }
        if left > 0 {
            logger.warning("deliveries without an answer are left to the next run", metadata: ["count": "\(left)"])
        }
    }

    /// Ends what the sender has not answered, and its connections; the settler still runs and records the outcomes.
    ///
    /// All of it is waited for no longer than ``endLimit``, also when the runner itself was cancelled. Hence the tasks
    /// without a parent: a child that does not return would hold up the shutdown.
    private func endSender() async {
        let isEnded = AutoResetEvent()
        Task { [sender] in
            await sender.shutdown(within: .zero)
            isEnded.raise()
        }
        await Task {
            await self.atMost(Self.endLimit) {
                await isEnded.wait()
                await self.drained()
            }
        }.value
    }

    /// Tells the store what is left; a store that does not answer is waited for no longer than ``endLimit``. Without a parent
    /// for the reason that ``endSender()`` has.
    private func endUpkeep() async {
        let isEnded = AutoResetEvent()
        Task { [upkeep] in
            await upkeep.finish()
            isEnded.raise()
        }
        await Task {
            await self.atMost(Self.endLimit) { await isEnded.wait() }
        }.value
    }

    /// Waits until nothing is in flight.
    private func drained() async {
        for gate in gates where gate.inFlight > 0 { await gate.drained.wait() }
    }

    /// Runs `wait`, which ends when it is cancelled, for no longer than `limit`.
    private func atMost(_ limit: Duration, _ wait: @escaping @Sendable () async -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await wait() }
            // Cancelled when the wait is over, or the whole runner is to end at once.
            group.addTask { await self.clock.pause(limit) }
            await group.next()
            group.cancelAll()
        }
    }
}
