import Logging
import PushModel
import Store

/// Claims the deliveries of one lane and hands their pushes to the upstream, as long as the lane's gate lets it.
struct LaneWorker: Sendable {
    let gate: LaneGate
    let store: any MessageStore & DeliveryStore
    let sender: any PushSender
    let projects: ProjectDirectory
    let answers: AnswerBuffer
    let metrics: DeliveryMetrics
    let clock: any Clock<Duration>
    let wallTime: WallTime
    let random: @Sendable () -> Double
    let logger: Logger

    /// Messages that one lane keeps at hand.
    private static let cacheLimit = 32
    /// The longest sleep on the monotonic clock for a wall time: the wall clock may be set meanwhile.
    private static let longestSleep: Duration = .seconds(60)

    /// Works until the gate is stopped. Hand-overs may still be under way then: they end with the sender.
    func run() async {
        var cache = MessageCache(limit: Self.cacheLimit)
        var isPageFirst = true
        var failures = 0
        while !Task.isCancelled {
            let now = wallTime()
            switch gate.next(at: now) {
            case .stop:
                return
            case .wait(let due):
                let sleep = due.map { min(max(.milliseconds(1), $0 - now), Self.longestSleep) }
                await gate.change(atMost: sleep, on: clock)
            case .claim(let limit):
                let claim = await claim(limit, isPageFirst: isPageFirst, at: now)
                isPageFirst.toggle()
                if let error = claim.error, claim.deliveries.isEmpty {
                    failures += 1
                    pause(after: error, failures: failures, limit: limit)
                    continue
                }
                failures = 0
                gate.claimed(
                    claim.deliveries.count, of: limit, hasMore: claim.hasMore, nextDue: claim.nextDue)
                metrics.inFlight(gate.inFlight, in: gate.lane)
                for batch in await prepare(claim.deliveries, cache: &cache) {
                    // A task for each batch, not for each push: a full upstream holds up its own batch only. It is
                    // no child of this task, because nothing but the sender's shutdown ends a hand-over, and one
                    // that hangs must not keep the gateway from stopping. The in-flight limit is their limit.
                    Task { await send(batch) }
                }
            }
        }
    }

    private func pause(after error: StoreError, failures: Int, limit: Int) {
        let delay = StoreBackoff.delay(failures: failures, random: random())
        logger.error(
            "claiming deliveries failed", metadata: ["lane": "\(gate.lane)", "error": "\(error)", "retry": "\(delay)"])
        gate.claimFailed(of: limit, pausedUntil: wallTime() + delay)
    }

    private func send(_ batch: Batch) async {
        let sent = SentBatch(batch.deliveries)
        await sender.send(batch.pushes) { [answers, wallTime, logger] reports in
            let surplus = answers.append(reports, of: sent, at: wallTime())
            if surplus > 0 {
                logger.error("the upstream answered a push twice", metadata: ["count": "\(surplus)"])
            }
        }
    }
}

// MARK: - Claiming

extension LaneWorker {
    /// What one round of claiming brought.
    private struct Claim {
        var deliveries: [ClaimedDelivery] = []
        var hasMore = false
        var nextDue: Timestamp?
        /// Why the round ended early; what was claimed before that counts.
        var error: StoreError?
    }

    /// Claims up to `limit` deliveries. The bulk lane takes new pages and due retries in turns, so that neither
    /// starves the other when room is scarce.
    private func claim(_ limit: Int, isPageFirst: Bool, at now: Timestamp) async -> Claim {
        var claim = Claim()
        do throws(StoreError) {
            switch (gate.lane, isPageFirst) {
            case (.interactive, _):
                try await claimDue(limit, at: now, into: &claim)
            case (.bulk, true):
                try await claimPage(limit, at: now, into: &claim)
                try await claimDue(limit - claim.deliveries.count, at: now, into: &claim)
            case (.bulk, false):
                try await claimDue(limit, at: now, into: &claim)
                try await claimPage(limit - claim.deliveries.count, at: now, into: &claim)
            }
        } catch {
            claim.error = error
            claim.hasMore = true
        }
        return claim
    }

    private func claimPage(_ limit: Int, at now: Timestamp, into claim: inout Claim) async throws(StoreError) {
        guard limit > 0 else {
            claim.hasMore = true
            return
        }
        guard let page = try await store.claimPage(limit: limit, at: now) else { return }
        claim.deliveries += page.deliveries
        claim.hasMore = true
    }

    private func claimDue(_ limit: Int, at now: Timestamp, into claim: inout Claim) async throws(StoreError) {
        guard limit > 0 else {
            claim.hasMore = true
            return
        }
        let due = try await store.claimDue(gate.lane, limit: limit, at: now)
        claim.deliveries += due
        if due.count >= limit {
            claim.hasMore = true
        } else {
            claim.nextDue = try await store.nextDue(gate.lane, after: now)
        }
    }
}

// MARK: - Building

extension LaneWorker {
    /// Pushes of one route, with their deliveries in the same order.
    private struct Batch: Sendable {
        var deliveries: [OpenDelivery] = []
        var pushes: [Push] = []
    }

    /// Builds the pushes of claimed deliveries, a batch for each route; what needs no attempt goes to the settler.
    private func prepare(_ claims: [ClaimedDelivery], cache: inout MessageCache) async -> [Batch] {
        var batches: [PushRoute: Batch] = [:]
        var decided: [Settlement] = []
        var unreadable: Set<MessageID> = []
        for claim in claims {
            guard !unreadable.contains(claim.message) else {
                decided.append(postponed(claim))
                continue
            }
            let message: Message?
            do {
                message = try await load(claim, cache: &cache)
            } catch {
                unreadable.insert(claim.message)
                logger.error(
                    "a message can't be read", metadata: ["message.id": "\(claim.message)", "error": "\(error)"])
                decided.append(postponed(claim))
                continue
            }
            switch plan(claim, message: message, cache: &cache) {
            case .push(let push, let delivery):
                batches[push.route, default: Batch()].deliveries.append(delivery)
                batches[push.route, default: Batch()].pushes.append(push)
            case .settle(let result):
                decided.append(Settlement(delivery: claim, result: result))
            }
        }
        answers.append(decided, in: gate.lane)
        return Array(batches.values)
    }

    private func load(_ claim: ClaimedDelivery, cache: inout MessageCache) async throws(StoreError) -> Message? {
        if let message = cache.message(claim.message) { return message }
        let message = try await store.message(claim.message, in: claim.project)
        if let message { cache.insert(message) }
        return message
    }

    /// The store may serve other messages: this delivery goes back until its time runs out, and does not hold up the
    /// lane.
    private func postponed(_ claim: ClaimedDelivery) -> Settlement {
        Settlement(
            delivery: claim,
            result: OpenDelivery(claim, lane: gate.lane).setBack(
                by: .messageUnreadable, at: wallTime(), random: random()))
    }

    /// What happens to one claimed delivery.
    private enum Plan {
        case push(Push, OpenDelivery)
        case settle(Settlement.Result)
    }

    private func plan(_ claim: ClaimedDelivery, message: Message?, cache: inout MessageCache) -> Plan {
        let now = wallTime()
        guard let message else {
            logger.error("a delivery has no message", metadata: ["message.id": "\(claim.message)"])
            return .settle(OpenDelivery(claim, lane: gate.lane).messageMissing(at: now))
        }
        let registration = claim.registration
        let project = projects.project(claim.project)
        let app = project?.apps[registration.app]
        let delivery = OpenDelivery(
            claim, of: message, lane: gate.lane, canProbe: app?.reachesBothEnvironments ?? false)
        guard now < message.expiresAt else { return .settle(delivery.expired(at: now)) }
        guard registration.isActive else { return .settle(delivery.unregistered(at: now)) }
        guard let project, let app else {
            return .settle(delivery.setBack(by: .noRoute, at: now, random: random()))
        }
        guard !delivery.isProbe || delivery.canProbe else { return .settle(delivery.unprobed(at: now)) }
        switch cache.push(of: message, project: project, app: app) {
        case .failure(let invalid):
            logger.warning(
                "a message can't be built any more",
                metadata: [
                    "message.id": "\(message.id)", "app": "\(app.id)",
                    "reason": "\(invalid.violations.first?.description ?? "")",
                ])
            return .settle(delivery.unbuildable(at: now))
        case .success(let content):
            let push = Push(
                route: PushRoute(project: project.id, app: app.id, environment: delivery.environment),
                lane: gate.lane,
                deviceToken: message.content.apns.liveActivityToken ?? registration.deviceToken,
                isProven: !delivery.isSuspect, content: content, payload: content.payload(for: registration.id),
                id: delivery.apnsID)
            return .push(push, delivery)
        }
    }
}

extension OpenDelivery {
    /// Opens a claimed delivery whose message is not known.
    init(_ claim: ClaimedDelivery, lane: Lane) {
        self.init(
            claim: claim, lane: lane, isOnce: false, isForActivity: false,
            apnsID: APNSID(message: claim.message, registration: claim.registration.key), canProbe: false)
    }

    /// Opens a claimed delivery of `message`.
    init(_ claim: ClaimedDelivery, of message: Message, lane: Lane, canProbe: Bool) {
        let content = message.content
        self.init(
            claim: claim, lane: lane,
            isOnce: content.timeToLive(acceptedAt: message.acceptedAt) == .once,
            isForActivity: content.apns.liveActivityToken != nil,
            apnsID: content.apns.headers.id ?? APNSID(message: message.id, registration: claim.registration.key),
            canProbe: canProbe)
    }
}
