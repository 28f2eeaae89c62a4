import PushModel
import Store
import TestSupport
import Testing

@testable import Delivery

/// Callers who wait for the end of a delivery.
@Suite(.timeLimit(.minutes(5)))
struct WaitTests {
    private static let route = PushRoute(project: Sample.projectID, app: Sample.appID, channel: .apns(.production))
    private static let quiet = #"{"apns":{"headers":{"apns-priority":"5"},"payload":{"aps":{"content-available":1}}}}"#

    /// Runs `body` when the lanes know that there is nothing to do.
    private func run(_ script: @escaping ScriptedSender.Script, _ body: (Rig) async throws -> Void) async throws {
        let rig = Rig(script: script)
        try await rig.store.add(Sample.registration(1))
        try await rig.run { rig in
            await rig.untilIdle()
            try await body(rig)
            #expect(rig.runner.waiters.isEmpty)
        }
    }

    private func send(
        _ rig: Rig, waiting limit: Duration = .seconds(5), _ json: String = #"{"notification":{"title":"Hello"}}"#
    ) async throws -> (accepted: AcceptedMessage, end: DeliveryEnd?) {
        try await rig.acceptor.accept(
            Sample.submission(to: .registration(Sample.registration(1)), json), waitingAtMost: limit)
    }

    /// Waits until the caller's own time runs, and ends it.
    private func endWait(_ rig: Rig, of limit: Duration = .seconds(5)) async {
        await rig.clock.sleepers(within: limit)
        rig.clock.advance(by: limit)
    }

    @Test(
        arguments: [
            (.accepted, DeliveryEnd(outcome: .accepted, reason: nil)),
            (.rejected(.payloadTooLarge), DeliveryEnd(outcome: .rejected, reason: "PayloadTooLarge")),
            (.rejected(.badDeviceToken), DeliveryEnd(outcome: .rejected, reason: "BadDeviceToken")),
            (
                .rejected(.unregistered(since: Sample.start + .seconds(1))),
                DeliveryEnd(outcome: .rejected, reason: "Unregistered")
            ),
        ] as [(Outcome, DeliveryEnd)])
    func theEndIsToldWhenItIsCommitted(outcome: Outcome, end: DeliveryEnd) async throws {
        try await run({ _, _ in outcome }) { rig in
            let answer = try await send(rig)
            #expect(answer.end == end)
            #expect(await rig.store.ledger.values.map { DeliveryEnd($0) } == [end])
        }
    }

    @Test func whoWaitsForAQuietMessageIsServedInTheInteractiveLane() async throws {
        try await run({ _, _ in .accepted }) { rig in
            let answer = try await send(rig, Self.quiet)
            #expect(answer.accepted.lane == .interactive)
            #expect(answer.end?.outcome == .accepted)
            let unawaited = try await rig.acceptor.accept(
                Sample.submission(to: .registration(Sample.registration(1)), Self.quiet))
            #expect(unawaited.lane == .bulk)
            await rig.store.untilEnded(2)
        }
    }

    @Test func aRetryIsWaitedForAsLongAsThereIsTime() async throws {
        try await run({ _, attempt in attempt == 1 ? .throttled(.serviceUnavailable, after: nil) : .accepted }) { rig in
            async let answer = send(rig, waiting: .seconds(30))
            await rig.store.until { !$0.retries.isEmpty }
            await rig.clock.advanceToSleeper(within: .seconds(4))
            let end = try await answer.end
            #expect(end?.outcome == .accepted)
        }
    }

    @Test func afterTheDeadlineTheDeliveryGoesOnAsIfNobodyHadWaited() async throws {
        try await run({ _, _ in nil }) { rig in
            async let answer = send(rig)
            await rig.sender.untilSent(1)
            await endWait(rig)
            let end = try await answer.end
            #expect(end == nil)
            #expect(rig.runner.waiters.isEmpty)
            rig.sender.release(.throttled(.forbidden, after: nil), isStanding: true)
            await rig.store.until { !$0.retries.isEmpty }
            #expect(await rig.store.ledger.isEmpty)
        }
    }

    @Test(arguments: [
        Outcome.throttled(.forbidden, after: nil), .throttled(.missingProviderToken, after: nil), .notSent(.noRoute),
    ])
    func credentialTroubleIsFinalForWhoWaits(outcome: Outcome) async throws {
        try await run({ _, _ in outcome }) { rig in
            let answer = try await send(rig)
            #expect(answer.end == DeliveryEnd(outcome: .rejected, reason: outcome.word))
            #expect(await rig.store.waiting.isEmpty)
            #expect(await rig.store.claimed.isEmpty)
            #expect(rig.sender.pushes.count == 1)
            // Of who does not wait the delivery stays open.
            _ = try await rig.accept(to: 1)
            await rig.store.until { $0.waiting.count == 1 }
        }
    }

    @Test func aRefusalThatAnotherConnectionMayCureIsTriedOnceMore() async throws {
        try await run({ _, attempt in attempt == 1 ? .throttled(.invalidProviderToken, after: nil) : .accepted }) {
            rig in
            async let answer = send(rig)
            await rig.store.until { !$0.retries.isEmpty }
            await rig.clock.advanceToSleeper(within: .milliseconds(100))
            let end = try await answer.end
            #expect(end?.outcome == .accepted)
        }
        try await run({ _, _ in .throttled(.invalidProviderToken, after: nil) }) { rig in
            async let answer = send(rig)
            await rig.store.until { !$0.retries.isEmpty }
            await rig.clock.advanceToSleeper(within: .milliseconds(100))
            let end = try await answer.end
            #expect(end == DeliveryEnd(outcome: .rejected, reason: "InvalidProviderToken"))
            #expect(await rig.store.ledger.values.map(\.history.attempts) == [2])
            #expect(await rig.store.waiting.isEmpty)
        }
    }

    @Test func aMessageForOneAttemptIsRefusedRatherThanExpired() async throws {
        let once = #"{"notification":{"title":"Hello"},"apns":{"headers":{"apns-expiration":"0"}}}"#
        try await run({ _, _ in .throttled(.forbidden, after: nil) }) { rig in
            let end = try await send(rig, once).end
            #expect(end == DeliveryEnd(outcome: .rejected, reason: "Forbidden"))
        }
        try await run({ _, _ in .throttled(.tooManyRequests, after: nil) }) { rig in
            let end = try await send(rig, once).end
            #expect(end == DeliveryEnd(outcome: .expired, reason: "TooManyRequests"))
        }
    }

    @Test func whoWaitsIsNotKeptFromARouteThatIsHeld() async throws {
        try await run({ _, _ in .throttled(.forbidden, after: nil) }) { rig in
            rig.sender.hold([Self.route: HeldRoute(retryAfter: .seconds(3600), limit: 1)])
            let end = try await send(rig).end
            #expect(end == DeliveryEnd(outcome: .rejected, reason: "Forbidden"))
            #expect(rig.sender.pushes.count == 1)
        }
    }

    @Test func whoIsRefusedWhileTheRouteIsHeldIsToldAtOnce() async throws {
        try await run({ _, _ in .throttled(.invalidProviderToken, after: nil) }) { rig in
            rig.sender.hold([Self.route: HeldRoute(retryAfter: .seconds(3600), limit: 1)])
            let end = try await send(rig).end
            #expect(end == DeliveryEnd(outcome: .rejected, reason: "InvalidProviderToken"))
            #expect(rig.sender.pushes.count == 1)
        }
    }

    @Test func aSecondTryIsMadeAlthoughTheRouteIsHeldMeanwhile() async throws {
        try await run({ _, _ in .throttled(.invalidProviderToken, after: nil) }) { rig in
            async let first = send(rig)
            async let second = send(rig)
            await rig.store.until { $0.retries.count == 2 }
            rig.sender.hold([Self.route: HeldRoute(retryAfter: .seconds(3600), limit: 1)])
            await rig.clock.advanceToSleeper(within: .milliseconds(100))
            let ends = try await [first.end, second.end]
            let refused = DeliveryEnd(outcome: .rejected, reason: "InvalidProviderToken")
            #expect(ends == [refused, refused])
            #expect(await rig.store.waiting.isEmpty)
            // No caller waits for this one: it is left to the end of the hold.
            let other = try await rig.accept(to: 1)
            #expect(await rig.store.books[other.id]?.isComplete == false)
            #expect(rig.sender.pushes.count == 4)
        }
    }

    /// Each of several retries is claimed when it is due, and what else waits for the route is left alone.
    @Test func eachAwaitedRetryOfAHeldRouteIsClaimedAndNothingElse() throws {
        let now = Sample.start
        var schedule = LaneSchedule(.init(inFlight: 100, claim: 50, leastRoom: 1, claims: 1))
        schedule.use(WorkerID(rawValue: 7))
        schedule.hold([Self.route: HeldRoute(retryAfter: .seconds(3600), limit: 1)], at: now)
        let retries = [3, 1, 2].map { second in
            AwaitedRetry(message: MessageID(rawValue: "m\(second)")!, due: now + .seconds(second))
        }
        for retry in retries { schedule.expectAwaited(retry, of: Self.route) }
        func claim(after second: Int) -> ClaimOrder? {
            let time = now + .seconds(second)
            var action = schedule.next(at: time)
            if case .refresh = action {
                schedule.offered(
                    [], DueRoutes(routes: [Self.route], next: nil), projects: [Sample.project], limitPerProject: 16,
                    at: time)
                action = schedule.next(at: time)
            }
            guard case .claim(let order) = action else { return nil }
            return order
        }
        func messages(_ order: ClaimOrder?) -> [String] {
            guard case .awaited(Self.route, let retries) = order?.source else { return [] }
            return retries.map(\.message.rawValue)
        }
        #expect(claim(after: 0) == nil)
        let first = try #require(claim(after: 1))
        #expect(messages(first) == ["m1"] && first.limit == 1)
        schedule.finished(first, with: 1, isDone: false, at: now)
        #expect(claim(after: 1) == nil)
        schedule.expect(now + .seconds(3))
        let others = try #require(claim(after: 3))
        #expect(messages(others) == ["m2", "m3"] && others.limit == 2)
        // A claim that failed is made again.
        schedule.failed(others, pausedUntil: nil)
        let again = try #require(claim(after: 3))
        #expect(messages(again) == ["m2", "m3"])
        schedule.finished(again, with: 2, isDone: false, at: now)
        #expect(claim(after: 3) == nil)
    }

    @Test func whoIsHeldBackWhileAProbeIsUnderWayIsNotRefused() {
        let delivery = SettlementTests.delivery()
        func end(isAttempt: Bool, isBeingProbed: Bool) -> Settlement.Result? {
            delivery.endForWaiter(
                .throttled(.forbidden, after: .seconds(5)), isAttempt: isAttempt, isHeld: true,
                isBeingProbed: isBeingProbed, at: SettlementTests.now)
        }
        #expect(end(isAttempt: false, isBeingProbed: true) == nil)
        #expect(end(isAttempt: false, isBeingProbed: false) != nil)
        #expect(end(isAttempt: true, isBeingProbed: false) != nil)
    }

    @Test func whoWaitsForAProbeLooksAgainSoonAlthoughTheRouteIsHeld() async throws {
        try await run({ _, attempt in attempt == 1 ? nil : .accepted }) { rig in
            async let answer = send(rig, waiting: .seconds(30))
            await rig.sender.untilSent(1)
            rig.sender.hold([Self.route: HeldRoute(retryAfter: .seconds(3600), limit: 1)])
            rig.sender.holdBack(.throttled(.forbidden, after: .seconds(5)))
            await rig.store.until { !$0.retries.isEmpty }
            await rig.clock.advanceToSleeper(within: .seconds(1))
            let end = try await answer.end
            #expect(end?.outcome == .accepted)
            #expect(rig.sender.pushes.map(\.isAwaited) == [true, true])
        }
    }

    @Test func whoWaitsForNothingIsNoProbe() async throws {
        try await run({ _, _ in .accepted }) { rig in
            _ = try await rig.accept(to: 1)
            await rig.store.untilEnded(1)
            #expect(rig.sender.pushes.map(\.isAwaited) == [false])
        }
    }

    @Test func a410FromBeforeTheRegistrationIsNotTheEndOfItsToken() async throws {
        try await run({ _, _ in .rejected(.unregistered(since: Sample.start + .seconds(-3600))) }) { rig in
            let end = try await send(rig).end
            #expect(end == DeliveryEnd(outcome: .rejected, reason: DeliveryEnd.unregisteredEarlier))
            #expect(try await rig.store.registration(1)?.isActive == true)
        }
    }

    @Test func whoFindsNoRoomToWaitIsServedAsIfNobodyWaited() async throws {
        try await run({ _, _ in .accepted }) { rig in
            rig.runner.waiters.stop()
            let answer = try await send(rig, Self.quiet)
            #expect(answer.accepted.isWaitRefused)
            #expect(answer.accepted.lane == .bulk)
            #expect(answer.end == nil)
            await rig.store.untilEnded(1)
        }
    }

    @Test func anEndIsToldAfterAStoreThatFailedForAWhile() async throws {
        try await run({ _, _ in .throttled(.forbidden, after: nil) }) { rig in
            await rig.store.fail([.settle], 2)
            async let answer = send(rig)
            for _ in 0..<2 { await rig.clock.advanceToSleeper(within: .milliseconds(200)) }
            let end = try await answer.end
            #expect(end?.outcome == .rejected)
            #expect(await rig.store.ledger.count == 1)
        }
    }

    @Test func anEndOfADeliveryThatIsSomebodyElsesIsNotTold() async throws {
        try await run({ _, _ in .accepted }) { rig in
            await rig.store.disown(Sample.registration(1).key)
            async let answer = send(rig, waiting: .milliseconds(10))
            await rig.store.until { ($0.calls[.settle] ?? 0) >= 1 }
            await endWait(rig, of: .milliseconds(10))
            let end = try await answer.end
            #expect(end == nil)
            #expect(await rig.store.ledger.isEmpty)
        }
    }

    @Test func anEndThatCouldNotBeWrittenInTimeIsATryAgain() async throws {
        try await run({ _, _ in .throttled(.forbidden, after: nil) }) { rig in
            await rig.store.fail([.settle], 1)
            async let answer = send(rig, waiting: .milliseconds(10))
            await rig.store.until { ($0.calls[.settle] ?? 0) >= 1 }
            // The caller's time ends before the store is asked again.
            await rig.clock.sleepers(2, within: .milliseconds(200))
            rig.clock.advance(by: .milliseconds(10))
            let end = try await answer.end
            #expect(end == nil)
            await rig.clock.advanceToSleeper(within: .milliseconds(200))
            await rig.store.until { !$0.retries.isEmpty }
            #expect(await rig.store.ledger.isEmpty)
        }
    }

    @Test func aStoppingGatewayLetsWaitersGo() async throws {
        try await run({ _, _ in nil }) { rig in
            async let answer = send(rig, waiting: .seconds(30))
            await rig.sender.untilSent(1)
            rig.acceptor.stop()
            let end = try await answer.end
            #expect(end == nil)
            rig.sender.release(.accepted)
            await rig.store.untilEnded(1)
        }
    }

    @Test func aCancelledCallerWaitsNoMore() async throws {
        try await run({ _, _ in nil }) { rig in
            let caller = Task { try await send(rig, waiting: .seconds(30)) }
            await rig.sender.untilSent(1)
            caller.cancel()
            let end = try await caller.value.end
            #expect(end == nil)
            rig.sender.release(.accepted)
            await rig.store.untilEnded(1)
        }
    }

    @Test func nobodyWaitsForABroadcastOrARefusedMessage() async throws {
        try await run({ _, _ in nil }) { rig in
            let topic = try await rig.acceptor.accept(
                Sample.submission(to: .topic(Sample.topic)), waitingAtMost: .seconds(5))
            #expect(topic.end == nil)
            rig.acceptor.stop()
            await #expect(throws: SubmissionRefusal.self) { try await send(rig) }
            #expect(rig.runner.waiters.isEmpty)
        }
    }

    @Test func aRepeatDoesNotWait() async throws {
        try await run({ _, _ in nil }) { rig in
            var submission = try Sample.submission(to: .registration(Sample.registration(1)))
            submission.idempotency = IdempotencyKey(key: "k", digest: Array(repeating: 1, count: 32))
            let first = try await rig.acceptor.accept(submission)
            let second = try await rig.acceptor.accept(submission, waitingAtMost: .seconds(5))
            #expect(second.accepted.id == first.id)
            #expect(second.accepted.isRepeat)
            #expect(second.end == nil)
            rig.sender.release(.accepted, isStanding: true)
            await rig.store.untilEnded(1)
        }
    }
}
