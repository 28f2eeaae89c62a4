import Delivery
import PushModel
import ServiceLifecycle
import Store
import TestSupport
import Testing

/// Each call of the store fails once, is slow, or is where the process ends: nothing is lost, nothing but what was on
/// the wire is repeated, and the ledger balances.
@Suite(.timeLimit(.minutes(5)))
struct FaultTests {
    /// Calls that a run makes by itself, without a crash of a worker.
    private static let calls: [FakeStore.Call] = [
        .accept, .message, .enroll, .renew, .takeOver, .openFanOuts, .claimPage, .dueRoutes, .claimDue, .settle,
        .bookCancelled, .backlog,
    ]

    private static func limits() -> DeliveryLimits {
        var limits = DeliveryLimits()
        limits.pageSize = 20
        limits.inFlight = 100
        return limits
    }

    /// A third of the pushes needs a second attempt, so that all calls are made.
    private static let script: ScriptedSender.Script = { push, attempt in
        (push.deviceToken.bytes.last ?? 0) % 3 == 0 && attempt == 1 ? .notSent(.refused) : .accepted
    }

    @Test(arguments: calls, [FakeStore.Fault.error, .slow])
    func aFaultLosesNothing(call: FakeStore.Call, fault: FakeStore.Fault) async throws {
        // What the start needs fails the start; the gateway is started again.
        guard fault == .slow || (call != .enroll && call != .takeOver) else { return }
        for number in [1, 2, 5] {
            let rig = Rig(limits: Self.limits(), script: Self.script)
            await rig.subscribe(100)
            await rig.store.inject { $0 == call && $1 == number ? fault : nil }
            try await rig.run { rig in
                var accepted: [Message] = []
                for round in 1...6 {
                    do {
                        accepted.append(
                            try await round == 2 ? rig.acceptTopic() : rig.accept(to: Int64(round)))
                    } catch SubmissionRefusal.store {
                        // Refused: must not be sent.
                    }
                }
                try await Self.finish(rig, accepted)
                #expect(Set(rig.sender.pushes.map(\.id)).count == (await rig.store.ledger.count))
            }
        }
    }

    @Test(arguments: calls, [FakeStore.Fault.crashBefore, .crashAfter])
    func aCrashLosesNothing(call: FakeStore.Call, fault: FakeStore.Fault) async throws {
        for number in [1, 2, 4] {
            let store = FakeStore()
            let first = Rig(limits: Self.limits(), store: store, script: Self.script)
            await first.subscribe(100)
            await store.inject { $0 == call && $1 == number ? fault : nil }
            var accepted: [Message] = []
            // The process ends in the middle: its tasks are cancelled, the store hears nothing of it.
            let ended = Dial()
            let running = Task {
                defer { ended.offset = .seconds(1) }
                try await first.group.run()
            }
            for round in 1...6 {
                do {
                    accepted.append(try await round == 2 ? first.acceptTopic() : first.accept(to: Int64(round)))
                } catch SubmissionRefusal.store {
                    // Not answered with 200.
                }
            }
            for _ in 0..<200 where await !store.hasCrashed {
                first.clock.advance(by: .milliseconds(200))
                for _ in 0..<10 { await Task.yield() }
            }
            await store.crashNow()
            running.cancel()
            while ended.offset == .zero {
                first.clock.advance(by: .seconds(1))
                await Task.yield()
            }
            await store.restart()
            let second = Rig(limits: Self.limits(), store: store, script: Self.script)
            try await second.run { rig in
                try await Self.finish(rig, accepted)
            }
            // Whatever was accepted has ended; a repeat carries the id of its first.
            let keys = await store.ledger.keys
            let ids = Set(keys.map { PushID(message: $0.message, registration: $0.registration) })
            #expect(Set((first.sender.pushes + second.sender.pushes).map(\.id)).isSubset(of: ids))
        }
    }

    /// Lets time pass until all messages that the store has are complete, and looks at their ledgers.
    private static func finish(_ rig: Rig, _ accepted: [Message]) async throws {
        for message in accepted { #expect(await rig.store.books[message.id] != nil) }
        let isComplete = { (store: FakeStore) in await store.books.values.allSatisfy(\.isComplete) }
        if await !isComplete(rig.store) { try await rig.advance(until: isComplete) }
        for book in await rig.store.books.values {
            #expect(book.ended.values.reduce(0, +) == book.message.audience)
            #expect(book.ended[.accepted] == book.message.audience)
        }
        #expect(await rig.store.claimed.isEmpty)
        #expect(await rig.store.waiting.isEmpty)
    }
}
