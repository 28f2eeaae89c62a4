import DequeModule
import HTTP2Client
import PushModel
import Synchronization

/// A pool of HTTP/2 that changes to HTTP/1.1 when the handshake shows that the peer does not speak HTTP/2.
///
/// Only an HTTP/2 dial decides that, each hour anew and after a failure of HTTP/1.1: dial budget and circuit stay those of the
/// HTTP/2 pool. Over HTTP/1.1 a connection carries one request at a time, so as many are under way as there may be
/// connections; the others wait in a queue that the upstream's limits bound.
///
/// When the peer can't be reached over HTTP/1.1, or ends connections before it answers anything, all that waits ends as
/// `notSent`, and what comes too until the pause of ``BackOff`` is over. Then one request at a time goes, until one is
/// answered.
///
/// Isolation: every call from any thread. Lifecycle: as ``ConnectionPool``.
final class FallbackPool: RequestPool {
    /// After so long the peer is asked again whether it speaks HTTP/2.
    static let trust: Duration = .seconds(3600)

    private struct Job: Sendable {
        let index: Int
        let request: Request
        let isWanted: (@Sendable (_ index: Int) -> Bool)?
        let completion: @Sendable ([RequestCompletion]) -> Void
        let submittedAt: Duration

        func end(_ exchange: Exchange, at now: Duration) {
            completion([RequestCompletion(index: index, exchange: exchange, latency: now - submittedAt)])
        }
    }

    private struct State {
        /// Until then requests go over HTTP/1.1.
        var until: Duration?
        var urgent: Deque<Job> = []
        var normal: Deque<Job> = []
        var workers: [Int: Task<Void, Never>] = [:]
        var lastWorker = 0
        var connections: (any HTTP1Connections)?
        var fields: [HeaderField] = []
        var connectionLimit: Int
        /// Addresses are taken in turn.
        var dials = 0
        var backOff: BackOff
        /// Nothing goes before.
        var restsUntil: Duration = .zero
        /// When the last failure was counted.
        var failedAt: Duration = .zero
        /// Whether the present connections have brought an answer.
        var isProven = false
        var lastFailure: String?
        var isClosed = false

        mutating func next() -> Job? { urgent.popFirst() ?? normal.popFirst() }
        mutating func takeAll() -> [Job] {
            defer { (urgent, normal) = ([], []) }
            return Array(urgent) + Array(normal)
        }
    }

    private let http2: any RequestPool
    private let configuration: PoolConfiguration
    private let http1: any HTTP1Client
    private let lookup: FallbackTransport.Lookup
    private let uptime: Uptime
    private let closed: @Sendable (FallbackPool) -> Void
    private let state: Mutex<State>

    /// - Parameter closed: called when it is closed.
    init(
        _ http2: any RequestPool, _ configuration: PoolConfiguration, http1: any HTTP1Client,
        lookup: @escaping FallbackTransport.Lookup, uptime: @escaping Uptime,
        closed: @escaping @Sendable (FallbackPool) -> Void
    ) {
        self.closed = closed
        self.http2 = http2
        self.configuration = configuration
        self.http1 = http1
        self.lookup = lookup
        self.uptime = uptime
        state = Mutex(
            State(
                connectionLimit: max(1, configuration.connectionLimit),
                backOff: BackOff(floor: configuration.backOffFloor, ceiling: configuration.backOffCeiling)))
    }

    func submit(
        _ requests: [Request], isWanted: (@Sendable (_ index: Int) -> Bool)?,
        completion: @escaping @Sendable ([RequestCompletion]) -> Void
    ) async {
        let now = uptime()
        func job(_ index: Int) -> Job {
            Job(
                index: index, request: requests[index], isWanted: isWanted, completion: completion, submittedAt: now)
        }
        if let rest = rest(at: now) { return end(requests.indices.map(job), rest) }
        if isPlain(at: now) { return append(requests.indices.map(job)) }
        await http2.submit(requests, isWanted: isWanted) { [self] completions in
            var others: [RequestCompletion] = []
            var jobs: [Job] = []
            for ended in completions {
                if case .notSent(let failure) = ended.exchange, failure.lacksHTTP2 {
                    jobs.append(
                        Job(
                            index: ended.index, request: requests[ended.index], isWanted: isWanted,
                            completion: completion, submittedAt: now))
                } else {
                    others.append(ended)
                }
            }
            if !jobs.isEmpty {
                state.withLock { $0.until = uptime() + Self.trust }
                append(jobs)
            }
            if others.contains(where: { if case .answered = $0.exchange { true } else { false } }) { noteAnswer() }
            if !others.isEmpty { completion(others) }
        }
    }

    private func isPlain(at now: Duration) -> Bool {
        state.withLock { state in state.until.map { now < $0 } ?? false }
    }

    /// How requests end while the peer is left alone; `nil`: they go.
    private func rest(at now: Duration) -> Exchange? {
        state.withLock { now < $0.restsUntil ? Self.resting($0) : nil }
    }

    private static func resting(_ state: State) -> Exchange {
        let last = state.lastFailure ?? "no answer"
        return .notSent(
            TransportFailure(
                .connectFailed, "left alone, failures: \(state.backOff.failures); last attempt: \(last)"))
    }

    /// Has requests wait for a connection, and starts workers for them.
    private func append(_ jobs: [Job]) {
        let now = uptime()
        let refused: Exchange? = state.withLock { state in
            if state.isClosed { return Self.ended }
            if now < state.restsUntil { return Self.resting(state) }
            for job in jobs {
                if job.request.isUrgent { state.urgent.append(job) } else { state.normal.append(job) }
            }
            startWorkers(&state)
            return nil
        }
        if let refused { end(jobs, refused) }
    }

    private static let ended = Exchange.notSent(TransportFailure(.shutdown, "the pool is closed"))

    private func end(_ jobs: [Job], _ exchange: Exchange) {
        let now = uptime()
        for job in jobs { job.end(exchange, at: now) }
    }

    /// One worker for each connection that has something to do; one at all after a failure.
    ///
    /// A bridge from synchronous calls: each ends when nothing waits, and ``close(within:)`` waits for all.
    private func startWorkers(_ state: inout State) {
        let limit = state.backOff.failures > 0 ? 1 : max(1, state.connectionLimit)
        let wanted = min(limit, state.workers.count + state.urgent.count + state.normal.count)
        while state.workers.count < wanted {
            state.lastWorker += 1
            let number = state.lastWorker
            state.workers[number] = Task { await self.work(as: number) }
        }
    }

    /// Sends what waits, one after the other.
    private func work(as number: Int) async {
        while true {
            let job = state.withLock { state -> Job? in
                if let job = state.next() { return job }
                state.workers[number] = nil
                return nil
            }
            guard let job else { return }
            let exchange = await exchange(job)
            job.end(exchange, at: uptime())
        }
    }

    private func exchange(_ job: Job) async -> Exchange {
        if job.isWanted.map({ !$0(job.index) }) ?? false {
            return .notSent(TransportFailure(.withdrawn, "not wanted any more"))
        }
        guard uptime() - job.submittedAt < configuration.queueTimeout else {
            return .notSent(TransportFailure(.timedOut, "waited \(configuration.queueTimeout) for a connection"))
        }
        let start = uptime()
        let connections: any HTTP1Connections
        do throws(TransportFailure) {
            connections = try await opened()
        } catch {
            leave(because: error.message, startedAt: start)
            return .notSent(error)
        }
        let fields = state.withLock { $0.fields }
        let request = HTTP1Request(
            method: job.request.method, path: job.request.path,
            fields: (job.request.headers + fields).map { ($0.name, $0.value) }, body: job.request.body)
        switch await connections.send(request) {
        case .answered(let status, let fields, let body):
            noteAnswer()
            return .answered(
                Response(status: status, headers: fields.map { HeaderField($0.name, $0.value) }, body: body))
        case .notSent(let cause, let detail):
            // Connections that were closed here say nothing of the peer.
            if cause != .shutdown { leave(because: detail, startedAt: start) }
            return .notSent(TransportFailure(.init(rawValue: cause.rawValue) ?? .connectFailed, detail))
        case .unanswered(let cause, let detail):
            if cause != .shutdown, !state.withLock({ $0.isProven }) { leave(because: detail, startedAt: start) }
            return .unanswered(TransportFailure(.init(rawValue: cause.rawValue) ?? .connectionLost, detail))
        }
    }

    /// The connections to one checked address, which are opened when the first request needs them.
    private func opened() async throws(TransportFailure) -> any HTTP1Connections {
        if let open = state.withLock({ $0.connections }) { return open }
        let addresses = try await lookup(configuration)
        let trustFile: String? =
            switch configuration.trust {
            case .system: nil
            case .file(let path): path
            }
        return state.withLock { state in
            // Another worker may have been faster.
            if let open = state.connections { return open }
            let place = HTTP1Place(
                host: configuration.host, port: configuration.port, address: addresses[state.dials % addresses.count],
                trustFile: trustFile, connectionLimit: max(1, configuration.connectionLimit))
            state.dials += 1
            state.isProven = false
            let open = http1.open(place)
            state.connections = open
            return open
        }
    }

    /// The peer answers: what waits goes over as many connections as there may be.
    private func noteAnswer() {
        let wasResting = state.withLock { state in
            state.lastFailure = nil
            state.isProven = true
            guard state.backOff.failures > 0 else { return false }
            state.backOff.succeeded()
            state.restsUntil = .zero
            startWorkers(&state)
            return true
        }
        if wasResting { configuration.reachChanged?() }
    }

    /// The peer can't be reached, and is left alone for a while: then a dial of HTTP/2 finds out what is the matter, and the
    /// next one here takes another address.
    ///
    /// - Parameter start: requests that were under way together fail together: they count as one.
    private func leave(because detail: String, startedAt start: Duration) {
        let now = uptime()
        var random = SystemRandomNumberGenerator()
        let (connections, jobs, rest) = state.withLock { state in
            state.until = nil
            state.lastFailure = detail
            if state.backOff.failures == 0 || start > state.failedAt {
                state.failedAt = now
                state.restsUntil = now + .nanoseconds(state.backOff.failed(using: &random))
            }
            defer { (state.connections, state.isProven) = (nil, false) }
            return (state.connections, state.takeAll(), Self.resting(state))
        }
        close(connections)
        end(jobs, rest)
        configuration.reachChanged?()
    }

    /// A bridge from synchronous calls: what is under way on them ends first, within its own limit.
    private func close(_ connections: (any HTTP1Connections)?) {
        guard let connections else { return }
        Task { await connections.close() }
    }
}

// MARK: - As of a pool

extension FallbackPool {
    func setFields(_ fields: [HeaderField]) {
        state.withLock { $0.fields = fields }
        http2.setFields(fields)
    }

    func recycleConnections() {
        close(
            state.withLock { state in
                defer { (state.connections, state.isProven) = (nil, false) }
                return state.connections
            })
        http2.recycleConnections()
    }

    func windDown() { http2.windDown() }

    func reconsider() {
        let withdrawn = state.withLock { state in
            let jobs = state.takeAll()
            let isWanted = jobs.map { $0.isWanted?($0.index) ?? true }
            for (job, isWanted) in zip(jobs, isWanted) where isWanted {
                if job.request.isUrgent { state.urgent.append(job) } else { state.normal.append(job) }
            }
            return zip(jobs, isWanted).filter { !$1 }.map(\.0)
        }
        end(withdrawn, .notSent(TransportFailure(.withdrawn, "not wanted any more")))
        http2.reconsider()
    }

    func setConnectionLimit(_ limit: Int) {
        state.withLock { $0.connectionLimit = limit }
        http2.setConnectionLimit(limit)
    }

    func close(within limit: Duration) async {
        let (jobs, workers) = state.withLock { state in
            state.isClosed = true
            return (state.takeAll(), Array(state.workers.values))
        }
        end(jobs, Self.ended)
        async let http2Closed: Void = http2.close(within: limit)
        // Not a wait for something to happen: after the limit what is under way is cut off.
        let timer = Task {
            // Cancelled when everything ended before.
            do { try await Task.sleep(for: limit) } catch { return }
            for worker in workers { worker.cancel() }
        }
        for worker in workers { await worker.value }
        timer.cancel()
        await http2Closed
        let connections = state.withLock { state in
            defer { state.connections = nil }
            return state.connections
        }
        await connections?.close()
        closed(self)
    }

    var statistics: PoolStatistics {
        var statistics = http2.statistics
        let now = uptime()
        state.withLock { state in
            statistics.queued += state.urgent.count + state.normal.count
            statistics.lastFailure = state.lastFailure ?? statistics.lastFailure
            if state.backOff.failures > 0 {
                let isTrying = !state.workers.isEmpty || statistics.queued > 0
                statistics.rest(for: max(.zero, state.restsUntil - now), isTrying: isTrying)
                return
            }
            guard state.until.map({ now < $0 }) ?? false else { return }
            statistics.connections += state.workers.count
            statistics.streamsInUse += state.workers.count
            statistics.streamLimit += max(1, state.connectionLimit)
            statistics.workingConnections += 1
        }
        return statistics
    }
}
