import APNS
import Delivery
import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import ServiceLifecycle
import Store
import StoreConformance
import TestSupport
import Testing

/// Two gateways' runners on one store.
@Suite(.timeLimit(.minutes(5)))
struct SharedStoreTests {
    /// One runner with its own handle of the store.
    private struct Member {
        let store: SQLiteStore
        let runner: DeliveryRunner
        let group: ServiceGroup

        init(_ store: SQLiteStore, _ sender: ScriptedSender, _ clock: TestClock, _ wallTime: @escaping WallTime) {
            let quiet = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
            var limits = DeliveryLimits()
            limits.pageSize = 10
            limits.inFlight = 40
            self.store = store
            runner = DeliveryRunner(
                store: store, sender: sender, composer: AppleComposer(), projects: ProjectDirectory([Sample.project]),
                limits: limits, refusals: .sample, admission: Admission(in: store, limits: limits), clock: clock,
                wallTime: wallTime,
                random: { 0.5 }, logger: quiet)
            group = ServiceGroup(services: [runner], logger: quiet)
        }
    }

    private static let count = 200

    /// The first takes part of a broadcast and has no answers; its clock stands still, so that it does not renew its
    /// lease. The second delivers the rest, and after the lease what the first has. The answers that come to the first
    /// then are too late.
    @Test func oneThatIsStuckIsTakenOverByTheOther() async throws {
        let directory = try TestDirectory()
        let quiet = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let (stuckClock, clock) = (TestClock(), TestClock())
        let wallTime = clock.wallTime(startingAt: Sample.start)
        let leaseTime = LeaseTime()
        let stuckStore = try SQLiteStore(
            directory: directory.path, role: .gateway, leaseTime: { leaseTime.now }, logger: quiet)
        let otherStore = try SQLiteStore(
            directory: directory.path, role: .command, leaseTime: { leaseTime.now }, logger: quiet)
        let stuckSender = ScriptedSender { _, _ in nil }
        let sender = ScriptedSender()
        let stuck = Member(stuckStore, stuckSender, stuckClock, wallTime)
        let other = Member(otherStore, sender, clock, wallTime)
        let devices = try await Self.register(in: stuckStore)
        let acceptor = MessageAcceptor(
            store: stuckStore, composer: AppleComposer(),
            admission: Admission(in: stuckStore, limits: DeliveryLimits()), runner: stuck.runner,
            wallTime: wallTime)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await stuck.group.run() }
            let message = try #require(
                try await acceptor.accept(Sample.submission(to: .topic(Sample.topic))).message)
            await stuckSender.untilSent(40)
            tasks.addTask { try await other.group.run() }
            // The two share the broadcast: what is left of it.
            await sender.untilSent(Self.count - 40)
            let taken = Set(stuckSender.pushes.map(\.id))
            #expect(taken.isDisjoint(with: sender.pushes.map(\.id)))
            #expect(taken.count == 40 && Set(sender.pushes.map(\.id)).count == Self.count - 40)
            // Both leases are over; the second is renewed before others are looked after.
            leaseTime.turn(to: Timestamp(milliseconds: 31_000))
            var report: DeliveryReport?
            while report?.state != .complete {
                // Until those have woken that look after others. From then on only timers of milliseconds: a clock that
                // runs ahead of the work would end the second's lease before its batches leave, again and again.
                clock.advance(by: clock.now.offset < .seconds(12) ? .milliseconds(500) : .milliseconds(1))
                report = try await otherStore.report(message.id, in: Sample.projectID)
            }
            #expect(clock.now.offset >= .seconds(10))
            // The answers to the first one come now, to a worker that is none any more.
            stuckSender.release(.rejected(.deviceTokenNotForTopic), isStanding: true)
            await other.group.triggerGracefulShutdown()
            await stuck.group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            try await Self.check(message, devices, taken, stuckSender.pushes + sender.pushes, otherStore)
        }
        try otherStore.close()
        try stuckStore.close()
    }

    /// Each recipient once in the ledger, as the second runner recorded it; what was sent twice is the same push.
    private static func check(
        _ message: Message, _ devices: [Registration], _ taken: Set<PushID>, _ pushes: [Push], _ store: SQLiteStore
    ) async throws {
        let report = try #require(try await store.report(message.id, in: Sample.projectID))
        #expect(report.recipients == count && report.ended[.accepted] == count && report.inFlight == 0)
        let rows = try await store.deliveries(
            of: message.id, in: Sample.projectID, outcome: nil, after: nil, limit: 1000
        ).elements
        #expect(Set(rows.map(\.registration)) == Set(devices.map(\.id)) && rows.count == count)
        let keys = Dictionary(uniqueKeysWithValues: devices.map { ($0.id, $0.key) })
        let sent = Dictionary(grouping: pushes, by: \.id)
        #expect(sent.count == count)
        for row in rows {
            let id = PushID(message: message.id, registration: try #require(keys[row.registration]))
            #expect(sent[id]?.count == (taken.contains(id) ? 2 : 1))
            #expect(row.history.unknownAttempts == (taken.contains(id) ? 1 : 0))
        }
        #expect(try await store.check() == [])
    }

    private static func register(in store: SQLiteStore) async throws -> [Registration] {
        var devices: [Registration] = []
        for number in 1...UInt8(count) {
            let request = RegistrationRequest(
                project: Sample.projectID, app: Sample.appID,
                address: .apple(DeviceToken(bytes: [1, number])!, .production), appVersion: nil)
            devices.append(try await store.register(request, at: Sample.start).registration)
        }
        _ = try await store.subscribe(devices.map(\.key), to: Sample.topic, at: Sample.start)
        return devices
    }
}
