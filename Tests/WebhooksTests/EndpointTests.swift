import Foundation
import JSON
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Synchronization
import TestSupport
import Testing

@testable import Webhooks

extension EndpointScene {
    /// Runs the sender of an endpoint, and turns the clock whenever it sleeps, until `isDone`, or the sender has ended.
    func drive(_ endpoint: WebhookEndpoint, until isDone: @escaping @Sendable () async throws -> Bool) async throws {
        let current = try await found(endpoint)
        try await withThrowingTaskGroup(of: Void.self) { group in
            let hasEnded = Shared(false)
            group.addTask { [services, clock] in
                var sender = EndpointSender(current, services, signal: WakeSignal())
                await sender.run()
                hasEnded.withLock { $0 = true }
                // Wakes the other task; cancelled when that is through.
                try? await clock.sleep(for: .seconds(1))
            }
            group.addTask { [clock] in
                while true {
                    await clock.sleepers(1, within: .seconds(61))
                    if hasEnded.withLock({ $0 }) { return }
                    if try await isDone() { return }
                    clock.advance(by: .seconds(60))
                }
            }
            try await group.next()
            group.cancelAll()
            clock.advance(by: .seconds(60))
        }
    }

    /// Until the endpoint has got everything that there is.
    func driveToEnd(_ endpoint: WebhookEndpoint) async throws {
        let newest = try await store.events(after: .zero, EventFilter(), limit: 0).newest
        try await drive(endpoint) {
            let found = try await self.found(endpoint)
            guard found.state == .enabled else { return true }
            return found.position.cursor >= newest && found.position.replay == nil
        }
    }

    /// Events of invitations, as `webhook-id` names them.
    func ids(_ endpoint: WebhookEndpoint, _ numbers: some Sequence<Int>) -> [String] {
        numbers.map { "msg_\(endpoint.id)_\($0)" }
    }
}

/// The sender of an endpoint over a real store, under a clock that the test turns.
@Suite(.timeLimit(.minutes(2)))
struct EndpointTests {
    @Test func eventsComeOneByOneInTheirOrder() async throws {
        let scene = try await EndpointScene()
        let endpoint = try await scene.add()
        try await scene.invite(5)
        try await scene.driveToEnd(endpoint)
        #expect(scene.receiver.taken.map(\.id) == scene.ids(endpoint, 1...5))
        let body = try JSONValue(parsing: Array(try #require(scene.receiver.taken.first).body.utf8))
        #expect(body["type"]?.stringValue == "referral.invited" && body["data"]?["invitation"] != nil)
        #expect(body["timestamp"]?.stringValue == scene.now.rfc3339 || body["timestamp"] != nil)
        let attempts = try await scene.store.webhookAttempts(of: endpoint.id, after: nil, limit: 10).elements
        #expect(attempts.map(\.delivery) == scene.ids(endpoint, (1...5).reversed()))
        #expect(attempts.allSatisfy { $0.status == 204 && $0.failure == nil })
    }

    /// A receiver that is down for three days: what is given up waits among the dead letters, what comes later comes in
    /// order, and a replay completes it.
    @Test func aReceiverThatWasDownGetsEverythingInTheEnd() async throws {
        let (day, isDown) = (Duration.seconds(86_400), Shared(true))
        let scene = try await EndpointScene { _ in
            isDown.withLock { $0 } ? WebhookAnswer(status: 500) : WebhookAnswer(status: 200)
        }
        let endpoint = try await scene.add()
        try await scene.invite(4)
        try await scene.drive(endpoint) { scene.clock.now.offset >= day * 3.5 }
        isDown.withLock { $0 = false }
        try await scene.driveToEnd(endpoint)
        #expect(scene.receiver.taken.map(\.id) == scene.ids(endpoint, 2...4))
        let letters = try await scene.store.deadLetters(of: endpoint.id, after: nil, limit: 9).elements
        #expect(letters.map(\.event.rawValue) == [1] && letters.first?.failure == "status")
        try await scene.change(endpoint) { change in
            change.replay = WebhookReplay(after: .zero, upTo: EventNumber(rawValue: 4), isOnlyFailed: true)
        }
        try await scene.driveToEnd(endpoint)
        #expect(scene.receiver.taken.map(\.id) == scene.ids(endpoint, [2, 3, 4, 1]))
        #expect(try await scene.store.deadLetters(of: endpoint.id, after: nil, limit: 9).elements.isEmpty)
        #expect(scene.receiver.taken.last?.body == letters.first.map { String(decoding: $0.body, as: UTF8.self) })
    }

    @Test func aReceiverThatIsDownForFiveDaysIsDisabledAndTheOthersAreTold() async throws {
        let scene = try await EndpointScene { sent in
            sent.url.contains("dead") ? WebhookAnswer(.connect, "refused") : WebhookAnswer(status: 200)
        }
        let dead = try await scene.add(host: "dead.example")
        let other = try await scene.add(types: [.webhookDisabled, .webhookFailing], host: "good.example")
        try await scene.invite(1)
        try await scene.drive(dead) { [clock = scene.clock] in clock.now.offset >= .seconds(4 * 86_400) }
        // What it did not take is given up; that alone disables nothing.
        #expect(try await scene.found(dead).state == .enabled)
        try await scene.invite(3)
        try await scene.drive(dead) { try await scene.found(dead).state != .enabled }
        let ended = scene.clock.now.offset
        #expect(ended >= DeliverySchedule.disablingTime && ended < DeliverySchedule.disablingTime + .seconds(120))
        #expect(try await scene.found(dead).state == .autoDisabled)
        try await scene.driveToEnd(other)
        let told = scene.receiver.taken.filter { $0.endpoint == other.id }.map(\.body)
        #expect(told.count == 4 && told.last?.contains(#""type":"webhook.disabled""#) == true)
        #expect(told.last?.contains("projects/demo/webhooks/\(dead.id)") == true)
        // Enabled again it goes on where it stopped.
        let before = try await scene.found(dead).position.cursor
        try await scene.change(dead) { $0.state = .enabled }
        #expect(try await scene.found(dead).position.cursor == before)
        #expect(try await scene.found(dead).position.failingSince == nil)
    }

    /// Warnings are for the others: an endpoint that is enabled again is not told what it was disabled for.
    @Test func anEndpointIsNotToldOfItself() async throws {
        let isDown = Shared(true)
        let scene = try await EndpointScene { sent in
            WebhookAnswer(status: isDown.withLock { $0 } && sent.url.contains("dead") ? 410 : 200)
        }
        let types: [EventType] = [.referralInvited, .webhookDisabled, .webhookFailing]
        let endpoint = try await scene.add(types: types, host: "dead.example")
        let other = try await scene.add(types: [.webhookDisabled], host: "good.example")
        try await scene.invite(1)
        try await scene.driveToEnd(endpoint)
        isDown.withLock { $0 = false }
        try await scene.change(endpoint) { $0.state = .enabled }
        try await scene.invite(1)
        for endpoint in [endpoint, other] { try await scene.driveToEndOrIdle(endpoint) }
        let taken = scene.receiver.taken
        #expect(taken.filter { $0.endpoint == endpoint.id }.map(\.id) == scene.ids(endpoint, [1, 3]))
        #expect(taken.filter { $0.endpoint == other.id }.map(\.id) == scene.ids(other, [2]))
    }

    @Test func goneIsForGood() async throws {
        let scene = try await EndpointScene { _ in WebhookAnswer(status: 410) }
        let endpoint = try await scene.add()
        try await scene.invite(2)
        try await scene.driveToEnd(endpoint)
        #expect(try await scene.found(endpoint).state == .autoDisabled && scene.receiver.sent.count == 1)
    }

    /// A list of endpoints that was read before one of them was disabled starts nothing.
    @Test func anEndpointThatWasDisabledMeanwhileGetsNothing() async throws {
        let scene = try await EndpointScene()
        let endpoint = try await scene.add()
        try await scene.invite(1)
        try await scene.change(endpoint) { $0.state = .disabled }
        var sender = EndpointSender(endpoint, scene.services, signal: WakeSignal())
        await sender.run()
        #expect(scene.receiver.sent.isEmpty)
    }

    /// One that moved on meanwhile begins where it is now.
    @Test func anEndpointThatChangedMeanwhileBeginsWhereItStands() async throws {
        let scene = try await EndpointScene()
        let endpoint = try await scene.add(host: "old.example")
        try await scene.invite(1)
        try await scene.change(endpoint) { change in
            change.settings = endpoint.settings
            change.settings?.url = "https://new.example/"
        }
        let services = scene.services
        let task = Task {
            var sender = EndpointSender(endpoint, services, signal: WakeSignal())
            await sender.run()
        }
        await scene.receiver.untilSent(1)
        task.cancel()
        await task.value
        #expect(scene.receiver.sent.map(\.url) == ["https://new.example/"])
    }

    // MARK: Batches

    @Test func eventsOfDevicesComeInBatchesInTheirOrder() async throws {
        let scene = try await EndpointScene()
        let endpoint = try await scene.add(types: [.deliveryAccepted, .deliveryRejected]) {
            $0.batching.maxEvents = 100
        }
        try await scene.broadcast(to: 250)
        try await scene.driveToEnd(endpoint)
        let batches = try scene.receiver.taken.map { try JSONValue(parsing: Array($0.body.utf8)) }
        #expect(batches.allSatisfy { $0["type"]?.stringValue == "delivery.batch" })
        let sizes = batches.map { $0["data"]?["events"].map(Self.elements)?.count ?? 0 }
        #expect(sizes == [100, 100, 50])
        let entries = batches.flatMap { $0["data"]?["events"].map(Self.elements) ?? [] }
        let sequences = entries.compactMap { Self.number($0["sequence"]) }
        #expect(sequences == sequences.sorted() && Set(sequences).count == 250)
        #expect(entries.count { $0["type"]?.stringValue == "delivery.rejected" } == 25)
        for (batch, size) in zip(batches, sizes) {
            let data = try #require(batch["data"])
            let (first, last) = (Self.number(data["firstSequence"]), Self.number(data["lastSequence"]))
            #expect(try #require(last) - #require(first) + 1 == size)
        }
        #expect(!scene.receiver.taken.contains { $0.body.contains("Grüße") || $0.body.contains("d7d7d7") })
    }

    /// What was taken is written down though the next batch can't be read: a crash then repeats nothing.
    @Test func whatWasTakenIsNotedBesideTheReadingOfTheNextBatch() async throws {
        let scene = try await EndpointScene()
        let endpoint = try await scene.add(types: [.deliveryAccepted]) { $0.batching.maxEvents = 100 }
        try await scene.broadcast(to: 250)
        let store = HeldStore(scene.store, heldFrom: 2)
        var services = scene.services
        services.store = store
        let sender = Task { [services] in
            var sender = EndpointSender(endpoint, services, signal: WakeSignal())
            await sender.run()
        }
        await store.untilNoted(1)
        await store.untilHeld()
        #expect(scene.receiver.taken.count == 1)
        #expect(try await scene.found(endpoint).position.cursor > .zero)
        // What was read meanwhile comes next.
        store.release()
        await scene.receiver.untilSent(2)
        sender.cancel()
        await sender.value
        #expect(Set(scene.receiver.sent.map(\.id)).count == scene.receiver.sent.count)
    }

    @Test func aBatchIsNoLongerThanItsBytes() async throws {
        let scene = try await EndpointScene()
        let endpoint = try await scene.add(types: [.deliveryAccepted, .deliveryRejected]) {
            $0.batching.maxBytes = 4096
        }
        try await scene.broadcast(to: 120)
        try await scene.driveToEnd(endpoint)
        #expect(scene.receiver.taken.allSatisfy { $0.body.utf8.count <= 4096 } && scene.receiver.taken.count > 5)
        let count = try scene.receiver.taken.reduce(0) { sum, sent in
            let body = try JSONValue(parsing: Array(sent.body.utf8))
            return sum + (body["data"]?["events"].map(Self.elements)?.count ?? 0)
        }
        #expect(count == 120)
    }

    /// A filter and a sample leave out what they say, and nothing else.
    @Test func aFilterLeavesOutWhatItSays() async throws {
        let scene = try await EndpointScene()
        let all: [EventType] = [.deliveryAccepted, .deliveryRejected, .messageAccepted, .messageFinished]
        let failures = try await scene.add(types: all) { $0.filter.isOnlyFailures = true }
        let label = try await scene.add(types: all) { $0.filter.labels = [AnalyticsLabel(rawValue: "other")!] }
        let topic = try await scene.add(types: [.messageFinished]) { $0.filter.topics = [Topic(rawValue: "news")!] }
        try await scene.broadcast(to: 30)
        for endpoint in [failures, label, topic] { try await scene.driveToEndOrIdle(endpoint) }
        func bodies(_ endpoint: WebhookEndpoint) -> [String] {
            scene.receiver.taken.filter { $0.endpoint == endpoint.id }.map(\.body)
        }
        #expect(bodies(failures).joined().components(separatedBy: "delivery.rejected").count == 4)
        #expect(!bodies(failures).joined().contains("delivery.accepted") && bodies(label).isEmpty)
        let finished = try #require(bodies(topic).first)
        #expect(bodies(topic).count == 1 && finished.contains(#""accepted":27,"rejected":3"#), "\(finished)")
        #expect(finished.contains(#""rejectedByReason":{"BadDeviceToken":3}"#))
    }

    // MARK: Restarts

    /// A batch that was closed by time is sent again as it was after a restart, though more would go in by then.
    @Test func aBatchIsTheSameAfterARestart() async throws {
        let stops = Shared(true)
        let scene = try await EndpointScene { _ in
            if stops.withLock({ $0 }) {
                // The gateway is killed while the request is under way.
                try? await Task.sleep(for: .longerThanAnyTest)
                return WebhookAnswer(.timeout, "")
            }
            return WebhookAnswer(status: 200)
        }
        let endpoint = try await scene.add(types: [.deliveryAccepted, .deliveryRejected])
        try await scene.broadcast(to: 10)
        let (services, found) = (scene.services, try await scene.found(endpoint))
        let sender = Task {
            var sender = EndpointSender(found, services, signal: WakeSignal())
            await sender.run()
        }
        // It waits for more events of the batch, and rests before it looks again.
        for _ in 0..<2 {
            await scene.clock.sleepers(1, within: .seconds(61))
            scene.clock.advance(by: .seconds(60))
        }
        await scene.receiver.untilSent(1)
        sender.cancel()
        await sender.value
        #expect(try await scene.found(endpoint).position.cursor == .zero)
        try await scene.broadcast(to: 20)
        stops.withLock { $0 = false }
        try await scene.driveToEnd(endpoint)
        let sent = scene.receiver.sent
        #expect(sent.count >= 3 && sent[0].id == sent[1].id && sent[0].body == sent[1].body)
        let entries = try scene.receiver.taken.flatMap { sent in
            try JSONValue(parsing: Array(sent.body.utf8))["data"]?["events"].map(Self.elements) ?? []
        }
        #expect(entries.count == 30 && Set(entries.compactMap { Self.number($0["sequence"]) }).count == 30)
    }

    /// Retention was faster than the endpoint: it is told what it will never get, once, and goes on.
    @Test func aGapIsToldAndTheRestComes() async throws {
        let scene = try await EndpointScene()
        let endpoint = try await scene.add()
        try await scene.invite(6)
        let later = Timestamp(milliseconds: scene.now.milliseconds + 1)
        #expect(try await scene.store.forgetEvents(before: later, limit: 4) == 4)
        try await scene.driveToEnd(endpoint)
        let gap = try #require(scene.receiver.taken.first)
        #expect(gap.body.contains(#""type":"delivery.gap""#))
        #expect(gap.body.contains(#""data":{"firstSequence":1,"lastSequence":4}"#))
        #expect(scene.receiver.taken.dropFirst().map(\.id) == scene.ids(endpoint, 5...6))
    }

    /// What went between the order of a replay and its turn is told too; a dead letter of it stays.
    @Test func aReplayOverWhatIsGoneTellsTheGap() async throws {
        let scene = try await EndpointScene()
        let endpoint = try await scene.add()
        try await scene.invite(6)
        try await scene.driveToEnd(endpoint)
        var progress = WebhookProgress(revision: endpoint.revision, position: try await scene.found(endpoint).position)
        progress.deadLetter = WebhookDeadLetter(
            delivery: "dead", type: "referral.invited", event: EventNumber(rawValue: 2), time: scene.now,
            failure: "status", body: [7])
        try await scene.store.note(progress, of: endpoint.id, at: scene.now)
        try await scene.change(endpoint) { change in
            change.replay = WebhookReplay(
                after: EventNumber(rawValue: 1), upTo: EventNumber(rawValue: 5), isOnlyFailed: false)
        }
        let later = Timestamp(milliseconds: scene.now.milliseconds + 1)
        #expect(try await scene.store.forgetEvents(before: later, limit: 4) == 4)
        try await scene.driveToEnd(endpoint)
        let replayed = scene.receiver.taken.dropFirst(6)
        #expect(replayed.map(\.id) == ["msg_\(endpoint.id)_gap_2_4"] + scene.ids(endpoint, [5]))
        #expect(replayed.first?.body.contains(#""data":{"firstSequence":2,"lastSequence":4}"#) == true)
        #expect(try await scene.store.deadLetters(of: endpoint.id, after: nil, limit: 9).elements.count == 1)
    }

    @Test func aReplaySendsItsRangeWithTheFormerIDsBeforeTheRest() async throws {
        let scene = try await EndpointScene()
        let endpoint = try await scene.add()
        try await scene.invite(5)
        try await scene.driveToEnd(endpoint)
        try await scene.invite(1)
        try await scene.change(endpoint) { change in
            change.replay = WebhookReplay(
                after: EventNumber(rawValue: 1), upTo: EventNumber(rawValue: 3), isOnlyFailed: false)
        }
        try await scene.driveToEnd(endpoint)
        #expect(scene.receiver.taken.map(\.id) == scene.ids(endpoint, [1, 2, 3, 4, 5, 2, 3, 6]))
        #expect(try await scene.found(endpoint).position.replay == nil)
    }

    /// Dead letters that fail again are no reason for live events to wait for days.
    @Test func deadLettersThatFailAgainEndTheRetry() async throws {
        let scene = try await EndpointScene { sent in WebhookAnswer(status: sent.id.contains("dead") ? 500 : 200) }
        let endpoint = try await scene.add(after: EventNumber(rawValue: 5))
        for number in 1...5 as ClosedRange<Int64> {
            var progress = WebhookProgress(revision: endpoint.revision, position: endpoint.position)
            progress.deadLetter = WebhookDeadLetter(
                delivery: "dead_\(number)", type: "referral.invited", event: EventNumber(rawValue: number),
                time: scene.now, failure: "status", body: [7])
            try await scene.store.note(progress, of: endpoint.id, at: scene.now)
        }
        try await scene.invite(6)
        try await scene.change(endpoint) { change in
            change.replay = WebhookReplay(after: .zero, upTo: EventNumber(rawValue: 5), isOnlyFailed: true)
        }
        try await scene.driveToEnd(endpoint)
        #expect(scene.receiver.sent.map(\.id) == ["dead_1", "dead_2", "dead_3"] + scene.ids(endpoint, [6]))
        #expect(scene.clock.now.offset < .seconds(3600))
        #expect(try await scene.store.deadLetters(of: endpoint.id, after: nil, limit: 9).elements.count == 5)
    }

    // MARK: Beside each other

    /// One endpoint whose receiver never answers, beside nine good ones.
    @Test func aReceiverThatHangsDelaysNoOther() async throws {
        let scene = try await EndpointScene { sent in
            if sent.url.contains("hangs") {
                try? await Task.sleep(for: .longerThanAnyTest)
                return WebhookAnswer(.timeout, "")
            }
            return WebhookAnswer(status: 200)
        }
        _ = try await scene.add(host: "hangs.example")
        var good: [WebhookEndpoint] = []
        for number in 0..<9 { good.append(try await scene.add(host: "good\(number).example")) }
        try await scene.invite(20)
        let receiver = scene.receiver
        try await scene.run {
            // One request hangs; the clock stands still meanwhile, so that no other waits for anything.
            await receiver.untilSent(1 + 9 * 20)
        }
        for endpoint in good {
            let ids = receiver.sent.filter { $0.endpoint == endpoint.id }.map(\.id)
            #expect(ids == scene.ids(endpoint, 1...20))
        }
    }

    /// What its owner changes takes effect on the sender that runs: events that wait go to the new URL.
    @Test func eventsThatWaitGoToTheNewURL() async throws {
        let scene = try await EndpointScene { sent in
            sent.url.contains("old") ? WebhookAnswer(status: 503) : WebhookAnswer(status: 200)
        }
        let endpoint = try await scene.add(host: "old.example")
        try await scene.invite(2)
        let receiver = scene.receiver
        try await scene.run {
            await receiver.untilSent(1)
            try await scene.change(endpoint) { change in
                change.settings = endpoint.settings
                change.settings?.url = "https://new.example/"
            }
            await receiver.untilSent(3)
        }
        #expect(
            receiver.sent.map(\.url).prefix(3) == [
                "https://old.example/", "https://new.example/", "https://new.example/",
            ])
        #expect(receiver.sent.map(\.id).prefix(3) == scene.ids(endpoint, [1, 1, 2])[...])
    }

    private static func elements(_ value: JSONValue) -> [JSONValue] {
        guard case .array(let elements) = value else { return [] }
        return elements
    }

    private static func number(_ value: JSONValue?) -> Int? {
        guard case .number(let text)? = value else { return nil }
        return Int(text)
    }
}

extension EndpointScene {
    /// Until the endpoint has nothing more to get, be it that nothing of the rest is for it.
    func driveToEndOrIdle(_ endpoint: WebhookEndpoint) async throws {
        let end = clock.now.offset + .seconds(600)
        try await drive(endpoint) { [clock] in clock.now.offset >= end }
    }
}
