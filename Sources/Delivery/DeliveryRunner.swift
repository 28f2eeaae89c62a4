public import Logging
public import PushModel
public import ServiceLifecycle
public import Store

/// The limits of queues and batches (`limits.*` of the configuration).
public struct DeliveryLimits: Sendable {
    /// Messages that may be active; beyond it new ones are refused with 429.
    public var activeMessages = 100_000
    /// Recipients claimed in one step of a fan-out.
    public var pageSize = 1000
    /// Pushes handed to the upstream and not yet settled, for each lane.
    public var inFlight = 10_000
    /// How long a stopping gateway waits for answers. What has none by then is ended by the sender and recorded, within
    /// a few seconds more.
    public var shutdown: Duration = .seconds(20)

    /// The defaults.
    public init() {}
}

/// Moves accepted messages to the upstream and the answers into the ledger: claims, sends, settles, retries, expires.
///
/// Two workers, one for each lane, claim from the store and hand batches to the upstream; its answers gather in a
/// buffer, from which one settler records them. Runs until graceful shutdown, then stops claiming, waits for what is in
/// flight (at most ``DeliveryLimits/shutdown``) and settles it. After that it shuts the sender down, which ends what is
/// left as not sent or unknown, and settles this too: a retry keeps its history. What has no answer even then, or can't
/// be recorded, stays claimed in the store, and the next run rescues it as after a crash.
public final class DeliveryRunner: Service {
    private let store: any MessageStore & DeliveryStore
    private let sender: any PushSender
    private let limits: DeliveryLimits
    private let clock: any Clock<Duration>
    private let logger: Logger
    private let activeMessages: ActiveMessages
    private let metrics: DeliveryMetrics
    private let gates: [Lane: LaneGate]
    private let workers: [LaneWorker]
    private let settler: Settler
    private let stopping = Signal()

    /// How often the gauges of the store are read.
    private static let gaugeInterval: Duration = .seconds(15)
    /// How long the sender may take to end what is left, and the settler to record these outcomes.
    private static let endLimit: Duration = .seconds(2)

    /// Prepares a runner; nothing starts before ``run()``.
    ///
    /// - Parameters:
    ///   - activeMessages: the count that the acceptor holds against the limit; the same object for both.
    ///   - random: numbers in `0 ..< 1`, for the spread of retries.
    public init(
        store: any MessageStore & DeliveryStore, sender: any PushSender, projects: ProjectDirectory,
        limits: DeliveryLimits, activeMessages: ActiveMessages, clock: any Clock<Duration>,
        wallTime: @escaping WallTime, random: @escaping @Sendable () -> Double, logger: Logger
    ) {
        let gates = Self.gates(limits)
        let answers = AnswerBuffer()
        let metrics = DeliveryMetrics(inFlightLimit: limits.inFlight)
        self.store = store
        self.sender = sender
        self.limits = limits
        self.clock = clock
        self.logger = logger
        self.activeMessages = activeMessages
        self.metrics = metrics
        self.gates = gates
        workers = gates.values.map { gate in
            LaneWorker(
                gate: gate, store: store, sender: sender, projects: projects, answers: answers, metrics: metrics,
                clock: clock, wallTime: wallTime, random: random, logger: logger)
        }
        settler = Settler(
            answers: answers, gates: gates, store: store, activeMessages: activeMessages, metrics: metrics,
            clock: clock, random: random, logger: logger)
    }

    private static func gates(_ limits: DeliveryLimits) -> [Lane: LaneGate] {
        // A single send goes out as soon as one place is free; a fan-out waits until a whole page finds room, or a
        // quarter of a limit that is smaller than four pages.
        let interactive = LaneState(inFlightLimit: limits.inFlight, claimLimit: limits.pageSize, leastRoom: 1)
        let bulk = LaneState(
            inFlightLimit: limits.inFlight, claimLimit: limits.pageSize,
            leastRoom: min(limits.pageSize, limits.inFlight / 4))
        return [
            .interactive: LaneGate(.interactive, state: interactive),
            .bulk: LaneGate(.bulk, state: bulk),
        ]
    }

    /// Tells the runner that a lane has new work. Cheap; from any thread.
    public func wake(_ lane: Lane) {
        gates[lane]?.wake()
    }

    /// Rescues what an earlier run left, then works until graceful shutdown; in any case, shuts the sender down.
    public func run() async throws {
        do {
            try await prepare()
        } catch {
            await endSender()
            throw error
        }
        await withGracefulShutdownHandler {
            await work()
        } onGracefulShutdown: {
            self.stop()
        }
    }

    private func prepare() async throws(StoreError) {
        let rescued = try await store.rescue()
        if rescued > 0 {
            logger.notice("took up deliveries of an earlier run", metadata: ["count": "\(rescued)"])
        }
        activeMessages.record()
    }

    /// No claims from now on; ``run()`` returns when what is in flight is settled.
    private func stop() {
        for gate in gates.values { gate.stop() }
        stopping.raise()
    }

    private func work() async {
        await withTaskGroup(of: Void.self) { group in
            for worker in workers {
                group.addTask { await worker.run() }
            }
            group.addTask { await self.observe() }
            async let settled: Void = settler.run()
            await stopping.wait()
            for gate in gates.values { gate.stop() }
            await atMost(limits.shutdown) { await self.drained() }
            await endSender()
            settler.finish()
            await settled
            group.cancelAll()
        }
        let left = gates.values.reduce(0) { $0 + $1.inFlight }
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
        for gate in gates.values where gate.inFlight > 0 { await gate.drained.wait() }
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

    /// Keeps the gauges that only the store knows.
    private func observe() async {
        while !Task.isCancelled {
            do throws(StoreError) {
                metrics.backlog(try await store.backlog())
                activeMessages.record()
            } catch {
                if Task.isCancelled { return }
                logger.warning("the store's gauges can't be read", metadata: ["error": "\(error)"])
            }
            do {
                try await clock.sleep(for: Self.gaugeInterval)
            } catch {
                return
            }
        }
    }
}
