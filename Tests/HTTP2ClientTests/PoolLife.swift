import Logging
import Synchronization

@testable import HTTP2Client

/// A pool with all that belongs to it but sockets and TLS, on one thread, under a clock that the test moves, against
/// peers in memory that do what the test says.
final class PoolLife {
    let loop: EventLoop
    let core: PoolCore
    let gate = PoolGate(limit: 1_000_000)
    private(set) var now = Instant(nanoseconds: 0)
    /// In order of the dials, with what is known of them.
    private(set) var dials: [Dial] = []

    struct Dial {
        /// `nil` when it is closed.
        weak var connection: Connection?
        let time: Instant
        /// `nil`: not connected.
        var peer: MemoryPeer?
    }

    /// How the requests of one batch ended; filled by completions.
    final class Ends: Sendable {
        private let exchanges = Mutex<[Int: [Exchange]]>([:])

        fileprivate func add(_ completions: [RequestCompletion]) {
            exchanges.withLock { exchanges in
                for completion in completions { exchanges[completion.index, default: []].append(completion.exchange) }
            }
        }

        /// By the request's place in the batch; one that ended twice is here twice.
        var all: [Exchange] { exchanges.withLock { $0.sorted { $0.key < $1.key }.flatMap(\.value) } }
        var count: Int { all.count }
        subscript(_ index: Int) -> Exchange? { exchanges.withLock { $0[index]?.first } }
    }

    private static let tls = Result { () throws(TransportFailure) in
        try TLSSource(trust: .system, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// - Parameter budget: the endpoint's; `nil`: the pool has one to itself.
    init(
        seed: UInt64 = 7, budget: EndpointDialBudget? = nil, _ adjust: (inout PoolConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = PoolConfiguration(host: "127.0.0.1", port: 1)
        adjust(&configuration)
        loop = EventLoop(
            mailbox: try Mailbox(), epoll: try Epoll(), lookups: NameLookups { _, _ in .success([]) },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        loop.random = SplitMix(state: seed)
        core = PoolCore(
            id: PoolID(value: 0), configuration: configuration, tls: try Self.tls.get(), gate: gate, loop: loop,
            budget: budget)
        budget?.widen(by: configuration.burst)
        loop.add(core)
        loop.readTime = { [unowned self] in now }
        loop.dial = { [unowned self] connection, _ in
            connection.arm()
            dials.append(Dial(connection: connection, time: now))
        }
    }

    /// The pool and its loop hold each other until the pool is closed.
    deinit {
        let end = now.adding(.seconds(1))
        loop.readTime = { end }
        loop.dial = { _, _ in }
        loop.act(at: now) { core.close(within: .zero, Latch()) }
        loop.act(at: end) {}
    }

    var statistics: PoolStatistics { gate.statistics }

    // MARK: What happens

    func submit(_ requests: [Request], isWanted: (@Sendable (Int) -> Bool)? = nil) -> Ends {
        let ends = Ends()
        loop.act(at: now) {
            core.enqueue(RequestBatch(requests: requests, isWanted: isWanted) { ends.add($0) }, 0..<requests.count)
        }
        pump()
        return ends
    }

    /// Time passes in one step; then everything is read and written.
    func pass(_ duration: Duration) {
        now = now.adding(duration)
        loop.act(at: now) {}
        pump()
    }

    /// Time passes in steps, so that each deadline is met in its turn.
    func pass(_ duration: Duration, inStepsOf step: Duration, _ each: () -> Void = {}) {
        let end = now.adding(duration)
        while now < end {
            pass(step)
            each()
        }
    }

    /// TCP and TLS stand on the dial `number`, and SETTINGS come.
    @discardableResult
    func connect(_ number: Int, limit: Int, window: UInt32? = nil) -> MemoryPeer {
        let peer = MemoryPeer()
        dials[number].peer = peer
        loop.act(at: now) {
            guard let connection = dials[number].connection else { return }
            _ = connection.state.addressesResolved()
            _ = connection.state.socketConnected()
            connection.transport = peer
            connection.perform(connection.state.handshakeCompleted())
        }
        peer.announce(limit: limit, window: window)
        pump()
        return peer
    }

    /// The same, and the first request is answered, which proves the connection.
    @discardableResult
    func prove(_ number: Int, limit: Int, window: UInt32? = nil) -> MemoryPeer {
        let peer = connect(number, limit: limit, window: window)
        answerAll(peer)
        return peer
    }

    /// Answers PINGs, then what the peer has in full.
    func answerAll(_ peer: MemoryPeer, status: Int = 200) {
        peer.answerPings()
        pump()
        while let index = peer.open.firstIndex(where: \.isComplete) { peer.answer(at: index, status: status) }
        pump()
    }

    /// `count` connections that are proven and have nothing to do, of `limit` streams each.
    func grow(to count: Int, limit: Int) {
        let ends = submit(Array(repeating: .post(), count: count * (limit + 1)))
        for number in 0..<count { prove(number, limit: limit) }
        while ends.count < count * (limit + 1) { for dial in dials { if let peer = dial.peer { answerAll(peer) } } }
    }

    /// The dial `number` fails.
    func fail(_ number: Int) {
        loop.act(at: now) { dials[number].connection?.fail(TransportFailure(.connectFailed, "refused")) }
        pump()
    }

    /// Peers and pool read and write until both are at rest.
    func pump() {
        for _ in 0..<10_000 {
            let ready = dials.filter { dial in
                guard let peer = dial.peer, dial.connection != nil, !peer.isClosed else { return false }
                return peer.hasInput
            }
            loop.act(at: now) {
                for dial in dials where dial.peer?.isClosed == false {
                    dial.connection?.socketReady(
                        isReadable: dial.peer?.hasInput == true, isWritable: dial.peer?.room == .max)
                }
            }
            if ready.isEmpty { return }
        }
        preconditionFailure("the peers and the pool never come to rest")
    }
}
