import Synchronization
import TestSupport
import Testing

@testable import APNS
@testable import HTTP2Client
@testable import Upstream

/// A transport without a network that enforces the rules of the real one: each request of a batch is completed exactly
/// once, and closed pools refuse.
final class FakeTransport: RequestTransport {
    /// What the peer answers; `nil`: nothing until the test completes it by hand.
    typealias Peer = @Sendable (Request) -> Exchange?

    private struct State {
        var pools: [FakePool] = []
        var isShutDown = false
    }

    private let state = Mutex(State())
    private let peer: Peer
    private let unreadableFile: String?

    init(
        unreadableFile: String? = nil,
        peer: @escaping Peer = { _ in .answered(Response(status: 200, headers: [], body: [])) }
    ) {
        self.unreadableFile = unreadableFile
        self.peer = peer
    }

    /// The pools for proven device tokens, in the order of opening.
    var pools: [FakePool] { state.withLock { state in everySecond(of: state.pools, from: 0) } }
    /// The pools for suspects beside ``pools``: an upstream opens its own two one after the other.
    var suspectPools: [FakePool] { state.withLock { state in everySecond(of: state.pools, from: 1) } }
    var isShutDown: Bool { state.withLock { $0.isShutDown } }

    func openPool(_ configuration: PoolConfiguration) throws(TransportFailure) -> any RequestPool {
        if case .file(let path) = configuration.trust, path == unreadableFile {
            throw TransportFailure(.tlsFailed, "no such file: \(path)")
        }
        let pool = FakePool(configuration: configuration, peer: peer)
        state.withLock { $0.pools.append(pool) }
        return pool
    }

    private func everySecond(of pools: [FakePool], from first: Int) -> [FakePool] {
        stride(from: first, to: pools.count, by: 2).map { pools[$0] }
    }

    func shutdown(within limit: Duration) async {
        let pools = state.withLock { state in
            state.isShutDown = true
            return state.pools
        }
        for pool in pools { await pool.close(within: limit) }
    }
}

final class FakePool: RequestPool {
    let configuration: PoolConfiguration

    private struct Held {
        let index: Int
        let request: Request
        let isWanted: (@Sendable (_ index: Int) -> Bool)?
        let complete: @Sendable ([RequestCompletion]) -> Void
    }

    private struct State {
        var requests: [Request] = []
        /// What was set for all requests.
        var fields: [HeaderField] = []
        /// The requests whose streams were opened, with these fields.
        var opened: [Request] = []
        var isWindingDown = false
        var batches = 0
        var held: [Held] = []
        var recycles = 0
        var reconsiderations = 0
        var connectionLimits: [Int] = []
        var isClosed = false
        var waitsForRoom = false
        /// Whether urgent requests find room nevertheless.
        var letsUrgentIn = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var closing: [CheckedContinuation<Void, Never>] = []
        var statistics = PoolStatistics()
    }

    private let state = Mutex(State())
    private let peer: FakeTransport.Peer

    init(configuration: PoolConfiguration, peer: @escaping FakeTransport.Peer) {
        self.configuration = configuration
        self.peer = peer
    }

    /// What was submitted, with the fields of that moment.
    var requests: [Request] { state.withLock { $0.requests } }
    /// What found room, with the fields of that moment.
    var opened: [Request] { state.withLock { $0.opened } }
    var isWindingDown: Bool { state.withLock { $0.isWindingDown } }
    var batches: Int { state.withLock { $0.batches } }
    var recycles: Int { state.withLock { $0.recycles } }
    /// The limits that were set, in order.
    var connectionLimits: [Int] { state.withLock { $0.connectionLimits } }
    var isClosed: Bool { state.withLock { $0.isClosed } }
    var statistics: PoolStatistics {
        get { state.withLock { $0.statistics } }
        set { state.withLock { $0.statistics = newValue } }
    }

    func submit(
        _ requests: [Request], isWanted: (@Sendable (_ index: Int) -> Bool)?,
        completion: @escaping @Sendable ([RequestCompletion]) -> Void
    ) async {
        #expect(!requests.isEmpty)
        let isClosed = state.withLock { state in
            state.requests += requests.map { $0.carrying(state.fields) }
            state.batches += 1
            return state.isClosed
        }
        if isClosed {
            completion(requests.indices.map { Self.completion($0, .notSent(TransportFailure(.shutdown, "closed"))) })
            return
        }
        await waitForRoom(isUrgent: requests[0].isUrgent)
        answer(requests, isWanted: isWanted, completion: completion)
    }

    /// Answers backwards and in pieces of three, which no caller may mind.
    private func answer(
        _ requests: [Request], isWanted: (@Sendable (_ index: Int) -> Bool)?,
        completion: @escaping @Sendable ([RequestCompletion]) -> Void
    ) {
        state.withLock { state in state.opened += requests.map { $0.carrying(state.fields) } }
        var piece: [RequestCompletion] = []
        for (index, request) in requests.enumerated().reversed() {
            guard let exchange = peer(request) else {
                let held = Held(index: index, request: request, isWanted: isWanted, complete: completion)
                state.withLock { $0.held.append(held) }
                continue
            }
            piece.append(Self.completion(index, exchange))
            if piece.count == 3 {
                completion(piece)
                piece = []
            }
        }
        if !piece.isEmpty { completion(piece) }
    }

    private func waitForRoom(isUrgent: Bool) async {
        await withCheckedContinuation { continuation in
            let waits = state.withLock { state in
                let waits = state.waitsForRoom && !(isUrgent && state.letsUrgentIn)
                if waits { state.waiting.append(continuation) }
                return waits
            }
            if !waits { continuation.resume() }
        }
    }

    /// Makes `submit` suspend, as a full queue does, until ``makeRoom()``.
    ///
    /// - Parameter isUrgent: whether the urgent requests' queue is full, too.
    func fill(isUrgent: Bool = true) {
        state.withLock { state in
            state.waitsForRoom = true
            state.letsUrgentIn = !isUrgent
        }
    }

    func makeRoom() {
        let waiting = state.withLock { state in
            state.waitsForRoom = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Completes everything that the peer left open.
    func completeHeld(_ exchange: Exchange) {
        let held = state.withLock { state in
            defer { state.held = [] }
            return state.held
        }
        for item in held { item.complete([Self.completion(item.index, exchange)]) }
    }

    func close(within limit: Duration) async {
        let closing = state.withLock { state in
            state.isClosed = true
            defer { state.closing = [] }
            return state.closing
        }
        completeHeld(.unanswered(TransportFailure(.shutdown, "closed")))
        for continuation in closing { continuation.resume() }
    }

    /// Returns once somebody closed the pool.
    func waitUntilClosed() async {
        await withCheckedContinuation { continuation in
            let isClosed = state.withLock { state in
                if !state.isClosed { state.closing.append(continuation) }
                return state.isClosed
            }
            if isClosed { continuation.resume() }
        }
    }

    /// What the peer left open counts as waiting for a stream.
    func reconsider() {
        let held = state.withLock { state in
            state.reconsiderations += 1
            defer { state.held = [] }
            return state.held
        }
        var (kept, withdrawn): ([Held], [Held]) = ([], [])
        for item in held {
            if item.isWanted?(item.index) ?? true { kept.append(item) } else { withdrawn.append(item) }
        }
        let waiting = kept
        state.withLock { $0.held += waiting }
        // From another turn of the loop, as the real pool does.
        let failure = TransportFailure(.withdrawn, "not wanted any more")
        Task { [withdrawn] in
            for item in withdrawn { item.complete([Self.completion(item.index, .notSent(failure))]) }
        }
    }

    func recycleConnections() {
        state.withLock { $0.recycles += 1 }
    }

    func setFields(_ fields: [HeaderField]) {
        state.withLock { $0.fields = fields }
    }

    func windDown() {
        state.withLock { $0.isWindingDown = true }
    }

    func setConnectionLimit(_ limit: Int) {
        state.withLock { $0.connectionLimits.append(limit) }
    }

    private static func completion(_ index: Int, _ exchange: Exchange) -> RequestCompletion {
        RequestCompletion(index: index, exchange: exchange, latency: .milliseconds(7))
    }
}

extension Request {
    /// The request with the fields of its pool, which come first.
    fileprivate func carrying(_ fields: [HeaderField]) -> Request {
        var request = self
        request.head = RequestHead(method: method, fields: fields + head.fields)
        return request
    }
}
