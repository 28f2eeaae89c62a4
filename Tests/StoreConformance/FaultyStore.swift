package import PushModel
package import Store
import Synchronization

/// A store that fails when it is told to: it passes every call on to a real one, but for the n-th, which throws, waits,
/// or "crashes" before or after it has done its work. After a crash every further call throws, as if the process was
/// gone; who opens the store anew sees what was committed.
package final class FaultyStore: Sendable {
    /// What happens at a call.
    package enum Fault: Hashable, Sendable, CaseIterable {
        /// It throws `.failed` and does nothing; later calls work.
        case error
        /// It does its work and throws that its outcome is unknown; later calls work.
        case unknown
        /// It waits for ``FaultyStore/release()`` before it does its work.
        case slow
        /// The process ends before the call has done anything.
        case crashBefore
        /// The process ends after the commit, before the caller learns of it.
        case crashAfter
    }

    /// A call as the faults count it.
    package enum Call: String, Hashable, Sendable, CaseIterable {
        case accept, uses, message, audience, control, forgetIdempotencyKeys
        case enroll, renew, takeOver, openFanOuts, claimPage, dueRoutes, claimDue, settle, bookCancelled, backlog
    }

    private struct State {
        /// Calls since the beginning.
        var calls: [Call] = []
        /// How often each call came.
        var counts: [Call: Int] = [:]
        /// Faults that happened.
        var fired = 0
        var isCrashed = false
        var isReleased = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var watchers: [CheckedContinuation<Void, Never>] = []
    }

    private let store: any MessageStore & DeliveryStore & EventStore
    /// What happens at a call: its number among all, from 0, and among its kind, from 1.
    private let plan: @Sendable (_ call: Call, _ number: Int, _ ofKind: Int) -> Fault?
    private let state = Mutex(State())

    /// Wraps a store.
    ///
    /// - Parameter faults: what happens at which call, counted from 0.
    package init(_ store: any MessageStore & DeliveryStore & EventStore, faults: [Int: Fault] = [:]) {
        self.store = store
        plan = { _, number, _ in faults[number] }
    }

    /// Wraps a store.
    ///
    /// - Parameters:
    ///   - fault: what happens, once.
    ///   - kind: at which call.
    ///   - number: at which of these calls, counted from 1.
    package init(_ store: any MessageStore & DeliveryStore & EventStore, _ fault: Fault, at kind: Call, number: Int) {
        self.store = store
        plan = { call, _, ofKind in call == kind && ofKind == number ? fault : nil }
    }

    /// How many faults happened.
    package var fired: Int { state.withLock { $0.fired } }

    /// The calls so far, in the order they came.
    package var calls: [Call] { state.withLock { $0.calls } }

    /// Whether the process "ended".
    package var isCrashed: Bool { state.withLock { $0.isCrashed } }

    /// Lets calls go on that wait, and lets no call wait any more, nor those who wait for one.
    package func release() {
        let waiting = state.withLock { state in
            state.isReleased = true
            defer { (state.waiting, state.watchers) = ([], []) }
            return state.waiting + state.watchers
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Returns when the process has "ended", a call waits, or none will any more.
    package func untilFault() async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.isCrashed || state.isReleased || !state.waiting.isEmpty { return true }
                state.watchers.append(continuation)
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    private func call<Value>(
        _ call: Call, _ body: () async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let (fault, isCrashed): (Fault?, Bool) = state.withLock { state in
            guard !state.isCrashed else { return (nil, true) }
            let number = state.calls.count
            state.calls.append(call)
            state.counts[call, default: 0] += 1
            let fault = plan(call, number, state.counts[call, default: 0])
            if fault != nil { state.fired += 1 }
            return (fault, false)
        }
        guard !isCrashed else { throw Self.gone }
        switch fault {
        case nil: break
        case .error: throw StoreError(.failed, "The disk of the store failed, as it was told to.")
        case .unknown:
            _ = try await body()
            throw StoreError(
                .failed, "The answer to the commit was lost, as it was told to be.", isOutcomeUnknown: true)
        case .slow: await wait()
        case .crashBefore: throw crash()
        case .crashAfter:
            _ = try await body()
            throw crash()
        }
        let value = try await body()
        // Others may have brought the process down meanwhile: then the caller is gone.
        guard !self.isCrashed else { throw Self.gone }
        return value
    }

    private func wait() async {
        await withCheckedContinuation { continuation in
            let (isReleased, watchers) = state.withLock { state in
                if state.isReleased { return (true, state.watchers) }
                state.waiting.append(continuation)
                defer { state.watchers = [] }
                return (false, state.watchers)
            }
            if isReleased { continuation.resume() } else { watchers.forEach { $0.resume() } }
        }
    }

    private func crash() -> StoreError {
        let watchers = state.withLock { state in
            state.isCrashed = true
            defer { state.watchers = [] }
            return state.watchers
        }
        for watcher in watchers { watcher.resume() }
        release()
        return Self.gone
    }

    private static let gone = StoreError(
        .unavailable, "The process is gone, as it was told to.", isOfWholeStore: true)
}

extension FaultyStore: MessageStore {
    /// See the protocol.
    package func accept(
        _ messages: [NewMessage], claimedBy worker: WorkerID?
    ) async throws(StoreError) -> [AcceptResult] {
        try await call(.accept) { () throws(StoreError) in try await store.accept(messages, claimedBy: worker) }
    }

    /// See the protocol.
    package func uses(
        of keys: [IdempotencyKey], in project: ProjectID, at time: Timestamp
    ) async throws(StoreError) -> [IdempotencyUse] {
        try await call(.uses) { () throws(StoreError) in try await store.uses(of: keys, in: project, at: time) }
    }

    /// See the protocol.
    package func message(_ id: MessageID, in project: ProjectID) async throws(StoreError) -> Message? {
        try await call(.message) { () throws(StoreError) in try await store.message(id, in: project) }
    }

    /// See the protocol; never fails.
    package var load: StoreLoad { store.load }

    /// See the protocol.
    package func audience(of recipient: Recipient<RegistrationKey, [RegistrationKey]>, in project: ProjectID)
        async throws(StoreError) -> Int
    {
        try await call(.audience) { () throws(StoreError) in try await store.audience(of: recipient, in: project) }
    }

    /// See the protocol.
    package func audienceBound(of recipient: Recipient<RegistrationKey, [RegistrationKey]>, in project: ProjectID)
        async throws(StoreError) -> Int
    {
        try await call(.audience) { () throws(StoreError) in try await store.audienceBound(of: recipient, in: project) }
    }

    /// See the protocol.
    package func control(
        _ id: MessageID, in project: ProjectID, _ control: MessageControl, at time: Timestamp,
        by credential: CredentialUse
    ) async throws(StoreError) -> MessageState? {
        try await call(.control) { () throws(StoreError) in
            try await store.control(id, in: project, control, at: time, by: credential)
        }
    }

    /// See the protocol.
    package func forgetIdempotencyKeys(expiredBefore time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await call(.forgetIdempotencyKeys) { () throws(StoreError) in
            try await store.forgetIdempotencyKeys(expiredBefore: time, limit: limit)
        }
    }
}

extension FaultyStore: DeliveryStore {
    /// See the protocol; never a fault.
    package func add(_ traffic: [TrafficCount]) async throws(StoreError) { try await store.add(traffic) }

    /// See the protocol; never a fault.
    package func traffic(
        of project: ProjectID, _ span: TrafficSpan, steps: ClosedRange<Int64>
    ) async throws(StoreError) -> [TrafficCount] {
        try await store.traffic(of: project, span, steps: steps)
    }

    /// See the protocol; never a fault.
    package func forgetTraffic(at now: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await store.forgetTraffic(at: now, limit: limit)
    }

    /// See the protocol.
    package func enroll(_ name: String, for lease: Duration) async throws(StoreError) -> WorkerID {
        try await call(.enroll) { () throws(StoreError) in try await store.enroll(name, for: lease) }
    }

    /// See the protocol.
    package func renew(_ worker: WorkerID, for lease: Duration) async throws(StoreError) {
        try await call(.renew) { () throws(StoreError) in try await store.renew(worker, for: lease) }
    }

    /// See the protocol.
    package func takeOver(at time: Timestamp) async throws(StoreError) -> Int {
        try await call(.takeOver) { () throws(StoreError) in try await store.takeOver(at: time) }
    }

    /// See the protocol.
    package func openFanOuts(
        limitPerProject limit: Int, held: Set<PushRoute>, share: ShardShare
    ) async throws(StoreError) -> [OpenFanOut] {
        try await call(.openFanOuts) { () throws(StoreError) in
            try await store.openFanOuts(limitPerProject: limit, held: held, share: share)
        }
    }

    /// See the protocol.
    package func claimPage(
        of fanOut: OpenFanOut.ID, limit: Int, held: Set<PushRoute>, by worker: WorkerID, at time: Timestamp
    ) async throws(StoreError) -> FanOutClaim {
        try await call(.claimPage) { () throws(StoreError) in
            try await store.claimPage(of: fanOut, limit: limit, held: held, by: worker, at: time)
        }
    }

    /// See the protocol.
    package func dueRoutes(_ lane: Lane, at time: Timestamp) async throws(StoreError) -> DueRoutes {
        try await call(.dueRoutes) { () throws(StoreError) in try await store.dueRoutes(lane, at: time) }
    }

    /// See the protocol.
    package func claimDue(
        _ lane: Lane, _ route: PushRoute, limit: Int, by worker: WorkerID, at time: Timestamp
    ) async throws(StoreError) -> [ClaimedDelivery] {
        try await call(.claimDue) { () throws(StoreError) in
            try await store.claimDue(lane, route, limit: limit, by: worker, at: time)
        }
    }

    /// See the protocol.
    package func claimDue(
        _ lane: Lane, _ route: PushRoute, of messages: [MessageID], by worker: WorkerID, at time: Timestamp
    ) async throws(StoreError) -> [ClaimedDelivery] {
        try await call(.claimDue) { () throws(StoreError) in
            try await store.claimDue(lane, route, of: messages, by: worker, at: time)
        }
    }

    /// See the protocol.
    package func settle(_ settlements: [Settlement], by worker: WorkerID) async throws(StoreError) -> SettleResult {
        try await call(.settle) { () throws(StoreError) in try await store.settle(settlements, by: worker) }
    }

    /// See the protocol; never a fault.
    package func bringForward(
        waitingBeyond limit: Timestamp, to time: Timestamp, count: Int
    ) async throws(StoreError) -> Int {
        try await store.bringForward(waitingBeyond: limit, to: time, count: count)
    }

    /// See the protocol; never a fault.
    package func clampTimes(to now: Timestamp) async throws(StoreError) -> Bool {
        try await store.clampTimes(to: now)
    }

    /// See the protocol; never a fault.
    package func endExpiredPauses(limit: Int, at time: Timestamp) async throws(StoreError) -> Int {
        try await store.endExpiredPauses(limit: limit, at: time)
    }

    /// See the protocol.
    package func bookCancelled(limit: Int, at time: Timestamp) async throws(StoreError) -> Int {
        try await call(.bookCancelled) { () throws(StoreError) in
            try await store.bookCancelled(limit: limit, at: time)
        }
    }

    /// See the protocol; never a fault.
    package func bookExpired(limit: Int, at time: Timestamp) async throws(StoreError) -> Int {
        try await store.bookExpired(limit: limit, at: time)
    }

    /// See the protocol; never a fault.
    package func takeOwnEnds() async -> [StoreEnds] { await store.takeOwnEnds() }

    /// See the protocol.
    package func backlog() async throws(StoreError) -> [Lane: Int] {
        try await call(.backlog) { () throws(StoreError) in try await store.backlog() }
    }
}

/// Never a fault: what is read of events, and notes that no delivery depends on.
extension FaultyStore: EventStore {
    /// See the protocol.
    package func events(
        after number: EventNumber, _ filter: EventFilter, limit: Int
    ) async throws(StoreError) -> EventPage {
        try await store.events(after: number, filter, limit: limit)
    }

    /// See the protocol.
    package func lastEvent(before time: Timestamp) async throws(StoreError) -> EventNumber {
        try await store.lastEvent(before: time)
    }

    /// See the protocol.
    package func note(
        _ notices: [RouteNotice], by worker: WorkerID, at time: Timestamp
    ) async throws(StoreError) {
        try await store.note(notices, by: worker, at: time)
    }

    /// See the protocol.
    package func forgetEvents(before time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await store.forgetEvents(before: time, limit: limit)
    }

    /// See the protocol.
    package var changes: StoreChanges { store.changes }
}
