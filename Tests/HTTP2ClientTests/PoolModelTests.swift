import Logging
import Synchronization
import Testing

@testable import HTTP2Client

/// A pool with all that belongs to it but sockets and TLS, on one thread, under a clock that the test moves, against
/// peers in memory that do what a seeded random source says.
struct PoolModelTests {
    /// The seeds; a failing one is in the message and can be run alone.
    @Test(.timeLimit(.minutes(5)), arguments: Array(0..<30 as Range<UInt64>))
    func whateverThePeersDoEachPushEndsOnceAndEveryRuleHolds(seed: UInt64) throws {
        for part in 0..<40 as Range<UInt64> {
            let model = try PoolModel(seed: seed * 40 + part)
            for _ in 0..<150 { model.step() }
            model.calmDown()
            model.close()
            for problem in model.problems.prefix(5) { Issue.record("seed \(model.seed): \(problem)") }
            if !model.problems.isEmpty { return }
        }
    }
}

/// One random life of a pool.
final class PoolModel {
    let seed: UInt64
    private(set) var problems: [String] = []
    private var random: SplitMix
    private var configuration: PoolConfiguration
    private let loop: EventLoop
    private let core: PoolCore
    private let gate = PoolGate(limit: 1_000_000)
    private var now = Instant(nanoseconds: 0)
    /// What the pool dialed; `nil` peer: not connected yet.
    private var dialed: [(connection: Weak, peer: MemoryPeer?)] = []
    private var dialTimes: [Instant] = []
    private var submitted = 0
    private let ends = Ends()

    struct Weak { weak var connection: Connection? }

    /// How pushes ended; filled by completions.
    final class Ends: Sendable {
        let exchanges = Mutex<[Int: [Exchange]]>([:])
    }

    private static let tls = Result { () throws(TransportFailure) in
        try TLSSource(trust: .system, logger: Logger(label: "model") { _ in SwiftLogNoOpLogHandler() })
    }

    init(seed: UInt64) throws {
        self.seed = seed
        random = SplitMix(state: seed)
        configuration = PoolConfiguration(host: "127.0.0.1", port: 1)
        configuration.connectionLimit = Int.random(in: 1...4, using: &random)
        configuration.streamLimit = Int.random(in: 1...20, using: &random)
        configuration.dialLimit = Int.random(in: 1...3, using: &random)
        configuration.circuitLimit = Int.random(in: 2...5, using: &random)
        configuration.connectTimeout = .seconds(5)
        configuration.warmingTimeout = .seconds(3)
        configuration.streamTimeout = .seconds(8)
        configuration.queueTimeout = .seconds(Int.random(in: 5...40, using: &random))
        configuration.pingInterval = .seconds(5)
        configuration.pingTimeout = .seconds(2)
        configuration.drainTimeout = .seconds(4)
        configuration.connectionLifetime = .seconds(Int.random(in: 10...1000, using: &random))
        loop = EventLoop(
            mailbox: try Mailbox(), epoll: try Epoll(), lookups: NameLookups { _, _ in .success([]) },
            logger: Logger(label: "model") { _ in SwiftLogNoOpLogHandler() })
        loop.random = SplitMix(state: seed &+ 1)
        core = PoolCore(
            id: PoolID(value: 0), configuration: configuration, tls: try Self.tls.get(), gate: gate, loop: loop)
        loop.readTime = { [unowned self] in now }
        loop.dial = { [unowned self] connection, _ in
            connection.arm()
            dialed.append((Weak(connection: connection), nil))
            dialTimes.append(now)
        }
    }

    // MARK: Life

    /// One random event, and what follows.
    func step() {
        let dice = Int.random(in: 0..<100, using: &random)
        switch dice {
        case 0..<12: turn { submit(Int.random(in: 1...60, using: &random)) }
        case 12..<22: pass(milliseconds: Int.random(in: 1...400, using: &random))
        case 22..<26: pass(milliseconds: Int.random(in: 400...9000, using: &random))
        case 26..<27: turn { core.recycle() }
        case 27..<50: connectSome()
        default: strike()
        }
        pump()
    }

    /// Something happens to a connection that is being made.
    private func connectSome() {
        let waiting = dialed.indices.filter { dialed[$0].peer == nil && dialed[$0].connection.connection != nil }
        guard let index = waiting.randomElement(using: &random) else { return }
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<2:
            turn {
                dialed[index].connection.connection?.fail(TransportFailure(.connectFailed, "refused"))
            }
        case 2..<3: break  // no answer: the time limit ends it
        case 3..<4: connect(index, limit: nil)
        case 4..<5: connect(index, limit: 0)
        default: connect(index, limit: streams())
        }
    }

    /// The way stands; SETTINGS follow, unless the peer never gets that far.
    private func connect(_ index: Int, limit: Int?) {
        guard let connection = dialed[index].connection.connection else { return }
        let peer = MemoryPeer()
        dialed[index].peer = peer
        turn {
            _ = connection.state.addressesResolved()
            _ = connection.state.socketConnected()
            connection.transport = peer
            connection.perform(connection.state.handshakeCompleted())
        }
        if let limit { peer.announce(limit: limit) }
    }

    private func streams() -> Int { Int.random(in: 1...25, using: &random) }

    /// The peer of a connection that stands does something.
    private func strike() {
        let peers = dialed.compactMap { $0.connection.connection == nil ? nil : $0.peer }
        guard let peer = peers.randomElement(using: &random) else { return }
        let ready = peer.open.indices.filter { peer.open[$0].isComplete }
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<60:
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                guard let index = peer.open.indices.filter({ peer.open[$0].isComplete }).randomElement(using: &random)
                else { break }
                peer.answer(at: index, status: [200, 200, 200, 410, 503, 403].randomElement(using: &random) ?? 200)
            }
        case 60..<66: if let index = ready.randomElement(using: &random) { peer.reset(at: index, code: 7) }
        case 66..<70: if let index = ready.randomElement(using: &random) { peer.reset(at: index, code: 2) }
        case 70..<78: peer.announce(limit: Int.random(in: 0..<5, using: &random) == 0 ? 0 : streams())
        case 78..<82:
            let index = Int.random(in: 0...peer.open.count, using: &random)
            peer.goAway(processed: index, code: [0, 0, 7, 11].randomElement(using: &random) ?? 0)
        case 82..<85: peer.drop()
        case 85..<93: peer.answerPings()
        case 93..<96: peer.room = Int.random(in: 0...200, using: &random)
        default: peer.room = .max
        }
    }

    private func submit(_ count: Int) {
        let first = submitted
        submitted += count
        let requests = (first..<first + count).map {
            Request(
                method: "POST", path: "/3", headers: [], body: Array(String($0).utf8),
                isUrgent: Int.random(in: 0..<10, using: &random) == 0)
        }
        let requestBatch = RequestBatch(requests: requests) { [ends] completions in
            ends.exchanges.withLock { exchanges in
                for completion in completions {
                    exchanges[first + completion.index, default: []].append(completion.exchange)
                }
            }
        }
        core.enqueue(requestBatch, 0..<count)
    }

    // MARK: The turns of the loop

    private func turn(_ body: () -> Void) {
        loop.act(at: now, body)
        check()
    }

    private func pass(milliseconds: Int) {
        now = now.adding(nanoseconds: Int64(milliseconds) * 1_000_000)
        turn {}
    }

    /// Until nothing is left to read.
    private func pump() {
        for _ in 0..<1000 {
            let ready = dialed.filter { entry in
                guard let peer = entry.peer, !peer.isClosed else { return false }
                return peer.hasInput || peer.room == .max
            }
            let reading = ready.filter { $0.peer?.hasInput == true }
            turn {
                for entry in ready {
                    entry.connection.connection?.socketReady(
                        isReadable: entry.peer?.hasInput == true, isWritable: entry.peer?.room == .max)
                }
            }
            if reading.isEmpty { return }
        }
        problems.append("the peers and the pool never come to rest")
    }

    // MARK: Calm

    /// Peers that behave: after a while everything is answered.
    func calmDown() {
        for _ in 0..<140 { calmSecond() }
        let first = submitted
        // Behind a half-open circuit only a few may wait: one opens the way for the others.
        turn { submit(1) }
        for _ in 0..<5 { calmSecond() }
        turn { submit(15) }
        for _ in 0..<40 where endCount < submitted { calmSecond() }
        let ends = ends.exchanges.withLock { $0 }
        for number in 0..<submitted where ends[number] == nil { problems.append("push \(number) has no end") }
        for number in first..<submitted where ends[number]?.first?.status != 200 {
            problems.append("push \(number) in calm times: \(String(describing: ends[number]))")
        }
    }

    private var endCount: Int { ends.exchanges.withLock { $0.count } }

    private func calmSecond() {
        // Whatever the peers were up to is over.
        for index in dialed.indices where dialed[index].connection.connection != nil {
            guard let peer = dialed[index].peer else {
                connect(index, limit: 10)
                continue
            }
            peer.room = .max
            peer.announce(limit: 10)
        }
        for _ in 0..<5 {
            pump()
            for entry in dialed where entry.connection.connection != nil {
                guard let peer = entry.peer else { continue }
                peer.answerPings()
                while let index = peer.open.indices.first(where: { peer.open[$0].isComplete }) {
                    peer.answer(at: index, status: 200)
                }
            }
        }
        pump()
        pass(milliseconds: 1000)
    }

    // MARK: The laws

    private func check() {
        let connections = core.connections
        let counted = connections.filter { !$0.isDraining }
        // One for urgent requests and one in the place of another come on top.
        let allowed = configuration.connectionLimit + (configuration.connectionLimit < 3 ? 1 : 2)
        if counted.count > allowed { problems.append("\(counted.count) connections") }
        let starting = counted.filter { $0.isConnecting || $0.isWarming }.count
        if starting > configuration.dialLimit { problems.append("\(starting) dials at a time") }
        for connection in connections where connection.openStreams > 0 {
            let open = connection.tickets.count { $0 != nil }
            if open > connection.openStreams { problems.append("more requests than streams") }
        }
        for entry in dialed {
            guard let peer = entry.peer else { continue }
            problems += peer.violations.prefix(1)
            if peer.isGoAwayRead, let connection = entry.connection.connection, !connection.isDraining {
                problems.append("\(connection.state) after GOAWAY")
            }
        }
        if problems.isEmpty { checkRate() }
    }

    private func checkRate() {
        let burst = max(configuration.dialBurst, configuration.connectionLimit)
        guard let last = dialTimes.last else { return }
        for (index, time) in dialTimes.enumerated().suffix(60) {
            let seconds = Int(last.elapsed(since: time) / 1_000_000_000)
            if dialTimes.count - index > burst + seconds + 1 {
                problems.append("\(dialTimes.count - index) dials in \(seconds) s")
                return
            }
        }
    }

    /// Closes, and looks at what is left and how everything ended.
    func close() {
        let latch = Latch()
        turn {
            submit(5)
            core.close(within: .seconds(1), latch)
        }
        pump()
        pass(milliseconds: 1001)
        if !core.connections.isEmpty { problems.append("\(core.connections.count) connections after the end") }
        for entry in dialed {
            if let connection = entry.connection.connection { problems.append("leaked: \(connection.state)") }
            if entry.peer?.isClosed == false { problems.append("a way is open after the end") }
        }
        var answers: [Int: [Int]] = [:]
        for entry in dialed {
            for (number, status) in entry.peer?.answers ?? [:] { answers[number, default: []].append(status) }
        }
        let ends = ends.exchanges.withLock { $0 }
        for number in 0..<submitted { judge(number, ends[number] ?? [], answers[number] ?? []) }
    }

    private func judge(_ number: Int, _ ends: [Exchange], _ answers: [Int]) {
        guard ends.count == 1, let end = ends.first else {
            return problems.append("push \(number) ended \(ends.count) times")
        }
        if answers.count > 1 { problems.append("push \(number) was sent \(answers.count) times") }
        switch end {
        case .answered(let response):
            if answers != [response.status] { problems.append("push \(number): \(response.status), not \(answers)") }
        case .notSent(let failure):
            if !answers.isEmpty { problems.append("push \(number) was answered: \(failure)") }
        case .unanswered: break  // the answer may have been lost on the way
        }
    }
}
