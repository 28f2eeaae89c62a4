import Testing

@testable import HTTP2Client

/// When to dial, as a value.
struct DialPlanTests {
    private static let second: Int64 = 1_000_000_000

    /// A plan with a clock and a random source that repeat.
    struct Subject {
        var plan: DialPlan
        var random = SplitMix(state: 5)
        var now = Instant(nanoseconds: 0)

        init(_ adjust: (inout PoolConfiguration) -> Void = { _ in }) {
            var configuration = PoolConfiguration(host: "127.0.0.1", port: 1)
            configuration.dialBurst = 100
            adjust(&configuration)
            plan = DialPlan(configuration)
        }

        mutating func dials(_ demand: DialPlan.Demand) -> Int { plan.dials(for: demand, at: now, using: &random) }

        mutating func pass(seconds: Double) {
            now = now.adding(nanoseconds: Int64(seconds * Double(DialPlanTests.second)))
        }

        /// A dial that begins now and fails.
        mutating func fail() { plan.dialFailed(startedAt: now, at: now, using: &random) }

        /// As many dials that fail, each after the pause of the one before.
        mutating func fail(times: Int) {
            for _ in 0..<times {
                fail()
                pass(seconds: 61)
            }
        }

        var circuit: Circuit { plan.circuit(for: DialPlanTests.demand(), at: now) }
    }

    static func demand(
        queued: Int = 1, free: Int = 0, starting: Int = 0, doubtful: Int = 0, silent: Int = 0, proven: Int = 0,
        streams: Int = 100, wantsSuccessor: Bool = false, extra: Int = 0
    ) -> DialPlan.Demand {
        DialPlan.Demand(
            queued: queued, freeStreams: free, starting: starting, doubtful: doubtful, silent: silent, proven: proven,
            streamsPerConnection: streams, wantsSuccessor: wantsSuccessor, extra: extra)
    }

    // MARK: Need and width

    /// With 4 connections at most, 3 dials at a time, and 100 streams on each connection.
    @Test(
        arguments: [
            (demand(queued: 0), 0),
            (demand(queued: 0, proven: 1), 0),
            // Nothing proven: one at a time.
            (demand(queued: 10_000, streams: 0), 1),
            (demand(queued: 10_000, starting: 1, streams: 0), 0),
            // A free stream is better than a dial.
            (demand(queued: 1, free: 1, proven: 1), 0),
            // Full: as many as the queue needs, up to three under way and four in all.
            (demand(queued: 1, proven: 1), 1),
            (demand(queued: 100, proven: 1), 1),
            (demand(queued: 101, proven: 1), 2),
            (demand(queued: 10_000, proven: 1), 3),
            (demand(queued: 10_000, starting: 1, proven: 1), 2),
            (demand(queued: 100, starting: 1, proven: 1), 0),
            (demand(queued: 10_000, starting: 2, proven: 1), 1),
            (demand(queued: 10_000, starting: 3, proven: 1), 0),
            (demand(queued: 10_000, proven: 2), 2),
            (demand(queued: 10_000, proven: 3), 1),
            (demand(queued: 10_000, proven: 4), 0),
            // A connection that must answer a PING first is waited for.
            (demand(queued: 10_000, doubtful: 1), 0),
            (demand(queued: 100, doubtful: 1, proven: 1), 0),
            (demand(queued: 10_000, doubtful: 1, proven: 1), 2),
            // One that let the PING wait is not, nor is it room for another, unless one may come on top.
            (demand(queued: 1, silent: 1), 1),
            (demand(queued: 10_000, silent: 4), 0),
            (demand(queued: 10_000, silent: 4, extra: 1), 1),
            (demand(queued: 10_000, starting: 1, silent: 4, extra: 1), 0),
            (demand(queued: 10_000, proven: 4, extra: 1), 1),
            // After GOAWAY at work: the successor comes before a request waits for it, unless there is another one.
            (demand(queued: 0, wantsSuccessor: true), 1),
            (demand(queued: 0, starting: 1, wantsSuccessor: true), 0),
            (demand(queued: 0, proven: 1, wantsSuccessor: true), 0),
        ] as [(DialPlan.Demand, Int)]) func dialsWhatIsNeeded(demand: DialPlan.Demand, dials: Int)
    {
        var subject = Subject()
        let count = subject.dials(demand)
        #expect(count == dials)
    }

    @Test func theSuccessorOfAProvenConnectionWaitsForNoFailureBesideIt() {
        var subject = Subject { $0.circuitLimit = 3 }
        subject.fail(times: 5)
        subject.fail()
        #expect(subject.circuit == .open)
        #expect(subject.dials(Self.demand()) == 0)
        subject.plan.provenConnectionLeft(at: subject.now)
        #expect(subject.circuit == .closed)
        #expect(subject.dials(Self.demand()) == 1)
        // It counts again from there.
        subject.fail()
        #expect(subject.circuit == .open)
    }

    @Test func oneConnectionIsAlwaysAllowed() {
        var subject = Subject { $0.connectionLimit = 0 }
        let count = subject.dials(Self.demand())
        #expect(count == 1)
    }

    @Test func afterAFailureOneDialAtATime() {
        var subject = Subject()
        subject.fail()
        subject.pass(seconds: 3)
        let count = subject.dials(Self.demand(queued: 10_000, proven: 1))
        #expect(count == 1)
    }

    // MARK: Rate

    @Test(arguments: [1, 2, 3] as [UInt64]) func dialsBeyondTheBurstComeOneByOne(seed: UInt64) {
        var subject = Subject {
            $0.dialBurst = 4
            $0.connectionLimit = 2
        }
        subject.random = SplitMix(state: seed)
        var times: [Int64] = []
        // Each connection proves itself and is told to go away at once: nothing but the budget holds the dials back.
        while subject.now.nanoseconds < 60 * Self.second {
            for _ in 0..<subject.dials(Self.demand()) {
                times.append(subject.now.nanoseconds)
                subject.plan.connectionProved()
            }
            subject.pass(seconds: 0.01)
        }
        #expect(times.prefix(4).allSatisfy { $0 < Self.second / 10 })
        // The burst, then one every 1 to 1.5 s.
        #expect((44...64).contains(times.count), "\(times.count)")
        let pauses = zip(times.dropFirst(5), times.dropFirst(4)).map { $0 - $1 }
        #expect(pauses.allSatisfy { $0 > Self.second * 98 / 100 })
        #expect(Set(pauses).count > 5, "no jitter")
    }

    @Test func aBudgetFillsUpAgainWithTime() {
        var subject = Subject { $0.dialBurst = 4 }
        for _ in 0..<4 {
            let count = subject.dials(Self.demand())
            #expect(count == 1)
        }
        let none = subject.dials(Self.demand())
        #expect(none == 0)
        let held = subject.plan.heldUntil(for: Self.demand(), at: subject.now)
        #expect(held.map { (Self.second...Self.second * 3 / 2).contains($0.nanoseconds) } == true)
        subject.pass(seconds: 100)
        #expect(subject.plan.heldUntil(for: Self.demand(), at: subject.now) == nil)
        let burst = (0..<10).reduce(0) { sum, _ in sum + subject.dials(Self.demand()) }
        #expect(burst == 4)
    }

    @Test func aPoolMayOpenAllItsConnectionsAtOnce() {
        var subject = Subject {
            $0.dialBurst = 4
            $0.connectionLimit = 10
        }
        let burst = (0..<20).reduce(0) { sum, _ in sum + subject.dials(Self.demand()) }
        #expect(burst == 10)
    }

    @Test func aBudgetWithoutAnIntervalHoldsNothingBack() {
        var subject = Subject {
            $0.dialBurst = 1
            $0.dialInterval = .zero
        }
        let count = (0..<100).reduce(0) { sum, _ in sum + subject.dials(Self.demand()) }
        #expect(count == 100)
    }

    // MARK: Failures

    @Test func aFailedDialIsFollowedByAPauseThatGrows() {
        var subject = Subject()
        for longest in [2, 4, 8, 16, 32, 60, 60] as [Int64] {
            let count = subject.dials(Self.demand())
            #expect(count == 1)
            let start = subject.now
            subject.fail()
            let held = subject.plan.heldUntil(for: Self.demand(), at: start)
            let pause = held?.elapsed(since: start) ?? 0
            #expect((Self.second * longest / 2...Self.second * longest).contains(pause), "\(pause)")
            let none = subject.dials(Self.demand())
            #expect(none == 0)
            subject.now = start.adding(nanoseconds: pause)
        }
    }

    @Test func dialsThatFailTogetherCountOnce() {
        var subject = Subject()
        let start = subject.now
        subject.pass(seconds: 1)
        for _ in 0..<3 { subject.plan.dialFailed(startedAt: start, at: subject.now, using: &subject.random) }
        #expect(subject.plan.failures == 1)
        subject.pass(seconds: 3)
        subject.fail()
        #expect(subject.plan.failures == 2)
    }

    @Test func aProvenConnectionEndsThePause() {
        var subject = Subject()
        subject.fail()
        subject.plan.connectionProved()
        let count = subject.dials(Self.demand())
        #expect(count == 1)
    }

    @Test func aConnectionThatDoesNotLastKeepsTheBackOff() {
        var subject = Subject()
        subject.fail(times: 3)
        for _ in 0..<10 {
            subject.plan.connectionProved()
            #expect(subject.plan.heldUntil(for: Self.demand(), at: subject.now) == nil)
            subject.plan.youngConnectionLeft(at: subject.now, using: &subject.random)
            let held = subject.plan.heldUntil(for: Self.demand(), at: subject.now)
            // As after the third failure.
            let pause = held?.elapsed(since: subject.now) ?? 0
            #expect((Self.second * 4...Self.second * 8).contains(pause), "\(pause)")
            subject.pass(seconds: 10)
        }
        #expect(subject.plan.failures == 3)
        subject.plan.connectionProved()
        subject.plan.connectionLasted()
        subject.plan.provenConnectionLeft(at: subject.now)
        #expect(subject.plan.failures == 0)
        #expect(subject.plan.heldUntil(for: Self.demand(), at: subject.now) == nil)
    }

    @Test func withoutFailuresBeforeItAShortLifeMeansNoPause() {
        var subject = Subject()
        subject.plan.connectionProved()
        subject.plan.youngConnectionLeft(at: subject.now, using: &subject.random)
        let count = subject.dials(Self.demand())
        #expect(count == 1)
    }

    @Test func nothingIsHeldBackThatIsNotWanted() {
        var subject = Subject()
        subject.fail()
        #expect(subject.plan.heldUntil(for: Self.demand(queued: 0), at: subject.now) == nil)
        #expect(subject.plan.heldUntil(for: Self.demand(starting: 1), at: subject.now) == nil)
    }

    // MARK: The circuit

    @Test func theCircuitOpensAfterSeveralFailuresAndIsHalfOpenAfterThePause() {
        var subject = Subject { $0.streamLimit = 7 }
        let demand = Self.demand(queued: 50)
        for _ in 0..<4 {
            subject.fail()
            #expect(subject.circuit == .closed)
            #expect(subject.plan.mayWait(for: demand, at: subject.now) == .max)
            subject.pass(seconds: 61)
        }
        subject.fail()
        #expect(subject.circuit == .open)
        #expect(subject.plan.mayWait(for: demand, at: subject.now) == 0)
        let end = subject.plan.openUntil(for: demand, at: subject.now)
        subject.pass(seconds: 61)
        #expect(subject.circuit == .halfOpen)
        #expect(end.map { $0 <= subject.now } == true)
        #expect(subject.plan.openUntil(for: demand, at: subject.now) == nil)
        #expect(subject.plan.mayWait(for: demand, at: subject.now) == 7)
    }

    @Test func theHalfOpenCircuitTriesOneDialAndOpensAgainWhenItFails() {
        var subject = Subject()
        subject.fail(times: 5)
        #expect(subject.circuit == .halfOpen)
        let first = subject.dials(Self.demand(queued: 500))
        let second = subject.dials(Self.demand(queued: 500, starting: 1))
        #expect([first, second] == [1, 0])
        subject.fail()
        #expect(subject.circuit == .open)
        let none = subject.dials(Self.demand(queued: 500))
        #expect(none == 0)
    }

    @Test func aProvenConnectionClosesTheCircuit() {
        var subject = Subject()
        subject.fail(times: 6)
        subject.plan.connectionProved()
        #expect(subject.plan.mayWait(for: Self.demand(proven: 1), at: subject.now) == .max)
        subject.plan.connectionLasted()
        #expect(subject.circuit == .closed)
        #expect(subject.plan.mayWait(for: Self.demand(), at: subject.now) == .max)
    }

    @Test func whileAConnectionWorksRequestsWaitForIt() {
        var subject = Subject()
        subject.fail(times: 5)
        subject.fail()
        #expect(subject.circuit == .open)
        for demand in [Self.demand(proven: 1), Self.demand(doubtful: 1)] {
            #expect(subject.plan.circuit(for: demand, at: subject.now) == .closed)
            #expect(subject.plan.mayWait(for: demand, at: subject.now) == .max)
        }
    }

    @Test func worseCircuitsAreGreater() {
        #expect(Circuit.allCases.sorted() == [.closed, .halfOpen, .open])
    }
}

/// What GOAWAY says.
struct GoAwayTests {
    @Test(
        arguments: [
            ("{\"reason\":\"Shutdown\"}", "Shutdown"),
            ("{ \"timestamp\": 5, \"reason\" : \"BadCertificate\" }", "BadCertificate"),
            ("max active streams violated", "max active streams violated"),
            ("{\"reason\":5}", "{\"reason\":5}"),
            ("{\"reason\":\"\"}", "{\"reason\":\"\"}"),
            ("{\"reason\":\"a\\\"b\"}", "{\"reason\":\"a\\\"b\"}"),
            ("{\"reason\":\"unfinished", "{\"reason\":\"unfinished"),
            ("{\"reason\"", "{\"reason\""),
            ("two\r\nlines\u{1b}[31m", "two lines [31m"),
            ("", nil),
            ("\u{0}\u{1}", nil),
            (String(repeating: "x", count: 5000), String(repeating: "x", count: 100)),
        ] as [(String, String?)]) func theReasonIsJSONOrCleanText(debug: String, reason: String?)
    {
        let goAway = GoAway(code: 7, error: "REFUSED_STREAM", lastStream: 5, debugData: Array(debug.utf8))
        #expect(goAway.reason == reason)
        #expect(goAway.isError)
        #expect(goAway.label == reason ?? "REFUSED_STREAM")
        #expect(goAway.description.hasPrefix("GOAWAY REFUSED_STREAM, last stream 5"))
    }

    @Test func bytesThatAreNoTextDoNoHarm() {
        let goAway = GoAway(code: 0, error: "NO_ERROR", lastStream: 0, debugData: Array(0...255))
        #expect(!goAway.isError)
        #expect(goAway.reason?.utf8.allSatisfy { (0x20..<0x7F).contains($0) } == true)
    }

    @Test func reasonsAreCountedWithinABound() {
        var counts = GoAwayCounts()
        for number in 0..<100 {
            let goAway = GoAway(code: 0, error: "NO_ERROR", lastStream: 0, debugData: Array("reason \(number)".utf8))
            counts.note(goAway)
            counts.note(goAway)
        }
        #expect(counts.counts.count == GoAwayCounts.limit)
        #expect(counts.counts["reason 0"] == 2)
        #expect(counts.counts[GoAwayCounts.other] == 170)
        #expect(counts.total == 200)
    }
}
