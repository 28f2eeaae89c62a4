import APNS
import Delivery
import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import ServiceLifecycle
import Store
import TestSupport
import Testing

/// The runner over the real store.
@Suite(.timeLimit(.minutes(5)))
struct SQLiteDeliveryTests {
    @Test func aTopicAndASingleMessageBalanceInSQLite() async throws {
        let directory = try TestDirectory()
        let quiet = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let store = try SQLiteStore(directory: directory.path, role: .gateway, logger: quiet)
        let clock = TestClock()
        let wallTime = clock.wallTime(startingAt: Sample.start)
        var limits = DeliveryLimits()
        limits.pageSize = 100
        let admission = Admission(in: store, limits: limits)
        let sender = ScriptedSender { push, attempt in
            switch (push.deviceToken.bytes.last ?? 0) % 3 {
            case 0: .accepted
            case 1: .rejected(.deviceTokenNotForTopic)
            default: attempt == 1 ? .unknown(.connectionLost) : .accepted
            }
        }
        let runner = DeliveryRunner(
            store: store, sender: sender, composer: AppleComposer(), projects: ProjectDirectory([Sample.project]),
            limits: limits, refusals: .sample, admission: admission, clock: clock, wallTime: wallTime, random: { 0.5 },
            logger: quiet)
        let acceptor = MessageAcceptor(
            store: store, composer: AppleComposer(), admission: admission, runner: runner, wallTime: wallTime)
        let registrations = try await register(250, in: store)
        let group = ServiceGroup(services: [runner], logger: quiet)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            let topic = try #require(try await acceptor.accept(Sample.submission(to: .topic(Sample.topic))).message)
            let single = try #require(
                try await acceptor.accept(Sample.submission(to: .registration(registrations[0]))).message)
            for message in [topic, single] {
                let report = try await untilComplete(message, in: store, clock: clock)
                #expect(report.state == .complete)
                #expect(report.recipients == report.ended.values.reduce(0, +))
                #expect(report.inFlight == 0)
                #expect(report.recipients == (message.id == topic.id ? 250 : 1))
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
        #expect(store.load.total.messages == 0)
        try store.close()
    }

    @Test func listsConditionsPacesAndControlsWorkWithSQLite() async throws {
        let directory = try TestDirectory()
        let quiet = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let store = try SQLiteStore(directory: directory.path, role: .gateway, logger: quiet)
        let clock = TestClock()
        let wallTime = clock.wallTime(startingAt: Sample.start)
        var limits = DeliveryLimits()
        limits.pageSize = 20
        let admission = Admission(in: store, limits: limits)
        let sender = ScriptedSender { push, attempt in
            (push.deviceToken.bytes.last ?? 0) % 5 == 0 && attempt == 1 ? .notSent(.refused) : .accepted
        }
        let runner = DeliveryRunner(
            store: store, sender: sender, composer: AppleComposer(), projects: ProjectDirectory([Sample.project]),
            limits: limits, refusals: .sample, admission: admission, clock: clock, wallTime: wallTime, random: { 0.5 },
            logger: quiet)
        let acceptor = MessageAcceptor(
            store: store, composer: AppleComposer(), admission: admission, runner: runner, wallTime: wallTime)
        let controller = MessageController(store: store, runner: runner, wallTime: wallTime)
        let registrations = try await register(200, in: store)
        let addressees = registrations.map { Addressee(key: $0.key, app: $0.appKey) }
        let group = ServiceGroup(services: [runner], logger: quiet)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            var paced = try Sample.submission(to: .topic(Sample.topic))
            paced.options.rate = 1000
            var slow = try Sample.submission(to: .topic(Sample.topic))
            slow.options.rate = 1
            let condition = Condition(text: "'news' in topics", expression: .subscribed(Sample.topic))
            let results = await acceptor.accept([
                paced, slow, try Sample.submission(to: .condition(condition)),
                try Sample.submission(to: .list(addressees)),
                try Sample.submission(to: .list(Array(addressees.prefix(30)))),
                try Sample.submission(to: .user(try #require(UserID(rawValue: "alice")), [addressees[0]])),
            ])
            let messages = try results.map { try #require(try $0.get().message) }
            #expect(try await controller.control(messages[1].id, in: Sample.projectID, .pause, by: .gateway) == .paused)
            for (message, count) in zip(messages, [200, 0, 200, 200, 30, 1]) where count > 0 {
                let report = try await untilComplete(message, in: store, clock: clock)
                #expect(report.ended[.accepted] == count)
                #expect(report.recipients == count)
            }
            #expect(
                try await controller.control(messages[1].id, in: Sample.projectID, .cancel, by: .gateway) == .cancelled)
            while store.load.total.messages > 0 {
                clock.advance(by: .milliseconds(10))
                await Task.yield()
            }
            let report = try #require(try await store.report(messages[1].id, in: Sample.projectID))
            #expect(report.state == .cancelled && report.recipients == 200 && report.inFlight == 0)
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
        try store.close()
    }

    private func register(_ count: UInt8, in store: SQLiteStore) async throws -> [Registration] {
        var registrations: [Registration] = []
        for number in 1...count {
            let token = try #require(DeviceToken(bytes: [1, number]))
            let request = RegistrationRequest(
                project: Sample.projectID, app: Sample.appID, address: .apple(token, .production),
                appVersion: nil)
            registrations.append(try await store.register(request, at: Sample.start).registration)
        }
        _ = try await store.subscribe(registrations.map(\.key), to: Sample.topic, at: Sample.start)
        return registrations
    }

    /// Lets time pass until the message is complete.
    private func untilComplete(
        _ message: Message, in store: SQLiteStore, clock: TestClock
    ) async throws -> DeliveryReport {
        while true {
            let report = try #require(try await store.report(message.id, in: message.project))
            if report.state == .complete { return report }
            clock.advance(by: .milliseconds(10))
        }
    }
}
