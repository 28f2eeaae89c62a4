import HTTP2Client
import PushModel
import Synchronization
import TestSupport
import Testing

@testable import Upstream

/// When requests go over HTTP/1.1, and when not any more.
@Suite(.timeLimit(.minutes(5)))
struct FallbackPoolTests {
    private let http2 = ScriptedPool()
    private let http1 = ScriptedHTTP1()
    private let time = TestTime()
    private let pool: FallbackPool

    init() throws {
        var configuration = PoolConfiguration(host: "push.example.com", port: 8443)
        configuration.connectionLimit = 2
        configuration.trust = .file("ca.pem")
        let http1 = http1
        let transport = FallbackTransport(
            http2: ScriptedTransport(pool: http2), http1: http1,
            lookup: { configuration throws(TransportFailure) in try http1.addresses(of: configuration.host) },
            uptime: time.uptime)
        pool = try #require(try transport.openPool(configuration) as? FallbackPool)
        pool.setFields([HeaderField("authorization", "vapid t", indexing: .never)])
    }

    private func send(_ paths: String...) async -> [Exchange] { await send(paths) }

    private func send(_ paths: [String]) async -> [Exchange] {
        let requests = paths.map { path in
            Request(method: "POST", path: path, headers: [HeaderField("ttl", "60")], body: [1, 2], isUrgent: false)
        }
        let ended = Mutex<[Int: Exchange]>([:])
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        await pool.submit(requests, isWanted: nil) { completions in
            let isLast = ended.withLock { ended in
                for completion in completions {
                    #expect(ended.updateValue(completion.exchange, forKey: completion.index) == nil)
                }
                return ended.count == requests.count
            }
            if isLast { end.finish() }
        }
        for await _ in ends {}
        let all = ended.withLock { $0 }
        return requests.indices.compactMap { all[$0] }
    }

    private func statuses(_ exchanges: [Exchange]) -> [Int?] {
        exchanges.map { if case .answered(let response) = $0 { response.status } else { nil } }
    }

    @Test func aPeerWithHTTP2IsNotAskedInAnotherWay() async {
        http2.lacksHTTP2.withLock { $0 = false }
        #expect(statuses(await send("/a", "/b")) == [200, 200])
        #expect(http1.places.isEmpty)
    }

    @Test func onlyTheHandshakeDecidesAndOnlyTheCheckedAddressIsDialed() async {
        #expect(statuses(await send("/a", "/b")) == [201, 201])
        #expect(
            http1.places == [
                HTTP1Place(
                    host: "push.example.com", port: 8443, address: "192.0.2.1", trustFile: "ca.pem", connectionLimit: 2)
            ])
        let request = http1.requests.first { $0.path == "/a" }
        #expect(request?.method == "POST" && request?.body == [1, 2])
        #expect(request?.fields.map(\.name) == ["ttl", "authorization"])
        // From then on for an hour.
        #expect(statuses(await send("/c")) == [201])
        #expect(http2.submitted.withLock { $0 } == 1)
        time.advance(by: FallbackPool.trust)
        http2.lacksHTTP2.withLock { $0 = false }
        #expect(statuses(await send("/d")) == [200])
    }

    @Test func asManyAreUnderWayAsThereMayBeConnections() async {
        http1.isHolding.withLock { $0 = true }
        async let exchanges = send((0..<20).map { "/\($0)" })
        await http1.wait(untilHeld: 2)
        #expect(pool.statistics.queued == 18 && pool.statistics.workingConnections == 1)
        http1.release()
        #expect(statuses(await exchanges) == [Int?](repeating: 201, count: 20))
        #expect(http1.most.withLock { $0 } == 2)
    }

    @Test func whatCannotBeReachedIsDialedByHTTP2Again() async {
        _ = await send("/a")
        http1.answer.withLock { $0 = .notSent(.connectFailed, "refused") }
        guard case .notSent(let failure)? = await send("/b").first else {
            Issue.record("not lost")
            return
        }
        #expect(failure.kind == .connectFailed)
        time.advance(by: .seconds(2))
        http1.answer.withLock { $0 = .answered(status: 201, fields: [], body: []) }
        #expect(statuses(await send("/c")) == [201])
        // The next address, in its turn.
        #expect(http2.submitted.withLock { $0 } == 2 && http1.places.map(\.address) == ["192.0.2.1", "192.0.2.2"])
        #expect(http1.closed.withLock { $0 } == 1)
    }

    /// What waits is given back, and nothing is dialed until the pause is over: then one request at a time.
    @Test(arguments: [
        HTTP1Answer.notSent(.connectFailed, "refused"), .unanswered(.connectionLost, "ended before it answered"),
    ])
    func aPeerThatFailsIsLeftAlone(answer: HTTP1Answer) async {
        http1.answer.withLock { $0 = answer }
        let ended = await send((0..<20).map { "/\($0)" })
        // Two connections were under way together.
        #expect(ended.count == 20 && (1...2).contains(http1.requests.count))
        #expect(pool.statistics.circuit == .open && pool.statistics.nextDial.map { $0 > .zero } == true)
        let (asked, dialed) = (http2.submitted.withLock { $0 }, http1.requests.count)
        guard case .notSent(let failure)? = await send("/later").first else {
            Issue.record("sent")
            return
        }
        #expect(failure.kind == .connectFailed && failure.message.contains("left alone, failures: 1"))
        #expect(http2.submitted.withLock { $0 } == asked && http1.requests.count == dialed)
        time.advance(by: .seconds(2))
        #expect(pool.statistics.circuit == .halfOpen)
        http1.answer.withLock { $0 = .answered(status: 201, fields: [], body: []) }
        http1.isHolding.withLock { $0 = true }
        async let exchanges = send("/a", "/b", "/c")
        await http1.wait(untilHeld: 1)
        #expect(pool.statistics.queued == 2 && pool.statistics.isTrying)
        http1.release()
        #expect(statuses(await exchanges) == [201, 201, 201])
        #expect(pool.statistics.circuit == .closed && pool.statistics.workingConnections == 1)
    }

    /// An answer that is lost on connections that have brought others is that request's own.
    @Test func aLostAnswerOnAProvenConnectionStopsNothing() async {
        #expect(statuses(await send("/a")) == [201])
        http1.answer.withLock { $0 = .unanswered(.timedOut, "late") }
        _ = await send("/b")
        http1.answer.withLock { $0 = .answered(status: 201, fields: [], body: []) }
        #expect(statuses(await send("/c")) == [201])
    }

    @Test func aHostWithoutAnAddressThatMayBeDialedGetsNothing() async {
        http1.known.withLock { $0 = [] }
        guard case .notSent(let failure)? = await send("/a").first else {
            Issue.record("sent")
            return
        }
        #expect(failure.kind == .connectFailed && http1.places.isEmpty)
    }

    @Test func closingEndsWhatWaitsAndCutsOffWhatIsUnderWay() async {
        http1.isHolding.withLock { $0 = true }
        async let exchanges = send("/a", "/b", "/c")
        await http1.wait(untilHeld: 2)
        await pool.close(within: .zero)
        let kinds = await exchanges.map { exchange -> String in
            switch exchange {
            case .answered: "answered"
            case .notSent(let failure): "notSent \(failure.kind.rawValue)"
            case .unanswered(let failure): "unanswered \(failure.kind.rawValue)"
            }
        }
        #expect(kinds.sorted() == ["notSent shutdown", "unanswered shutdown", "unanswered shutdown"])
        #expect(http1.closed.withLock { $0 } == 1)
        guard case .notSent(let failure)? = await send("/d").first else {
            Issue.record("sent")
            return
        }
        #expect(failure.kind == .shutdown)
    }
}

private struct ScriptedTransport: RequestTransport {
    let pool: ScriptedPool

    func openPool(_ configuration: PoolConfiguration) throws(TransportFailure) -> any RequestPool {
        #expect(configuration.leavesWithoutHTTP2)
        return pool
    }

    func shutdown(within limit: Duration) async {}
}

private final class ScriptedPool: RequestPool {
    let lacksHTTP2 = Mutex(true)
    let submitted = Mutex(0)

    func submit(
        _ requests: [Request], isWanted: (@Sendable (_ index: Int) -> Bool)?,
        completion: @escaping @Sendable ([RequestCompletion]) -> Void
    ) async {
        submitted.withLock { $0 += 1 }
        let exchange: Exchange =
            lacksHTTP2.withLock { $0 }
            ? .notSent(TransportFailure(.tlsFailed, "no HTTP/2", lacksHTTP2: true))
            : .answered(Response(status: 200, headers: [], body: []))
        completion(requests.indices.map { RequestCompletion(index: $0, exchange: exchange, latency: .zero) })
    }

    var statistics: PoolStatistics { PoolStatistics() }
    func close(within limit: Duration) async {}
    func recycleConnections() {}
    func setFields(_ fields: [HeaderField]) {}
    func windDown() {}
    func reconsider() {}
    func setConnectionLimit(_ limit: Int) {}
}

private final class ScriptedHTTP1: HTTP1Client, HTTP1Connections {
    let answer = Mutex(HTTP1Answer.answered(status: 201, fields: [], body: []))
    let known = Mutex(["192.0.2.1", "192.0.2.2"])
    let closed = Mutex(0)
    let most = Mutex(0)
    let isHolding = Mutex(false)
    private let held = Mutex<[CheckedContinuation<Void, Never>]>([])
    private let opened = Mutex<[HTTP1Place]>([])
    private let sent = Mutex<[HTTP1Request]>([])
    private let running = Mutex(0)
    private let arrivals = AsyncStream.makeStream(of: Int.self)

    var places: [HTTP1Place] { opened.withLock { $0 } }
    var requests: [HTTP1Request] { sent.withLock { $0 } }

    func addresses(of host: String) throws(TransportFailure) -> [String] {
        let known = known.withLock { $0 }
        if known.isEmpty { throw TransportFailure(.connectFailed, "none of the Internet") }
        return known
    }

    func open(_ place: HTTP1Place) -> any HTTP1Connections {
        opened.withLock { $0.append(place) }
        return self
    }

    func send(_ request: HTTP1Request) async -> HTTP1Answer {
        sent.withLock { $0.append(request) }
        let now = running.withLock { running in
            running += 1
            return running
        }
        most.withLock { $0 = max($0, now) }
        defer { running.withLock { $0 -= 1 } }
        if isHolding.withLock({ $0 }) {
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    if Task.isCancelled { return continuation.resume() }
                    let count = held.withLock { held in
                        held.append(continuation)
                        return held.count
                    }
                    arrivals.continuation.yield(count)
                }
            } onCancel: {
                release()
            }
            if Task.isCancelled { return .unanswered(.shutdown, "closed") }
        }
        return answer.withLock { $0 }
    }

    func wait(untilHeld count: Int) async {
        for await held in arrivals.stream where held >= count { return }
    }

    func release() {
        isHolding.withLock { $0 = false }
        let all = held.withLock { held in
            defer { held = [] }
            return held
        }
        for continuation in all { continuation.resume() }
    }

    func close() async { closed.withLock { $0 += 1 } }
}
