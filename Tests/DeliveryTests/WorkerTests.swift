import APNS
import PushModel
import Store
import TestSupport
import Testing

@testable import Delivery

/// Leases, the fence, claims at accept, and clocks that are set.
@Suite(.timeLimit(.minutes(5)))
struct WorkerTests {
    @Test func aSingleSendIsClaimedWithItsAccept() async throws {
        let rig = Rig()
        try await rig.run { rig in
            await rig.untilIdle()
            _ = try await rig.accept(to: 1)
            await rig.store.untilEnded(1)
            #expect(await rig.store.calls[.claimDue] == nil)
            #expect(await rig.store.calls[.message] == nil)
            #expect(rig.sender.pushes.count == 1)
        }
    }

    @Test func aDataMessageIsClaimedWithItsAcceptToo() async throws {
        let rig = Rig()
        try await rig.run { rig in
            await rig.untilIdle()
            let message = try await rig.accept(to: 1, #"{"data":{"k":"v"}}"#)
            #expect(message.lane == .bulk)
            await rig.store.untilEnded(1)
            #expect(await rig.store.calls[.claimDue] == nil)
            #expect(await rig.store.calls[.message] == nil)
            #expect(rig.sender.pushes.map(\.lane) == [.bulk])
        }
    }

    @Test func messagesOfBothLanesAreClaimedInOneTransaction() async throws {
        let rig = Rig()
        try await rig.add(1...2)
        let registrations = try await [rig.store.registration(1), rig.store.registration(2)].compactMap(\.self)
        try await rig.run { rig in
            await rig.untilIdle()
            _ = await rig.acceptor.accept([
                try Sample.submission(to: .registration(registrations[0]), #"{"data":{"k":"v"}}"#),
                try Sample.submission(to: .registration(registrations[1])),
            ])
            await rig.store.untilEnded(2)
            #expect(await rig.store.calls[.claimDue] == nil)
            #expect(await rig.store.calls[.accept] == 1)
        }
        #expect(Set(rig.sender.pushes.map(\.lane)) == [.bulk, .interactive])
    }

    @Test func messagesOfAClaimAreReadAtOnce() async throws {
        let rig = Rig()
        try await rig.add(1...20)
        for number in 1...20 {
            let registration = try #require(try await rig.store.registration(Int64(number)))
            _ = try await rig.acceptElsewhere(Sample.submission(to: .registration(registration)))
        }
        try await rig.run { rig in
            await rig.store.untilEnded(20)
            #expect(await rig.store.calls[.claimDue] == 1)
            #expect(await rig.store.calls[.message] == 1)
        }
    }

    @Test func withoutRoomASingleSendWaitsInTheStore() async throws {
        var limits = DeliveryLimits()
        limits.inFlight = 2
        let rig = Rig(limits: limits, script: { _, _ in nil })
        try await rig.run { rig in
            for number in 1...5 { _ = try await rig.accept(to: Int64(number)) }
            await rig.sender.untilSent(2)
            #expect(await rig.store.waiting.count == 3)
            rig.sender.release(.accepted, isStanding: true)
            await rig.store.untilEnded(5)
        }
        #expect(rig.sender.pushes.count == 5)
    }

    @Test func aFailedAcceptGivesItsRoomBack() async throws {
        var limits = DeliveryLimits()
        limits.inFlight = 1
        let rig = Rig(limits: limits)
        await rig.store.fail([.accept], 3)
        try await rig.run { rig in
            for _ in 1...3 { await #expect(throws: SubmissionRefusal.self) { _ = try await rig.accept(to: 1) } }
            _ = try await rig.accept(to: 1)
            await rig.store.untilEnded(1)
            _ = try await rig.accept(to: 1)
            await rig.store.untilEnded(2)
        }
        #expect(rig.sender.pushes.count == 2)
    }

    @Test func aSmallListIsClaimedAtAcceptToo() async throws {
        let rig = Rig()
        try await rig.add(1...50)
        try await rig.run { rig in
            await rig.untilIdle()
            let message = try await rig.acceptMessage(
                Sample.submission(
                    to: .list(
                        (1...50).map { .init(key: RegistrationKey(rawValue: $0), app: AppKey(.apple, Sample.appID)) })))
            #expect(message.lane == .interactive)
            await rig.store.until { $0.books[message.id]?.isComplete == true }
            #expect(await rig.store.calls[.claimDue] == nil)
        }
        #expect(rig.sender.pushes.count == 50)
    }

    @Test func aRepeatedRequestSendsNothing() async throws {
        let rig = Rig()
        try await rig.run { rig in
            try await rig.store.add(Sample.registration(1))
            var submission = try Sample.submission(to: .registration(Sample.registration(1)))
            submission.idempotency = IdempotencyKey(key: "k", digest: Array(repeating: 1, count: 32))
            let first = try await rig.acceptor.accept(submission)
            let second = try await rig.acceptor.accept(submission)
            #expect(first.id == second.id && second.isRepeat && !first.isRepeat)
            submission.idempotency = IdempotencyKey(key: "k", digest: Array(repeating: 2, count: 32))
            await #expect { _ = try await rig.acceptor.accept(submission) } throws: { error in
                guard case SubmissionRefusal.conflict = error else { return false }
                return true
            }
            await rig.store.untilEnded(1)
        }
        #expect(rig.sender.pushes.count == 1)
    }

    @Test func theLeaseIsRenewed() async throws {
        let rig = Rig()
        try await rig.run { rig in
            _ = try await rig.accept(to: 1)
            await rig.store.untilEnded(1)
            for renewals in 1...6 {
                try await rig.advance(within: .seconds(10)) { await $0.calls[.renew, default: 0] >= renewals }
            }
            #expect(rig.clock.now.offset >= .seconds(60))
            #expect(await rig.store.calls[.enroll] == 1)
        }
    }

    @Test func aFencedRunDropsWhatItHasAndGoesOnAsAnother() async throws {
        let rig = Rig(script: { _, attempt in attempt == 1 ? nil : .accepted })
        try await rig.subscribe(20)
        try await rig.run { rig in
            let topic = try await rig.acceptTopic()
            let single = try await rig.accept(to: 1)
            await rig.sender.untilSent(21)
            let first = rig.sender.pushes
            #expect(first.allSatisfy { $0.mayLeave?() == true })
            try await rig.store.fence(at: Sample.start)
            // The answers come too late: others, here the same run with a new worker, have them.
            rig.sender.release(.accepted)
            await rig.store.until { ($0.calls[.enroll] ?? 0) >= 2 }
            // What waits in a queue of the upstream does not leave any more.
            #expect(first.allSatisfy { $0.mayLeave?() == false })
            await rig.store.until { $0.books[topic.id]?.isComplete == true && $0.books[single.id]?.isComplete == true }
            #expect(rig.sender.pushes.count == 42)
            #expect(Set(rig.sender.pushes.map(\.id)).count == 21)
            #expect(await rig.store.entries(of: topic.id).allSatisfy { $0.history.unknownAttempts == 1 })
        }
    }

    @Test func aFenceIsSeenByTheRenewalOfAnIdleRun() async throws {
        let rig = Rig()
        try await rig.run { rig in
            _ = try await rig.accept(to: 1)
            await rig.store.untilEnded(1)
            try await rig.store.fence(at: Sample.start)
            await rig.clock.advanceToSleeper(within: .seconds(10))
            await rig.store.until { ($0.calls[.enroll] ?? 0) >= 2 }
            _ = try await rig.accept(to: 1)
            await rig.store.untilEnded(2)
        }
    }

    @Test func anotherWorkersLeaseThatRanOutIsTakenOver() async throws {
        let rig = Rig()
        try await rig.run { rig in
            _ = try await rig.accept(to: 1)
            await rig.store.untilEnded(1)
            let stuck = try await rig.store.enroll("stuck", for: .seconds(15))
            try await rig.store.add(Sample.registration(2))
            let message = try #require(
                try await MessageAcceptor(
                    store: rig.store, composer: AppleComposer(),
                    admission: Admission(in: rig.store, limits: DeliveryLimits()), runner: nil,
                    wallTime: { Sample.start }
                ).accept(Sample.submission(to: .registration(Sample.registration(2)))).message)
            let route = PushRoute(Sample.registration(2))
            #expect(
                try await rig.store.claimDue(.interactive, route, limit: 1, by: stuck, at: Sample.start).count == 1)
            try await rig.advance { await $0.books[message.id]?.isComplete == true }
            #expect(rig.clock.now.offset <= .seconds(40))
            #expect(await rig.store.entries(of: message.id).first?.history.unknownAttempts == 1)
        }
    }

    /// The store may have given the worker's claims to another one by then, whatever it answers at last.
    @Test func whileARenewalHangsNothingLeavesBeyondTheEndOfTheLease() async throws {
        let rig = Rig()
        try await rig.subscribe(3)
        try await rig.run { rig in
            await rig.untilIdle()
            await rig.store.hang(.renew)
            await rig.clock.advanceToSleeper(within: .seconds(10))
            await rig.store.until { ($0.calls[.renew] ?? 0) >= 1 }
            // Within the lease pushes leave as ever.
            _ = try await rig.accept(to: 1)
            await rig.store.untilEnded(1)
            rig.clock.advance(by: WorkerLease.length)
            let single = try await rig.accept(to: 2)
            let topic = try await rig.acceptTopic()
            await rig.executor.untilIdle()
            #expect(rig.sender.pushes.count == 1)
            await rig.store.letGo()
            try await rig.advance { store in
                let books = await store.books
                return books[single.id]?.isComplete == true && books[topic.id]?.isComplete == true
            }
            // What was claimed and did not leave came back by the takeover.
            #expect(rig.sender.pushes.count == 1 + 1 + 3)
            #expect(await rig.store.entries(of: single.id).map(\.history.unknownAttempts) == [1])
        }
    }

    @Test func aLeaseEndsByTheClockOfTheRunAndFromWhenItWasAskedFor() {
        let clock = TestClock()
        let lease = WorkerLease(on: clock)
        let (first, second) = (WorkerID(rawValue: 1), WorkerID(rawValue: 2))
        let asked = lease.now
        // The store took its time.
        clock.advance(by: .seconds(12))
        lease.begin(first, asked: asked)
        clock.advance(by: .seconds(17))
        #expect(lease.maySend(first) && !lease.maySend(second))
        let renewed = lease.now
        clock.advance(by: .seconds(1) - .nanoseconds(1))
        #expect(lease.maySend(first))
        lease.renew(first, asked: renewed)
        clock.advance(by: .seconds(29))
        #expect(lease.maySend(first))
        clock.advance(by: .nanoseconds(1))
        #expect(!lease.maySend(first) && lease.worker == nil)
        // A renewal that comes too late does not bring it back; what it sent may be settled until it is fenced.
        lease.renew(first, asked: lease.now)
        #expect(!lease.maySend(first) && lease.maySettle(first))
        lease.begin(second, asked: lease.now)
        #expect(lease.maySend(second) && lease.maySettle(first))
        #expect(!lease.lose(first) && !lease.maySettle(first) && lease.worker == second)
    }

    // MARK: Clocks

    @Test(arguments: [Duration.seconds(-3600), .seconds(3600)])
    func aClockThatIsSetDoesNotStallARetry(step: Duration) async throws {
        let clock = TestClock()
        let dial = Dial()
        let steady = SteadyTime(
            system: { Sample.start + clock.now.offset + dial.offset }, uptime: { clock.now.offset }, lastRecordedAt: nil
        )
        let rig = Rig(
            clock: clock, wallTime: { steady.now() },
            script: { _, attempt in attempt == 1 ? .unknown(.timedOut) : .accepted })
        try await rig.run { rig in
            let message = try await rig.accept(to: 1)
            await rig.store.until { $0.waiting.values.contains { $0.history.attempts == 1 } }
            dial.offset = step
            try await rig.advance { await $0.books[message.id]?.isComplete == true }
            #expect(rig.clock.now.offset <= .seconds(20))
        }
    }

    @Test func aMonthAheadForASecondExpiresNothing() async throws {
        let clock = TestClock()
        let dial = Dial()
        let steady = SteadyTime(
            system: { Sample.start + clock.now.offset + dial.offset }, uptime: { clock.now.offset }, lastRecordedAt: nil
        )
        let rig = Rig(
            clock: clock, wallTime: { steady.now() },
            script: { _, attempt in attempt <= 2 ? .unknown(.timedOut) : .accepted })
        try await rig.run { rig in
            let message = try await rig.accept(to: 1)
            await rig.store.until { $0.waiting.values.contains { $0.history.attempts == 1 } }
            dial.offset = .seconds(30 * 86_400)
            try await rig.advance(within: .seconds(5)) { store in
                await store.waiting.values.contains { $0.history.attempts == 2 }
            }
            dial.offset = .zero
            try await rig.advance(within: .seconds(5)) { await $0.books[message.id]?.isComplete == true }
            #expect(await rig.store.entries(of: message.id).map(\.outcome) == [.accepted])
            #expect(rig.clock.now.offset <= .seconds(20))
        }
    }

    @Test func whatAWrongClockMadeWaitIsDueAtTheNextStart() async throws {
        let store = ObservedStore()
        // The run before had a clock that was a month ahead.
        let wrong = Sample.start + .seconds(30 * 86_400)
        try await store.add(Sample.registration(1))
        let accepted = try await MessageAcceptor(
            store: store, composer: AppleComposer(), admission: Admission(in: store, limits: DeliveryLimits()),
            runner: nil, wallTime: { wrong }
        ).accept(Sample.submission(to: .registration(Sample.registration(1))))
        let message = try #require(accepted.message)
        let rig = Rig(store: store)
        try await rig.run { rig in
            await rig.store.until { $0.books[message.id]?.isComplete == true }
            #expect(rig.clock.now.offset < .seconds(60))
        }
    }
}
