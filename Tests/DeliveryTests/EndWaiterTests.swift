import PushModel
import Store
import TestSupport
import Testing

@testable import Delivery

/// The table of callers who wait, without a runner.
@Suite(.timeLimit(.minutes(5)))
struct EndWaiterTests {
    private static let end = DeliveryEnd(outcome: .rejected, reason: "Forbidden")

    private func id(_ number: Int) -> MessageID {
        MessageID(acceptedAt: Sample.start, random: UInt64(number))
    }

    /// The deadline and the write come at the same time, in every order that chance makes: what was begun for a caller
    /// is told to that caller, and who withdrew first is not written for.
    @Test func anEndIsWrittenForACallerIfAndOnlyIfTheCallerIsTold() async {
        let waiters = EndWaiters()
        var random = SeededRandom(seed: 5)
        for number in 0..<2000 {
            let message = id(number)
            let limit = Duration.microseconds(Int.random(in: 0...150, using: &random))
            let fails = Int.random(in: 0...3, using: &random) == 0
            waiters.enter(message)
            async let told = waiters.end(of: message, atMost: limit, on: ContinuousClock())
            async let wasWritten = Task.detached {
                if fails, waiters.beginWriting(message) {
                    await Task.yield()
                    waiters.failedToWrite([message: Self.end])
                }
                guard waiters.beginWriting(message) else { return false }
                await Task.yield()
                waiters.wrote([message: Self.end])
                return true
            }.value
            let (end, isWritten) = await (told, wasWritten)
            #expect((end == Self.end) == isWritten)
        }
        #expect(waiters.isEmpty)
    }

    @Test func aWriteThatHangsIsNotWaitedForWithoutEnd() async {
        let (waiters, clock) = (EndWaiters(), TestClock())
        waiters.enter(id(1))
        #expect(waiters.beginWriting(id(1)))
        async let end = waiters.end(of: id(1), atMost: .seconds(5), on: clock)
        await clock.advanceToSleeper(within: .seconds(5))
        await clock.advanceToSleeper(within: EndWaiters.writeLimit)
        #expect(await end == nil)
        waiters.wrote([id(1): Self.end])
        #expect(waiters.isEmpty)
    }

    @Test func aWriteThatFailsAfterTheDeadlineLetsTheCallerGo() async {
        let (waiters, clock) = (EndWaiters(), TestClock())
        waiters.enter(id(1))
        #expect(waiters.beginWriting(id(1)))
        async let end = waiters.end(of: id(1), atMost: .seconds(1), on: clock)
        await clock.advanceToSleeper(within: .seconds(1))
        await clock.sleepers(within: EndWaiters.writeLimit)
        waiters.failedToWrite([id(1): Self.end])
        #expect(await end == nil)
        #expect(!waiters.beginWriting(id(1)))
    }

    @Test func whoWaitedAtTheLookBeforeIsLookedForAndTold() async {
        let (waiters, clock) = (EndWaiters(), TestClock())
        func look(finds messages: Set<MessageID>, andOthers hasOthers: Bool) {
            let look = waiters.lookedFor()
            #expect(Set(look.messages) == messages && look.hasOthers == hasOthers)
        }
        look(finds: [], andOthers: false)
        waiters.enter(id(1))
        look(finds: [], andOthers: true)
        waiters.enter(id(2))
        waiters.enter(id(3))
        look(finds: [id(1)], andOthers: true)
        #expect(waiters.beginWriting(id(2)))
        look(finds: [id(1), id(3)], andOthers: false)
        async let first = waiters.end(of: id(1), atMost: .seconds(30), on: clock)
        async let second = waiters.end(of: id(2), atMost: .seconds(30), on: clock)
        let other = DeliveryEnd(outcome: .accepted, reason: nil)
        // What is being written here is told as it was written; what no caller waits for is passed over.
        waiters.found([id(1): Self.end, id(2): Self.end, id(4): Self.end])
        waiters.wrote([id(2): other])
        #expect(await first == Self.end)
        #expect(await second == other)
        look(finds: [id(3)], andOthers: false)
        waiters.leave(id(3))
        #expect(waiters.isEmpty)
    }

    @Test func thereIsRoomForSoManyAndNotMore() async {
        let waiters = EndWaiters()
        for number in 0..<EndWaiters.limit { waiters.enter(id(number)) }
        waiters.enter(id(EndWaiters.limit))
        #expect(!waiters.isAwaited(id(EndWaiters.limit)))
        #expect(await waiters.end(of: id(EndWaiters.limit), atMost: .seconds(30), on: TestClock()) == nil)
        waiters.leave(id(0))
        waiters.enter(id(EndWaiters.limit))
        #expect(waiters.isAwaited(id(EndWaiters.limit)))
    }

    @Test func whoStopsLetsGoAllButThoseThatAreBeingWritten() async {
        let waiters = EndWaiters()
        waiters.enter(id(1))
        waiters.enter(id(2))
        #expect(waiters.beginWriting(id(2)))
        waiters.stop()
        waiters.enter(id(3))
        #expect(await waiters.end(of: id(1), atMost: .seconds(30), on: TestClock()) == nil)
        #expect(await waiters.end(of: id(3), atMost: .seconds(30), on: TestClock()) == nil)
        waiters.wrote([id(2): Self.end])
        #expect(await waiters.end(of: id(2), atMost: .seconds(30), on: TestClock()) == Self.end)
    }
}
