import HTTP2Client
import Logging
import PushModel
import Signing
import Synchronization

/// What a pool is shared by: requests with the same key may travel on the same connections, others never (Apple binds a
/// connection to a team and a key on its first push).
struct UpstreamKey: Hashable, Sendable {
    let endpoint: APNSEndpoint
    let credential: Credential
    let trustFile: String?
    let proxy: APNSProxy?

    /// What is shown to APNs, by what can't be the same for two of them: a file that was replaced is another key or
    /// certificate, whatever its name or id says.
    enum Credential: Hashable, Sendable {
        /// A provider key with its public half.
        case providerKey(teamID: String, keyID: String, publicKeyPEM: String)
        /// A client certificate, its digest included, with the chain that TLS shows (DER).
        case certificate(ClientCertificate, chain: [[UInt8]])
    }

    init(_ app: APNSAppConfiguration, endpoint: APNSEndpoint, proxy: APNSProxy?) {
        self.endpoint = endpoint
        self.credential = Credential(app.credential)
        self.trustFile = app.trustFile
        self.proxy = proxy
    }

    /// `host:port TEAM/KEY` or `host:port certificate com.example.app/0123abcd`, and the proxy if there is one.
    var name: String { "\(endpoint) \(credential.name)" + (proxy.map { " via \($0)" } ?? "") }

    /// The pool's configuration.
    var poolConfiguration: PoolConfiguration {
        var configuration = PoolConfiguration(host: endpoint.host, port: endpoint.port)
        if let trustFile { configuration.trust = .file(trustFile) }
        configuration.proxy = proxy?.forPool
        // The only fields that are read; the others would be kept for nothing. One `date` of many shows the clock.
        configuration.responseFields = ["retry-after"]
        configuration.sampledFields = ["date"]
        return configuration
    }
}

/// Pools of connections with their provider token, if they need one. The sender closes it.
final class Upstream: Sendable {
    let key: UpstreamKey
    let pools: UpstreamPools
    /// `nil`: a certificate needs no tokens.
    let tokens: ProviderTokenSource?
    private let queueLimit: Int
    let wallTime: WallTime
    let uptime: Uptime
    let logger: Logger
    let pace: PaceGate
    let state: Mutex<State>
    /// What was told last. Lock order: this one, then `state`, the pace's and the pools'.
    private let told = Mutex(UpstreamHold())
    private let holdChanged: @Sendable () -> Void
    /// The token that the pools were given last.
    private let announced = Mutex<ProviderToken?>(nil)

    /// Everything that answers change.
    struct State {
        var health = UpstreamHealth()
        var control: UpstreamControl
        var skew = ClockSkew()
        var unknownReasons = UnknownReasons()
    }

    init(
        key: UpstreamKey, pools: UpstreamPools, tokens: ProviderTokenSource?,
        badDeviceTokens: BadDeviceTokenLimits = BadDeviceTokenLimits(), wallTime: @escaping WallTime,
        uptime: @escaping Uptime, logger: Logger, holdChanged: @escaping @Sendable () -> Void = {}
    ) {
        self.key = key
        self.holdChanged = holdChanged
        self.pools = pools
        self.tokens = tokens
        // Each pool has a queue for each lane.
        self.queueLimit = key.poolConfiguration.queueLimit * pools.count * 2
        self.wallTime = wallTime
        self.uptime = uptime
        pace = PaceGate(uptime: uptime)
        state = Mutex(State(control: UpstreamControl(limits: badDeviceTokens)))
        var logger = logger
        logger[metadataKey: "upstream"] = "\(key.name)"
        self.logger = logger
        pace.onChange { [weak self] in self?.updateHold() }
    }

    /// Sends the pushes of `batch` at `indices`; suspends while the queue of a pool that they take is full or the upstream
    /// is slowed down. What is held back is reported at once.
    func send(
        _ batch: [Push], at wanted: [Int], report: @escaping @Sendable ([PushReport]) -> Void
    ) async {
        let indices = key.credential.admitted(wanted, of: batch, report: report)
        guard let first = indices.first else { return }
        let isUrgent = batch[first].lane == .interactive
        var rest = indices[...]
        while !rest.isEmpty {
            switch await pace.enter(rest.count, isUrgent: isUrgent, isReturning: rest.count < indices.count) {
            case .granted(let count):
                await submit(rest.prefix(count), of: batch, report: report)
                rest = rest.dropFirst(count)
            case .held(let reason, let pause):
                let outcome = Outcome.throttled(reason, after: pause)
                report(rest.map { PushReport(index: $0, outcome: outcome, latency: .zero, isAttempt: false) })
                return
            case .closed:
                report(rest.map { PushReport(index: $0, outcome: .notSent(.shutdown), latency: .zero) })
                return
            }
        }
    }

    /// Submits pushes that have their place in the pace, as far as they may go.
    private func submit(
        _ indices: ArraySlice<Int>, of batch: [Push], report: @escaping @Sendable ([PushReport]) -> Void
    ) async {
        let token: ProviderToken?
        do {
            token = try tokens?.current()
        } catch {
            pace.leave(indices.count, good: 0)
            fail(indices, because: error, report: report)
            return
        }
        if let token { announce(token) }
        let now = uptime()
        let (admission, isHolding) = state.withLock { state in
            let admission = state.control.admit(indices, of: batch, with: token, at: now)
            return (admission, state.control.isHolding)
        }
        act(on: admission.actions)
        // A probe may be among them.
        if isHolding { updateHold() }
        if !admission.held.isEmpty {
            pace.leave(admission.held.count, good: 0)
            report(
                admission.held.map {
                    PushReport(
                        index: $0.index, outcome: .throttled($0.reason, after: $0.after), latency: .zero,
                        isAttempt: false, isBeingProbed: $0.isBeingProbed)
                })
        }
        guard !admission.admitted.isEmpty else { return }
        var builder = RequestBuilder()
        let parts = pools.parts(of: admission.admitted, in: batch, at: wallTime()).map { part in
            (part, part.indices.map { builder.request(for: batch[$0]) })
        }
        let generation = admission.generation
        @Sendable func hand(_ part: UpstreamPools.Part, _ requests: [Request]) async {
            await part.pool.submit(requests) { index in
                self.objection(to: batch[part.indices[index]], of: generation) == nil
            } completion: { completions in
                report(self.read(completions, at: part.indices, of: batch, generation, token: token))
            }
        }
        if parts.count == 1 { return await hand(parts[0].0, parts[0].1) }
        // All pools at the same time: the full queue of one must not hold back the others.
        await withDiscardingTaskGroup { tasks in
            for (part, requests) in parts {
                tasks.addTask { await hand(part, requests) }
            }
        }
    }

    /// Gives the pools a token that they have not, unless another call was faster with a later one.
    private func announce(_ token: ProviderToken) {
        announced.withLock { last in
            guard token.number > last?.number ?? -1 else { return }
            pools.use(token, isNewSeries: last.map { $0.series != token.series } ?? false)
            last = token
        }
    }

    /// The upstream as operators see it.
    var status: UpstreamStatus {
        let statistics = pools.statistics
        var status = UpstreamStatus(
            name: key.name, isReachable: statistics.connections > 0 || statistics.lastFailure == nil,
            lastFailure: statistics.lastFailure, connections: statistics.connections,
            streamsInUse: statistics.streamsInUse, streamLimit: statistics.streamLimit, queued: statistics.queued,
            queueLimit: queueLimit, circuit: UpstreamCircuit(statistics.circuit), failedDials: statistics.failedDials,
            goAways: statistics.goAwaysByReason)
        let (now, wallTime) = (uptime(), wallTime())
        (status.pauses, status.clockSkew) = state.withLock {
            ($0.control.pauses(at: now, wallTime: wallTime), $0.skew.skew)
        }
        status.paceLimit = pace.limit
        return status
    }

    /// Replaces the connections after a change of what the key may push to, and tries at once what is held back.
    func renew() {
        let now = uptime()
        act(on: state.withLock { $0.control.renew(at: now) })
        updateHold()
    }

    /// Ends what waits in front of the pools as `notSent(shutdown)`, and whatever comes later.
    func turnAway() {
        pace.close()
    }

    /// Gives back at once, as `notSent(shutdown)`, what would wait for a connection that is not there or for the pace;
    /// the rest goes. ``close(within:)`` follows.
    func windDown() {
        pace.windDown()
        pools.windDown()
    }

    /// Takes no more pushes, and closes the pools.
    func close(within limit: Duration) async {
        turnAway()
        await pools.close(within: limit)
    }

    private func fail(
        _ indices: ArraySlice<Int>, because error: SigningError, report: @Sendable ([PushReport]) -> Void
    ) {
        let cause = TransportCause.signingFailed
        let sign = UpstreamSign.problem(.init(name: cause.rawValue, detail: error.message, remedy: .none))
        let now = wallTime()
        act(on: state.withLock { $0.health.note([sign], at: now) })
        report(indices.map { PushReport(index: $0, outcome: .notSent(cause), latency: .zero) })
    }
}

// MARK: - Holding back

extension Upstream {
    /// What of the upstream is held, as it was told last.
    var hold: UpstreamHold { told.withLock { $0 } }

    /// Reads what is held, and tells when that has changed.
    func updateHold() {
        let hasChanged = told.withLock { told in
            let now = uptime()
            var hold = state.withLock { $0.control.hold }
            let wish = pace.wish(at: now)
            hold.pace = wish.rest
            hold.crowd = wish.crowd
            hold.circuit = circuitRest(at: now)
            hold.steady(by: told)
            guard hold != told else { return false }
            told = hold
            return true
        }
        if hasChanged { holdChanged() }
    }

    /// While one of the pools has a connection that works, the upstream is not held for the sake of the other.
    private func circuitRest(at now: Duration) -> UpstreamHold.Rest? {
        let statistics = pools.statistics
        guard statistics.workingConnections == 0, let nextDial = statistics.nextDial else { return nil }
        return UpstreamHold.Rest(
            until: nextDial > .zero ? now + nextDial : .zero, isTrying: statistics.isTrying,
            limit: UpstreamHold.Rest.circuitLimit)
    }

    /// Why a push that was admitted with this generation is not to go after all, and for how long; `nil`: it is.
    private func objection(to push: Push, of generation: Int) -> (reason: APNSReason, after: Duration)? {
        let now = uptime()
        if let objection = state.withLock({ $0.control.objection(to: push, of: generation, at: now) }) {
            return objection
        }
        return pace.rest(at: now).map { (.serviceUnavailable, $0) }
    }

    /// The report of a push that waited for a stream when it became clear that it is not to go. What held it may be over
    /// by now: then it may come again at once.
    func givenBack(
        _ index: Int, of batch: [Push], _ generation: Int, after latency: Duration
    ) -> PushReport {
        let (reason, pause) = objection(to: batch[index], of: generation) ?? (.serviceUnavailable, .zero)
        let isBeingProbed = state.withLock { $0.control.isProbing(for: batch[index]) }
        return PushReport(
            index: index, outcome: .throttled(reason, after: pause), latency: latency, isAttempt: false,
            isBeingProbed: isBeingProbed)
    }
}

extension UpstreamCircuit {
    fileprivate init(_ circuit: Circuit) {
        switch circuit {
        case .closed: self = .closed
        case .open: self = .open
        case .halfOpen: self = .halfOpen
        }
    }
}
