import Dispatch
import Logging
import PushModel
import Synchronization
import TestSupport
import Testing

@testable import HTTP2Client
@testable import Upstream

/// What an upstream does whose requests are dear to build.
@Suite(.timeLimit(.minutes(5)))
struct RequestBuildersTests {
    private let service = DearService()
    private let builders = RequestBuilders()
    private let upstream: UpstreamClient
    private let pool: RecordingPool

    init() throws {
        let transport = RecordingTransport()
        pool = transport.pool
        var configuration = PoolConfiguration(host: "push.example.com", port: 443)
        configuration.connectionLimit = 1
        upstream = UpstreamClient(
            name: "test", service: service, pools: try UpstreamPools(configuration, transport: transport), tokens: nil,
            wallTime: { Timestamp(seconds: 1_700_000_000) }, uptime: { .zero },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, builders: builders)
    }

    private func pushes(_ count: Int, lane: Lane) throws -> [Push] {
        let content = PlainPush()
        return try (0..<count).map { try makePush(Int64($0), lane: lane, composed: content) }
    }

    private func send(_ batch: [Push]) async -> [Outcome] {
        let reports = Mutex<[Int: Outcome]>([:])
        await upstream.send(batch, at: Array(batch.indices)) { pieces in
            reports.withLock { reports in
                for piece in pieces { #expect(reports.updateValue(piece.outcome, forKey: piece.index) == nil) }
            }
        }
        let all = reports.withLock { $0 }
        return batch.indices.compactMap { all[$0] }
    }

    /// A window of eight, of which bulk pushes may take seven: were these taken while they are built, one would be left.
    @Test func whatIsBuiltTakesNoPlaceInTheWindow() async throws {
        upstream.congestion.restartSlowly(after: .serviceUnavailable)
        service.blockBulk()
        let bulk = try pushes(7, lane: .bulk)
        async let outcomes = send(bulk)
        await service.waitUntilBlocked()
        #expect(upstream.status.queued == 7)
        let urgent = try pushes(8, lane: .interactive)
        pool.keepAnswers()
        await upstream.send(urgent, at: Array(urgent.indices)) { _ in }
        #expect(pool.paths.count == 8)
        pool.answer()
        service.release()
        #expect(await outcomes == Array(repeating: .accepted, count: 7))
        #expect(upstream.status.queued == 0)
        await builders.shutdown()
    }

    @Test func eachPushHasItsOwnRequestHoweverPlacesAreGranted() async throws {
        upstream.congestion.restartSlowly(after: .serviceUnavailable)
        service.refuse(3)
        let outcomes = await send(try pushes(150, lane: .bulk))
        #expect(outcomes.count == 150)
        #expect(outcomes[3] == .rejected(.payloadTooLarge) && outcomes.count { $0 == .accepted } == 149)
        #expect(Set(pool.paths) == Set((0..<150).filter { $0 != 3 }.map { "/\($0)" }) && pool.paths.count == 149)
        #expect(service.built == 150)
        await builders.shutdown()
    }

    @Test func whileTheServiceRestsNothingIsBuilt() async throws {
        upstream.congestion.leave(0, good: 0, overload: .init(after: .seconds(60)))
        let outcomes = await send(try pushes(100, lane: .bulk))
        #expect(outcomes == Array(repeating: .throttled(.serviceUnavailable, after: .seconds(60)), count: 100))
        #expect(service.built == 0)
        await builders.shutdown()
    }

    /// Of a batch that is being built when the service asks for a rest, what is not built yet is not built any more.
    @Test func whatWaitsToBeBuiltWhenARestBeginsIsNotBuilt() async throws {
        service.blockBulk()
        let batch = try pushes(20 * RequestBuilders.pieceSize, lane: .bulk)
        async let outcomes = send(batch)
        await service.waitUntilBlocked()
        upstream.congestion.leave(0, good: 0, overload: .init(after: .seconds(60)))
        service.release()
        #expect(await outcomes.count { $0 == .accepted } == 0)
        #expect(service.built <= RequestBuilders.piecesAhead * RequestBuilders.pieceSize)
        await builders.shutdown()
    }

    @Test func afterTheEndNothingIsBuilt() async throws {
        upstream.turnAway()
        #expect(await send(try pushes(3, lane: .interactive)) == Array(repeating: .notSent(.shutdown), count: 3))
        #expect(service.built == 0)
        await builders.shutdown()
    }
}

/// Counts what it builds; the path of a request is the place of its push.
private final class DearService: PushService {
    private struct State {
        var built = 0
        var refused: Set<Int> = []
        var isBlocking = false
    }

    private let state = Mutex(State())
    private let gate = DispatchSemaphore(value: 0)
    private let blocked = AsyncStream<Void>.makeStream()

    var name: String { "Test" }
    var overload: Refusal { .serviceUnavailable }
    var addressOverload: Refusal { .tooManyRequests }
    var addressDoubt: Refusal { .badDeviceToken }

    var built: Int { state.withLock { $0.built } }

    /// Refuses the push at a place.
    func refuse(_ index: Int) { state.withLock { _ = $0.refused.insert(index) } }

    /// Keeps the threads that build bulk pushes until ``release()``.
    func blockBulk() { state.withLock { $0.isBlocking = true } }

    func waitUntilBlocked() async {
        var signals = blocked.stream.makeAsyncIterator()
        await signals.next()
    }

    func release() {
        state.withLock { $0.isBlocking = false }
        // More than there are threads: each waits once.
        for _ in 0..<1024 { gate.signal() }
    }

    func requests(for indices: [Int], of batch: [Push]) -> PushRequests {
        let (isBlocking, refused) = state.withLock { state in
            state.built += indices.count
            return (state.isBlocking && batch[indices[0]].lane == .bulk, state.refused)
        }
        if isBlocking {
            blocked.continuation.yield()
            gate.wait()
        }
        var requests = PushRequests(capacity: indices.count)
        let head = PushRequestHead(PushRequestFields())
        for index in indices {
            if refused.contains(index) {
                requests.refuse(index, because: .payloadTooLarge)
            } else {
                requests.append(
                    head: head, path: "/\(index)", fields: PushRequestFields(), body: [],
                    isUrgent: batch[index].lane == .interactive)
            }
        }
        return requests
    }

    func topic(of push: Push) -> String { push.content.topic }
    func refusal(status: Int, body: [UInt8]) -> Refusal { .new() }
    func meaning(of reason: Reason) -> String? { nil }
}

/// One pool that answers 200 to everything.
private struct RecordingTransport: RequestTransport {
    let pool = RecordingPool()

    func openPool(_ configuration: PoolConfiguration) throws(TransportFailure) -> any RequestPool { pool }
    func shutdown(within limit: Duration) async {}
}

private final class RecordingPool: RequestPool {
    private struct State {
        var paths: [String] = []
        /// `nil`: answers go out at once.
        var kept: [@Sendable () -> Void]?
    }

    private let state = Mutex(State())

    var paths: [String] { state.withLock { $0.paths } }
    var statistics: PoolStatistics { PoolStatistics() }

    /// Keeps answers until ``answer()``.
    func keepAnswers() { state.withLock { $0.kept = [] } }

    func answer() {
        let kept = state.withLock { state in
            defer { state.kept = nil }
            return state.kept ?? []
        }
        for answer in kept { answer() }
    }

    func submit(
        _ requests: [Request], isWanted: (@Sendable (_ index: Int) -> Bool)?,
        completion: @escaping @Sendable ([RequestCompletion]) -> Void
    ) async {
        let answer: @Sendable () -> Void = {
            let response = Response(status: 200, headers: [], body: [])
            completion(
                requests.indices.map { RequestCompletion(index: $0, exchange: .answered(response), latency: .zero) })
        }
        let isKept = state.withLock { state in
            state.paths += requests.map(\.path)
            state.kept?.append(answer)
            return state.kept != nil
        }
        if !isKept { answer() }
    }

    func close(within limit: Duration) async {}
    func recycleConnections() {}
    func setFields(_ fields: [HeaderField]) {}
    func windDown() {}
    func reconsider() {}
    func setConnectionLimit(_ limit: Int) {}
}
