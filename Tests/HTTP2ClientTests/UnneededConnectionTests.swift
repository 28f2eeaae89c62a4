import Logging
import Testing

@testable import HTTP2Client

/// A connection that nobody needed, under a clock that the test moves.
@Suite(.timeLimit(.minutes(5)))
struct UnneededConnectionTests {
    /// A pool with one connection that stands ready and that no request was sent over.
    private final class Life {
        let loop: EventLoop
        let core: PoolCore
        let gate = PoolGate(limit: 10)
        let peer = MemoryPeer()
        private var now = Instant(nanoseconds: 0)
        private var dialed: [Connection] = []

        init() throws {
            var configuration = PoolConfiguration(host: "127.0.0.1", port: 1)
            configuration.warmingTimeout = .seconds(3)
            configuration.queueTimeout = .seconds(1)
            loop = EventLoop(
                mailbox: try Mailbox(), epoll: try Epoll(), resolve: { _, _ in .success([]) },
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            core = PoolCore(
                id: PoolID(value: 0), configuration: configuration, tls: try TLSContext(trust: .system), gate: gate,
                loop: loop)
            loop.readTime = { [unowned self] in now }
            loop.dial = { [unowned self] connection, _ in
                connection.arm()
                dialed.append(connection)
            }
        }

        func pass(_ duration: Duration) {
            now = now.adding(duration)
            loop.act(at: now) {}
        }

        /// A request waits until it gives up; then the connection it was dialed for stands.
        func connect() {
            loop.act(at: now) { core.enqueue(Submission(requests: [.get]) { _ in }, 0..<1) }
            pass(.seconds(1))
            guard let connection = dialed.first else { return }
            loop.act(at: now) {
                _ = connection.state.addressesResolved()
                _ = connection.state.socketConnected()
                connection.transport = peer
                connection.perform(connection.state.handshakeCompleted())
            }
            peer.announce(limit: 10)
            read()
        }

        func read() {
            loop.act(at: now) { dialed.first?.socketReady(isReadable: true, isWritable: true) }
        }
    }

    @Test(arguments: [(Duration.seconds(1), 1), (.seconds(600), 0)])
    func itsEndIsAFailedDialOnlyRightAfterTheDial(idle: Duration, failures: Int) throws {
        let life = try Life()
        life.connect()
        #expect(life.gate.statistics.connections == 1)
        life.pass(idle)
        life.peer.drop()
        life.read()
        #expect(life.gate.statistics.connections == 0)
        #expect(life.gate.statistics.failedDials == failures)
        #expect((life.gate.statistics.lastFailure == nil) == (failures == 0))
    }
}
