import APNS
import Delivery
import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import ServiceLifecycle
import Store
import StoreConformance
import Synchronization
import TestSupport
import Testing

/// What a scripted APNs saw, over all processes. Every third device refuses the connection at first.
private final class Wire: Sendable {
    private let state = Mutex((devices: [PushID: Set<DeviceToken>](), accepted: [PushID: Int]()))

    /// Who was sent what.
    var devices: [PushID: Set<DeviceToken>] { state.withLock { $0.devices } }
    /// How often each push was accepted.
    var accepted: [PushID: Int] { state.withLock { $0.accepted } }

    func answer(_ push: Push, _ attempt: Int) -> Outcome {
        let isRefused = (push.deviceToken.bytes.last ?? 0) % 3 == 0 && attempt == 1
        state.withLock { state in
            state.devices[push.id, default: []].insert(push.deviceToken)
            if !isRefused { state.accepted[push.id, default: 0] += 1 }
        }
        return isRefused ? .notSent(.refused) : .accepted
    }
}

/// One process of a gateway: everything between a client's requests and the upstream, over SQLite.
private struct GatewayLife: Sendable {
    /// Goes ahead of the test's clock to end a worker.
    let leaseTime = LeaseTime()
    let sqlite: SQLiteStore
    let store: FaultyStore
    let acceptor: MessageAcceptor
    let controller: MessageController
    let group: ServiceGroup
    let running: Task<Void, any Error>

    init(
        in directory: TestDirectory, wire: Wire, clock: TestClock, faulty: (SQLiteStore) -> FaultyStore
    ) throws {
        let quiet = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        var limits = DeliveryLimits()
        limits.pageSize = 7
        let wallTime = clock.wallTime(startingAt: Sample.start)
        sqlite = try SQLiteStore(
            directory: directory.path, role: .gateway, leaseTime: { [leaseTime] in max(wallTime(), leaseTime.now) },
            logger: quiet)
        store = faulty(sqlite)
        let admission = Admission(in: store, limits: limits)
        let runner = DeliveryRunner(
            store: store, sender: ScriptedSender { wire.answer($0, $1) }, composer: AppleComposer(),
            projects: ProjectDirectory([Sample.project]), limits: limits, refusals: .sample, admission: admission,
            clock: clock,
            wallTime: wallTime, random: { 0.5 }, logger: quiet)
        acceptor = MessageAcceptor(
            store: store, composer: AppleComposer(), admission: admission, runner: runner, wallTime: wallTime)
        controller = MessageController(store: store, runner: runner, wallTime: wallTime)
        let group = ServiceGroup(services: [runner], logger: quiet)
        self.group = group
        running = Task { try await group.run() }
    }
}

/// A client's day with a gateway that has one fault: after an error the client asks again, after a crash another process
/// goes on and the client repeats what it has no answer to, with the key of the first time.
final class FaultyDay {
    /// Something that the client wants.
    private struct Request {
        var submission: Submission
        var devices: [Registration]
        /// Whether it is paused at once and then cancelled.
        var isToBeCancelled = false
        var isCancelled = false
        /// The answer.
        var id: MessageID?
    }

    private let fault: FaultyStore.Fault
    private let call: FaultyStore.Call
    private let number: Int
    private let directory: TestDirectory
    private let clock = TestClock()
    private let wire = Wire()
    private let registrations: [Registration]
    private var requests: [Request] = []
    private var gateway: GatewayLife
    /// Whether the fault ends workers whose pushes may have been on the wire.
    private let endsWorkers: Bool
    /// Whether workers were ended whose pushes may have been on the wire. On a busy machine the clock of a day may run
    /// ahead of a renewal; a worker that was ended is followed by another.
    private var mayRepeat: Bool { endsWorkers || gateway.store.calls.count { $0 == .enroll } > 1 }

    /// Prepares devices and starts the gateway.
    init(_ fault: FaultyStore.Fault, at call: FaultyStore.Call, number: Int) async throws {
        (self.fault, self.call, self.number) = (fault, call, number)
        let directory = try TestDirectory()
        self.directory = directory
        let quiet = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let store = try SQLiteStore(directory: directory.path, role: .gateway, logger: quiet)
        var registrations: [Registration] = []
        for number in 1...20 as ClosedRange<UInt8> {
            let request = RegistrationRequest(
                project: Sample.projectID, app: Sample.appID,
                address: .apple(DeviceToken(bytes: [1, number])!, .production), appVersion: nil)
            registrations.append(try await store.register(request, at: Sample.start).registration)
        }
        _ = try await store.subscribe(registrations.map(\.key), to: Sample.topic, at: Sample.start)
        try store.close()
        self.registrations = registrations
        endsWorkers = fault != .error || call == .enroll
        gateway = try GatewayLife(in: directory, wire: wire, clock: clock) {
            FaultyStore($0, fault, at: call, number: number)
        }
    }

    private var now: Timestamp { Sample.start + clock.now.offset }

    /// Lives until the fault has happened and everything is delivered.
    func run() async throws {
        let waiting = Self.outwaiting(gateway, clock)
        for round in 1...60 where gateway.store.fired == 0 { try await live(round) }
        #expect(gateway.store.fired == 1, "the fault did not happen")
        gateway.store.release()
        try await waiting.value
        if gateway.store.isCrashed { try await restart() }
        // Whatever it was, it is over: the gateway works as before.
        try await live(0)
        await gateway.group.triggerGracefulShutdown()
        try await ended()
    }

    private static func outwaiting(_ gateway: GatewayLife, _ clock: TestClock) -> Task<Void, any Error> {
        Task { try await outwait(gateway, clock) }
    }

    /// A call that is slow takes longer than the lease of its worker, and others take over meanwhile.
    private static func outwait(_ gateway: GatewayLife, _ clock: TestClock) async throws {
        await gateway.store.untilFault()
        guard !gateway.store.isCrashed else { return }
        for _ in 0..<4 {
            clock.advance(by: .seconds(10))
            _ = try await gateway.sqlite.backlog()
        }
        _ = try await gateway.sqlite.takeOver(at: Sample.start + clock.now.offset)
        gateway.store.release()
    }

    /// One round of everything that a client asks for; ends when it is delivered, or at the crash.
    private func live(_ round: Int) async throws {
        let first = requests.count
        let device = registrations[round % registrations.count]
        var paced = try Sample.submission(to: .topic(Sample.topic))
        paced.options.rate = 1
        let few = Array(registrations.prefix(5))
        requests += [
            Request(submission: paced, devices: registrations, isToBeCancelled: true),
            Request(submission: try Sample.submission(to: .registration(device)), devices: [device]),
            Request(submission: try Sample.submission(to: .topic(Sample.topic)), devices: registrations),
            Request(
                submission: try Sample.submission(to: .list(few.map { .init(key: $0.key, app: $0.appKey) })),
                devices: few),
        ]
        for place in first..<requests.count {
            requests[place].submission.idempotency = IdempotencyKey(
                key: "request \(place)", digest: Array(repeating: 7, count: 32))
        }
        _ = try await ask { try await self.gateway.acceptor.preflight(self.requests[first].submission) }
        try await send()
        let chore = Housekeeper.Chore.idempotencyKeys(of: gateway.store)
        _ = try await ask { try await chore.run(self.now) }
        // Another worker ends this one: it has to enrol anew.
        if call == .enroll, round > 0 {
            gateway.leaseTime.turn(to: max(now, gateway.leaseTime.now) + .seconds(60))
            _ = try await gateway.sqlite.takeOver(at: now)
        }
        try await deliver()
    }

    /// Asks for everything that there is no answer to.
    private func send() async throws {
        for place in requests.indices {
            let request = requests[place]
            if request.id == nil {
                requests[place].id = try await ask {
                    // As the API does: a repeat is known before anything else is looked at.
                    let key = [request.submission.idempotency].compactMap(\.self)
                    let use = try await self.gateway.store.uses(of: key, in: Sample.projectID, at: self.now).first
                    if case .same(let id) = use { return id }
                    return try await self.gateway.acceptor.accept(request.submission).id
                }
            }
            guard let id = requests[place].id, request.isToBeCancelled, !request.isCancelled else { continue }
            for control in [MessageControl.pause, .cancel] {
                let state = try await ask {
                    try await self.gateway.controller.control(id, in: Sample.projectID, control, by: .gateway)
                }
                requests[place].isCancelled = state == .cancelled
            }
        }
    }

    /// Asks until there is an answer; `nil`: nothing answers any more.
    private func ask<Answer: Sendable>(_ body: () async throws -> Answer?) async throws -> Answer? {
        while true {
            do {
                return try await body()
            } catch SubmissionRefusal.store(let error) {
                guard error.code == .failed else { break }
            } catch let error as StoreError {
                guard error.code == .failed else { break }
            }
        }
        #expect(gateway.store.isCrashed)
        return nil
    }

    /// Lets time pass until everything is delivered and all that a runner does now and then was done once more.
    private func deliver() async throws {
        let end = now + .seconds(16)
        while !gateway.store.isCrashed, gateway.sqlite.load.total.messages > 0 || now < end {
            clock.advance(by: .milliseconds(250))
            // Gives the runner as long as the store needs for something.
            _ = try await gateway.sqlite.backlog()
        }
    }

    /// The process is gone; another opens the store, and the client turns to it.
    private func restart() async throws {
        gateway.running.cancel()
        try await ended()
        gateway = try GatewayLife(in: directory, wire: wire, clock: clock) { FaultyStore($0) }
        try await send()
        try await deliver()
    }

    /// Waits until the runner has returned, and closes its store.
    private func ended() async throws {
        let (gateway, clock) = (gateway, clock)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                defer { gateway.store.release() }
                do {
                    try await gateway.running.value
                } catch is CancellationError {
                    // As it was told to.
                }
            }
            tasks.addTask {
                // What a runner waits for at its end has a limit on the clock.
                while !Task.isCancelled {
                    clock.advance(by: .seconds(1))
                    _ = try await gateway.sqlite.backlog()
                }
            }
            try await tasks.next()
            tasks.cancelAll()
        }
        try gateway.sqlite.close()
    }

    /// Compares what was asked for, the ledger and what was on the wire.
    func check() async throws {
        let quiet = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let store = try SQLiteStore(directory: directory.path, role: .gateway, logger: quiet)
        #expect(try await store.check() == [])
        #expect(store.load == StoreLoad())
        #expect(try await store.backlog() == [.interactive: 0, .bulk: 0])
        let reports = try await store.reports(in: Sample.projectID, after: nil, limit: 1000)
        // Each request made one message, and nothing else did.
        #expect(Set(reports.elements.map(\.message.id)) == Set(requests.compactMap(\.id)))
        #expect(reports.elements.count == requests.count)
        let (devices, accepted) = (wire.devices, wire.accepted)
        var ids: Set<PushID> = []
        for request in requests {
            let id = try #require(request.id)
            let report = try #require(try await store.report(id, in: Sample.projectID))
            #expect(report.state == (request.isCancelled ? .cancelled : .complete))
            #expect(request.isCancelled == request.isToBeCancelled)
            #expect(report.recipients == request.devices.count && report.inFlight == 0)
            let rows = try await store.deliveries(of: id, in: Sample.projectID, outcome: nil, after: nil, limit: 1000)
            let byDevice = Dictionary(grouping: rows.elements, by: \.registration)
            #expect(rows.elements.count == request.devices.count)
            for device in request.devices {
                let push = PushID(message: id, registration: device.key)
                ids.insert(push)
                let row = try #require(byDevice[device.id]?.first)
                #expect(row.outcome == .accepted || request.isCancelled && row.outcome == .cancelled)
                // What the ledger says was on the wire, to that device and no other.
                if row.outcome == .accepted { #expect(accepted[push, default: 0] > 0) }
                #expect(devices[push, default: []].isSubset(of: [device.deviceToken]))
                // What was sent twice was on the wire when its worker ended, and the ledger tells.
                if accepted[push, default: 0] > 1 { #expect(mayRepeat && row.history.unknownAttempts > 0) }
            }
        }
        #expect(Set(devices.keys).isSubset(of: ids))
        try store.close()
    }
}
