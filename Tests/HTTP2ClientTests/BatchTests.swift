import Foundation
import Synchronization
import TestSupport
import Testing

@testable import HTTP2Client

@Suite(.timeLimit(.minutes(5))) struct BatchTests {
    private let failure = TransportFailure(.refused, "")

    @Test func aBatchIsDoneWithTheLastOfItsRequests() {
        let told = Mutex<[[Int]]>([])
        let requestBatch = RequestBatch(requests: Array(repeating: .get, count: 3)) { ends in
            told.withLock { $0.append(ends.map(\.index)) }
        }
        let batch = BatchPart(requestBatch: requestBatch, count: 2, queuedAt: .now())
        #expect(batch.add(Ticket(batch: batch, index: 2), .notSent(failure), now: .now()))
        #expect(!batch.deliver())
        #expect(batch.add(Ticket(batch: batch, index: 1), .notSent(failure), now: .now()))
        #expect(batch.deliver())
        #expect(told.withLock { $0 } == [[2], [1]])
    }

    @Test func aBatchThatIsDoneHoldsNothingAndServesAgain() {
        weak var weakly: RequestBatch?
        let batch: BatchPart
        do {
            let requestBatch = RequestBatch(requests: [.get]) { _ in }
            weakly = requestBatch
            batch = BatchPart(requestBatch: requestBatch, count: 1, queuedAt: Instant(nanoseconds: 1))
        }
        #expect(batch.add(Ticket(batch: batch, index: 0), .notSent(failure), now: .now()))
        #expect(batch.deliver())
        #expect(weakly == nil)

        let told = Mutex<[Int]>([])
        let next = RequestBatch(requests: [.get, .post()]) { ends in told.withLock { $0 += ends.map(\.index) } }
        batch.reset(requestBatch: next, count: 2, queuedAt: Instant(nanoseconds: 2))
        #expect(batch.queuedAt == Instant(nanoseconds: 2))
        #expect(batch.add(Ticket(batch: batch, index: 0), .notSent(failure), now: .now()))
        #expect(!batch.add(Ticket(batch: batch, index: 1), .notSent(failure), now: .now()))
        #expect(batch.deliver())
        #expect(told.withLock { $0 } == [0, 1])
    }

    @Test func theTimeOfAStreamBeginsWhenItIsOpened() {
        let told = Mutex<[RequestCompletion]>([])
        let requestBatch = RequestBatch(requests: [.get, .get]) { ends in told.withLock { $0 += ends } }
        let start = requestBatch.submittedAt
        let batch = BatchPart(requestBatch: requestBatch, count: 2, queuedAt: start)
        let ticket = Ticket(batch: batch, index: 0, openedAt: start.adding(nanoseconds: 700))
        _ = batch.add(ticket, .unanswered(failure), now: start.adding(nanoseconds: 1000))
        _ = batch.add(Ticket(batch: batch, index: 1), .notSent(failure), now: start.adding(nanoseconds: 1000))
        _ = batch.deliver()
        let ends = told.withLock { $0 }
        #expect(ends.map(\.latency) == [.nanoseconds(1000), .nanoseconds(1000)])
        #expect(ends.map(\.streamLatency) == [.nanoseconds(300), nil])
    }

    @Test func messagesThatALoopDidNotTakeYetDoNotWakeItAgain() throws {
        let mailbox = try Mailbox()
        var messages: [LoopMessage] = []
        for round in 1...3 {
            for _ in 0..<5 { #expect(mailbox.post(.recycle(PoolID(value: 0)))) }
            #expect(mailbox.wakeUps == round)
            mailbox.take(into: &messages)
            #expect(messages.count == 5)
            messages.removeAll()
        }
    }

    /// So many small batches at a time that the loop uses its batches over and over.
    @Test(.enabled(if: Tool.hasNghttpd)) func batchesThatAreUsedAgainTellEachRequestOnce() async throws {
        let server = try await Nghttpd()
        try await withEngine { engine in
            let pool = try engine.openPool(PoolConfiguration.local(server.port, trust: server.tls))
            let good = await withTaskGroup { group in
                for caller in 0..<40 {
                    group.addTask {
                        var good = 0
                        for _ in 0..<20 {
                            let exchanges = await pool.exchange(Array(repeating: .post(), count: 1 + caller % 7))
                            good += exchanges.count { $0.status == 200 }
                        }
                        return good
                    }
                }
                return await group.reduce(0, +)
            }
            #expect(good == (0..<40).reduce(0) { $0 + 20 * (1 + $1 % 7) })
            #expect(pool.statistics.wakeUps > 0)
        }
    }
}
