import Store
import Testing

@testable import SQLStorage
@testable import SQLiteStorage

/// Which writes share a transaction.
@Suite struct WriteQueueTests {
    private typealias Queue = WriteQueue<String>

    /// A queue that expressions under test can change.
    private final class Waiting {
        var queue = Queue()

        func add(_ job: String, _ kind: WriteKind, rows: Int) {
            let isTaken = queue.append(job, kind, rows: rows)
            #expect(isTaken)
        }

        func take() -> [String] { queue.takeGroup() }
    }

    @Test func aGroupIsLimitedByRowsNotByWrites() {
        let waiting = Waiting()
        for number in 0..<10 { waiting.add("\(number)", .change, rows: Queue.groupRows / 4) }
        #expect(waiting.take() == ["0", "1", "2", "3"])
        #expect(waiting.take() == ["4", "5", "6", "7"])
        #expect(waiting.take() == ["8", "9"])
        #expect(waiting.take() == [])
        for number in 0..<Queue.groupRows { waiting.add("\(number)", .change, rows: 1) }
        #expect(waiting.take().count == Queue.groupRows && waiting.queue.count == 0)
    }

    @Test func aWriteWithMoreRowsThanAGroupGoesAlone() {
        let waiting = Waiting()
        waiting.add("large", .settlement, rows: Queue.groupRows * 3)
        waiting.add("next", .settlement, rows: 1)
        #expect(waiting.take() == ["large"])
        #expect(waiting.take() == ["next"])
    }

    @Test func eachKindThatWaitsIsInTheGroup() {
        let waiting = Waiting()
        for _ in 0..<WriteKind.accept.limit { waiting.add("accept", .accept, rows: 4) }
        for _ in 0..<5 { waiting.add("settle", .settlement, rows: Queue.groupRows) }
        for kind in [WriteKind.lease, .probe, .claim, .change] { waiting.add("\(kind)", kind, rows: 1) }
        for _ in 0..<4 {
            let group = waiting.take()
            #expect(group.count { $0 == "settle" } == 1, "its first write, however large")
            #expect(group.contains("accept"), "and a share of what else waits")
        }
        for kind in [WriteKind.lease, .probe, .claim] { #expect(waiting.queue.count(of: kind) == 0) }
    }

    @Test func whatAKindLeavesOfItsShareGoesToTheOthers() {
        let waiting = Waiting()
        for _ in 0..<Queue.groupRows { waiting.add("accept", .accept, rows: 1) }
        waiting.add("probe", .probe, rows: 1)
        #expect(waiting.take().count == Queue.groupRows)
        #expect(waiting.take() == ["accept"])
    }

    @Test(arguments: WriteKind.allCases) func aKindHasItsOwnPlaces(kind: WriteKind) {
        let waiting = Waiting()
        for _ in 0..<kind.limit { waiting.add("", kind, rows: 1) }
        let isTaken = waiting.queue.append("", kind, rows: 1)
        #expect(!isTaken)
        for other in WriteKind.allCases where other != kind { waiting.add("", other, rows: 1) }
    }
}
