import Delivery
import PushModel
import Store
import TestSupport
import Testing

/// Projects, paces, held routes and controls through the runner.
@Suite(.timeLimit(.minutes(5)))
struct SharingTests {
    private static let other = Project(
        id: ProjectID(rawValue: "other")!, number: 2, apps: [Sample.app()])

    private static func limits(inFlight: Int, pageSize: Int) -> DeliveryLimits {
        var limits = DeliveryLimits()
        limits.inFlight = inFlight
        limits.pageSize = pageSize
        return limits
    }

    /// A list message to `numbers`, which are added.
    private static func list(
        _ numbers: ClosedRange<Int64>, of project: Project, in rig: Rig, options: DeliveryOptions = DeliveryOptions()
    ) async throws -> Message {
        let keys = try await rig.store.add(numbers.map { Sample.registration($0, project: project.id) })
        var submission = try Sample.submission(
            to: .list(keys.map { .init(key: $0, app: AppKey(.apple, Sample.appID)) }),
            project: project)
        submission.options = options
        return try await rig.acceptMessage(submission)
    }

    @Test func aLargeBroadcastDoesNotStarveAnotherProjectsWhenNothingIsAnswered() async throws {
        let rig = Rig(
            limits: Self.limits(inFlight: 400, pageSize: 50), others: [Self.other],
            script: { push, _ in push.route.project == Sample.projectID ? nil : .accepted })
        try await rig.subscribe(3000)
        try await rig.run { rig in
            let large = try await rig.acceptTopic()
            await rig.sender.untilSent(300)
            let small = try await Self.list(10_001...10_500, of: Self.other, in: rig)
            await rig.store.until { $0.books[small.id]?.isComplete == true }
            #expect(rig.sender.pushes.count { $0.route.project == Sample.projectID } == 300)
            #expect(await rig.store.books[large.id]?.isComplete == false)
            rig.sender.release(.accepted, isStanding: true)
            await rig.store.until { $0.books[large.id]?.isComplete == true }
        }
    }

    @Test func singlesOfAnotherProjectPassWhenAnUpstreamIsStuck() async throws {
        let rig = Rig(
            limits: Self.limits(inFlight: 40, pageSize: 10), others: [Self.other],
            script: { push, _ in push.route.project == Sample.projectID ? nil : .accepted })
        try await rig.run { rig in
            for number in 1...60 { _ = try await rig.accept(to: Int64(number)) }
            await rig.sender.untilSent(30)
            try await rig.store.add(Sample.registration(1001, project: Self.other.id))
            let registration = try #require(try await rig.store.registration(1001, of: Self.other.id))
            for _ in 1...20 {
                let message = try await rig.acceptMessage(
                    Sample.submission(to: .registration(registration), project: Self.other))
                await rig.store.until { $0.books[message.id]?.isComplete == true }
            }
            #expect(rig.sender.pushes.count { $0.route.project == Sample.projectID } == 30)
            rig.sender.release(.accepted, isStanding: true)
            await rig.store.untilEnded(80)
        }
    }

    @Test func twoBroadcastsTakeTurnsByWeight() async throws {
        let heavy = Project(id: Self.other.id, number: 2, apps: [Sample.app()], weight: 3)
        let rig = Rig(limits: Self.limits(inFlight: 400, pageSize: 10), others: [heavy])
        try await rig.subscribe(2000)
        let light = try await rig.acceptTopic()
        let list = try await Self.list(10_001...12_000, of: heavy, in: rig)
        try await rig.run { rig in
            await rig.store.until { $0.books[light.id]?.isComplete == true && $0.books[list.id]?.isComplete == true }
            // While both had something left.
            let pages = await rig.store.pages
            let end = pages.lastIndex { $0.message == list.id } ?? 0
            let counts = pages[...end].reduce(into: [ProjectID: Int]()) { $0[$1.project, default: 0] += $1.count }
            #expect(counts[heavy.id] == 2000)
            #expect((400...950).contains(counts[Sample.projectID] ?? 0))
        }
    }

    @Test func aRateIsKept() async throws {
        let rig = Rig()
        try await rig.subscribe(300)
        try await rig.run { rig in
            var submission = try Sample.submission(to: .topic(Sample.topic))
            submission.options.rate = 100
            let message = try await rig.acceptMessage(submission)
            let began = rig.clock.now
            await rig.sender.untilSent(1)
            while await rig.store.books[message.id]?.isComplete != true {
                // What was sent is settled first: the clock must not run ahead of the store, until claims are given up.
                let sent = rig.sender.pushes.count
                await rig.store.until { ($0.books[message.id]?.ended.values.reduce(0, +) ?? 0) >= sent }
                rig.clock.advance(by: .milliseconds(10))
                for _ in 0..<20 { await Task.yield() }
                let passed = Double(began.duration(to: rig.clock.now).wholeMilliseconds) / 1000
                #expect(Double(rig.sender.pushes.count) <= 100 * passed + 11)
            }
            let passed = began.duration(to: rig.clock.now)
            #expect(passed >= .milliseconds(2800))
            // Not measured but woken: the schedule decides when, the test's clock moves from wake-up to wake-up.
            #expect(rig.sender.pushes.count == 300)
        }
    }

    @Test func finishBySpreadsAndThenHurries() async throws {
        let rig = Rig()
        try await rig.subscribe(200)
        try await rig.run { rig in
            var submission = try Sample.submission(to: .topic(Sample.topic))
            submission.options.finishBy = Sample.start + .seconds(20)
            let message = try await rig.acceptMessage(submission)
            await rig.sender.untilSent(1)
            #expect(rig.sender.pushes.count < 20)
            #expect(rig.controller.expectedEnd(of: message.id) == Sample.start + .seconds(20))
            rig.clock.advance(by: .seconds(21))
            await rig.store.until { $0.books[message.id]?.isComplete == true }
        }
    }

    @Test func aHeldRouteWaitsAndTheRestGoesOn() async throws {
        let rig = Rig()
        let held = PushRoute(project: Sample.projectID, app: Sample.appID, channel: .apns(.sandbox))
        let registrations = (1...100 as ClosedRange<Int64>).map { number in
            var registration = Sample.registration(number)
            if number % 2 == 0 { registration.environment = .sandbox }
            return registration
        }
        try await rig.store.add(registrations, subscribed: true)
        rig.sender.hold([held: HeldRoute(retryAfter: .seconds(3600), limit: 1)])
        try await rig.run { rig in
            let message = try await rig.acceptTopic()
            let single = try await rig.accept(to: 2)
            await rig.store.untilEnded(50)
            #expect(rig.sender.pushes.allSatisfy { $0.route.channel.environment == .production })
            #expect(await rig.store.books[single.id]?.isComplete == false)
            rig.sender.hold([:])
            await rig.store.until {
                $0.books[message.id]?.isComplete == true && $0.books[single.id]?.isComplete == true
            }
            #expect(rig.sender.pushes.count == 101)
        }
    }

    @Test func pagesForACrowdedUpstreamAreNotClaimedAndInteractivePushesGoOn() async throws {
        let rig = Rig()
        try await rig.subscribe(100)
        let route = PushRoute(
            project: Sample.projectID, app: Sample.appID, channel: Sample.registration(1).channel)
        rig.sender.hold([route: HeldRoute(retryAfter: .seconds(3600), limit: 8, isBulkOnly: true)])
        try await rig.run { rig in
            let message = try await rig.acceptTopic()
            let single = try await rig.accept(to: 2)
            await rig.store.until { $0.books[single.id]?.isComplete == true }
            #expect(rig.sender.pushes.map(\.lane) == [.interactive])
            #expect(await rig.store.books[message.id]?.isComplete == false)
            rig.sender.hold([:])
            await rig.store.until { $0.books[message.id]?.isComplete == true }
            #expect(rig.sender.pushes.count == 101)
        }
    }

    @Test func aPausedMessageRestsAndAResumedOneGoesOn() async throws {
        let rig = Rig(limits: Self.limits(inFlight: 20, pageSize: 10), script: { _, _ in nil })
        try await rig.subscribe(100)
        try await rig.run { rig in
            let message = try await rig.acceptTopic()
            await rig.sender.untilSent(20)
            #expect(try await rig.controller.control(message.id, in: Sample.projectID, .pause, by: .gateway) == .paused)
            rig.sender.release(.accepted, isStanding: true)
            await rig.store.untilEnded(20)
            let other = try await rig.accept(to: 1)
            await rig.store.until { $0.books[other.id]?.isComplete == true }
            #expect(rig.sender.pushes.count == 21)
            #expect(
                try await rig.controller.control(message.id, in: Sample.projectID, .resume, by: .gateway) == .active)
            await rig.store.until { $0.books[message.id]?.isComplete == true }
            #expect(rig.sender.pushes.count == 101)
        }
    }

    @Test func aCancelledMessageIsBookedAndWhatIsOutEndsByItsAnswer() async throws {
        let rig = Rig(limits: Self.limits(inFlight: 20, pageSize: 10), script: { _, _ in nil })
        try await rig.subscribe(100)
        try await rig.run { rig in
            let message = try await rig.acceptTopic()
            await rig.sender.untilSent(20)
            #expect(
                try await rig.controller.control(message.id, in: Sample.projectID, .cancel, by: .gateway) == .cancelled)
            await rig.store.until { $0.books[message.id]?.ended[.cancelled] == 80 }
            rig.sender.release(.unknown(.timedOut), isStanding: true)
            await rig.store.until { $0.books[message.id]?.isComplete == true }
            #expect(rig.sender.pushes.count == 20)
            #expect(await rig.store.books[message.id]?.ended == [.cancelled: 100])
            #expect(try await rig.store.base.report(message.id, in: Sample.projectID)?.recipients == 100)
        }
    }

    @Test func whatWasCancelledBeforeACrashIsBookedAtTheStart() async throws {
        let rig = Rig()
        try await rig.subscribe(50)
        let message = try await rig.acceptTopic()
        #expect(try await rig.controller.control(message.id, in: Sample.projectID, .cancel, by: .gateway) == .cancelled)
        try await rig.run { rig in
            await rig.store.until { $0.books[message.id]?.isComplete == true }
            #expect(rig.sender.pushes.isEmpty)
        }
    }
}
