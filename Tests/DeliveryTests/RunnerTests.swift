import Delivery
import PushModel
import ServiceLifecycle
import Store
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RunnerTests {
    static let tooMany = Outcome.throttled(.tooManyRequests, after: nil)

    private func limits(inFlight: Int, pageSize: Int) -> DeliveryLimits {
        var limits = DeliveryLimits()
        limits.inFlight = inFlight
        limits.pageSize = pageSize
        return limits
    }

    @Test func whatIsHeldExpiresAllTheSame() async throws {
        let rig = Rig()
        let route = PushRoute(project: Sample.projectID, app: Sample.appID, channel: .apns(.production))
        try await rig.subscribe(5)
        try await rig.run { rig in
            await rig.untilIdle()
            rig.sender.hold([route: HeldRoute(retryAfter: .seconds(3600), limit: 1)])
            let end = Int(Sample.start.seconds) + 60
            let json = #"{"apns":{"headers":{"apns-expiration":"\#(end)"},"payload":{"aps":{"alert":"x"}}}}"#
            let single = try await rig.accept(to: 1, json)
            let topic = try await rig.acceptTopic(json)
            try await rig.advance { store in
                let books = await store.books
                return books[single.id]?.isComplete == true && books[topic.id]?.isComplete == true
            }
            #expect(await rig.store.books[topic.id]?.ended == [.expired: 5])
        }
        #expect(rig.sender.pushes.isEmpty)
        #expect(rig.clock.now.offset <= .seconds(90))
    }

    @Test func aSingleMessageIsAccepted() async throws {
        try await Rig().run { rig in
            let message = try await rig.accept(to: 1)
            await rig.store.untilEnded(1)
            let entry = try #require(await rig.store.entries(of: message.id).first)
            #expect(entry.outcome == .accepted)
            #expect(entry.history == AttemptHistory(attempts: 1))
            let push = try #require(rig.sender.pushes.first)
            #expect(push.lane == .interactive)
            #expect(push.id == PushID(message: message.id, registration: RegistrationKey(rawValue: 1)))
            #expect(push.id == entry.pushID)
            #expect(push.route.app == Sample.appID)
            #expect(push.deviceToken == Sample.registration(1).deviceToken)
            #expect(await rig.store.books[message.id]?.isComplete == true)
        }
    }

    @Test func resultsOfPagesWaitForOthersWhileMostAreOut() async throws {
        var limits = DeliveryLimits()
        limits.gathering = .milliseconds(5)
        // One of ten is answered, and the others are not.
        let answered = Sample.registration(3).deviceToken
        let rig = Rig(
            limits: limits, atWindDown: .unknown(.shutdown),
            script: { push, _ in push.deviceToken == answered ? .accepted : nil })
        try await rig.subscribe(10)
        try await rig.run { rig in
            let topic = try await rig.acceptTopic()
            for _ in 0..<4 {
                await rig.clock.sleepers(within: limits.gathering * 2)
                #expect(await rig.store.calls[.settle] == nil)
                rig.clock.advance(by: limits.gathering * 2)
            }
            await rig.store.until { $0.books[topic.id]?.ended == [.accepted: 1] }
        }
    }

    @Test func resultsOfSingleSendsWaitForOthers() async throws {
        var limits = DeliveryLimits()
        limits.gathering = .milliseconds(5)
        let rig = Rig(limits: limits)
        try await rig.subscribe(10)
        try await rig.run { rig in
            let settlements = await rig.store.calls[.settle]
            let single = try await rig.accept(to: 7)
            for _ in 0..<4 {
                await rig.clock.sleepers(within: limits.gathering)
                #expect(await rig.store.calls[.settle] == settlements)
                rig.clock.advance(by: limits.gathering)
            }
            await rig.store.until { $0.books[single.id]?.isComplete == true }
        }
    }

    @Test func resultsThatACallerWaitsForWaitForOthersLessLong() async throws {
        var limits = DeliveryLimits()
        limits.gathering = .milliseconds(5)
        let rig = Rig(limits: limits)
        try await rig.subscribe(10)
        try await rig.run { rig in
            let json = #"{"notification":{"title":"Hello"}}"#
            async let answer = rig.acceptor.accept(
                Sample.submission(to: .registration(Sample.registration(7)), json), waitingAtMost: .seconds(5))
            await rig.clock.sleepers(within: limits.gathering)
            rig.clock.advance(by: limits.gathering)
            await rig.store.untilEnded(1)
            _ = try await answer
        }
    }

    @Test func aTopicGoesOutInPages() async throws {
        let rig = Rig()
        try await rig.subscribe(2500)
        try await rig.run { rig in
            let message = try await rig.acceptTopic()
            await rig.store.until { $0.books[message.id]?.isComplete == true }
            #expect(await rig.store.pages.map(\.count).sorted() == [500, 1000, 1000])
            #expect(await rig.store.books[message.id]?.ended == [.accepted: 2500])
            #expect(Set(rig.sender.pushes.map(\.id)).count == 2500)
            #expect(rig.sender.pushes.allSatisfy { $0.lane == .bulk })
            // Built once: all pushes share one object.
            #expect(Set(rig.sender.pushes.map { ObjectIdentifier($0.content) }).count == 1)
        }
    }

    @Test func mixedOutcomesBalance() async throws {
        let rig = Rig(script: { push, attempt in
            switch (push.deviceToken.bytes.last ?? 0) % 3 {
            case 0: .accepted
            case 1: .rejected(.deviceTokenNotForTopic)
            default: attempt == 1 ? .notSent(.refused) : .accepted
            }
        })
        try await rig.subscribe(300)
        try await rig.run { rig in
            let message = try await rig.acceptTopic()
            await rig.store.until { $0.ledger.count + $0.waiting.count == 300 && $0.waiting.count > 0 }
            await rig.clock.advanceToSleeper(within: .seconds(2))
            await rig.store.until { $0.books[message.id]?.isComplete == true }
            let ended = try #require(await rig.store.books[message.id]?.ended)
            #expect(ended[.rejected] == 90)
            #expect(ended[.accepted] == 210)
        }
    }

    @Test func aThrottledPushIsAcceptedLater() async throws {
        try await Rig(script: { _, attempt in attempt == 1 ? Self.tooMany : .accepted }).run { rig in
            let message = try await rig.accept(to: 1)
            await rig.store.until { $0.waiting.values.contains { $0.history.attempts == 1 } }
            await rig.clock.advanceToSleeper(within: .seconds(6))
            await rig.store.untilEnded(1)
            let entry = try #require(await rig.store.entries(of: message.id).first)
            #expect(entry.outcome == .accepted)
            #expect(entry.history.attempts == 2)
            #expect(entry.latencyMilliseconds == 5500)
            #expect(Set(rig.sender.pushes.map(\.id)).count == 1)
        }
    }

    @Test func anUnknownAttemptIsRepeatedWithTheSameIDAndShown() async throws {
        try await Rig(script: { _, attempt in attempt == 1 ? .unknown(.timedOut) : .accepted }).run { rig in
            let message = try await rig.accept(to: 1)
            await rig.store.until { $0.waiting.values.contains { $0.history.attempts == 1 } }
            await rig.clock.advanceToSleeper(within: .seconds(6))
            await rig.store.untilEnded(1)
            let entry = try #require(await rig.store.entries(of: message.id).first)
            #expect(entry.outcome == .accepted)
            #expect(entry.history.unknownAttempts == 1)
            #expect(Set(rig.sender.pushes.map(\.id)).count == 1)
            #expect(rig.sender.pushes.count == 2)
        }
    }

    @Test func whatExpiredBeforeItsTurnIsNotAttempted() async throws {
        let rig = Rig()
        let message = try await rig.accept(
            to: 1, #"{"notification":{"title":"Now"},"apns":{"headers":{"apns-expiration":"0"}}}"#)
        rig.clock.advance(by: .seconds(31))
        try await rig.run { rig in
            await rig.store.untilEnded(1)
            let entry = try #require(await rig.store.entries(of: message.id).first)
            #expect(entry.outcome == .expired)
            #expect(entry.reason == "Expired")
            #expect(entry.history.attempts == 0)
            #expect(rig.sender.pushes.isEmpty)
        }
    }

    @Test func aMessageThatCannotBeReadExpiresWhenItsTimeIsOver() async throws {
        let rig = Rig()
        try await rig.subscribe(1)
        let message = try await rig.acceptElsewhere(
            Sample.submission(
                to: .registration(Sample.registration(1)),
                #"{"notification":{"title":"Soon"},"apns":{"headers":{"apns-expiration":"1800000060"}}}"#))
        await rig.store.damage(message.id)
        try await rig.run { rig in
            try await rig.advance(within: .seconds(60)) { await !$0.ledger.isEmpty }
            let entry = try #require(await rig.store.entries(of: message.id).first)
            #expect(entry.outcome == .expired)
            #expect(entry.reason == "message_unreadable")
            #expect(entry.latencyMilliseconds >= 50_000)
            #expect(rig.sender.pushes.isEmpty)
        }
    }

    @Test func aMessageForOneAttemptExpiresWhenThrottled() async throws {
        try await Rig(script: { _, _ in Self.tooMany }).run { rig in
            let message = try await rig.accept(
                to: 1, #"{"notification":{"title":"Now"},"apns":{"headers":{"apns-expiration":"0"}}}"#)
            await rig.store.untilEnded(1)
            let entry = try #require(await rig.store.entries(of: message.id).first)
            #expect(entry.outcome == .expired)
            #expect(entry.reason == "TooManyRequests")
        }
    }

    @Test func only410LaterThanTheRegistrationEndsIt() async throws {
        let rig = Rig(script: { push, _ in
            switch push.deviceToken {
            case Sample.registration(1).deviceToken:
                .rejected(.unregistered(since: Sample.start + .seconds(1)))
            case Sample.registration(2).deviceToken:
                .rejected(.unregistered(since: Sample.start + .seconds(-1)))
            default: .rejected(.badDeviceToken)
            }
        })
        try await rig.subscribe(3)
        try await rig.run { rig in
            _ = try await rig.acceptTopic()
            await rig.store.untilEnded(3)
            #expect(try await rig.store.registration(1)?.isActive == false)
            #expect(try await rig.store.registration(2)?.isActive == true)
            #expect(try await rig.store.registration(3)?.isActive == true)
        }
    }

    @Test func aRegistrationThatEndedMeanwhileIsNotAttempted() async throws {
        let rig = Rig()
        let message = try await rig.accept(to: 1)
        try await rig.store.end(RegistrationKey(rawValue: 1), .deleted)
        try await rig.run { rig in
            await rig.store.untilEnded(1)
            let entry = try #require(await rig.store.entries(of: message.id).first)
            #expect(entry.outcome == .rejected)
            #expect(entry.reason == "Unregistered")
            #expect(entry.history.attempts == 0)
            #expect(rig.sender.pushes.isEmpty)
        }
    }

    @Test func anAppWithoutConfigurationWaitsForIt() async throws {
        let rig = Rig()
        let message = try await rig.accept(to: 1)
        rig.projects.replace(with: [])
        try await rig.run { rig in
            await rig.store.until { $0.waiting.values.contains { $0.history.lastCause == "no_route" } }
            rig.projects.replace(with: [Sample.project])
            try await rig.advance(within: .seconds(16)) { await $0.books[message.id]?.isComplete == true }
            let entry = try #require(await rig.store.entries(of: message.id).first)
            #expect(entry.outcome == .accepted)
            #expect(entry.history.attempts == 1)
        }
    }

    @Test func aFailingStoreLosesNoResult() async throws {
        let rig = Rig(limits: limits(inFlight: 200, pageSize: 50))
        try await rig.subscribe(500)
        await rig.store.fail([.settle], 3)
        try await rig.run { rig in
            let message = try await rig.acceptTopic()
            for _ in 1...3 { await rig.clock.advanceToSleeper(within: .seconds(1)) }
            await rig.store.until { $0.books[message.id]?.isComplete == true }
            #expect(await rig.store.books[message.id]?.ended == [.accepted: 500])
            #expect(rig.sender.pushes.count == 500)
        }
    }

    @Test func oneResultThatTheStoreRefusesDoesNotHoldTheRest() async throws {
        let rig = Rig()
        try await rig.subscribe(300)
        await rig.store.refuse(RegistrationKey(rawValue: 123))
        try await rig.run { rig in
            let message = try await rig.acceptTopic()
            try await rig.advance(within: .seconds(15)) { await $0.ledger.count >= 299 }
            // The lanes go on, and what was set aside is recorded when the store takes it.
            let single = try await rig.accept(to: 1)
            try await rig.advance(within: .seconds(30)) { await $0.books[single.id]?.isComplete == true }
            await rig.store.refuse(nil)
            try await rig.advance(within: .seconds(30)) { await $0.books[message.id]?.isComplete == true }
            #expect(await rig.store.books[message.id]?.ended == [.accepted: 300])
            #expect(rig.sender.pushes.count == 301)
        }
    }

    @Test func aBusyStoreIsNotTakenForAResultThatItRefuses() async throws {
        let rig = Rig()
        await rig.store.fail([.settle], 8, as: .unavailable)
        try await rig.run { rig in
            let message = try await rig.accept(to: 1)
            try await rig.advance(within: .seconds(6)) { await $0.books[message.id]?.isComplete == true }
            #expect(await rig.store.calls[.settle] == 9)
            #expect(rig.clock.now.offset < .seconds(25), "it was never set aside")
        }
    }

    @Test func aBusyStoreIsNotTakenForAMessageThatCannotBeRead() async throws {
        let rig = Rig()
        try await rig.subscribe(3)
        await rig.store.fail([.message], 3, as: .busy)
        try await rig.run { rig in
            let message = try await rig.acceptElsewhere(Sample.submission(to: .topic(Sample.topic)))
            try await rig.advance(within: .seconds(3)) { await $0.books[message.id]?.isComplete == true }
            #expect(await rig.store.retries.isEmpty)
            #expect(await rig.store.books[message.id]?.ended == [.accepted: 3])
        }
    }

    @Test func aPushWhoseDeviceTokenChangedOnTheWayGoesToTheNewOne() async throws {
        let token = try #require(DeviceToken(bytes: [7, 7, 7]))
        let rig = Rig(script: { push, _ in push.deviceToken == token ? .accepted : nil })
        try await rig.store.add(Sample.registration(1))
        try await rig.run { rig in
            await rig.untilIdle()
            async let answer = rig.acceptor.accept(
                Sample.submission(to: .registration(Sample.registration(1))), waitingAtMost: .seconds(30))
            await rig.sender.untilSent(1)
            try await rig.store.move(Sample.registration(1).key, to: token, at: Sample.start + .seconds(1))
            rig.sender.release(.rejected(.unregistered(since: Sample.start + .seconds(5))))
            let end = try await answer.end
            #expect(end == DeliveryEnd(outcome: .accepted, reason: nil), "who waits is not told the end of the old one")
            #expect(rig.sender.pushes.map(\.deviceToken) == [Sample.registration(1).deviceToken, token])
            #expect(try await rig.store.registration(1)?.isActive == true)
            #expect(await rig.store.ledger.values.map(\.history.attempts) == [2])
        }
    }

    @Test(arguments: [true, false])
    func aMessageForOneAttemptIsNotSentAgainAfterACrash(isForOneAttempt: Bool) async throws {
        let store = ObservedStore()
        let first = Rig(store: store, atShutdown: nil, script: { _, _ in nil })
        let expiration = isForOneAttempt ? #""apns":{"headers":{"apns-expiration":"0"}},"# : ""
        let running = Task { try await first.group.run() }
        await first.untilIdle()
        let message = try await first.accept(to: 1, "{\(expiration)\"notification\":{\"title\":\"x\"}}")
        await first.sender.untilSent(1)
        await store.crashNow()
        running.cancel()
        await first.clock.advanceToSleeper(within: .seconds(30))
        _ = await running.result
        try await store.restart()
        let second = Rig(store: store)
        try await second.run { rig in
            await rig.store.untilEnded(1)
            let entry = try #require(await rig.store.entries(of: message.id).first)
            #expect(entry.outcome == (isForOneAttempt ? .expired : .accepted))
            #expect(entry.history.unknownAttempts == 1)
            #expect(!isForOneAttempt || entry.reason == "interrupted")
            #expect(rig.sender.pushes.count == (isForOneAttempt ? 0 : 1))
        }
    }

    @Test func aFailingClaimIsRepeated() async throws {
        let rig = Rig()
        await rig.store.fail([.claimPage, .claimDue], 5)
        let message = try await rig.accept(to: 1)
        try await rig.run { rig in
            try await rig.advance(within: .seconds(16)) { await !$0.ledger.isEmpty }
            #expect(await rig.store.books[message.id]?.isComplete == true)
        }
    }

    @Test func aFullBulkLaneDoesNotHoldUpInteractivePushes() async throws {
        let rig = Rig(
            limits: limits(inFlight: 100, pageSize: 50),
            script: { push, _ in push.lane == .bulk ? nil : .accepted })
        try await rig.subscribe(500)
        try await rig.run { rig in
            let topic = try await rig.acceptTopic()
            await rig.sender.untilSent(100)
            let single = try await rig.accept(to: 1)
            await rig.store.until { $0.books[single.id]?.isComplete == true }
            #expect(rig.sender.pushes.count { $0.lane == .bulk } == 100)
            rig.sender.release(.accepted, isStanding: true)
            await rig.store.until { $0.books[topic.id]?.isComplete == true }
        }
    }

    @Test func aChangedAppIsBuiltAnew() async throws {
        let rig = Rig(limits: limits(inFlight: 10, pageSize: 10), script: { _, _ in nil })
        try await rig.subscribe(20)
        try await rig.run { rig in
            let message = try await rig.acceptTopic()
            await rig.sender.untilSent(10)
            rig.projects.replace(with: [
                Project(id: Sample.projectID, number: 123, apps: [Sample.app(keys: .none)])
            ])
            rig.sender.release(.accepted, isStanding: true)
            await rig.store.until { $0.books[message.id]?.isComplete == true }
            #expect(Set(rig.sender.pushes.map { ObjectIdentifier($0.content) }).count == 2)
            #expect(rig.sender.pushes[0].payload != rig.sender.pushes[19].payload)
        }
    }

    @Test func theFIDIsSplicedInForEachDevice() async throws {
        let project = Project(id: Sample.projectID, number: 123, apps: [Sample.app(keys: .full)])
        let rig = Rig(project: project)
        try await rig.subscribe(2)
        try await rig.run { rig in
            _ = try await rig.acceptMessage(Sample.submission(to: .topic(Sample.topic), project: project))
            await rig.store.untilEnded(2)
            for push in rig.sender.pushes {
                let number: Int64 = push.deviceToken == Sample.registration(1).deviceToken ? 1 : 2
                let text = String(decoding: push.payload, as: UTF8.self)
                #expect(text.contains(Sample.registration(number).id.rawValue))
            }
        }
    }

    @Test func aLiveActivityPushGoesToItsOwnToken() async throws {
        try await Rig().run { rig in
            _ = try await rig.accept(
                to: 1,
                #"""
                {"apns":{"live_activity_token":"\#(activityToken)","headers":{"apns-push-type":"liveactivity"},
                "payload":{"aps":{"event":"update","timestamp":1,"content-state":{}}}}}
                """#)
            await rig.store.untilEnded(1)
            #expect(rig.sender.pushes.map(\.deviceToken) == [DeviceToken(hex: activityToken)])
        }
    }

    @Test func noWakeUpIsLost() async throws {
        try await Rig().run { rig in
            try await rig.store.add(Sample.registration(1))
            for round in 1...300 {
                // The worker is going idle after the message before, or not yet, or long since.
                if round.isMultiple(of: 3) { await Task.yield() }
                _ = try await rig.accept(to: 1)
                await rig.store.untilEnded(round)
            }
        }
    }

    /// By one that ended before it had booked all: no signal comes of it.
    @Test func whatAnotherGatewayCancelledIsBooked() async throws {
        try await Rig().run { rig in
            try await rig.subscribe(50)
            var submission = try Sample.submission(to: .topic(Sample.topic))
            submission.options.rate = 1
            let message = try await rig.acceptMessage(submission)
            await rig.sender.untilSent(1)
            await rig.untilIdle()
            _ = try await rig.store.control(
                message.id, in: Sample.projectID, .cancel, at: rig.wallTime(), by: .gateway)
            try await rig.advance { store in
                // A store that can't be read fails the test by its time.
                let report = try? await store.base.report(message.id, in: Sample.projectID)
                return report?.recipients == 50 && report?.inFlight == 0
            }
            let ended = try #require(try await rig.store.base.report(message.id, in: Sample.projectID)).ended
            #expect(ended[.cancelled, default: 0] > 40)
        }
    }
}
