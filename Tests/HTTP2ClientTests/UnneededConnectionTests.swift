import Testing

@testable import HTTP2Client

/// A connection that was not needed, under a clock that the test moves.
@Suite(.timeLimit(.minutes(5)))
struct UnneededConnectionTests {
    /// A request waits until it gives up; then the connection it was dialed for stands, and idles.
    @Test(arguments: [(Duration.seconds(1), 1), (.seconds(600), 0)])
    func itsEndIsAFailedDialOnlyRightAfterTheDial(idle: Duration, failures: Int) throws {
        let life = try PoolLife {
            $0.warmingTimeout = .seconds(3)
            $0.queueTimeout = .seconds(1)
        }
        _ = life.submit([.get])
        life.pass(.seconds(1))
        let peer = life.connect(0, limit: 10)
        #expect(life.statistics.connections == 1)
        life.pass(idle)
        peer.drop()
        life.pump()
        #expect(life.statistics.connections == 0)
        #expect(life.statistics.failedDials == failures)
        #expect((life.statistics.lastFailure == nil) == (failures == 0))
    }
}
