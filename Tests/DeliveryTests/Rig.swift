import APNS
import Delivery
import Logging
import Metrics
import PushModel
import ServiceLifecycle
import Store
import TestSupport
import Testing

/// A runner between a store and a scripted upstream, on a test clock.
struct Rig {
    let clock: TestClock
    let store: ObservedStore
    let sender: ScriptedSender
    let projects: ProjectDirectory
    let runner: DeliveryRunner
    let acceptor: MessageAcceptor
    let controller: MessageController
    let group: ServiceGroup
    let wallTime: WallTime
    /// What the runner runs on.
    let executor = CountingExecutor()

    init(
        limits: DeliveryLimits = DeliveryLimits(), project: Project = Sample.project, others: [Project] = [],
        store: ObservedStore = ObservedStore(), clock: TestClock = TestClock(), wallTime: WallTime? = nil,
        composer: any PushComposer = AppleComposer(),
        atShutdown: Outcome? = .unknown(.shutdown), atWindDown: Outcome? = nil, hangs: Bool = false,
        metrics: any MetricsFactory = NOOPMetricsHandler.instance,
        script: @escaping ScriptedSender.Script = { _, _ in .accepted }
    ) {
        let quiet = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        store.countLeases(by: clock.wallTime(startingAt: Sample.start))
        self.store = store
        self.clock = clock
        let admission = Admission(in: store, limits: limits, metrics: metrics)
        let wallTime = wallTime ?? clock.wallTime(startingAt: Sample.start)
        sender = ScriptedSender(atShutdown: atShutdown, atWindDown: atWindDown, hangs: hangs, script)
        self.wallTime = wallTime
        projects = ProjectDirectory([project] + others)
        runner = DeliveryRunner(
            store: store, sender: sender, composer: composer, projects: projects, limits: limits, refusals: .sample,
            admission: admission,
            clock: clock, wallTime: wallTime, random: { 0.5 }, metrics: metrics, logger: quiet)
        acceptor = MessageAcceptor(
            store: store, composer: composer, admission: admission, runner: runner, wallTime: wallTime)
        controller = MessageController(store: store, runner: runner, wallTime: wallTime)
        // A runner that was told to stop may end before the test's own shutdown begins.
        group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [.init(service: runner, successTerminationBehavior: .gracefullyShutdownGroup)], logger: quiet)
        )
    }

    /// Adds registrations 1 … `count`, subscribed to ``Sample/topic``.
    func subscribe(_ count: Int64) async throws {
        try await store.add((1...count).map { Sample.registration($0) }, subscribed: true)
    }

    /// Adds registrations.
    func add(_ numbers: ClosedRange<Int64>) async throws {
        try await store.add(numbers.map { Sample.registration($0) })
    }

    /// Waits until the lanes have a worker and know that there is nothing to do.
    func untilIdle() async {
        await store.until { ($0.calls[.dueRoutes] ?? 0) >= 2 }
        while await !store.untilQuiet() {}
    }

    /// Accepts a message to one registration, which is added.
    func accept(
        to number: Int64, _ json: String = #"{"notification":{"title":"Hello"}}"#
    ) async throws -> Message {
        if try await store.registration(number) == nil { try await add(number...number) }
        let registration = try #require(try await store.registration(number))
        return try await acceptMessage(Sample.submission(to: .registration(registration), json))
    }

    /// Accepts a message to the topic.
    func acceptTopic(_ json: String = #"{"notification":{"title":"Hello"}}"#) async throws -> Message {
        try await acceptMessage(Sample.submission(to: .topic(Sample.topic), json))
    }

    /// Accepts a message that was not sent before.
    func acceptMessage(_ submission: Submission) async throws -> Message {
        let accepted = try await acceptor.accept(submission)
        return try #require(accepted.message)
    }

    /// Accepts a message as another process with the same store does: the runner has to read it.
    func acceptElsewhere(_ submission: Submission) async throws -> Message {
        let acceptor = MessageAcceptor(
            store: store, composer: AppleComposer(), admission: Admission(in: store, limits: DeliveryLimits()),
            runner: nil, wallTime: wallTime)
        let accepted = try await acceptor.accept(submission)
        let message = try #require(accepted.message)
        runner.wake(message.lane)
        return message
    }

    /// Moves the clock from sleeper to sleeper until the store is in the state that `isReached` tells.
    ///
    /// A clock that runs ahead of the runner lets leases run out: before each step the runner waits for something. What it
    /// waits for may be the upstream, which answers from a thread of its own: while deliveries are claimed each step has
    /// two seconds of real time as well.
    func advance(within step: Duration = .seconds(15), until isReached: (ObservedStore) async -> Bool) async throws {
        while true {
            await clock.advanceToSleeper(within: step)
            let end = ContinuousClock.now + .seconds(2)
            repeat {
                repeat { await executor.untilIdle() } while await !store.untilQuiet()
                if await isReached(store) { return }
                guard await !store.claims.isEmpty else { break }
                // The step's real time: there is no signal for an upstream that does not answer.
                try await Task.sleep(for: .milliseconds(2))
            } while ContinuousClock.now < end
        }
    }

    /// Runs the runner while `body` runs, then shuts it down gracefully and checks the store's rules.
    func run(_ body: (Rig) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask(executorPreference: executor) { try await group.run() }
            try await body(self)
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
        #expect(await store.violations == [])
        #expect(try await store.base.check() == [])
    }
}
