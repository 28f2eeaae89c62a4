import Logging
import Synchronization
import Testing

@testable import HTTP2Client

/// The small parts by themselves.
@Suite(.timeLimit(.minutes(5)))
struct PartsTests {
    @Test func deadlinesComeInOrder() {
        var random = SplitMix(state: 7)
        var deadlines = Deadlines()
        let times = (0..<500).map { _ in Int64.random(in: 0..<1000, using: &random) }
        for time in times { deadlines.add(Instant(nanoseconds: time), owner: .pool(PoolID(value: 0))) }
        var popped: [Int64] = []
        while let due = deadlines.popDue(at: Instant(nanoseconds: 500)) { popped.append(due.time.nanoseconds) }
        #expect(popped == times.filter { $0 <= 500 }.sorted())
        #expect(deadlines.next?.nanoseconds == times.filter { $0 > 500 }.min())
    }

    @Test func anAlarmThatMovedEarlierIgnoresItsOldEntry() {
        var alarm = Alarm()
        let (early, late) = (Instant(nanoseconds: 1), Instant(nanoseconds: 2))
        let added = [alarm.needsEntry(at: late), alarm.needsEntry(at: late), alarm.needsEntry(at: early)]
        #expect(added == [true, false, true])
        let fired = [alarm.fires(at: early), alarm.fires(at: late)]
        #expect(fired == [true, false])
    }

    @Test func streamDeadlinesKeepTheOrderOfOpening() {
        var list = StreamDeadlines()
        for slot in 0..<5 { list.append(slot: slot, deadline: Instant(nanoseconds: Int64(slot))) }
        list.remove(slot: 0)
        list.remove(slot: 2)
        list.remove(slot: 4)
        list.append(slot: 2, deadline: Instant(nanoseconds: 9))
        var order: [Int] = []
        while let first = list.first {
            order.append(first.slot)
            list.remove(slot: first.slot)
        }
        #expect(order == [1, 3, 2])
    }

    @Test func backOffDoublesWithinItsBounds() {
        var random = SplitMix(state: 1)
        var backOff = BackOff(floor: .seconds(1), ceiling: .seconds(60))
        let expected: [ClosedRange<Double>] = [1...2, 2...4, 4...8, 8...16, 16...32, 30...60, 30...60]
        for range in expected {
            let pause = Double(backOff.failed(using: &random)) / 1e9
            #expect(range.contains(pause), "after \(backOff.failures)")
        }
        backOff.succeeded()
        let pause = Double(backOff.failed(using: &random)) / 1e9
        #expect((1...2).contains(pause))
    }

    @Test func backOffSurvivesOddBounds() {
        var random = SplitMix(state: 1)
        var backOff = BackOff(floor: .seconds(5), ceiling: .seconds(1))
        for _ in 0..<100 {
            let pause = backOff.failed(using: &random)
            #expect(pause == 5_000_000_000)
        }
        var none = BackOff(floor: .zero, ceiling: .zero)
        let pause = none.failed(using: &random)
        #expect(pause == 0)
    }

    @Test func theGateGrantsWhatThereIsAndThenSuspends() async {
        let gate = PoolGate(limit: 10)
        #expect(await gate.enter(7, isUrgent: false) == 7)
        #expect(await gate.enter(7, isUrgent: false) == 3)
        async let waiting = gate.enter(5, isUrgent: false)
        gate.leave(10, isUrgent: false)
        #expect(await waiting == 5)
        #expect(gate.statistics.queued == 5)
    }

    @Test func aGateLetsABatchInOnceAnEighthIsFree() async {
        let gate = PoolGate(limit: 80)
        #expect(await gate.enter(80, isUrgent: false) == 80)
        async let waiting = gate.enter(40, isUrgent: false)
        while gate.waiting == 0 { await Task.yield() }
        gate.leave(9, isUrgent: false)
        #expect(gate.statistics.queued == 71)
        gate.leave(1, isUrgent: false)
        #expect(await waiting == 10)
        #expect(gate.statistics.queued == 80)
    }

    @Test func aQueueFullOfBulkLetsUrgentRequestsIn() async {
        let gate = PoolGate(limit: 10)
        #expect(await gate.enter(10, isUrgent: false) == 10)
        async let bulk = gate.enter(5, isUrgent: false)
        while gate.waiting == 0 { await Task.yield() }
        #expect(await gate.enter(3, isUrgent: true) == 3)
        gate.leave(3, isUrgent: true)
        #expect(gate.waiting == 1, "an urgent one's place is none for bulk")
        gate.leave(5, isUrgent: false)
        #expect(await bulk == 5)
        #expect(gate.statistics.queued == 10)
    }

    @Test func aClosedGateTurnsEverybodyAway() async {
        let gate = PoolGate(limit: 1)
        #expect(await gate.enter(1, isUrgent: false) == 1)
        async let waiting = gate.enter(1, isUrgent: true)
        gate.close()
        #expect(await waiting == 0)
        #expect(await gate.enter(1, isUrgent: false) == 0)
    }

    @Test func aClosedMailboxTakesNothing() throws {
        let mailbox = try Mailbox()
        #expect(mailbox.post(.stop(within: .zero)))
        #expect(mailbox.close().count == 1)
        #expect(!mailbox.post(.stop(within: .zero)))
    }

    @Test func theQueueServesUrgentRequestsFirst() {
        let requests = [Request.post("1"), .post("2", isUrgent: true), .post("3"), .post("4", isUrgent: true)]
        let batch = BatchPart(
            requestBatch: RequestBatch(requests: requests) { _ in }, count: requests.count,
            queuedAt: Instant(nanoseconds: 5))
        var queue = RequestQueue()
        for index in requests.indices { queue.append(Ticket(batch: batch, index: index)) }
        #expect(queue.oldest == Instant(nanoseconds: 5))
        let tooEarly = queue.popFirst(queuedBy: Instant(nanoseconds: 4))
        #expect(tooEarly?.index == nil)
        var order: [Int] = []
        while let ticket = queue.popFirst() { order.append(ticket.index) }
        #expect(order == [1, 3, 0, 2])
    }

    @Test(
        arguments: [
            (Duration.seconds(1), Int64(1_000_000_000)), (.milliseconds(-5), -5_000_000), (.seconds(Int64.max), .max),
        ] as [(Duration, Int64)]) func durationsBecomeNanoseconds(duration: Duration, nanoseconds: Int64)
    {
        #expect(duration.wholeNanoseconds == nanoseconds)
    }

    @Test func addressesAreToldFromNames() {
        #expect(SocketAddress.isAddress("127.0.0.1"))
        #expect(SocketAddress.isAddress("::1"))
        #expect(!SocketAddress.isAddress("localhost"))
        #expect(!SocketAddress.isAddress("1.2.3"))
    }

    @Test func theAuthorityLeavesOutTheDefaultPortAndBracketsIPv6() throws {
        let tls = try TLSSource(trust: .system, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        func authority(_ host: String, _ port: Int) -> String {
            PoolSettings(PoolConfiguration(host: host, port: port), tls: tls).authority
        }
        #expect(authority("api.example.com", 443) == "api.example.com")
        #expect(authority("api.example.com", 2197) == "api.example.com:2197")
        #expect(authority("::1", 8443) == "[::1]:8443")
    }

    @Test func outputGathersAndIsCutAtRecords() {
        var output = OutputBuffer()
        let chunk = [UInt8](repeating: 1, count: 10_000)
        for _ in 0..<20 { unsafe chunk.withUnsafeBytes { unsafe output.append($0) } }
        #expect(output.count == 200_000)
        #expect(unsafe output.withRecord { $0.count } == OutputBuffer.recordBytes)
        output.consume(199_999)
        #expect(unsafe output.withRecord { $0.count } == 1)
        unsafe chunk.withUnsafeBytes { unsafe output.append($0) }
        #expect(output.count == 10_001)
    }
}
