import PushModel
import Store

extension ObservedStore: MessageStore {
    func accept(
        _ messages: [NewMessage], claimedBy worker: WorkerID?
    ) async throws(StoreError) -> [AcceptResult] {
        messages.forEach(check)
        return try await call(.accept) { store throws(StoreError) in
            let results = try await store.accept(messages, claimedBy: worker)
            for (new, result) in zip(messages, results) { note(new, result, by: worker) }
            return results
        }
    }

    func uses(
        of keys: [IdempotencyKey], in project: ProjectID, at time: Timestamp
    ) async throws(StoreError) -> [IdempotencyUse] {
        try await call(.uses) { store throws(StoreError) in try await store.uses(of: keys, in: project, at: time) }
    }

    func message(_ id: MessageID, in project: ProjectID) async throws(StoreError) -> Message? {
        try await call(.message) { store throws(StoreError) in
            try checkReadable(id)
            return try await store.message(id, in: project)
        }
    }

    func messages(_ ids: [MessageID], in project: ProjectID) async throws(StoreError) -> [Message] {
        try await call(.message) { store throws(StoreError) in
            for id in ids { try checkReadable(id) }
            return try await store.messages(ids, in: project)
        }
    }

    nonisolated var load: StoreLoad { base.load }

    func audience(
        of recipient: Recipient<RegistrationKey, [RegistrationKey]>, in project: ProjectID
    ) async throws(StoreError) -> Int {
        try await call(.audience) { store throws(StoreError) in try await store.audience(of: recipient, in: project) }
    }

    func audienceBound(
        of recipient: Recipient<RegistrationKey, [RegistrationKey]>, in project: ProjectID
    ) async throws(StoreError) -> Int {
        try await call(.audience) { store throws(StoreError) in
            try await store.audienceBound(of: recipient, in: project)
        }
    }

    func control(
        _ id: MessageID, in project: ProjectID, _ control: MessageControl, at time: Timestamp,
        by credential: CredentialUse
    ) async throws(StoreError) -> MessageState? {
        try await call(.control) { store throws(StoreError) in
            try await store.control(id, in: project, control, at: time, by: credential)
        }
    }

    func forgetIdempotencyKeys(expiredBefore time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await call(.forgetIdempotencyKeys) { store throws(StoreError) in
            try await store.forgetIdempotencyKeys(expiredBefore: time, limit: limit)
        }
    }
}

extension ObservedStore: DeliveryStore {
    func add(_ traffic: [TrafficCount]) async throws(StoreError) {
        try await call(.addTraffic) { store throws(StoreError) in try await store.add(traffic) }
    }

    func traffic(
        of project: ProjectID, _ span: TrafficSpan, steps: ClosedRange<Int64>
    ) async throws(StoreError) -> [TrafficCount] {
        try await base.traffic(of: project, span, steps: steps)
    }

    func forgetTraffic(at now: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await base.forgetTraffic(at: now, limit: limit)
    }

    func enroll(_ name: String, for lease: Duration) async throws(StoreError) -> WorkerID {
        try await call(.enroll) { store throws(StoreError) in try await store.enroll(name, for: lease) }
    }

    func renew(_ worker: WorkerID, for lease: Duration) async throws(StoreError) {
        try await call(.renew) { store throws(StoreError) in try await store.renew(worker, for: lease) }
    }

    func takeOver(at time: Timestamp) async throws(StoreError) -> Int {
        try await call(.takeOver) { store throws(StoreError) in
            let count = try await store.takeOver(at: time)
            if count > 0 { try await noteTakeover(in: store) }
            return count
        }
    }

    func openFanOuts(
        limitPerProject limit: Int, held: Set<PushRoute>, share: ShardShare
    ) async throws(StoreError) -> [OpenFanOut] {
        try await call(.openFanOuts) { store throws(StoreError) in
            try await store.openFanOuts(limitPerProject: limit, held: held, share: share)
        }
    }

    func claimPage(
        of fanOut: OpenFanOut.ID, limit: Int, held: Set<PushRoute>, by worker: WorkerID, at time: Timestamp
    ) async throws(StoreError) -> FanOutClaim {
        expect(limit > 0, "a claim of no delivery")
        return try await call(.claimPage) { store throws(StoreError) in
            let claim = try await store.claimPage(of: fanOut, limit: limit, held: held, by: worker, at: time)
            if let page = claim.page {
                note(page.deliveries, by: worker)
                pages.append((page.deliveries[0].project, page.message, page.deliveries.count))
            }
            return claim
        }
    }

    func dueRoutes(_ lane: Lane, at time: Timestamp) async throws(StoreError) -> DueRoutes {
        try await call(.dueRoutes) { store throws(StoreError) in try await store.dueRoutes(lane, at: time) }
    }

    func claimDue(
        _ lane: Lane, _ route: PushRoute, limit: Int, by worker: WorkerID, at time: Timestamp
    ) async throws(StoreError) -> [ClaimedDelivery] {
        expect(limit > 0, "a claim of no delivery")
        return try await call(.claimDue) { store throws(StoreError) in
            let deliveries = try await store.claimDue(lane, route, limit: limit, by: worker, at: time)
            note(deliveries, by: worker)
            return deliveries
        }
    }

    func claimDue(
        _ lane: Lane, _ route: PushRoute, of messages: [MessageID], by worker: WorkerID, at time: Timestamp
    ) async throws(StoreError) -> [ClaimedDelivery] {
        expect(!messages.isEmpty, "a claim of no delivery")
        return try await call(.claimDue) { store throws(StoreError) in
            let deliveries = try await store.claimDue(lane, route, of: messages, by: worker, at: time)
            note(deliveries, by: worker)
            return deliveries
        }
    }

    func settle(_ settlements: [Settlement], by worker: WorkerID) async throws(StoreError) -> SettleResult {
        settlements.forEach(check)
        return try await call(.settle) { store throws(StoreError) in
            try checkSettlable(settlements)
            if let result = takeDisowned(settlements) { return result }
            let result = try await store.settle(settlements, by: worker)
            expect(result.refused.isEmpty, "settled what is not claimed")
            note(settlements, result)
            return result
        }
    }

    func bringForward(
        waitingBeyond limit: Timestamp, to time: Timestamp, count: Int
    ) async throws(StoreError) -> Int {
        try await base.bringForward(waitingBeyond: limit, to: time, count: count)
    }

    func endExpiredPauses(limit: Int, at time: Timestamp) async throws(StoreError) -> Int {
        try await base.endExpiredPauses(limit: limit, at: time)
    }

    func clampTimes(to now: Timestamp) async throws(StoreError) -> Bool {
        try await base.clampTimes(to: now)
    }

    func bookCancelled(limit: Int, at time: Timestamp) async throws(StoreError) -> Int {
        try await call(.bookCancelled) { store throws(StoreError) in
            try await store.bookCancelled(limit: limit, at: time)
        }
    }

    func bookExpired(limit: Int, at time: Timestamp) async throws(StoreError) -> Int {
        try await call(nil) { store throws(StoreError) in
            try await store.bookExpired(limit: limit, at: time)
        }
    }

    func takeOwnEnds() async -> [StoreEnds] {
        await base.takeOwnEnds()
    }

    func backlog() async throws(StoreError) -> [Lane: Int] {
        try await call(.backlog) { store throws(StoreError) in try await store.backlog() }
    }
}

extension ObservedStore: EventStore {
    func events(
        after number: EventNumber, _ filter: EventFilter, limit: Int
    ) async throws(StoreError) -> EventPage {
        try await base.events(after: number, filter, limit: limit)
    }

    func lastEvent(before time: Timestamp) async throws(StoreError) -> EventNumber {
        try await base.lastEvent(before: time)
    }

    func note(_ notices: [RouteNotice], by worker: WorkerID, at time: Timestamp) async throws(StoreError) {
        try await call(nil) { store throws(StoreError) in try await store.note(notices, by: worker, at: time) }
    }

    func forgetEvents(before time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await base.forgetEvents(before: time, limit: limit)
    }

    nonisolated var changes: StoreChanges { base.changes }
}
