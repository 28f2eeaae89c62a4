import Testing

@testable import HTTP2Client

/// The way to a peer is cut without a sign, under a clock that the test moves.
@Suite(.timeLimit(.minutes(5)))
struct SilenceTests {
    /// Where the connection stands when its way is cut.
    enum Phase: CaseIterable, Sendable {
        case connecting, warming, active, draining
    }

    /// A pool whose first connection has one request under way, or to come, and falls silent.
    private func cut(in phase: Phase) throws -> (life: PoolLife, request: PoolLife.Ends) {
        let life = try PoolLife {
            $0.connectionLimit = 1
            $0.queueTimeout = .seconds(600)
        }
        var request = life.submit([.post()])
        guard phase != .connecting else { return (life, request) }
        let peer = life.connect(0, limit: 10)
        if phase != .warming {
            life.answerAll(peer)
            #expect(request[0]?.status == 200)
            request = life.submit([.post()])
        }
        #expect(peer.open.count == 1)
        if phase == .draining {
            peer.goAway(processed: 1, code: 0)
            life.pump()
            #expect(life.statistics.goAways == 1)
        }
        peer.isSilent = true
        return (life, request)
    }

    @Test(arguments: [Phase.warming, .active, .draining])
    func whatHadLeftIsUnansweredAndTheRestGoesOn(phase: Phase) throws {
        let (life, request) = try cut(in: phase)
        life.pass(.seconds(60), inStepsOf: .seconds(1)) {
            // The successor of a connection that was told to go is on its way already.
            if life.dials.count == 2, life.dials[1].peer == nil { life.connect(1, limit: 10) }
        }
        #expect(request.count == 1)
        let failure = try #require(request[0]?.unanswered)
        #expect(failure.kind == (phase == .warming ? .timedOut : .connectionLost), "\(failure)")
        let next = life.submit([.post()])
        if life.dials.count == 1 { life.pass(.seconds(2)) }
        let peer = life.dials[1].peer ?? life.connect(1, limit: 10)
        life.answerAll(peer)
        #expect(next[0]?.status == 200)
        #expect(life.dials.count == 2)
    }

    @Test func withoutSettingsTheRequestWaitsForTheNextConnection() throws {
        let (life, request) = try cut(in: .connecting)
        life.pass(.seconds(13), inStepsOf: .seconds(1))
        #expect(request.count == 0)
        #expect(life.dials.count == 2)
        life.prove(1, limit: 10)
        #expect(request[0]?.status == 200)
        #expect(life.statistics.lastFailure == nil)
        #expect(life.statistics.failedDials == 1)
    }
}
