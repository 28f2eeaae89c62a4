import HTTP2Client
import Logging
import PushModel
import Synchronization

/// The client of one endpoint with one credential: pools of connections, the token that their requests carry, and what
/// the service's answers ask for. ``UpstreamRouter`` opens and closes it.
package final class UpstreamClient: Sendable {
    /// Its name for operators.
    private let name: String
    let service: any PushService
    let pools: UpstreamPools
    /// `nil`: a certificate needs no tokens.
    package let tokens: (any AuthorizationSource)?
    private let queueLimit: Int
    /// The most pushes a second by all gateways together; `nil`: no such limit.
    private let maxPerSecond: Int?
    /// `nil`: requests are built where they are handed over.
    private let builders: RequestBuilders?
    /// Pushes whose requests are built, or wait for that.
    private let building = Atomic(0)
    let wallTime: WallTime
    let uptime: Uptime
    let logger: Logger
    let congestion: CongestionGate
    let state: Mutex<Reactions>
    /// What was told last. Lock order: this one, then `state`, the gate's and the pools'.
    private let told = Mutex(UpstreamHold())
    private let holdChanged: @Sendable () -> Void
    /// The token that the pools were given last.
    private let announced = Mutex<AuthorizationToken?>(nil)

    /// Everything that answers change.
    struct Reactions {
        var health = UpstreamHealth()
        var use = UpstreamUse()
        var control: UpstreamControl
        var skew = ClockSkew()
        var unknownReasons = UnknownReasons()
        var unknownAddresses = UnknownAddresses()
        var mismatched = MismatchedAddresses()
        /// Those of suspects by themselves: anybody with a client key can register addresses of another credential.
        var mismatchedSuspects = MismatchedAddresses()
        var slowed = SlowedAddresses()
        /// `nil`: any number of pushes may go to an address.
        var budget: AddressBudget?

        /// How long each of some pushes has to wait for the sake of its address; the others count as sent.
        mutating func rests(of indices: [Int], in batch: [Push], at now: Duration) -> [Int: Duration] {
            guard budget != nil else { return [:] }
            var rests: [Int: Duration] = [:]
            for index in indices {
                if let rest = budget?.take(batch[index].address, at: now) { rests[index] = rest }
            }
            return rests
        }
    }

    init(
        name: String, service: any PushService, pools: UpstreamPools, tokens: (any AuthorizationSource)?,
        maxPerSecond: Int? = nil, doubtfulAddresses: DoubtfulAddressLimits = DoubtfulAddressLimits(),
        wallTime: @escaping WallTime,
        uptime: @escaping Uptime, logger: Logger, builders: RequestBuilders? = nil,
        holdChanged: @escaping @Sendable () -> Void = {}
    ) {
        self.builders = builders
        self.name = name
        self.service = service
        self.holdChanged = holdChanged
        self.maxPerSecond = maxPerSecond
        self.pools = pools
        self.tokens = tokens
        // Each pool has a queue for each lane.
        queueLimit = pools.queueLimit * pools.count * 2
        self.wallTime = wallTime
        self.uptime = uptime
        congestion = CongestionGate(
            overload: service.overload, pace: maxPerSecond.map { SendPace(limit: $0) }, uptime: uptime)
        state = Mutex(
            Reactions(
                control: UpstreamControl(service: service, limits: doubtfulAddresses),
                budget: service.addressLimit.map(AddressBudget.init(limit:))))
        var logger = logger
        logger[metadataKey: "upstream"] = "\(name)"
        self.logger = logger
        congestion.onChange { [weak self] in self?.updateHold() }
    }

    /// Sends the pushes of `batch` at `indices`; suspends while the queue of a pool that they take is full or the
    /// upstream is slowed down. What is held back is reported at once.
    func send(
        _ batch: [Push], at wanted: [Int], report: @escaping @Sendable ([PushReport]) -> Void
    ) async {
        let indices = admitted(wanted, of: batch, report: report)
        guard let builders else { return await pass(indices, of: batch, report: report) }
        if indices.count <= RequestBuilders.pieceSize {
            return await build(indices[...], of: batch, with: builders, report: report)
        }
        await withTaskGroup(of: Void.self) { pieces in
            var started = 0
            for start in stride(from: 0, to: indices.count, by: RequestBuilders.pieceSize) {
                if started >= RequestBuilders.piecesAhead { await pieces.next() }
                started += 1
                let piece = indices[start..<min(start + RequestBuilders.pieceSize, indices.count)]
                pieces.addTask { await self.build(piece, of: batch, with: builders, report: report) }
            }
        }
    }

    /// Builds the requests of some pushes and lets them pass. While anything is held, and after ``turnAway()``, nothing is
    /// built that may be given back: ``submit(_:of:built:report:)`` builds what goes all the same.
    private func build(
        _ indices: ArraySlice<Int>, of batch: [Push], with builders: RequestBuilders,
        report: @escaping @Sendable ([PushReport]) -> Void
    ) async {
        guard let first = indices.first else { return }
        building.add(indices.count, ordering: .relaxed)
        let built = await builders.build(
            indices, of: batch, for: service, isUrgent: batch[first].lane == .interactive,
            isWanted: { self.isFree })
        building.subtract(indices.count, ordering: .relaxed)
        await pass(Array(indices), of: batch, built: built, report: report)
    }

    /// Whether nothing is held or turned away just now, but what devices alone have to wait for.
    private var isFree: Bool { !congestion.isShut(at: uptime()) && !state.withLock { $0.control.isHolding } }

    /// Submits pushes as they get places in the congestion window.
    private func pass(
        _ indices: [Int], of batch: [Push], built: BuiltRequests? = nil,
        report: @escaping @Sendable ([PushReport]) -> Void
    ) async {
        guard let first = indices.first else { return }
        let isUrgent = batch[first].lane == .interactive
        var rest = indices[...]
        while !rest.isEmpty {
            switch await congestion.enter(rest.count, isUrgent: isUrgent, isReturning: rest.count < indices.count) {
            case .granted(let count):
                await submit(rest.prefix(count), of: batch, built: built, report: report)
                rest = rest.dropFirst(count)
            case .held(let refusal, let pause):
                let outcome = Outcome.throttled(refusal, after: pause)
                report(rest.map { PushReport(index: $0, outcome: outcome, latency: .zero, isAttempt: false) })
                return
            case .closed:
                report(rest.map { PushReport(index: $0, outcome: .notSent(.shutdown), latency: .zero) })
                return
            }
        }
    }

    /// The pushes that may be sent; the others are reported.
    private func admitted(
        _ indices: [Int], of batch: [Push], report: @Sendable ([PushReport]) -> Void
    ) -> [Int] {
        let refused = service.refusedPushes(among: indices, of: batch)
        if refused.isEmpty { return indices }
        report(refused.map { PushReport(index: $0, outcome: .rejected($1), latency: .zero, isAttempt: false) })
        return indices.filter { refused[$0] == nil }
    }

    /// Submits pushes that have their place in the congestion window, as far as they may go.
    private func submit(
        _ indices: ArraySlice<Int>, of batch: [Push], built: BuiltRequests?,
        report: @escaping @Sendable ([PushReport]) -> Void
    ) async {
        await tokens?.prepare()
        let token: AuthorizationToken?
        do {
            token = try tokens?.current()
        } catch {
            congestion.leave(indices.count, good: 0)
            fail(indices, because: error, report: report)
            return
        }
        if let token { announce(token) }
        let now = uptime()
        let (selection, rests, isHolding) = state.withLock { state in
            let selection = state.control.admit(indices, of: batch, with: token, at: now)
            let rests = state.rests(of: selection.admitted, in: batch, at: now)
            return (selection, rests, state.control.isHolding)
        }
        act(on: selection.actions)
        // A probe may be among them.
        if isHolding { updateHold() }
        if !selection.held.isEmpty {
            congestion.leave(selection.held.count, good: 0)
            report(
                selection.held.map {
                    PushReport(
                        index: $0.index, outcome: .throttled($0.refusal, after: $0.after), latency: .zero,
                        isAttempt: false, isBeingProbed: $0.isBeingProbed)
                })
        }
        let generation = selection.generation
        if !rests.isEmpty { report(rest(rests, of: batch, generation, token: token)) }
        let admitted = rests.isEmpty ? selection.admitted : selection.admitted.filter { rests[$0] == nil }
        guard !admitted.isEmpty else { return }
        var parts: [(UpstreamPools.Part, [Request])] = []
        for var part in pools.parts(of: admitted, in: batch, at: wallTime()) {
            let made = await requests(for: part.indices, of: batch, built: built)
            if !made.refused.isEmpty {
                report(refuse(made.refused, of: batch, generation, token: token))
                part.indices.removeAll { made.refused[$0] != nil }
            }
            if !part.indices.isEmpty { parts.append((part, made.requests)) }
        }
        @Sendable func hand(_ part: UpstreamPools.Part, _ requests: [Request]) async {
            // What waited for its token, its place or its body may be another gateway's by now.
            guard part.indices.first.map({ batch[$0].isOurs }) ?? true else {
                return report(keepForOthers(part.indices, of: batch, generation, token: token))
            }
            await part.pool.submit(requests) { index in
                let push = batch[part.indices[index]]
                return push.isOurs && self.objection(to: push, of: generation) == nil
            } completion: { completions in
                report(self.read(completions, at: part.indices, of: batch, generation, token: token))
            }
        }
        if parts.isEmpty { return }
        if parts.count == 1 { return await hand(parts[0].0, parts[0].1) }
        // All pools at the same time: the full queue of one must not hold back the others.
        await withDiscardingTaskGroup { tasks in
            for (part, requests) in parts {
                tasks.addTask { await hand(part, requests) }
            }
        }
    }

    /// The requests of pushes that go: those that were built ahead, or built now.
    private func requests(for indices: [Int], of batch: [Push], built: BuiltRequests?) async -> PushRequests {
        if let built { return built.requests(for: indices) }
        guard let builders, let first = indices.first else { return service.requests(for: indices, of: batch) }
        let isUrgent = batch[first].lane == .interactive
        let made = await builders.build(
            indices[...], of: batch, for: service, isUrgent: isUrgent, isWanted: { true })
        return made?.requests(for: indices) ?? PushRequests(capacity: 0)
    }

    /// Gives the pools a token that they have not, unless another call was faster with a later one.
    private func announce(_ token: AuthorizationToken) {
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
            name: name, isReachable: statistics.connections > 0 || statistics.lastFailure == nil,
            lastFailure: statistics.lastFailure, connections: statistics.connections,
            streamsInUse: statistics.streamsInUse, streamLimit: statistics.streamLimit,
            queued: statistics.queued + building.load(ordering: .relaxed),
            queueLimit: queueLimit, circuit: UpstreamCircuit(statistics.circuit), failedDials: statistics.failedDials,
            goAways: statistics.goAwaysByReason)
        let (now, wallTime) = (uptime(), wallTime())
        (status.pauses, status.clockSkew, status.lastWorked, status.lastTrouble) = state.withLock {
            ($0.control.pauses(at: now, wallTime: wallTime), $0.skew.skew, $0.use.lastWorked, $0.use.lastTrouble)
        }
        status.paceLimit = congestion.limit
        return status
    }

    /// So many gateways share the limits of connections and pace from now on.
    func divide(among nodes: Int) {
        pools.divide(among: nodes, at: wallTime())
        if let maxPerSecond { congestion.setPace(NodeCount.part(of: maxPerSecond, among: nodes)) }
    }

    /// Replaces the connections after a change of what the key may push to, and tries at once what is held back.
    func renew() {
        let now = uptime()
        act(on: state.withLock { $0.control.renew(at: now) })
        updateHold()
    }

    /// Ends what waits in front of the pools as `notSent(shutdown)`, and whatever comes later.
    func turnAway() {
        congestion.close()
    }

    /// Gives back at once, as `notSent(shutdown)`, what would wait for a connection that is not there or for the
    /// congestion window; the rest goes. ``close(within:)`` follows.
    func windDown() {
        congestion.windDown()
        pools.windDown()
    }

    /// Takes no more pushes, and closes the pools.
    func close(within limit: Duration) async {
        turnAway()
        await pools.close(within: limit)
    }

    private func fail(
        _ indices: ArraySlice<Int>, because error: AuthorizationFailure, report: @Sendable ([PushReport]) -> Void
    ) {
        let cause = TransportCause.signingFailed
        let sign = UpstreamSign.problem(.init(name: cause.rawValue, detail: error.message, remedy: .none))
        let now = wallTime()
        act(
            on: state.withLock { state in
                state.use.note([sign], refused: nil, at: now)
                return state.health.note([sign], at: now)
            })
        report(indices.map { PushReport(index: $0, outcome: .notSent(cause), latency: .zero) })
    }
}

// MARK: - Holding back

extension UpstreamClient {
    /// What of the upstream is held, as it was told last.
    var hold: UpstreamHold { told.withLock { $0 } }

    /// Reads what is held, and tells when that has changed.
    func updateHold() {
        let hasChanged = told.withLock { told in
            let now = uptime()
            var hold = state.withLock { $0.control.hold }
            let wish = congestion.wish(at: now)
            hold.congestion = wish.rest
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
    private func circuitRest(at now: Duration) -> HoldRest? {
        let statistics = pools.statistics
        guard statistics.workingConnections == 0, let nextDial = statistics.nextDial else { return nil }
        return HoldRest(
            until: nextDial > .zero ? now + nextDial : .zero, isTrying: statistics.isTrying,
            limit: HoldRest.circuitLimit)
    }

    /// Why a push that was admitted with this generation is not to go after all, and for how long; `nil`: it is.
    private func objection(to push: Push, of generation: Int) -> (refusal: Refusal, after: Duration)? {
        let now = uptime()
        if let objection = state.withLock({ $0.control.objection(to: push, of: generation, at: now) }) {
            return objection
        }
        return congestion.rest(at: now).map { (service.overload, $0) }
    }

    /// The report of a push that waited for a stream when it became clear that it is not to go. What held it may be
    /// over by now: then it may come again at once.
    func givenBack(
        _ index: Int, of batch: [Push], _ generation: Int, after latency: Duration
    ) -> PushReport {
        guard batch[index].isOurs else {
            return PushReport(index: index, outcome: .notSent(.leaseOver), latency: latency, isAttempt: false)
        }
        let (refusal, pause) = objection(to: batch[index], of: generation) ?? (service.overload, .zero)
        let isBeingProbed = state.withLock { $0.control.isProbing(for: batch[index]) }
        return PushReport(
            index: index, outcome: .throttled(refusal, after: pause), latency: latency, isAttempt: false,
            isBeingProbed: isBeingProbed)
    }
}

extension Push {
    /// Whether no other gateway may have it by now.
    fileprivate var isOurs: Bool { mayLeave?() ?? true }
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
