import Delivery
import PushModel
import ServiceLifecycle
import Store
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ShutdownTests {
    @Test func whatIsInFlightIsSettledAndNothingMoreIsClaimed() async throws {
        let rig = Rig(script: { _, _ in nil })
        try await rig.run { rig in
            for number in 1...3 { _ = try await rig.accept(to: Int64(number)) }
            await rig.sender.untilSent(3)
            await rig.group.triggerGracefulShutdown()
            // The time limit of the shutdown begins to run: the runner has stopped.
            await rig.clock.sleepers(3, within: .seconds(20))
            _ = try await rig.accept(to: 4)
            rig.sender.release(.accepted)
            await rig.store.untilEnded(3)
        }
        #expect(rig.sender.pushes.count == 3)
        #expect(await rig.store.ledger.count == 3)
        #expect(await rig.store.claimed.isEmpty)
        #expect(await rig.store.waiting.count == 1)
    }

    @Test(arguments: [Outcome.unknown(.shutdown), .notSent(.shutdown)])
    func whatTheSenderEndsAtTheLimitIsRecordedAsARetry(outcome: Outcome) async throws {
        let rig = Rig(atShutdown: outcome, script: { _, _ in nil })
        let message = try await rig.accept(to: 1)
        try await rig.run { rig in
            await rig.sender.untilSent(1)
            await rig.group.triggerGracefulShutdown()
            await rig.clock.sleepers(3, within: .seconds(20))
            rig.clock.advance(by: .seconds(20))
        }
        #expect(await rig.store.claimed.isEmpty)
        let waiting = try #require(await rig.store.waiting.values.first)
        let unknown = outcome == .unknown(.shutdown) ? 1 : 0
        #expect(
            waiting.history
                == AttemptHistory(attempts: 1, unknownAttempts: unknown, interruptions: unknown, lastCause: "shutdown"))
        #expect(await rig.store.books[message.id]?.isComplete == false)
    }

    @Test func whatHasNoConnectionIsNotWaitedFor() async throws {
        let rig = Rig(atWindDown: .notSent(.shutdown), script: { _, _ in nil })
        _ = try await rig.accept(to: 1)
        try await rig.run { rig in
            await rig.sender.untilSent(1)
            await rig.group.triggerGracefulShutdown()
        }
        #expect(rig.clock.now.offset <= .seconds(2))
        #expect(rig.sender.windDowns == 1)
        #expect(await rig.store.claimed.isEmpty)
        #expect(await rig.store.waiting.values.map(\.history.unknownAttempts) == [0])
    }

    @Test func aSenderThatNeverAnswersDoesNotHoldUpTheShutdown() async throws {
        let rig = Rig(atShutdown: nil, script: { _, _ in nil })
        _ = try await rig.accept(to: 1)
        try await rig.run { rig in
            await rig.sender.untilSent(1)
            await rig.group.triggerGracefulShutdown()
            await rig.clock.sleepers(3, within: .seconds(20))
            rig.clock.advance(by: .seconds(20))
            await rig.clock.advanceToSleeper(within: .seconds(3))
        }
        #expect(rig.clock.now.offset <= .seconds(25))
        #expect(await rig.store.claimed.count == 1)
    }

    @Test func aHandOverThatNeverReturnsDoesNotHoldUpTheShutdown() async throws {
        let rig = Rig(hangs: true, script: { _, _ in nil })
        _ = try await rig.accept(to: 1)
        try await rig.run { rig in
            await rig.sender.untilSent(1)
            await rig.group.triggerGracefulShutdown()
            await rig.clock.sleepers(3, within: .seconds(20))
            rig.clock.advance(by: .seconds(20))
        }
        #expect(await rig.store.waiting.count == 1)
        #expect(await rig.store.claimed.isEmpty)
        rig.sender.unhang()
    }

    @Test func theSenderIsShutDownAtTheEndOfEveryRun() async throws {
        let rig = Rig()
        try await rig.run { rig in
            _ = try await rig.accept(to: 1)
            await rig.store.untilEnded(1)
        }
        #expect(rig.sender.shutdowns == 1)
    }

    @Test func aStoreThatFailsToTheEndDoesNotHoldUpTheShutdown() async throws {
        let rig = Rig()
        await rig.store.fail([.settle], .max)
        _ = try await rig.accept(to: 1)
        try await rig.run { rig in
            await rig.sender.untilSent(1)
            await rig.clock.sleepers(3, within: .seconds(15))
            await rig.group.triggerGracefulShutdown()
            await rig.clock.sleepers(4, within: .seconds(20))
            rig.clock.advance(by: .seconds(20))
            await rig.clock.sleepers(2, within: .seconds(2))
            rig.clock.advance(by: .seconds(2))
        }
        #expect(await rig.store.claimed.count == 1)
    }

    @Test func aStoreThatDoesNotAnswerAtTheEndDoesNotHoldUpTheShutdown() async throws {
        let rig = Rig()
        try await rig.run { rig in
            await rig.store.untilFirstTraffic()
            await rig.store.hang(.addTraffic)
            await rig.group.triggerGracefulShutdown()
            await rig.store.until { $0.calls[.addTraffic] == 2 }
            await rig.clock.advanceToSleeper(within: .seconds(2))
        }
        #expect(rig.clock.now.offset <= .seconds(2))
        await rig.store.letGo()
    }

    @Test func aStoreThatRefusesOpenWorkIsNotWaitedFor() async throws {
        let rig = Rig(atWindDown: .notSent(.shutdown), script: { _, _ in nil })
        await rig.store.fail([.settle], .max)
        _ = try await rig.accept(to: 1)
        try await rig.run { rig in
            await rig.sender.untilSent(1)
            await rig.group.triggerGracefulShutdown()
        }
        #expect(rig.clock.now.offset <= .seconds(2))
        // The next run takes it up.
        #expect(await rig.store.claimed.count == 1)
    }

    @Test func openWorkThatTheStoreHasRefusedForAWhileIsNotWaitedForEither() async throws {
        let rig = Rig(script: { _, _ in .notSent(.noRoute) })
        await rig.store.fail([.settle], .max)
        _ = try await rig.accept(to: 1)
        try await rig.run { rig in
            await rig.sender.untilSent(1)
            // The settler waits for the store.
            await rig.clock.sleepers(3, within: .seconds(15))
            await rig.group.triggerGracefulShutdown()
        }
        #expect(rig.clock.now.offset <= .seconds(2))
        #expect(await rig.store.claimed.count == 1)
    }

    @Test func aRunnerThatIsToldToStopSettlesWhatIsInFlight() async throws {
        let rig = Rig(script: { _, _ in nil })
        _ = try await rig.accept(to: 1)
        try await rig.run { rig in
            await rig.sender.untilSent(1)
            rig.runner.stop()
            rig.sender.release(.accepted)
            await rig.store.untilEnded(1)
        }
        #expect(await rig.store.claimed.isEmpty)
    }

    @Test func anEarlierRunsClaimsAreRescued() async throws {
        let rig = Rig()
        let message = try await rig.accept(to: 1)
        let earlier = try await rig.store.enroll("earlier", for: .seconds(1000))
        let route = PushRoute(Sample.registration(1))
        let lost = try await rig.store.claimDue(.interactive, route, limit: 10, by: earlier, at: Sample.start)
        #expect(lost.count == 1)
        await rig.store.crashNow()
        try await rig.store.restart()
        try await rig.run { rig in
            await rig.store.until { $0.books[message.id]?.isComplete == true }
        }
        #expect(await rig.store.entries(of: message.id).first?.history.unknownAttempts == 1)
        #expect(rig.sender.pushes.count == 1)
    }
}
