import PushModel
import Store
import TestSupport
import Testing

@testable import Delivery

struct AnswerBufferTests {
    private func report(_ index: Int) -> PushReport {
        PushReport(index: index, outcome: .accepted, latency: .zero)
    }

    private func batch(_ count: Int) -> SentBatch {
        let delivery = SettlementTests.delivery()
        var list = DeliveryList(of: Array(repeating: delivery.claim, count: count))
        for place in 0..<count {
            list.append(
                place,
                DeliveryTraits(
                    pushID: delivery.pushID, isOnce: false, isForActivity: false, canProbe: false,
                    expiresAt: delivery.expiresAt))
        }
        return SentBatch(list, lane: .bulk, worker: WorkerID(rawValue: 1))
    }

    @Test func aSecondAnswerGoesNoFurther() {
        let buffer = AnswerBuffer()
        let batch = batch(2)
        #expect(buffer.append([report(0), report(0)], of: batch, at: Sample.start) == 1)
        #expect(batch.take().map(\.index) == [0])
        // Also when the first one was taken long since.
        #expect(buffer.append([report(0), report(1), report(2), report(-1)], of: batch, at: Sample.start) == 3)
        #expect(batch.take().map(\.index) == [1])
        #expect(batch.take().isEmpty)
    }

    @Test func whatWasHeldBackStaysNoAttempt() {
        let batch = batch(2)
        let held = Outcome.throttled(.forbidden, after: .seconds(30))
        let reports = [
            PushReport(index: 0, outcome: held, latency: .zero, isAttempt: false),
            PushReport(index: 1, outcome: held, latency: .zero),
        ]
        #expect(AnswerBuffer().append(reports, of: batch, at: Sample.start) == 0)
        #expect(batch.take().map(\.isAttempt) == [false, true])
    }

    @Test func answersComeInTheOrderOfThePageWithTheirTimes() {
        let buffer = AnswerBuffer()
        let batch = batch(4)
        for (index, seconds) in [(3, 1), (0, 2), (2, 3), (1, 4)] {
            _ = buffer.append([report(index)], of: batch, at: Sample.start + .seconds(seconds))
        }
        let answers = batch.take()
        #expect(answers.map(\.index) == [0, 1, 2, 3])
        #expect(answers.map { $0.time - Sample.start } == [.seconds(2), .seconds(4), .seconds(3), .seconds(1)])
    }

    @Test func aBatchIsQueuedOnceUntilItIsTaken() {
        let buffer = AnswerBuffer()
        let batch = batch(3)
        for index in 0..<2 { _ = buffer.append([report(index)], of: batch, at: Sample.start) }
        #expect(buffer.take().count == 1)
        #expect(batch.take().count == 2)
        _ = buffer.append([report(2)], of: batch, at: Sample.start)
        #expect(buffer.take().count == 1)
    }
}
