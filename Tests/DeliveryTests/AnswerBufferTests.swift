import PushModel
import Testing

@testable import Delivery

struct AnswerBufferTests {
    private func report(_ index: Int) -> PushReport {
        PushReport(index: index, outcome: .accepted, latency: .zero)
    }

    @Test func aSecondAnswerGoesNoFurther() {
        let buffer = AnswerBuffer()
        let batch = SentBatch([SettlementTests.delivery(), SettlementTests.delivery()])
        #expect(buffer.append([report(0), report(0)], of: batch, at: Sample.start) == 1)
        #expect(buffer.append([report(0), report(1), report(2), report(-1)], of: batch, at: Sample.start) == 3)
        #expect(buffer.take(atLeast: 10).count == 2)
        #expect(buffer.take(atLeast: 10).isEmpty)
    }

    @Test func whatWasHeldBackStaysNoAttempt() {
        let buffer = AnswerBuffer()
        let batch = SentBatch([SettlementTests.delivery(), SettlementTests.delivery()])
        let held = Outcome.throttled(.forbidden, after: .seconds(30))
        let reports = [
            PushReport(index: 0, outcome: held, latency: .zero, isAttempt: false),
            PushReport(index: 1, outcome: held, latency: .zero),
        ]
        _ = buffer.append(reports, of: batch, at: Sample.start)
        let attempts = buffer.take(atLeast: 2).map { finding in
            if case .answered(_, _, let isAttempt, _) = finding { isAttempt } else { nil as Bool? }
        }
        #expect(attempts == [false, true])
    }

    @Test func findingsAreTakenInOrderAndInPieces() {
        let buffer = AnswerBuffer()
        let batches = (0..<4).map { _ in SentBatch(Array(repeating: SettlementTests.delivery(), count: 3)) }
        for batch in batches { _ = buffer.append((0..<3).map(report), of: batch, at: Sample.start) }
        #expect(buffer.take(atLeast: 4).count == 6)
        #expect(buffer.take(atLeast: 1).count == 3)
        #expect(buffer.take(atLeast: 1000).count == 3)
    }
}
