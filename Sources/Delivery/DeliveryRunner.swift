package import Logging
package import PushModel
import ServiceLifecycle
package import Store
import Synchronization

/// The limits of queues and batches (`limits.*` of the configuration).
package struct DeliveryLimits: Sendable {
    /// Messages that may wait: accepted and not complete. Beyond it, and beyond the limits below, new ones are refused
    /// with 429.
    package var messagesWaiting = 100_000
    /// Bytes of the messages that may wait, their lists of recipients included.
    package var bytesWaiting = 1 << 30
    /// Messages of one project that may wait; `nil`: as many as of all.
    package var projectMessagesWaiting: Int?
    /// Bytes of one project's messages that may wait; `nil`: as many as of all.
    package var projectBytesWaiting: Int?
    /// Recipients claimed in one step of a fan-out.
    package var pageSize = 1000
    /// Pushes handed to the upstream and not yet settled, for each lane. Each takes about a kilobyte of memory.
    package var inFlight = 20_000
    /// How long a stopping gateway waits for answers. What has none by then is ended by the sender and recorded, within
    /// a few seconds more.
    package var shutdown: Duration = .seconds(20)
    /// How long results of the interactive lane may wait for others, to share a transaction with them; 0: not at all.
    /// Hardly anybody waits for them: a caller has its answer, unless it asked for the outcome, and a device its push.
    package var gathering: Duration = .zero

    /// The defaults.
    package init() {}

    /// The smallest of the limits that results hold places of until they are recorded.
    fileprivate var roomToGather: Int {
        min(inFlight, messagesWaiting, projectMessagesWaiting ?? .max)
    }
}

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
    private let name: String
    private let store: any MessageStore & DeliveryStore
    private let sender: any PushSender
    private let limits: DeliveryLimits
    private let clock: any Clock<Duration>
    private let wallTime: WallTime
    private let random: @Sendable () -> Double
    private let logger: Logger
    private let admission: Admission
    private let metrics: DeliveryMetrics
    private let lease = WorkerLease()
    /// Who waits for the end of a delivery.
    let waiters = EndWaiters()
    private let interactive: LaneGate
    private let bulk: LaneGate
    private let workers: [LaneWorker]
    private let settler: Settler
    /// Whether the held routes are being read, and whether they changed meanwhile.
    private enum HeldReading {
        case none
        case running
        case stale
    }
    private let heldReading = Mutex(HeldReading.none)
    private let stopping = Signal()
    /// Raised when there may be something to book as cancelled.
    private let cancelled = Signal()
    /// Stays true, unlike the signal, which is seen once.
    private let isStopping = Atomic(false)

    /// How often the gauges of the store are read.
    private static let gaugeInterval: Duration = .seconds(15)
    /// How long the sender may take to end what is left, and the settler to record these outcomes.
    private static let endLimit: Duration = .seconds(2)
    /// Deliveries that are booked as cancelled in one step.
    private static let bookingStep = 5000

    /// Prepares a runner; nothing starts before ``run()``.
    ///
    /// - Parameters:
    ///   - name: names its workers for operators: host and process.
    ///   - admission: what waits, of which the runner keeps the gauge; the same object as the acceptor's.
    ///   - wallTime: does not jump back while the runner lives (``SteadyTime``); the same as the acceptor's.
    ///   - random: numbers in `0 ..< 1`, for the spread of retries.
    package init(
        name: String = "herald", store: any MessageStore & DeliveryStore, sender: any PushSender,
        projects: ProjectDirectory, limits: DeliveryLimits, admission: Admission, clock: any Clock<Duration>,
        wallTime: @escaping WallTime, random: @escaping @Sendable () -> Double, logger: Logger
    ) {
        let interactive = LaneGate(.interactive, size: Self.interactiveSize(limits))
        let bulk = LaneGate(.bulk, size: Self.bulkSize(limits))
        let answers = AnswerBuffer()
        let metrics = DeliveryMetrics(inFlightLimit: limits.inFlight)
        self.name = name
        self.store = store
        self.sender = sender
        self.limits = limits
        self.clock = clock
        self.wallTime = wallTime
        self.random = random
        self.logger = logger
        self.admission = admission
        self.metrics = metrics
        self.interactive = interactive
        self.bulk = bulk
        let (lease, waiters) = (lease, waiters)
        workers = [interactive, bulk].map { gate in
            LaneWorker(
                gate: gate, lease: lease, store: store, sender: sender, projects: projects, answers: answers,
                waiters: waiters, metrics: metrics, clock: clock, wallTime: wallTime, random: random, logger: logger)
        }
        settler = Settler(
            answers: answers, gates: [.interactive: interactive, .bulk: bulk], lease: lease, waiters: waiters,
            store: store, admission: admission, metrics: metrics, clock: clock, random: random, logger: logger,
            gathering: limits.roomToGather < 4 * Settler.gatheringLimit ? .zero : limits.gathering)
    }

    /// Why deliveries of a project ended within the last hour that were not accepted, the most frequent reasons first. Only
    /// what this process has recorded.
    package func recentReasons(of project: ProjectID) -> [ReasonCount] {
        metrics.recentReasons(of: project, at: wallTime())
    }

    /// A single send goes out as soon as one place is free.
    private static func interactiveSize(_ limits: DeliveryLimits) -> LaneSchedule.Size {
        LaneSchedule.Size(inFlight: limits.inFlight, claim: limits.pageSize, leastRoom: 1, claims: 4)
    }

    /// A fan-out waits until a whole page finds room, or a quarter of a limit that is smaller than four pages.
    private static func bulkSize(_ limits: DeliveryLimits) -> LaneSchedule.Size {
        LaneSchedule.Size(
            inFlight: limits.inFlight, claim: limits.pageSize, leastRoom: min(limits.pageSize, limits.inFlight / 4),
            claims: 3)
    }

    private var gates: [LaneGate] { [interactive, bulk] }

    private func gate(_ lane: Lane) -> LaneGate {
        switch lane {
        case .interactive: interactive
        case .bulk: bulk
        }
    }
}

// MARK: - What others tell and ask

extension DeliveryRunner {
    /// Tells the runner that a lane has new work. Cheap; from any thread.
    package func wake(_ lane: Lane) {
        gate(lane).wake()
    }

    /// An operator paused, resumed or cancelled a message.
    func controlled(_ message: MessageID, _ control: MessageControl) {
        for gate in gates { gate.update { $0.drop(message) } }
        if control == .cancel { cancelled.raise() }
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

    /// Whether nothing is to be taken for a route.
    func isHeld(_ route: PushRoute) -> Bool {
        interactive.isHeld(route)
    }

    /// Waits for the end of a delivery whose caller has entered; see ``EndWaiters/end(of:atMost:on:)``.
    func end(of message: MessageID, atMost limit: Duration) async -> DeliveryEnd? {
        await waiters.end(of: message, atMost: limit, on: clock)
    }

    /// Takes room in the interactive lane; `nil`: there is none.
    func reserve(_ counts: [ProjectID: Int]) -> Reservation? {
        interactive.reserve(counts, at: wallTime())
    }

    /// Gives room back.
    func release(_ reservation: Reservation) {
        interactive.vacate(reservation.counts)
    }

    /// Sends what was claimed, and gives back the room that it does not take.
    func deliver(_ claims: [DirectClaims], reserved reservation: Reservation) {
        interactive.deliver(claims, reserved: reservation)
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
    /// would be started again and again, and nobody could ask it why.
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
        sender.onHeldRoutesChange { [weak self] in self?.readHeldRoutes() }
        readHeldRoutes()
        try await enroll()
        admission.record()
    }

    private func enroll() async throws(StoreError) {
        let worker = try await store.enroll(name, until: wallTime() + WorkerLease.length)
        lease.begin(worker)
        for gate in gates { gate.update { $0.use(worker) } }
    }

    /// One call at a time reads and applies, so that what was read first never comes last; a change meanwhile has it read
    /// again. Nobody waits: the sender may call from anywhere.
    private func readHeldRoutes() {
        let isFirst = heldReading.withLock { reading in
            defer { reading = reading == .none ? .running : .stale }
            return reading == .none
        }
        guard isFirst else { return }
        var isStale = true
        while isStale {
            let (routes, now) = (sender.heldRoutes, wallTime())
            for gate in gates { gate.hold(routes, at: now) }
            isStale = heldReading.withLock { reading in
                defer { reading = reading == .stale ? .running : .none }
                return reading == .stale
            }
        }
    }

    /// No claims from now on; ``run()`` returns when what is in flight is settled.
    private func stop() {
        isStopping.store(true, ordering: .releasing)
        waiters.stop()
        for gate in gates { gate.update { $0.stop() } }
        stopping.raise()
    }

    private func work() async {
        await withTaskGroup(of: Void.self) { group in
            for worker in workers {
                group.addTask { await worker.run() }
            }
            group.addTask { await self.observe() }
            group.addTask { await self.keepLease() }
            group.addTask { await self.bookCancelled() }
            async let settled: Void = settler.run()
            await stopping.wait()
            for gate in gates { gate.update { $0.stop() } }
            // What is on the wire is waited for; what has no connection would be waited for in vain.
            sender.windDown()
            await atMost(limits.shutdown) { await self.drained() }
            await endSender()
            settler.finish()
            await settled
            group.cancelAll()
        }
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
        let isEnded = Signal()
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

    /// Waits until nothing is in flight.
    private func drained() async {
        for gate in gates where gate.inFlight > 0 { await gate.drained.wait() }
    }

    /// Runs `wait`, which ends when it is cancelled, for no longer than `limit`.
    private func atMost(_ limit: Duration, _ wait: @escaping @Sendable () async -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await wait() }
            group.addTask {
                do {
                    try await self.clock.sleep(for: limit)
                } catch {
                    // Cancelled: the wait is over, or the whole runner is to end at once.
                }
            }
            await group.next()
            group.cancelAll()
        }
    }
}

// MARK: - Beside the lanes

extension DeliveryRunner {
    /// Renews the lease, takes over from workers that are gone, and enrols anew when the own one was taken over.
    private func keepLease() async {
        while !Task.isCancelled {
            await lease.changed.wait(atMost: WorkerLease.interval, on: clock)
            guard !Task.isCancelled else { return }
            do throws(StoreError) {
                // One time for both: were the clock set forwards between them, the own lease would have run out.
                let now = wallTime()
                if let worker = lease.worker {
                    try await renew(worker, at: now)
                }
                if lease.worker == nil { try await enroll() }
                try await takeOver(at: now)
            } catch {
                logger.warning("the worker's lease can't be renewed", metadata: ["error": "\(error)"])
                // Asked again soon if there is no worker, otherwise with the next renewal.
                if lease.worker == nil { await pause(StoreBackoff.delay(failures: 4, random: random())) }
                if lease.worker == nil { lease.changed.raise() }
            }
        }
    }

    private func renew(_ worker: WorkerID, at now: Timestamp) async throws(StoreError) {
        do throws(StoreError) {
            try await store.renew(worker, until: now + WorkerLease.length)
        } catch {
            guard error.code == .fenced else { throw error }
            if lease.lose(worker) {
                logger.warning("the worker's lease was taken over", metadata: ["worker": "\(worker.rawValue)"])
            }
            for gate in gates { gate.update { $0.lose(worker) } }
        }
    }

    private func takeOver(at now: Timestamp) async throws(StoreError) {
        let count = try await store.takeOver(at: now)
        guard count > 0 else { return }
        logger.notice("took over deliveries of a worker that is gone", metadata: ["count": "\(count)"])
        for gate in gates { gate.wake() }
        cancelled.raise()
    }

    /// Books what cancelled messages have left, at the start and after each cancellation.
    private func bookCancelled() async {
        var failures = 0
        while !Task.isCancelled {
            do throws(StoreError) {
                let count = try await store.bookCancelled(limit: Self.bookingStep, at: wallTime())
                failures = 0
                if count < Self.bookingStep { await cancelled.wait() }
            } catch {
                if Task.isCancelled { return }
                failures += 1
                logger.warning("cancelled deliveries can't be booked", metadata: ["error": "\(error)"])
                await pause(StoreBackoff.delay(failures: failures, random: random()))
            }
        }
    }

    /// Keeps the gauges that only the store knows.
    private func observe() async {
        while !Task.isCancelled {
            do throws(StoreError) {
                metrics.backlog(try await store.backlog())
                admission.record()
                try await store.clampTimes(to: wallTime())
                if try await store.endExpiredPauses(limit: Self.bookingStep, at: wallTime()) > 0 {
                    for gate in gates { gate.wake() }
                }
                try await bringForward()
            } catch {
                if Task.isCancelled { return }
                logger.warning("the store's gauges can't be read", metadata: ["error": "\(error)"])
            }
            await pause(Self.gaugeInterval)
        }
    }

    /// Makes due what waits longer than any back-off lasts: from an earlier run, or since a step of the clock was undone.
    private func bringForward() async throws(StoreError) {
        var total = 0
        while !Task.isCancelled {
            let now = wallTime()
            let count = try await store.bringForward(
                waitingBeyond: now + RetryBounds.longestWait, to: now, count: Self.bookingStep)
            total += count
            if count < Self.bookingStep { break }
        }
        guard total > 0 else { return }
        logger.warning(
            "deliveries that a wrong clock made wait for long are due now", metadata: ["count": "\(total)"])
        for gate in gates { gate.wake() }
    }

    private func pause(_ duration: Duration) async {
        do {
            try await clock.sleep(for: duration)
        } catch {
            // Cancelled: whoever waits looks for that.
        }
    }
}
