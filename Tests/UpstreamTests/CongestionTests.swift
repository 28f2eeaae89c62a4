import PushModel
import Synchronization
import TestSupport
import Testing

@testable import Upstream

struct CongestionWindowTests {
    /// A window with so many in flight.
    private func congestion(inFlight: Int) -> CongestionWindow {
        var congestion = CongestionWindow()
        congestion.enter(inFlight)
        return congestion
    }

    @Test func `There is no limit until APNs is overloaded`() {
        var congestion = congestion(inFlight: 5000)
        #expect(congestion.limit == nil && congestion.room == .max)
        congestion.leave(5000, good: 5000)
        #expect(congestion.limit == nil && congestion.inFlight == 0)
    }

    @Test func `An overload leaves half of what was in flight, at most once a second`() {
        var congestion = congestion(inFlight: 800)
        congestion.overloaded(after: nil, at: .zero)
        #expect(congestion.limit == 400 && congestion.room == 0)
        congestion.overloaded(after: nil, at: .milliseconds(999))
        #expect(congestion.limit == 400)
        congestion.overloaded(after: nil, at: .seconds(1))
        #expect(congestion.limit == 200)
    }

    @Test func `A service that slows the sender down is left alone for a minute, then for two, and at most 15`() {
        var congestion = congestion(inFlight: 8)
        var now = Duration.zero
        for minutes in [1, 2, 4, 8, 15, 15] {
            congestion.slowedDown(at: now)
            #expect(congestion.rest(at: now) == .seconds(60 * minutes))
            // What was under way says the same.
            congestion.slowedDown(at: now + .seconds(59))
            #expect(congestion.rest(at: now) == .seconds(60 * minutes))
            now += .seconds(60 * minutes)
            #expect(congestion.rest(at: now) == nil)
        }
        now += .seconds(15 * 60)
        congestion.slowedDown(at: now)
        #expect(congestion.rest(at: now) == .seconds(60))
    }

    @Test func `One push may always go`() {
        var congestion = congestion(inFlight: 3)
        for second in 0..<20 { congestion.overloaded(after: nil, at: .seconds(second)) }
        #expect(congestion.limit == 1)
        congestion.leave(3, good: 0)
        #expect(congestion.room == 1)
    }

    @Test func `A round of good answers doubles a small limit and adds up to 16 to a large one`() {
        var congestion = congestion(inFlight: 4)
        congestion.overloaded(after: nil, at: .zero)
        congestion.leave(4, good: 0)
        var limits: [Int] = []
        for _ in 0..<6 {
            let round = congestion.room
            congestion.enter(round)
            // One answer after the other, as they come.
            for _ in 0..<round { congestion.leave(1, good: 1) }
            limits.append(congestion.limit ?? 0)
        }
        #expect(limits == [4, 8, 16, 27, 40, 54])
    }

    @Test func `A limit that has grown out of use is gone`() {
        var congestion = congestion(inFlight: 19_000)
        congestion.overloaded(after: nil, at: .zero)
        #expect(congestion.limit == 9500)
        for _ in 0..<64 where congestion.limit != nil {
            congestion.leave(500, good: 500)
            congestion.leave(9000, good: 9000)
            congestion.enter(9500)
        }
        #expect(congestion.limit == nil)
    }

    @Test func `Answers that are not good do not raise the limit`() {
        var congestion = congestion(inFlight: 100)
        congestion.overloaded(after: nil, at: .zero)
        congestion.leave(100, good: 0)
        #expect(congestion.limit == 50 && congestion.inFlight == 0)
    }

    @Test func `Retry-After is kept, the longest of several`() {
        var congestion = congestion(inFlight: 100)
        congestion.overloaded(after: .seconds(10), at: .zero)
        congestion.overloaded(after: .seconds(2), at: .seconds(1))
        #expect(congestion.rest(at: .seconds(4)) == .seconds(6))
        #expect(congestion.rest(at: .seconds(10)) == nil)
        congestion.overloaded(after: .zero, at: .seconds(11))
        #expect(congestion.rest(at: .seconds(11)) == nil)
    }

    @Test func `Where one at a time is too much nothing goes for 1, 2, 4 … 60 s, until a good answer comes`() {
        var congestion = congestion(inFlight: 1)
        var now = Duration.zero
        congestion.overloaded(after: nil, at: now)
        #expect(congestion.limit == 1 && !congestion.isTrying, "one failure says little")
        var rests: [Int64] = []
        for _ in 0..<9 {
            now += .seconds(1)
            congestion.overloaded(after: nil, at: now)
            let rest = congestion.rest(at: now) ?? .zero
            rests.append(rest.components.seconds)
            now += rest
        }
        #expect(rests == [1, 2, 4, 8, 16, 32, 60, 60, 60])
        #expect(congestion.isTrying)
        congestion.leave(1, good: 1)
        #expect(!congestion.isTrying)
    }

    @Test func `After a pause it begins with 8, or with less if less was allowed`() {
        var congestion = congestion(inFlight: 1000)
        congestion.restartSlowly()
        #expect(congestion.limit == 8)
        congestion = CongestionWindow()
        congestion.enter(4)
        congestion.overloaded(after: nil, at: .zero)
        congestion.restartSlowly()
        #expect(congestion.limit == 2)
    }

    @Test func `After a pause a round doubles the limit, up to where an overload was`() {
        var congestion = CongestionWindow()
        congestion.restartSlowly()
        var limits: [Int] = []
        while let limit = congestion.limit {
            limits.append(limit)
            congestion.enter(limit)
            congestion.leave(limit, good: limit)
        }
        #expect(limits == [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192])
        congestion.enter(128)
        congestion.overloaded(after: nil, at: .zero)
        congestion.restartSlowly()
        congestion.leave(128, good: 0)
        limits = []
        for _ in 0..<6 {
            limits.append(congestion.limit ?? 0)
            let round = congestion.room
            congestion.enter(round)
            congestion.leave(round, good: round)
        }
        #expect(limits == [8, 16, 32, 64, 80, 96])
    }
}

@Suite(.timeLimit(.minutes(5)))
struct CongestionGateTests {
    private let time = TestTime()
    private let gate: CongestionGate

    init() {
        gate = CongestionGate(overload: .serviceUnavailable, uptime: time.uptime)
    }

    /// A gate where `limit` pushes are in flight and no more may go.
    private func fill(_ limit: Int) async {
        #expect(await gate.enter(2 * limit, isUrgent: false) == .granted(2 * limit))
        gate.leave(limit, good: 0, overload: .init(after: nil))
        #expect(gate.limit == limit)
    }

    @Test func `Without a limit everybody goes at once`() async {
        #expect(await gate.enter(100_000, isUrgent: false) == .granted(100_000))
        #expect(await gate.enter(1, isUrgent: true) == .granted(1))
    }

    @Test func `Who waits gets what comes free, the urgent first`() async {
        await fill(10)
        let order = Shared<[String]>([])
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                let entry = await gate.enter(10, isUrgent: false)
                order.withLock { $0.append("normal") }
                // An eighth is left to urgent ones.
                #expect(entry == .granted(9))
            }
            await gate.waitUntil(waiting: 10)
            group.addTask {
                let entry = await gate.enter(10, isUrgent: true)
                order.withLock { $0.append("urgent") }
                #expect(entry == .granted(10))
                gate.leave(10, good: 0)
            }
            await gate.waitUntil(waiting: 20)
            gate.leave(10, good: 0)
        }
        #expect(order.withLock { $0 } == ["urgent", "normal"])
    }

    @Test func `A part of what is wanted is granted`() async {
        await fill(10)
        gate.leave(4, good: 0)
        #expect(await gate.enter(100, isUrgent: false) == .granted(3))
        #expect(await gate.enter(100, isUrgent: true) == .granted(1))
    }

    @Test func `What bulk pushes fill leaves room for an urgent one`() async {
        await fill(16)
        gate.leave(16, good: 0)
        #expect(await gate.enter(100, isUrgent: false) == .granted(14))
        await withTaskGroup(of: Void.self) { group in
            group.addTask { #expect(await gate.enter(100, isUrgent: false) == .closed) }
            await gate.waitUntil(waiting: 100)
            #expect(await gate.enter(1, isUrgent: true) == .granted(1))
            gate.close()
        }
    }

    @Test func `When too many wait the rest is held back, in each lane for itself`() async {
        await fill(10)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { #expect(await gate.enter(9000, isUrgent: false) == .closed) }
            await gate.waitUntil(waiting: CongestionGate.waitingLimit)
            #expect(
                await gate.enter(1, isUrgent: false) == .held(.serviceUnavailable, after: CongestionGate.crowdedPause))
            group.addTask { #expect(await gate.enter(1, isUrgent: true) == .closed) }
            await gate.waitUntil(waiting: CongestionGate.waitingLimit + 1)
            gate.close()
        }
        #expect(await gate.enter(1, isUrgent: true) == .closed)
    }

    @Test func `A crowd is told once when it begins and once when it has gone, parts that are granted do not hide it`()
        async
    {
        await fill(10)
        let told = Shared<[CrowdedLanes]>([])
        gate.onChange { told.withLock { $0.append(gate.crowd) } }
        let count = CongestionGate.crowdBegin + 100
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                var rest = count
                while rest > 0 {
                    let entry = await gate.enter(rest, isUrgent: false, isReturning: rest < count)
                    guard case .granted(let part) = entry else {
                        Issue.record("\(entry)")
                        return
                    }
                    #expect(gate.crowd == (rest - part > CongestionGate.crowdEnd ? .bulk : .none))
                    rest -= part
                }
            }
            await gate.waitUntil(waiting: count)
            #expect(told.withLock { $0 } == [.bulk])
            // All that are in flight come back, and nine go: the tenth place is left to urgent ones.
            var (left, inFlight) = (count, 10)
            while left > 0 {
                gate.leave(inFlight, good: 0)
                inFlight = min(9, left)
                left -= inFlight
                await gate.waitUntil(waiting: left)
            }
        }
        #expect(told.withLock { $0 } == [.bulk, .none])
    }

    @Test func `A crowd of urgent pushes is one of both lanes, and has gone when all are sent away`() async {
        await fill(10)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { #expect(await gate.enter(CongestionGate.crowdBegin, isUrgent: true) == .closed) }
            await gate.waitUntil(waiting: CongestionGate.crowdBegin)
            #expect(gate.crowd == .all)
            gate.close()
            #expect(gate.crowd == .none)
        }
    }

    @Test func `Retry-After holds back those who wait and those who come`() async {
        await fill(10)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                #expect(await gate.enter(5, isUrgent: false) == .held(.serviceUnavailable, after: .seconds(7)))
            }
            await gate.waitUntil(waiting: 5)
            gate.leave(1, good: 0, overload: .init(after: .seconds(7)))
        }
        time.advance(by: .seconds(3))
        #expect(await gate.enter(5, isUrgent: true) == .held(.serviceUnavailable, after: .seconds(4)))
        time.advance(by: .seconds(4))
        gate.leave(9, good: 0)
        #expect(await gate.enter(1, isUrgent: false) == .granted(1))
    }

    @Test func `A cancelled task still gets its turn, so that no place is lost`() async {
        await fill(10)
        let task = Task { await gate.enter(3, isUrgent: false) }
        await gate.waitUntil(waiting: 3)
        task.cancel()
        gate.leave(10, good: 0)
        #expect(await task.value == .granted(3))
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `Many callers at once all go, and never are there more than allowed`(seed: UInt64) async {
        await fill(7)
        gate.leave(7, good: 0)
        let most = Shared(Count())
        await withTaskGroup(of: Void.self) { group in
            for caller in 0..<200 {
                group.addTask {
                    var rest = 1 + (caller &* Int(seed)) % 9
                    while rest > 0 {
                        guard case .granted(let count) = await gate.enter(rest, isUrgent: caller % 3 == 0) else {
                            Issue.record("turned away")
                            return
                        }
                        most.withLock { state in
                            state.now += count
                            state.all += count
                            state.most = max(state.most, state.now)
                        }
                        await Task.yield()
                        most.withLock { $0.now -= count }
                        gate.leave(count, good: 0)
                        rest -= count
                    }
                }
            }
        }
        let expected = (0..<200).reduce(0) { $0 + 1 + ($1 &* Int(seed)) % 9 }
        #expect(most.withLock { $0.all } == expected)
        #expect(most.withLock { $0.most } <= 7)
    }
}

/// Places taken: now, at most at a time, in all.
private struct Count {
    var now = 0
    var most = 0
    var all = 0
}

extension CongestionGate {
    /// Returns once so many pushes wait.
    fileprivate func waitUntil(waiting count: Int) async {
        while waiting < count { await Task.yield() }
    }
}
