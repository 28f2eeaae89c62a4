import PushModel
import Store
import Testing

@testable import Delivery

/// Whom a lane claims for, and when: no clock, no store.
struct LaneScheduleTests {
    private let now = Sample.start
    private let worker = WorkerID(rawValue: 7)

    static func project(_ name: String, weight: Int = 1) -> Project {
        Project(id: ProjectID(rawValue: name)!, number: 1, apps: [Sample.app()], weight: weight)
    }

    static func route(_ project: String, _ environment: PushEnvironment = .production) -> PushRoute {
        PushRoute(project: ProjectID(rawValue: project)!, app: Sample.appID, channel: .apns(environment))
    }

    static func fanOut(
        _ project: String, message: Int64, shard: Int64 = 0, rate: Int? = nil, finishBy: Timestamp? = nil,
        remaining: Int = 1_000_000, route: PushRoute? = nil, cursor: Int64 = 0, isOwn: Bool = true
    ) -> OpenFanOut {
        OpenFanOut(
            id: .init(message: message, shard: shard), message: MessageID(rawValue: "m\(message)")!,
            project: ProjectID(rawValue: project)!, rate: rate, finishBy: finishBy, remaining: remaining,
            route: route, cursor: cursor, isOwn: isOwn)
    }

    private func schedule(
        inFlight: Int = 4000, page: Int = 100, leastRoom: Int = 100, claims: Int = 1,
        _ fanOuts: [OpenFanOut] = [], due: DueRoutes = DueRoutes(), projects: [Project] = [project("a")],
        held: [PushRoute: HeldRoute] = [:]
    ) -> LaneSchedule {
        var schedule = LaneSchedule(.init(inFlight: inFlight, claim: page, leastRoom: leastRoom, claims: claims))
        schedule.use(worker)
        schedule.hold(held, at: now)
        guard case .refresh = schedule.next(at: now) else {
            Issue.record("the first step is no refresh")
            return schedule
        }
        schedule.offered(fanOuts, due, projects: projects, limitPerProject: 16, at: now)
        return schedule
    }

    /// Claims once; `count`: what the claim brings, all of it by default.
    @discardableResult
    private func claim(_ schedule: inout LaneSchedule, at time: Timestamp? = nil, count: Int? = nil) -> ClaimOrder? {
        guard case .claim(let order) = schedule.next(at: time ?? now) else { return nil }
        schedule.finished(order, with: count ?? order.limit, isDone: false, at: time ?? now)
        return order
    }

    private func wakeUp(_ schedule: inout LaneSchedule, at time: Timestamp? = nil) -> Timestamp? {
        guard case .wait(let until) = schedule.next(at: time ?? now) else { return nil }
        return until
    }

    // MARK: Room

    @Test func withoutAWorkerNothingIsClaimed() {
        var schedule = LaneSchedule(.init(inFlight: 10, claim: 10, leastRoom: 1, claims: 1))
        #expect(wakeUp(&schedule) == nil)
        schedule.use(worker)
        guard case .refresh = schedule.next(at: now) else {
            Issue.record("no refresh")
            return
        }
        schedule.lose(worker)
        schedule.offered([Self.fanOut("a", message: 1)], DueRoutes(), projects: [], limitPerProject: 4, at: now)
        #expect(claim(&schedule) == nil)
    }

    @Test func aLaneWaitsForEnoughRoom() {
        var schedule = schedule(inFlight: 200, [Self.fanOut("a", message: 1)])
        #expect(claim(&schedule)?.limit == 100)
        #expect(claim(&schedule)?.limit == 100)
        #expect(claim(&schedule) == nil)
        // A quarter of the share is enough.
        schedule.settled(49, of: ProjectID(rawValue: "a")!)
        #expect(claim(&schedule) == nil)
        schedule.settled(1, of: ProjectID(rawValue: "a")!)
        #expect(claim(&schedule)?.limit == 50)
    }

    @Test func aPageThatWasGivenBackMayOverfillTheLane() {
        var schedule = schedule(inFlight: 100, [Self.fanOut("a", message: 1)])
        claim(&schedule, count: 130)
        #expect(schedule.inFlight == 130)
        #expect(claim(&schedule) == nil)
        schedule.settled(130, of: ProjectID(rawValue: "a")!)
        #expect(claim(&schedule)?.limit == 100)
    }

    @Test func nothingWaitsForATimeThatTheClockWentBackFrom() throws {
        var schedule = schedule(held: [Self.route("a"): .init(retryAfter: .zero, limit: 1)])
        let wrong = now + .seconds(30 * 86_400)
        schedule.hold([Self.route("a"): .init(retryAfter: .seconds(300), limit: 5)], at: wrong)
        guard case .refresh = schedule.next(at: wrong) else {
            Issue.record("no refresh")
            return
        }
        schedule.offered(
            [], DueRoutes(routes: [Self.route("a")]), projects: [Self.project("a")], limitPerProject: 16, at: wrong)
        #expect(claim(&schedule, at: wrong) == nil)
        guard case .refresh = schedule.next(at: now) else {
            Issue.record("the offers of another month are taken for new")
            return
        }
        schedule.offered(
            [], DueRoutes(routes: [Self.route("a")]), projects: [Self.project("a")], limitPerProject: 16, at: now)
        #expect(claim(&schedule)?.limit == 5, "the route is tried")
    }

    @Test func aRunningClaimKeepsAStoppedLaneFromLookingEmpty() {
        var schedule = schedule([Self.fanOut("a", message: 1)])
        guard case .claim(let order) = schedule.next(at: now) else {
            Issue.record("no claim")
            return
        }
        schedule.stop()
        #expect(schedule.inFlight == 100)
        schedule.finished(order, with: 3, isDone: true, at: now)
        #expect(schedule.inFlight == 3)
        guard case .stop = schedule.next(at: now) else {
            Issue.record("not stopped")
            return
        }
    }

    @Test func aFailedClaimGivesItsRoomBackAndComesLater() {
        var schedule = schedule([Self.fanOut("a", message: 1)])
        guard case .claim(let order) = schedule.next(at: now) else {
            Issue.record("no claim")
            return
        }
        schedule.failed(order, pausedUntil: now + .seconds(1))
        #expect(schedule.inFlight == 0)
        schedule.wake()
        #expect(wakeUp(&schedule) == now + .seconds(1))
        guard case .refresh = schedule.next(at: now + .seconds(1)) else {
            Issue.record("no refresh")
            return
        }
    }

    @Test func aLaneThatCanNotSettleClaimsNothing() {
        var schedule = schedule([Self.fanOut("a", message: 1)])
        schedule.hold(true)
        #expect(claim(&schedule) == nil)
        schedule.hold(false)
        #expect(claim(&schedule) != nil)
    }

    // MARK: Offers

    @Test func aWakeDuringARefreshIsNotLost() {
        var schedule = LaneSchedule(.init(inFlight: 10, claim: 10, leastRoom: 1, claims: 1))
        schedule.use(worker)
        _ = schedule.next(at: now)
        schedule.wake()
        schedule.offered([], DueRoutes(), projects: [], limitPerProject: 4, at: now)
        guard case .refresh = schedule.next(at: now) else {
            Issue.record("no refresh")
            return
        }
    }

    @Test func aClaimThatIsOlderThanTheOffersHasThemReadAgain() {
        var schedule = schedule([Self.fanOut("a", message: 1)])
        guard case .claim(let order) = schedule.next(at: now) else {
            Issue.record("no claim")
            return
        }
        schedule.wake()
        _ = schedule.next(at: now)
        // Reopened while the claim that found it at its end was under way.
        schedule.offered(
            [Self.fanOut("a", message: 1)], DueRoutes(), projects: [Self.project("a")], limitPerProject: 16, at: now)
        schedule.finished(order, with: 0, isDone: true, at: now)
        guard case .refresh = schedule.next(at: now) else {
            Issue.record("no refresh")
            return
        }
    }

    @Test func aShardOfAnotherNodeIsClaimedWhenItStandsStill() {
        var schedule = schedule([Self.fanOut("a", message: 1, isOwn: false)])
        func offer(_ cursor: Int64, at time: Timestamp) {
            guard case .refresh = schedule.next(at: time) else {
                Issue.record("no refresh at \(time)")
                return
            }
            schedule.offered(
                [Self.fanOut("a", message: 1, cursor: cursor, isOwn: false)], DueRoutes(),
                projects: [Self.project("a")], limitPerProject: 16, at: time)
        }
        #expect(claim(&schedule) == nil)
        #expect(wakeUp(&schedule) == now + .seconds(1))
        // It moved: its node is at work.
        offer(5, at: now + .seconds(1))
        #expect(claim(&schedule, at: now + .seconds(1)) == nil)
        #expect(wakeUp(&schedule, at: now + .seconds(1)) == now + .seconds(2))
        offer(5, at: now + .seconds(2))
        #expect(claim(&schedule, at: now + .seconds(2)) != nil)
        // It moves by this node's claims.
        schedule.wake()
        offer(105, at: now + .milliseconds(2100))
        // Until its node is faster.
        guard case .claim(let order) = schedule.next(at: now + .milliseconds(2100)) else {
            Issue.record("no claim")
            return
        }
        schedule.finished(order, with: 0, isDone: false, isOvertaken: true, at: now + .milliseconds(2200))
        #expect(claim(&schedule, at: now + .milliseconds(2200)) == nil)
        #expect(wakeUp(&schedule, at: now + .milliseconds(2200)) == now + .milliseconds(3200))
        offer(205, at: now + .milliseconds(3200))
        #expect(claim(&schedule, at: now + .milliseconds(3200)) == nil)
        offer(205, at: now + .milliseconds(4200))
        #expect(claim(&schedule, at: now + .milliseconds(4200)) != nil)
    }

    @Test func aShardOfAnotherNodeThatMovedBeforeTheClaimOfItCameBackMovedByThat() {
        let fanOut = Self.fanOut("a", message: 1, isOwn: false)
        var schedule = schedule([fanOut])
        func offer(_ cursor: Int64, at time: Timestamp) {
            schedule.wake()
            _ = schedule.next(at: time)
            schedule.offered(
                [Self.fanOut("a", message: 1, cursor: cursor, isOwn: false)], DueRoutes(),
                projects: [Self.project("a")], limitPerProject: 16, at: time)
        }
        let time = now + .seconds(1)
        offer(0, at: time)
        guard case .claim(let order) = schedule.next(at: time) else {
            Issue.record("no claim")
            return
        }
        offer(100, at: time)
        schedule.finished(order, with: order.limit, isDone: false, at: time)
        #expect(claim(&schedule, at: time) != nil)
    }

    @Test func ownShardsAreClaimedOnWhenAnotherNodeWasFaster() {
        var schedule = schedule([Self.fanOut("a", message: 1)])
        guard case .claim(let order) = schedule.next(at: now) else {
            Issue.record("no claim")
            return
        }
        schedule.finished(order, with: 0, isDone: false, isOvertaken: true, at: now)
        #expect(claim(&schedule) != nil)
    }

    @Test func theSumsOverProjectsFollowTheirWork() {
        let projects = [Self.project("a", weight: 2), Self.project("b", weight: 3), Self.project("c", weight: 5)]
        var schedule = schedule(
            [Self.fanOut("a", message: 1)], due: DueRoutes(routes: [Self.route("b")]), projects: projects)
        #expect(schedule.share.weights == 5 && schedule.share.working == Set(projects[0...1].map(\.id)))
        #expect(schedule.reserve([projects[2].id: 1], at: now) == worker)
        #expect(schedule.share.weights == 10 && schedule.share.working.count == 2)
        schedule.settled(1, of: projects[2].id)
        claim(&schedule)
        // What b got is less than the limit: it has nothing more to claim, but something in flight.
        claim(&schedule, count: 1)
        #expect(schedule.share.weights == 5 && schedule.share.working == [projects[0].id])
        schedule.settled(1, of: projects[1].id)
        #expect(schedule.share.weights == 2)
        schedule.drop(Self.fanOut("a", message: 1).message)
        #expect(schedule.share.weights == 2 && schedule.share.working.isEmpty)
        schedule.settled(100, of: projects[0].id)
        #expect(schedule.share.weights == 0)
    }

    @Test func offersAreNotReadBeforeEachClaim() {
        var schedule = schedule([Self.fanOut("a", message: 1)])
        for _ in 0..<40 { #expect(claim(&schedule) != nil) }
    }

    @Test func theEarliestRetryWakesTheLane() {
        var schedule = schedule(due: DueRoutes(routes: [], next: now + .seconds(5)))
        schedule.expect(now + .seconds(7))
        #expect(wakeUp(&schedule) == now + .seconds(5))
        schedule.expect(now + .seconds(3))
        #expect(wakeUp(&schedule) == now + .seconds(3))
        guard case .refresh = schedule.next(at: now + .seconds(3)) else {
            Issue.record("no refresh")
            return
        }
    }

    @Test func anIdleLaneLooksAgainAfterAMinute() {
        var schedule = schedule()
        #expect(wakeUp(&schedule) == now + .seconds(60))
    }

    @Test func aDrainedRouteIsNotAskedAgain() {
        var schedule = schedule(due: DueRoutes(routes: [Self.route("a")]))
        #expect(claim(&schedule)?.limit == 100)
        #expect(claim(&schedule, count: 40)?.limit == 100)
        #expect(claim(&schedule) == nil)
        #expect(schedule.inFlight == 140)
    }

    // MARK: Shares

    private func shares(_ schedule: inout LaneSchedule, claims: Int) -> [ProjectID: Int] {
        var had: [ProjectID: Int] = [:]
        for _ in 0..<claims {
            guard let order = claim(&schedule) else { break }
            had[order.project, default: 0] += order.limit
            schedule.settled(order.limit, of: order.project)
        }
        return had
    }

    @Test func projectsShareByWeight() {
        let projects = [Self.project("a"), Self.project("b", weight: 3)]
        var schedule = schedule(
            [Self.fanOut("a", message: 1), Self.fanOut("b", message: 2)], projects: projects)
        let had = shares(&schedule, claims: 400)
        #expect(had[projects[0].id] == 10_000)
        #expect(had[projects[1].id] == 30_000)
    }

    @Test func whoeverComesLaterHasItsShareFromThenOn() {
        let projects = [Self.project("a"), Self.project("b")]
        var schedule = schedule([Self.fanOut("a", message: 1)], projects: projects)
        _ = shares(&schedule, claims: 1000)
        schedule.wake()
        _ = schedule.next(at: now)
        schedule.offered(
            [Self.fanOut("a", message: 1), Self.fanOut("b", message: 2)], DueRoutes(), projects: projects,
            limitPerProject: 16, at: now)
        let had = shares(&schedule, claims: 100)
        #expect(had[projects[0].id] == 5000)
        #expect(had[projects[1].id] == 5000)
    }

    @Test func aProjectWhoseUpstreamIsStuckLeavesRoomForOthers() {
        let projects = [Self.project("a"), Self.project("b")]
        var schedule = schedule([Self.fanOut("a", message: 1)], projects: projects)
        while claim(&schedule) != nil {}
        #expect(schedule.inFlight == 3000)
        schedule.wake()
        _ = schedule.next(at: now)
        schedule.offered(
            [Self.fanOut("a", message: 1), Self.fanOut("b", message: 2)], DueRoutes(), projects: projects,
            limitPerProject: 16, at: now)
        // Nothing of a is ever answered: b goes on all the same.
        let had = shares(&schedule, claims: 1000)
        #expect(had == [projects[1].id: 100_000])
    }

    @Test func aSingleProjectHasTheWholeLane() {
        var schedule = schedule([Self.fanOut("a", message: 1)])
        while claim(&schedule) != nil {}
        #expect(schedule.inFlight == 4000)
    }

    @Test func broadcastsOfAProjectGoRoundAndRetriesTakeTurns() {
        var schedule = schedule(
            [Self.fanOut("a", message: 1), Self.fanOut("a", message: 2), Self.fanOut("a", message: 3)],
            due: DueRoutes(routes: [Self.route("a")]))
        let turns: [Int64] = (0..<8).map { _ in
            switch claim(&schedule)?.source {
            case .page(let fanOut)?: return fanOut.id.message
            case .due?, .awaited?: return 0
            case nil: return -1
            }
        }
        #expect(turns == [1, 0, 2, 0, 3, 0, 1, 0])
    }

    @Test func shardsOfABroadcastAreClaimedSideBySide() {
        var schedule = schedule(
            claims: 3, (0..<4).map { Self.fanOut("a", message: 1, shard: Int64($0)) })
        var shards: Set<OpenFanOut.ID> = []
        while case .claim(let order) = schedule.next(at: now) {
            if case .page(let fanOut) = order.source { shards.insert(fanOut.id) }
        }
        #expect(shards.count == 3)
    }

    // MARK: Pace

    @Test func aRateIsKeptToThePush() {
        var schedule = schedule([Self.fanOut("a", message: 1, rate: 50)])
        var time = now
        var claimed = 0
        while time < now + .seconds(20) {
            switch schedule.next(at: time) {
            case .claim(let order):
                claimed += order.limit
                schedule.finished(order, with: order.limit, isDone: false, at: time)
            case .wait(let until?):
                #expect(until > time)
                time = min(until, now + .seconds(20))
            case .wait(nil), .refresh, .stop:
                Issue.record("it waits for nothing")
                return
            }
        }
        // The first tenth of a second leaves at once.
        #expect((50 * 20 - 5...50 * 20 + 5).contains(claimed))
    }

    @Test func aPacedMessageHoldsUpNobody() {
        var schedule = schedule([Self.fanOut("a", message: 1, rate: 1), Self.fanOut("a", message: 2)])
        let messages = (0..<20).compactMap { _ in
            if case .page(let fanOut)? = claim(&schedule)?.source { fanOut.id.message } else { nil as Int64? }
        }
        #expect(messages.count == 20)
        #expect(messages.count { $0 == 1 } == 1)
    }

    @Test func aMessageIsSpreadUntilItsTimeAndThenHurries() {
        var pace = Pace(
            Self.fanOut("a", message: 1, finishBy: now + .seconds(100), remaining: 1000), page: 100, at: now)
        var claimed = 0
        var time = now
        while time < now + .seconds(50) {
            let room = pace.room(page: 100, at: time)
            if room > 0 {
                pace.claimed(room)
                claimed += room
            } else {
                time = pace.ready(page: 100, at: time)
            }
        }
        #expect((490...510).contains(claimed))
        #expect(pace.room(page: 100, at: now + .seconds(101)) == 100)
    }

    @Test func aBurstIsNoMoreThanASecondsWorth() {
        var pace = Pace(Self.fanOut("a", message: 1, rate: 20), page: 100, at: now)
        #expect(pace.room(page: 100, at: now) == 2)
        #expect(pace.room(page: 100, at: now + .seconds(3600)) == 20)
        var fast = Pace(Self.fanOut("a", message: 1, rate: 5000), page: 100, at: now)
        #expect(fast.room(page: 100, at: now + .seconds(3600)) == 100)
    }

    /// All gateways together keep the rate: each claims its share in a minute.
    @Test(arguments: [1, 2, 3, 5])
    func gatewaysShareAPace(nodes: Int) {
        var pace = Pace(Self.fanOut("a", message: 1, rate: 20), page: 100, nodes: nodes, at: now)
        var claimed = 0
        var time = now
        while time < now + .seconds(60) {
            let room = pace.room(page: 100, at: time)
            pace.claimed(room)
            claimed += room
            if room == 0 { time = pace.ready(page: 100, at: time) }
        }
        #expect((1200 / nodes...1200 / nodes + 20).contains(claimed))
        pace.refresh(Self.fanOut("a", message: 1, rate: 20), nodes: 1)
        #expect(pace.room(page: 100, at: time + .seconds(1)) == 20)
    }

    @Test func whatCameBeyondThePaceIsADebt() {
        var pace = Pace(Self.fanOut("a", message: 1, rate: 10), page: 100, at: now)
        pace.claimed(31)
        #expect(pace.room(page: 100, at: now + .seconds(3)) == 0)
        #expect(pace.ready(page: 100, at: now + .seconds(3)) == now + .milliseconds(3100))
    }

    @Test func theExpectedEndFollowsThePaceOrTheRate() {
        var schedule = schedule([
            Self.fanOut("a", message: 1, rate: 10, remaining: 600), Self.fanOut("a", message: 2, remaining: 10_000),
        ])
        #expect(
            schedule.expectedEnd(of: MessageID(rawValue: "m1")!, at: now) == now + .seconds(60))
        #expect(schedule.expectedEnd(of: MessageID(rawValue: "m2")!, at: now) == nil)
        var time = now
        for _ in 0..<20 {
            claim(&schedule, at: time)
            time = time + .milliseconds(100)
        }
        let end = schedule.expectedEnd(of: MessageID(rawValue: "m2")!, at: time)
        #expect(end.map { $0 > time && $0 < time + .seconds(60) } == true)
    }

    // MARK: Held routes

    @Test func nothingIsTakenForAHeldRoute() {
        var schedule = schedule(
            due: DueRoutes(routes: [Self.route("a"), Self.route("a", .sandbox)]),
            held: [Self.route("a"): HeldRoute(retryAfter: .seconds(10), limit: 2)])
        for _ in 0..<3 {
            guard case .due(let route)? = claim(&schedule)?.source else {
                Issue.record("no claim")
                return
            }
            #expect(route == Self.route("a", .sandbox))
        }
    }

    @Test func aHeldRouteIsTriedWithAFewWhenItsTimeComes() {
        var schedule = schedule(
            due: DueRoutes(routes: [Self.route("a")]),
            held: [Self.route("a"): HeldRoute(retryAfter: .seconds(10), limit: 2)])
        #expect(wakeUp(&schedule) == now + .seconds(10))
        let time = now + .seconds(10)
        #expect(claim(&schedule, at: time)?.limit == 2)
        // Not again before the sender says something, or a second later.
        #expect(wakeUp(&schedule, at: time) == time + .seconds(1))
        schedule.hold([:], at: time)
        _ = schedule.next(at: time)
        schedule.offered(
            [], DueRoutes(routes: [Self.route("a")]), projects: [Self.project("a")], limitPerProject: 4, at: time)
        #expect(claim(&schedule, at: time)?.limit == 100)
    }

    @Test func aTrialThatAnotherNodeOvertookIsMadeAgain() {
        func tried(saying new: [PushRoute: HeldRoute]? = nil, isOvertaken: Bool) -> LaneSchedule.Action {
            let held = [Self.route("a"): HeldRoute(retryAfter: .zero, limit: 2)]
            let fanOut = Self.fanOut("a", message: 1, route: Self.route("a"))
            var schedule = schedule([fanOut], held: held)
            guard case .claim(let order) = schedule.next(at: now) else { return .stop }
            if let new {
                schedule.hold(new, at: now)
                _ = schedule.next(at: now)
                schedule.offered(
                    [fanOut], DueRoutes(), projects: [Self.project("a")], limitPerProject: 16, at: now)
            }
            schedule.finished(order, with: 0, isDone: false, isOvertaken: isOvertaken, at: now)
            if case .claim = schedule.next(at: now) { Issue.record("tried again at once") }
            return schedule.next(at: now + .milliseconds(250))
        }
        guard case .claim(let order) = tried(isOvertaken: true) else {
            Issue.record("no second trial")
            return
        }
        #expect(order.limit == 2)
        if case .claim = tried(isOvertaken: false) { Issue.record("tried twice") }
        // What the sender said meanwhile counts.
        if case .claim = tried(
            saying: [Self.route("a"): HeldRoute(retryAfter: .seconds(5), limit: 2)], isOvertaken: true)
        {
            Issue.record("tried before its time")
        }
    }

    @Test func aFanOutGoesOnWithoutItsHeldRoutes() {
        var schedule = schedule(
            [Self.fanOut("a", message: 1), Self.fanOut("a", message: 1, shard: 1, route: Self.route("a"))],
            held: [Self.route("a"): HeldRoute(retryAfter: .seconds(10), limit: 2)])
        for _ in 0..<4 {
            let order = claim(&schedule)
            #expect(order?.held == [Self.route("a")])
            guard case .page(let fanOut)? = order?.source else {
                Issue.record("no page")
                return
            }
            #expect(fanOut.route == nil)
        }
    }

    @Test func anAudienceOfWhichNobodyCanBeReachedIsNotReadButTried() {
        var schedule = schedule(
            [Self.fanOut("a", message: 1)],
            held: [
                Self.route("a"): HeldRoute(retryAfter: .seconds(10), limit: 3),
                Self.route("a", .sandbox): HeldRoute(retryAfter: .seconds(20), limit: 1),
            ])
        #expect(wakeUp(&schedule) == now + .seconds(10))
        let order = claim(&schedule, at: now + .seconds(10))
        #expect(order?.limit == 3)
        #expect(order?.held == [Self.route("a", .sandbox)])
    }

    // MARK: Claims at accept

    private let a = ProjectID(rawValue: "a")!

    @Test func roomIsTakenForClaimsAtAcceptAndComesBack() {
        var schedule = schedule(inFlight: 10, leastRoom: 1)
        #expect(schedule.reserve([a: 4], at: now) == worker)
        #expect(schedule.inFlight == 4 && !schedule.isHalfFull)
        #expect(schedule.reserve([a: 1], at: now) == worker)
        #expect(schedule.isHalfFull)
        schedule.settled(5, of: a)
        #expect(schedule.inFlight == 0)
        schedule.stop()
        #expect(schedule.reserve([a: 1], at: now) == nil)
    }

    @Test func claimsAtAcceptLeaveRoomForPages() {
        var schedule = LaneSchedule(.init(inFlight: 10, claim: 5, leastRoom: 5, claims: 1, direct: 5))
        schedule.use(worker)
        #expect(schedule.reserve([a: 5], at: now) == worker)
        #expect(schedule.reserve([a: 1], at: now) == nil)
        _ = schedule.next(at: now)
        schedule.offered(
            [Self.fanOut("a", message: 1)], DueRoutes(), projects: [Self.project("a")], limitPerProject: 16, at: now)
        #expect(claim(&schedule)?.limit == 5)
    }

    @Test func whatFoundNoRoomComesBeforeWhatIsAcceptedLater() {
        var schedule = schedule(inFlight: 10, leastRoom: 1)
        #expect(schedule.reserve([a: 10], at: now) == worker)
        #expect(schedule.reserve([a: 1], at: now) == nil)
        schedule.settled(10, of: a)
        #expect(schedule.reserve([a: 1], at: now) == nil)
        guard case .refresh = schedule.next(at: now) else {
            Issue.record("no refresh")
            return
        }
        schedule.offered(
            [], DueRoutes(routes: [Self.route("a")]), projects: [Self.project("a")], limitPerProject: 4, at: now)
        #expect(schedule.reserve([a: 1], at: now) == nil)
        claim(&schedule, count: 1)
        #expect(schedule.reserve([a: 1], at: now) == worker)
    }

    @Test func whatWaitsForAHeldRouteKeepsNobodyWaiting() {
        var schedule = schedule(
            inFlight: 10, leastRoom: 1, due: DueRoutes(routes: [Self.route("a")]),
            held: [Self.route("a"): HeldRoute(retryAfter: .seconds(60), limit: 1)])
        #expect(schedule.reserve([a: 11], at: now) == nil)
        #expect(schedule.reserve([a: 1], at: now) == nil)
        _ = schedule.next(at: now)
        schedule.offered(
            [], DueRoutes(routes: [Self.route("a")]), projects: [Self.project("a")], limitPerProject: 4, at: now)
        #expect(schedule.reserve([a: 1], at: now) == worker)
    }

    @Test func aFencedWorkerClaimsNothingAtAccept() {
        var schedule = schedule(inFlight: 10)
        schedule.lose(worker)
        #expect(schedule.reserve([a: 1], at: now) == nil)
        schedule.use(WorkerID(rawValue: 8))
        #expect(schedule.reserve([a: 1], at: now) == WorkerID(rawValue: 8))
    }

    @Test(.timeLimit(.minutes(5)))
    func aSignalIsNeverLost() async {
        let there = AutoResetEvent()
        let back = AutoResetEvent()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for _ in 0..<10_000 {
                    await there.wait()
                    back.raise()
                }
            }
            for _ in 0..<10_000 {
                there.raise()
                await back.wait()
            }
        }
    }
}
