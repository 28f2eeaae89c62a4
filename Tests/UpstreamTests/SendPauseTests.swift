import PushModel
import TestSupport
import Testing

@testable import Upstream

struct SendPauseTests {
    private static let wall = Timestamp(seconds: 1_700_000_000)
    private static let cause = SendPause.Cause(refusal: .forbidden, since: wall)

    /// A pause that began at 0 with a refusal of generation 5.
    private func begun() -> SendPause {
        var pause = SendPause()
        _ = pause.answered(.refused(.forbidden), generation: 5, at: .zero, wallTime: Self.wall)
        return pause
    }

    /// The same with the first probe on its way, as generation 6.
    private func probing() -> SendPause {
        var pause = begun()
        pause.probe(generation: 6)
        return pause
    }

    @Test func `Everything goes until a refusal begins a pause of 30 s`() {
        var pause = SendPause()
        #expect(pause.passage(at: .zero) == .free && pause.isOpen)
        #expect(pause.pause(at: .zero) == nil)
        #expect(pause.answered(.passed, generation: 1, at: .zero, wallTime: Self.wall) == .none)
        #expect(pause.answered(.inconclusive, generation: 1, at: .zero, wallTime: Self.wall) == .none)
        let change = pause.answered(.refused(.forbidden), generation: 1, at: .zero, wallTime: Self.wall)
        #expect(change == .began(Self.cause))
        #expect(!pause.isOpen && pause.isBeforeFirstProbe)
        #expect(pause.passage(at: .seconds(10)) == .held(.forbidden, after: .seconds(20)))
        #expect(pause.pause(at: .seconds(10))?.nextProbe == .seconds(20))
        #expect(pause.pause(at: .seconds(10))?.cause == Self.cause)
    }

    @Test(arguments: [SendPause.Finding.passed, .refused(.badCertificate), .inconclusive])
    func `What was under way when a pause began changes nothing`(finding: SendPause.Finding) {
        var pause = begun()
        #expect(pause.answered(finding, generation: 5, at: .seconds(1), wallTime: Self.wall) == .none)
        #expect(pause.passage(at: .seconds(1)) == .held(.forbidden, after: .seconds(29)))
        pause = probing()
        #expect(pause.answered(finding, generation: 5, at: .seconds(31), wallTime: Self.wall) == .none)
        #expect(pause.passage(at: .seconds(31)) == .held(.forbidden, after: SendPause.answerTime))
    }

    @Test func `One push goes as a probe, and none beside it`() {
        var pause = begun()
        #expect(pause.passage(at: .seconds(30)) == .probe)
        pause.probe(generation: 6)
        #expect(pause.passage(at: .seconds(30)) == .held(.forbidden, after: SendPause.answerTime))
        #expect(pause.pause(at: .seconds(30))?.nextProbe == .zero)
    }

    @Test func `A probe that passes ends the pause, and late refusals do not begin another`() {
        var pause = probing()
        #expect(
            pause.answered(.passed, generation: 6, at: .seconds(31), wallTime: Self.wall) == .ended(Self.cause))
        #expect(pause.passage(at: .seconds(31)) == .free)
        #expect(
            pause.answered(.refused(.forbidden), generation: 5, at: .seconds(32), wallTime: Self.wall) == .none)
        #expect(pause.isOpen)
        guard case .began = pause.answered(.refused(.forbidden), generation: 7, at: .seconds(33), wallTime: Self.wall)
        else {
            Issue.record("a new refusal is a new pause")
            return
        }
    }

    @Test func `Refused probes come after 30, 60, 120, 240 and then every 300 s`() {
        var pause = begun()
        var now = Duration.zero
        var waits: [Int64] = []
        for generation in 6..<13 {
            guard let wait = pause.pause(at: now)?.nextProbe else { break }
            waits.append(wait.components.seconds)
            now += wait
            #expect(pause.passage(at: now - .milliseconds(1)) != .probe)
            #expect(pause.passage(at: now) == .probe)
            pause.probe(generation: generation)
            _ = pause.answered(.refused(.forbidden), generation: generation, at: now, wallTime: Self.wall)
        }
        #expect(waits == [30, 60, 120, 240, 300, 300, 300])
        #expect(!pause.isBeforeFirstProbe)
    }

    @Test func `A refused probe keeps the beginning and tells the latest reason`() {
        var pause = probing()
        let later = Self.wall + .seconds(31)
        #expect(
            pause.answered(.refused(.badCertificate), generation: 6, at: .seconds(31), wallTime: later) == .none)
        #expect(
            pause.pause(at: .seconds(31))?.cause == SendPause.Cause(refusal: .badCertificate, since: Self.wall))
    }

    @Test func `A probe without an answer is repeated after the same time`() {
        var pause = probing()
        #expect(pause.answered(.inconclusive, generation: 6, at: .seconds(40), wallTime: Self.wall) == .none)
        #expect(pause.passage(at: .seconds(41)) == .held(.forbidden, after: .seconds(29)))
        #expect(pause.passage(at: .seconds(70)) == .probe)
    }

    @Test func `A push that somebody waits for is a probe after a thirtieth of the time`() {
        var pause = begun()
        #expect(pause.passage(at: .milliseconds(999), isAwaited: true) != .probe)
        #expect(pause.passage(at: .seconds(1), isAwaited: true) == .probe)
        #expect(pause.passage(at: .seconds(1)) == .held(.forbidden, after: .seconds(29)))
        pause.probe(generation: 6)
        #expect(pause.passage(at: .seconds(1), isAwaited: true) == .held(.forbidden, after: SendPause.answerTime))
        _ = pause.answered(.refused(.forbidden), generation: 6, at: .seconds(1), wallTime: Self.wall)
        #expect(pause.passage(at: .seconds(2), isAwaited: true) != .probe)
        #expect(pause.passage(at: .seconds(3), isAwaited: true) == .probe)
    }

    @Test func `What changed here lets the next push be a probe`() {
        var pause = begun()
        pause.hasten(at: .seconds(2))
        #expect(pause.passage(at: .seconds(2)) == .probe)
        pause.probe(generation: 6)
        pause.hasten(at: .seconds(2))
        #expect(pause.passage(at: .seconds(2)) != .probe)
        var open = SendPause()
        open.hasten(at: .zero)
        #expect(open.isOpen)
    }
}

struct ConnectionTrialTests {
    @Test func `A refusal replaces the connections, one on the new ones pauses`() {
        var trial = ConnectionTrial()
        #expect(trial.refused(generation: 0, mayReplace: true) == .replace)
        trial.replaced(generation: 1)
        #expect(trial.isTrying)
        #expect(trial.refused(generation: 0, mayReplace: true) == .none)
        #expect(trial.refused(generation: 1, mayReplace: true) == .pause)
        #expect(!trial.isTrying)
    }

    @Test func `A good answer on the new connections ends the trial, one on the old ones does not`() {
        var trial = ConnectionTrial()
        #expect(trial.refused(generation: 3, mayReplace: true) == .replace)
        trial.replaced(generation: 4)
        trial.passed(generation: 3)
        #expect(trial.isTrying)
        trial.passed(generation: 4)
        #expect(!trial.isTrying)
        #expect(trial.refused(generation: 4, mayReplace: true) == .replace)
    }

    @Test func `Connections that were replaced a moment ago are the trial`() {
        var trial = ConnectionTrial()
        trial.replaced(generation: 2)
        #expect(trial.refused(generation: 1, mayReplace: false) == .none)
        #expect(trial.refused(generation: 2, mayReplace: false) == .pause)
    }
}
