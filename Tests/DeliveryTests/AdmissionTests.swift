import Delivery
import Logging
import PushModel
import Store
import TestSupport
import Testing

/// Batches, lists, limits and preflight at the door.
@Suite(.timeLimit(.minutes(5)))
struct AdmissionTests {
    private func addressees(_ numbers: ClosedRange<Int64>) -> [Addressee] {
        numbers.map { .init(key: RegistrationKey(rawValue: $0), app: AppKey(.apple, Sample.appID)) }
    }

    @Test func oneInvalidMessageDoesNotStopTheOthersOfABatch() async throws {
        let rig = Rig()
        let foreign = Sample.registration(2, app: AppID(rawValue: "com.example.gone")!)
        var submissions = try (1...1200).map {
            try Sample.submission(to: .registration(Sample.registration(Int64($0))))
        }
        submissions[700] = try Sample.submission(to: .registration(foreign))
        try await rig.add(1...1200)
        let results = await rig.acceptor.accept(submissions)
        #expect(results.count == 1200)
        for (place, result) in results.enumerated() {
            switch result {
            case .success(let accepted):
                #expect(place != 700)
                let book = await rig.store.books[accepted.id]
                guard case .registration(let id)? = book?.message?.recipient else {
                    Issue.record("another recipient")
                    return
                }
                #expect(id == Sample.registration(Int64(place + 1)).id)
            case .failure(.invalid): #expect(place == 700)
            case .failure(let refusal): Issue.record("\(refusal)")
            }
        }
        #expect(await rig.store.calls[.accept] == 1200 / MessageAcceptor.chunkSize)
    }

    @Test func aFailedChunkFailsItsMessagesOnly() async throws {
        let rig = Rig()
        try await rig.add(1...600)
        await rig.store.fail([.accept], 1)
        let results = await rig.acceptor.accept(
            try (1...600).map { try Sample.submission(to: .registration(Sample.registration(Int64($0)))) })
        let isAccepted = results.map { if case .success = $0 { true } else { false } }
        let chunk = MessageAcceptor.chunkSize
        #expect(isAccepted.prefix(chunk).allSatisfy { !$0 } && isAccepted.dropFirst(chunk).allSatisfy { $0 })
    }

    @Test func aListIsSortedAndNamesEachOnce() async throws {
        let rig = Rig()
        try await rig.add(1...300)
        let twice = addressees(1...300).reversed() + addressees(100...200)
        let message = try await rig.acceptMessage(Sample.submission(to: .list(Array(twice))))
        #expect(message.audience == 300)
        #expect(message.lane == .bulk)
        try await rig.run { rig in
            await rig.store.until { $0.books[message.id]?.isComplete == true }
        }
        #expect(Set(rig.sender.pushes.map(\.id)).count == 300 && rig.sender.pushes.count == 300)
    }

    @Test(arguments: [
        (1, 10, Lane.interactive), (100, 10, .interactive), (101, 10, .bulk), (1, 5, .bulk), (100, 5, .bulk),
    ])
    func theLaneFollowsNumberAndPriority(count: Int64, priority: Int, lane: Lane) async throws {
        let rig = Rig()
        try await rig.add(1...count)
        let json = #"{"notification":{"title":"A"},"apns":{"headers":{"apns-priority":"\#(priority)"}}}"#
        let message = try await rig.acceptMessage(
            Sample.submission(to: .user(UserID(rawValue: "alice")!, addressees(1...count)), json))
        #expect(message.lane == lane)
        try await rig.run { rig in
            await rig.store.until { $0.books[message.id]?.isComplete == true }
        }
        #expect(rig.sender.pushes.count == Int(count))
    }

    @Test func aConditionReachesThoseForWhomItHolds() async throws {
        let rig = Rig()
        try await rig.subscribe(30)
        try await rig.store.add(Sample.registration(31))
        let condition = Condition(text: "!('news' in topics)", expression: .not(.subscribed(Sample.topic)))
        let message = try await rig.acceptMessage(Sample.submission(to: .condition(condition)))
        try await rig.run { rig in
            await rig.store.until { $0.books[message.id]?.isComplete == true }
        }
        #expect(rig.sender.pushes.map(\.deviceToken) == [Sample.registration(31).deviceToken])
    }

    @Test func whatNamesNobodyOrTooManyIsRefused() async throws {
        let rig = Rig()
        for list in [[], addressees(1...100_001)] {
            await #expect(throws: SubmissionRefusal.self) {
                _ = try await rig.acceptor.accept(Sample.submission(to: .list(list)))
            }
        }
    }

    // MARK: Limits

    @Test(arguments: WaitingLimit.allCases)
    func eachLimitIsNamed(limit: WaitingLimit) async throws {
        var limits = DeliveryLimits()
        switch limit {
        case .messages: limits.messagesWaiting = 2
        case .bytes: limits.bytesWaiting = 100
        case .projectMessages: limits.projectMessagesWaiting = 2
        case .projectBytes: limits.projectBytesWaiting = 100
        }
        let rig = Rig(limits: limits)
        var refused: WaitingLimit?
        for number in 1...5 where refused == nil {
            do {
                _ = try await rig.accept(to: Int64(number))
            } catch SubmissionRefusal.full(let which, _) {
                refused = which
            }
        }
        #expect(refused == limit)
        #expect(await rig.store.books.count < 5)
    }

    @Test func aFullProjectLeavesRoomForOthers() async throws {
        var limits = DeliveryLimits()
        limits.projectMessagesWaiting = 1
        let other = Project(id: ProjectID(rawValue: "other")!, number: 2, apps: [Sample.app()])
        let rig = Rig(limits: limits, others: [other])
        _ = try await rig.accept(to: 1)
        await #expect(throws: SubmissionRefusal.self) { _ = try await rig.accept(to: 1) }
        let registration = Sample.registration(2, project: other.id)
        try await rig.store.add(registration)
        _ = try await rig.acceptor.accept(Sample.submission(to: .registration(registration), project: other))
    }

    @Test func manyAtOnceNeverPassTheLimit() async throws {
        var limits = DeliveryLimits()
        limits.messagesWaiting = 10
        let rig = Rig(limits: limits)
        try await rig.store.add(Sample.registration(1))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    // Most are refused.
                    _ = await rig.acceptor.accept(
                        (try? [Sample.submission(to: .registration(Sample.registration(1)))]) ?? [])
                }
            }
        }
        #expect(await rig.store.books.count <= 10)
        #expect(await rig.store.books.count > 0)
    }

    // MARK: Preflight

    @Test func preflightCountsAndMeasuresAndKeepsNothing() async throws {
        let rig = Rig()
        try await rig.subscribe(500)
        var submission = try Sample.submission(to: .topic(Sample.topic))
        submission.options.rate = 100
        let preflight = try await rig.acceptor.preflight(submission)
        #expect(preflight.audience == 500)
        #expect(preflight.expectedDuration == .seconds(5))
        #expect(preflight.refusals.isEmpty)
        #expect(preflight.payloadBytes[AppKey(.apple, Sample.appID)].map { $0 > 30 } == true)
        #expect(await rig.store.books.isEmpty)
        submission.options = DeliveryOptions(finishBy: Sample.start + .seconds(60))
        #expect(try await rig.acceptor.preflight(submission).expectedDuration == .seconds(60))
        submission.options = DeliveryOptions()
        #expect(try await rig.acceptor.preflight(submission).expectedDuration == nil)
    }

    @Test func preflightNamesEveryRefusal() async throws {
        var limits = DeliveryLimits()
        limits.messagesWaiting = 0
        let rig = Rig(limits: limits)
        let large = #"{"data":{"k":""# + String(repeating: "x", count: 5000) + #""}}"#
        let preflight = try await rig.acceptor.preflight(Sample.submission(to: .topic(Sample.topic), large))
        #expect(preflight.refusals.count == 2)
        #expect(preflight.payloadBytes.isEmpty)
    }

    // MARK: Collapse id

    @Test(arguments: [true, false])
    func anAlertCollapsesItsRepeats(collapses: Bool) async throws {
        let rig = Rig()
        try await rig.store.add(Sample.registration(1))
        try await rig.run { rig in
            var submission = try Sample.submission(to: .registration(Sample.registration(1)))
            submission.options.collapsesRepeats = collapses
            let message = try await rig.acceptMessage(submission)
            await rig.store.untilEnded(1)
            #expect(rig.sender.pushes.first?.content.collapseID == (collapses ? message.id.rawValue : nil))
            #expect(await rig.store.books[message.id]?.facts?.collapseKey == nil)
        }
    }

    @Test func theSendersCollapseIDStandsAndABackgroundPushHasNone() async throws {
        try await Rig().run { rig in
            _ = try await rig.accept(
                to: 1, #"{"notification":{"title":"A"},"apns":{"headers":{"apns-collapse-id":"mine"}}}"#)
            await rig.store.untilEnded(1)
            _ = try await rig.accept(to: 1, #"{"data":{"a":"b"}}"#)
            await rig.store.untilEnded(2)
            #expect(rig.sender.pushes.map(\.content.collapseID) == ["mine", nil])
        }
    }

    // MARK: Housekeeping

    @Test func oldIdempotencyKeysAreForgotten() async throws {
        let rig = Rig()
        var submission = try Sample.submission(to: .registration(Sample.registration(1)))
        try await rig.store.add(Sample.registration(1))
        let key = IdempotencyKey(key: "k", digest: Array(repeating: 1, count: 32))
        submission.idempotency = key
        _ = try await rig.acceptor.accept(submission)
        let keeper = Housekeeper(
            [.idempotencyKeys(of: rig.store)], clock: rig.clock,
            wallTime: rig.clock.wallTime(startingAt: Sample.start), logger: .init(label: "test"))
        let task = Task { await keeper.run() }
        await rig.clock.sleepers(within: .seconds(3600))
        func isKnown() async throws -> Bool {
            // By a time at which the key has not ended: what is asked is whether it is still there.
            try await rig.store.uses(of: [key], in: Sample.projectID, at: Sample.start) != [.unused]
        }
        #expect(try await isKnown())
        while try await isKnown() {
            await rig.clock.advanceToSleeper(within: .seconds(3600))
            while await !rig.store.untilQuiet() {}
        }
        #expect(rig.clock.now.offset >= .seconds(86_400))
        task.cancel()
        await task.value
    }
}
