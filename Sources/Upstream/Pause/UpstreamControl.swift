import PushModel

/// What an upstream does about the service's answers: which pushes go, which are held back, and what the operator is
/// told. A value without clock or I/O; the upstream asks it before each dispatch and tells it each answer.
///
/// - A credential that is refused pauses the upstream, a topic that is refused the topic, and a share of refused addresses
///   that is too high the app in its environment: see ``SendPause``. Proven device tokens and suspects (tokens that the
///   service has never accepted) are counted and paused each by themselves: anybody with a client key can register
///   tokens that don't exist, and must not stop those that do.
/// - A refusal that another connection may cure is given one: see ``ConnectionTrial``.
/// - A device that gets too many pushes is left alone: see ``BusyDevices``.
struct UpstreamControl {
    /// What is to happen to the pushes of a dispatch.
    struct Selection {
        /// What their answers come back with.
        let generation: Int
        /// Places in the batch of those that go.
        var admitted: [Int]
        /// Those that don't.
        var held: [(index: Int, refusal: Refusal, after: Duration, isBeingProbed: Bool)] = []
        var actions: [ControlAction] = []
    }

    /// An answer to a push.
    struct Answered: Hashable {
        /// The push's place in the batch.
        let index: Int
        let meaning: AnswerMeaning
    }

    /// What was true of a dispatch.
    struct Dispatch {
        let generation: Int
        /// How old its provider token is, by our clock; zero where a certificate stands in for it.
        let tokenAge: Duration
    }

    /// A token that the service calls expired when it was younger than this by our clock: the clocks differ.
    static let freshAge: Duration = .seconds(50 * 60)
    /// Connections are not replaced more often: Apple takes rapid reconnecting for an attack.
    static let replacingInterval: Duration = .seconds(15)
    /// The most topics, and apps, that are remembered.
    static let partLimit = 1000

    private let service: any PushService
    private let limits: DoubtfulAddressLimits
    private var generation = 0
    private var replacedAt: Duration?
    private var trial = ConnectionTrial()
    private var everything = SendPause()
    private var topics: [String: SendPause] = [:]
    private var routes: [AddressGroup: SendPause] = [:]
    /// How many of `topics` and `routes` are not open.
    private var pausedParts = 0
    private var windows: [AddressGroup: DoubtfulAddressWindow] = [:]
    /// Routes on which a push to a proven device token has passed: their suspects are held one by one, so that the
    /// claims of the route go on. Elsewhere, as in a new installation, all are suspects, and stay in the store.
    private var provenRoutes: Set<PushRoute> = []
    /// Routes of which pushes with another topic passed while the app's own was paused.
    private var mixedRoutes: Set<PushRoute> = []
    private var devices: BusyDevices
    private var lastToken: (number: Int, series: Int)?

    init(service: any PushService, limits: DoubtfulAddressLimits = DoubtfulAddressLimits()) {
        self.service = service
        self.limits = limits
        devices = BusyDevices(firstPause: service.firstAddressPause)
    }

    /// Everything that is held back.
    func pauses(at now: Duration, wallTime: Timestamp) -> [UpstreamPause] {
        func pause(_ part: UpstreamPause.Part, _ pause: SendPause) -> UpstreamPause? {
            pause.pause(at: now).map {
                UpstreamPause(
                    part: part, reason: $0.cause.refusal.reason, since: $0.cause.since,
                    nextProbe: wallTime + $0.nextProbe)
            }
        }
        let topics = topics.compactMap { pause(.topic($0.key), $0.value) }
        let routes = routes.compactMap { pause($0.key.part, $0.value) }
        return [pause(.everything, everything)].compactMap { $0 }
            + (topics + routes).sorted { "\($0.part)" < "\($1.part)" }
    }
}

// MARK: - Before sending

extension UpstreamControl {
    /// Decides about the pushes at `indices`, which go with this token, or with none over a client certificate.
    mutating func admit(
        _ indices: some Collection<Int>, of batch: [Push], with token: AuthorizationToken?, at now: Duration
    ) -> Selection {
        noteToken(token, at: now)
        var actions: [ControlAction] = []
        guard !isQuiet else {
            return Selection(generation: generation, admitted: Array(indices))
        }
        devices.sweep(at: now)
        // One of its own, so that the answer to a probe in it is known.
        generation += 1
        var admitted: [Int] = []
        var held: [(index: Int, refusal: Refusal, after: Duration, isBeingProbed: Bool)] = []
        for index in indices {
            if let rest = passage(of: batch[index], at: now, &actions) {
                held.append((index, rest.refusal, rest.after, isProbing(for: batch[index])))
            } else {
                admitted.append(index)
            }
        }
        return Selection(generation: generation, admitted: admitted, held: held, actions: actions)
    }

    /// Whether a push is on its way to see if what holds back others like this one has passed.
    func isProbing(for push: Push) -> Bool {
        [everything, topics[service.topic(of: push)], routes[AddressGroup(push)]].contains {
            $0?.waitingState == .answer
        }
    }

    private var isQuiet: Bool { everything.isOpen && pausedParts == 0 && devices.isEmpty }

    /// Whether anything but single devices is held back.
    var isHolding: Bool { !everything.isOpen || pausedParts > 0 }

    /// What is held back, but for single devices.
    var hold: UpstreamHold {
        var hold = UpstreamHold()
        guard isHolding else { return hold }
        hold.everything = everything.rest
        // What pauses an upstream as a whole is its credential.
        hold.everything?.isOfCredential = true
        for (group, pause) in routes {
            guard let rest = pause.rest, group.isProven || !provenRoutes.contains(group.route) else { continue }
            hold.routes[group.route] = hold.routes[group.route].map { $0.joined(with: rest) } ?? rest
        }
        hold.topics = topics.compactMapValues(\.rest)
        hold.mixedRoutes = mixedRoutes
        return hold
    }

    /// Why a push that was admitted with this generation, and that waits for a stream, is not to go after all, and for
    /// how long; `nil`: it is.
    func objection(
        to push: Push, of generation: Int, at now: Duration
    ) -> (refusal: Refusal, after: Duration)? {
        guard isHolding else { return nil }
        return everything.objection(to: generation, at: now)
            ?? topics[service.topic(of: push)]?.objection(to: generation, at: now)
            ?? routes[AddressGroup(push)]?.objection(to: generation, at: now)
    }

    /// A new token may be what a refused credential was missing; and one that follows its predecessor too soon for
    /// Apple does not come over the same connections: ``UpstreamPools/use(_:isNewSeries:)`` has replaced them.
    private mutating func noteToken(_ token: AuthorizationToken?, at now: Duration) {
        guard let token, token.number > lastToken?.number ?? -1 else { return }
        defer { lastToken = (token.number, token.series) }
        guard let lastToken else { return }
        everything.hasten(at: now)
        guard token.series != lastToken.series else { return }
        generation += 1
        noteReplacement(at: now)
    }

    /// `nil`: the push goes.
    private mutating func passage(
        of push: Push, at now: Duration, _ actions: inout [ControlAction]
    ) -> (refusal: Refusal, after: Duration)? {
        let topic = service.topic(of: push)
        var passages = [everything.passage(at: now, isAwaited: push.isAwaited)]
        if pausedParts > 0 {
            passages.append(topics[topic]?.passage(at: now) ?? .free)
            passages.append(routes[AddressGroup(push)]?.passage(at: now) ?? .free)
        }
        for case .held(let refusal, let after) in passages { return (refusal, after) }
        if let rest = devices.rest(of: push.address, at: now) { return (service.addressOverload, rest) }
        guard passages.contains(.probe) else { return nil }
        // Old connections may be what is refused; for a topic they are replaced once, as after adding a bundle id.
        let isTopicsFirst = topics[topic].map { $0.passage(at: now) == .probe && $0.isBeforeFirstProbe } ?? false
        // A probe ahead of its time takes those that are there: new ones for each would be too many.
        if mayReplace(at: now), everything.passage(at: now) == .probe || isTopicsFirst {
            noteReplacement(at: now)
            actions.append(.replaceConnections)
        }
        if passages[0] == .probe { everything.probe(generation: generation) }
        if topics[topic]?.passage(at: now) == .probe { topics[topic]?.probe(generation: generation) }
        let group = AddressGroup(push)
        if routes[group]?.passage(at: now) == .probe { routes[group]?.probe(generation: generation) }
        return nil
    }

    /// Whether the connections may be replaced now.
    private func mayReplace(at now: Duration) -> Bool {
        guard let replacedAt else { return true }
        return now - replacedAt >= Self.replacingInterval
    }

    /// Replaces the connections in any case, and lets the next pushes be probes: the operator changed something.
    mutating func renew(at now: Duration) -> [ControlAction] {
        generation += 1
        noteReplacement(at: now)
        everything.hasten(at: now)
        for topic in topics.keys { topics[topic]?.hasten(at: now) }
        for group in routes.keys { routes[group]?.hasten(at: now) }
        return [.replaceConnections]
    }

    /// Replaces the connections, unless that was done a moment ago. Dispatches that come later are sent on new ones.
    mutating func replacement(at now: Duration) -> [ControlAction] {
        guard mayReplace(at: now) else { return [] }
        generation += 1
        noteReplacement(at: now)
        return [.replaceConnections]
    }

    /// The connections of dispatches of the present generation are new ones.
    private mutating func noteReplacement(at now: Duration) {
        replacedAt = now
        trial.replaced(generation: generation)
    }
}

// MARK: - After sending

extension UpstreamControl {
    /// Takes note of the answers to pushes of `batch` that were submitted together.
    ///
    /// - Parameter skew: how far our clock is ahead of the service's, if that is known.
    mutating func note(
        _ answers: [Answered], of batch: [Push], _ dispatch: Dispatch, skew: ClockSkew, at now: Duration,
        wallTime: Timestamp
    ) -> [ControlAction] {
        var actions: [ControlAction] = []
        var counts: [AddressGroup: DoubtfulAddressWindow.Count] = [:]
        // Most answers in a row belong to one app: `run` is the place of a push of it.
        var run: (index: Int, count: DoubtfulAddressWindow.Count)?
        func isOfRun(_ index: Int, _ other: Int) -> Bool {
            batch[index].isProven == batch[other].isProven && batch[index].route == batch[other].route
        }
        for answer in answers {
            if answer.meaning != .accepted || !isCalm {
                let push = batch[answer.index]
                actions += noteCredential(answer.meaning, dispatch, skew: skew, at: now, wallTime)
                actions += noteParts(answer.meaning, push, dispatch.generation, at: now, wallTime)
                noteDevice(answer.meaning, push.address, at: now)
            }
            guard answer.meaning.addressFinding != .inconclusive else { continue }
            if run.map({ !isOfRun($0.index, answer.index) }) ?? true {
                if let run { counts[AddressGroup(batch[run.index])] = run.count }
                run = (answer.index, counts[AddressGroup(batch[answer.index])] ?? DoubtfulAddressWindow.Count())
            }
            run?.count.answers += 1
            switch answer.meaning {
            case .addressDoubtful, .groupRefused: run?.count.bad += 1
            case .accepted, .addressBusy, .pushRefused, .topicRefused, .credentialRefused, .connectionRefused,
                .tokenExpired, .overloaded, .slowed, .nothing:
                break
            }
        }
        if let run { counts[AddressGroup(batch[run.index])] = run.count }
        for (group, count) in counts { actions += noteEnvironment(group, count, dispatch, at: now, wallTime) }
        return actions
    }

    /// Whether an accepted push says nothing new.
    private var isCalm: Bool { isQuiet && !trial.isTrying }

    private mutating func noteCredential(
        _ meaning: AnswerMeaning, _ dispatch: Dispatch, skew: ClockSkew, at now: Duration, _ wallTime: Timestamp
    ) -> [ControlAction] {
        let generation = dispatch.generation
        var finding = meaning.credentialFinding
        var actions: [ControlAction] = []
        switch meaning {
        case .connectionRefused, .tokenExpired:
            let isExpired = if case .tokenExpired = meaning { true } else { false }
            let isClockWrong = isExpired && dispatch.tokenAge < Self.freshAge && skew.isLarge
            guard everything.isOpen, !isClockWrong else { break }
            switch trial.refused(generation: generation, mayReplace: mayReplace(at: now)) {
            case .none: finding = .inconclusive
            case .replace:
                finding = .inconclusive
                // Few at first: were all on their way, all would be refused again.
                if case .refused(let refusal) = meaning.credentialFinding {
                    actions.append(.restartSlowly(after: refusal))
                }
                actions += replacement(at: now)
            case .pause: break
            }
        case .nothing, .overloaded, .slowed: break
        case .accepted, .addressDoubtful, .groupRefused, .addressBusy, .pushRefused, .topicRefused, .credentialRefused:
            trial.passed(generation: generation)
        }
        switch everything.answered(finding, generation: generation, at: now, wallTime: wallTime) {
        case .none: break
        case .began(let cause):
            actions.append(.tellPause(.everything, cause.refusal, detail: detail(cause.refusal, dispatch, skew)))
        case .ended(let cause): actions += [.restartSlowly(after: cause.refusal), .tellEnd(.everything, cause.refusal)]
        }
        return actions
    }

    private mutating func noteParts(
        _ meaning: AnswerMeaning, _ push: Push, _ generation: Int, at now: Duration, _ wallTime: Timestamp
    ) -> [ControlAction] {
        let topic = service.topic(of: push)
        var actions: [ControlAction] = []
        if case .topicRefused = meaning, topics[topic] == nil, makeRoom(in: &topics) { topics[topic] = SendPause() }
        let ofTopic =
            topics[topic]?.answered(meaning.topicFinding, generation: generation, at: now, wallTime: wallTime) ?? .none
        actions += follow(ofTopic, .topic(topic), detail: "the topic is refused; its other pushes are held back")
        noteMixture(meaning, push)
        return actions + noteGroup(meaning, AddressGroup(push), generation, at: now, wallTime)
    }

    /// A refusal of one address begins no pause: only a share of them does, or one that shows that all would be refused.
    private mutating func noteGroup(
        _ meaning: AnswerMeaning, _ group: AddressGroup, _ generation: Int, at now: Duration, _ wallTime: Timestamp
    ) -> [ControlAction] {
        var detail = ""
        if case .groupRefused(let refusal) = meaning {
            if routes[group] == nil, makeRoom(in: &routes) { routes[group] = SendPause() }
            detail = service.meaning(of: refusal.reason) ?? ""
        } else if routes[group]?.isOpen ?? true {
            return []
        }
        // What set out before the pause and is accepted shows that not all are refused: the next push finds out.
        if meaning == .accepted, routes[group]?.cause?.refusal.scope == .credential { routes[group]?.hasten(at: now) }
        let change =
            routes[group]?.answered(meaning.addressFinding, generation: generation, at: now, wallTime: wallTime)
            ?? .none
        if case .ended = change { windows[group]?.reset() }
        return follow(change, group.part, detail: detail)
    }

    private mutating func noteMixture(_ meaning: AnswerMeaning, _ push: Push) {
        let own = push.route.app.rawValue
        guard meaning.topicFinding == .passed, service.topic(of: push) != own, let pause = topics[own], !pause.isOpen,
            mixedRoutes.count < Self.partLimit
        else { return }
        mixedRoutes.insert(push.route)
    }

    private mutating func follow(
        _ change: SendPause.Change, _ part: UpstreamPause.Part, detail: String
    ) -> [ControlAction] {
        switch change {
        case .none: return []
        case .began(let cause):
            pausedParts += 1
            return [.tellPause(part, cause.refusal, detail: detail)]
        case .ended(let cause):
            pausedParts -= 1
            return [.tellEnd(part, cause.refusal)]
        }
    }

    private mutating func noteDevice(_ meaning: AnswerMeaning, _ address: Address, at now: Duration) {
        switch meaning {
        case .addressBusy(let after): devices.refused(address, after: after, at: now)
        case .accepted: devices.passed(address, at: now)
        case .addressDoubtful, .groupRefused, .pushRefused, .topicRefused, .credentialRefused, .connectionRefused,
            .tokenExpired, .overloaded, .slowed, .nothing:
            break
        }
    }

    private mutating func noteEnvironment(
        _ group: AddressGroup, _ count: DoubtfulAddressWindow.Count, _ dispatch: Dispatch, at now: Duration,
        _ wallTime: Timestamp
    ) -> [ControlAction] {
        if group.isProven, count.bad < count.answers, provenRoutes.count < Self.partLimit {
            provenRoutes.insert(group.route)
        }
        if windows[group] == nil {
            guard windows.count < Self.partLimit else { return [] }
            windows[group] = DoubtfulAddressWindow(limits: limits)
        }
        guard routes[group]?.isOpen ?? true, let sum = windows[group]?.count(count, at: now) else { return [] }
        if routes[group] == nil, makeRoom(in: &routes) { routes[group] = SendPause() }
        let refusal = service.addressDoubt
        let change =
            routes[group]?.answered(
                .refused(refusal), generation: dispatch.generation, at: now, wallTime: wallTime) ?? .none
        return follow(change, group.part, detail: group.detail(sum, of: service))
    }

    /// Forgets what is open when a table is full.
    private func makeRoom<Key>(in table: inout [Key: SendPause]) -> Bool {
        if table.count >= Self.partLimit { table = table.filter { !$0.value.isOpen } }
        return table.count < Self.partLimit
    }

    /// What the operator is told beside the reason.
    private func detail(_ refusal: Refusal, _ dispatch: Dispatch, _ skew: ClockSkew) -> String {
        guard refusal.scope == .connection(.tokenExpired), dispatch.tokenAge < Self.freshAge else {
            return service.meaning(of: refusal.reason) ?? "\(service.name) refuses the credential."
        }
        let measured =
            skew.skew.map { "; it is \($0.components.seconds) s ahead of the clock of \(service.name)" } ?? ""
        let age = dispatch.tokenAge.components.seconds
        return "The token is \(age) s old by the gateway's clock\(measured)."
    }
}
