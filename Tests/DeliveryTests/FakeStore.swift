import Delivery
import JSON
import PushModel
import Store
import Synchronization
import TestSupport

/// A store in memory that keeps the rules: only what is waiting can be claimed, only what is claimed can be settled, by
/// the worker that claimed it, and after each step every message balances. A broken rule lands in ``violations``.
actor FakeStore: MessageStore, DeliveryStore {
    private nonisolated let counted = Mutex(StoreLoad())

    struct Key: Hashable {
        var message: MessageID
        var registration: RegistrationKey
    }

    struct Waiting {
        var lane: Lane
        var due: Timestamp
        var history: AttemptHistory
    }

    struct Claim {
        var delivery: ClaimedDelivery
        var worker: WorkerID
        var shard: OpenFanOut.ID?
    }

    struct Shard {
        var unclaimed: ArraySlice<RegistrationKey>
        var route: PushRoute?
        /// Pages that were given back, whole.
        var returned: [[Key]] = []

        var isDone: Bool { unclaimed.isEmpty && returned.isEmpty }
    }

    struct Book {
        var number: Int64
        var message: Message
        var facts: MessageFacts
        var shards: [Int64: Shard] = [:]
        var recipients = 0
        var ended: [LedgerOutcome: Int] = [:]
        var state = MessageState.active
        var isComplete = false
    }

    /// The calls that can be made to fail.
    enum Call: Hashable, CaseIterable {
        case accept, message, enroll, renew, takeOver, openFanOuts, claimPage, dueRoutes, claimDue, settle
        case bookCancelled, backlog, control
    }

    /// What becomes of a call.
    enum Fault: Hashable, CaseIterable {
        /// It fails and changes nothing.
        case error
        /// It takes long.
        case slow
        /// The process ends before it changed anything; every later call fails until ``restart()``.
        case crashBefore
        /// The process ends when it was committed.
        case crashAfter
    }

    private(set) var registrations: [RegistrationKey: Registration] = [:]
    private(set) var subscribers: [Topic: [RegistrationKey]] = [:]
    private(set) var books: [MessageID: Book] = [:]
    private(set) var order: [MessageID] = []
    private(set) var waiting: [Key: Waiting] = [:]
    private(set) var claims: [Key: Claim] = [:]
    private(set) var ledger: [Key: LedgerEntry] = [:]
    private(set) var retries: [Key: [Timestamp]] = [:]
    private var ownEnds: [StoreEnds] = []
    private(set) var violations: [String] = []
    private(set) var pageSizes: [Int] = []
    /// Which project each claimed page was of, in order, with its size and time.
    private(set) var pages: [(project: ProjectID, message: MessageID, count: Int, time: Timestamp)] = []
    private(set) var calls: [Call: Int] = [:]
    private(set) var workers: [WorkerID: Timestamp] = [:]
    private(set) var idempotency: [String: (key: IdempotencyKey, id: MessageID, time: Timestamp)] = [:]
    /// What happened, the newest last, without the ``forgotten`` oldest.
    var log: [Event] = []
    var forgotten: Int64 = 0
    var deliveryEvents = 0
    nonisolated let source = ChangeSource()
    /// By which it counts leases; it stands still unless a rig says otherwise.
    private nonisolated let leaseClock = Mutex<WallTime>({ Sample.start })
    private var isFresh = true
    private var isCrashed = false
    private var nextPage: Int64 = 1
    private var nextWorker: Int64 = 1
    private var settleFailures = 0
    private var settleFailure = StoreError.Code.failed
    private var unanswered = 0
    private var refused: RegistrationKey?
    private var disowned: RegistrationKey?
    private var unreadable: Set<MessageID> = []
    private var claimFailures = 0
    private var shardCount = 1
    private var hungCall: Call?
    private var hanging: [CheckedContinuation<Void, Never>] = []
    private var fault: (@Sendable (Call, Int) -> Fault?)?
    private var watchers: [(condition: @Sendable (isolated FakeStore) -> Bool, CheckedContinuation<Void, Never>)] = []

    /// The claimed deliveries.
    var claimed: [Key: ClaimedDelivery] { claims.mapValues(\.delivery) }

    // MARK: What tests do

    /// Counts leases by `time` from now on.
    nonisolated func countLeases(by time: @escaping WallTime) { leaseClock.withLock { $0 = time } }

    private func leaseTime() -> Timestamp { leaseClock.withLock { $0 }() }

    func add(_ registration: Registration, subscribed: Bool = false) {
        registrations[registration.key] = registration
        if subscribed { subscribers[Sample.topic, default: []].append(registration.key) }
    }

    /// The app of a registration tells its new device token.
    func move(_ key: RegistrationKey, to token: DeviceToken, at time: Timestamp) {
        registrations[key]?.deviceToken = token
        registrations[key]?.provenAt = nil
        registrations[key]?.refreshedAt = time
    }

    func end(_ key: RegistrationKey, _ cause: RegistrationEnd.Cause) {
        registrations[key]?.end = RegistrationEnd(time: Sample.start, cause: cause)
    }

    func failSettles(_ count: Int, as code: StoreError.Code = .failed) {
        (settleFailures, settleFailure) = (count, code)
    }
    /// So many times no message is read, because the store is busy.
    func failReads(_ count: Int) { unanswered = count }
    /// Settlements of a registration are refused, and with them everything in the same step.
    func refuse(_ key: RegistrationKey?) { refused = key }
    /// The next step with a settlement of a registration changes nothing, as if the delivery were not claimed.
    func disown(_ key: RegistrationKey) { disowned = key }
    func damage(_ message: MessageID) { unreadable.insert(message) }
    func failClaims(_ count: Int) { claimFailures = count }
    func split(into count: Int) { shardCount = count }
    /// Asked with each call and its number (from 1) of that kind.
    func inject(_ fault: (@Sendable (Call, Int) -> Fault?)?) { self.fault = fault }
    /// Calls of that kind wait, before they change anything, until ``letGo()``.
    func hang(_ call: Call) { hungCall = call }

    /// What hangs goes on.
    func letGo() {
        hungCall = nil
        for call in hanging { call.resume() }
        hanging = []
    }

    /// Whether a fault ended the process.
    var hasCrashed: Bool { isCrashed }

    /// The process ends, whatever it is doing.
    func crashNow() { crash() }

    /// Another process opens the store.
    func restart() {
        isFresh = true
        isCrashed = false
        fault = nil
    }

    /// Ends all workers, as if others had taken over.
    func fence(at time: Timestamp) {
        giveBack(Set(workers.keys), at: time)
    }

    /// Waits until `condition` holds.
    func until(_ condition: @escaping @Sendable (isolated FakeStore) -> Bool) async {
        if condition(self) { return }
        await withCheckedContinuation { watchers.append((condition, $0)) }
    }

    /// Waits until `count` deliveries have ended.
    func untilEnded(_ count: Int) async {
        await until { $0.ledger.count >= count }
    }

    func entries(of message: MessageID) -> [LedgerEntry] {
        ledger.filter { $0.key.message == message }.sorted { $0.key.registration < $1.key.registration }.map(\.value)
    }

    // MARK: MessageStore

    func accept(_ messages: [NewMessage], claimedBy worker: WorkerID?) async throws(StoreError) -> [AcceptResult] {
        let crashes = try await begin(.accept)
        let results = messages.map { accept($0, by: worker.flatMap { workers[$0] == nil ? nil : $0 }) }
        count()
        checkLaw()
        try end(crashes)
        return results
    }

    func uses(
        of keys: [IdempotencyKey], in project: ProjectID, at time: Timestamp
    ) throws(StoreError) -> [IdempotencyUse] {
        keys.map { use(of: $0, in: project, at: time) }
    }

    /// What is known of a key at `time`; what is older than its lifetime counts as forgotten.
    private func use(of key: IdempotencyKey, in project: ProjectID, at time: Timestamp) -> IdempotencyUse {
        guard let known = idempotency[project.rawValue + key.key],
            known.time >= time + (.zero - IdempotencyKey.lifetime)
        else { return .unused }
        return known.key.digest == key.digest ? .same(known.id) : .other
    }

    /// Notes the key of a message, and with the first item of a batch that of the batch.
    ///
    /// - Returns: the result of a message that is not to be accepted.
    private func take(_ key: IdempotencyKey, of new: NewMessage) -> AcceptResult? {
        var unused: [IdempotencyKey] = []
        if let batch = key.ofBatch {
            switch use(of: batch, in: new.project, at: new.acceptedAt) {
            case .unused: unused.append(batch)
            case .same: break
            case .other: return .conflict
            }
        }
        switch use(of: key, in: new.project, at: new.acceptedAt) {
        case .unused: unused.append(key)
        case .same(let id): return .repeated(id)
        case .other: return .conflict
        }
        for key in unused { idempotency[new.project.rawValue + key.key] = (key, new.id, new.acceptedAt) }
        return nil
    }

    private func accept(_ new: NewMessage, by worker: WorkerID?) -> AcceptResult {
        if let result = new.idempotency.flatMap({ take($0, of: new) }) { return result }
        expect(books[new.id] == nil, "message \(new.id) accepted twice")
        let keys = audience(of: new.recipient)
        expect(keys == keys.sorted() && Set(keys).count == keys.count, "recipients out of order or named twice")
        let message = Message(
            id: new.id, project: new.project,
            recipient: new.recipient.map(
                { registrations[$0]?.id ?? Sample.registration($0.rawValue).id }, many: \.count),
            audience: keys.count, body: .decoded(new.content), options: new.options, lane: new.lane,
            acceptedAt: new.acceptedAt, expiresAt: new.expiresAt)
        var book = Book(number: Int64(order.count + 1), message: message, facts: new.facts)
        let isSingle =
            switch new.recipient {
            case .registration: true
            case .topic, .condition: false
            case .list, .user: keys.count <= NewMessage.smallListLimit
            }
        expect(isSingle || new.lane == .bulk, "a fan-out in the interactive lane")
        var claimed: [ClaimedDelivery] = []
        if isSingle {
            book.recipients = keys.count
        } else {
            let size = max(1, (keys.count + shardCount - 1) / shardCount)
            for (number, start) in stride(from: 0, to: max(1, keys.count), by: size).enumerated() {
                book.shards[Int64(number)] = Shard(unclaimed: keys[start..<min(start + size, keys.count)])
            }
        }
        books[new.id] = book
        order.append(new.id)
        add(.message(new.id, .accepted), new.project, at: new.acceptedAt)
        source.post([.events, .work(new.lane)])
        for key in isSingle ? keys : [] {
            let name = Key(message: new.id, registration: key)
            if let worker, new.lane == .interactive {
                claimed += claim(name, by: worker, page: nil, shard: nil, history: AttemptHistory()).map { [$0] } ?? []
            } else {
                waiting[name] = Waiting(lane: new.lane, due: new.acceptedAt, history: AttemptHistory())
            }
        }
        return .accepted(message, claims: claimed)
    }

    private func audience(of recipient: Recipient<RegistrationKey, [RegistrationKey]>) -> [RegistrationKey] {
        switch recipient {
        case .registration(let key): [key]
        case .topic(let topic): (subscribers[topic] ?? []).sorted()
        case .condition(let condition):
            registrations.keys.filter { key in
                condition.holds { subscribers[$0]?.contains(key) ?? false }
            }.sorted()
        case .list(let keys), .user(_, let keys): keys
        }
    }

    func message(_ id: MessageID, in project: ProjectID) async throws(StoreError) -> Message? {
        let crashes = try await begin(.message)
        if unanswered > 0 {
            unanswered -= 1
            throw StoreError(.busy, "too many reads wait", isOfWholeStore: true)
        }
        guard !unreadable.contains(id) else { throw StoreError(.failed, "the message is damaged") }
        try end(crashes)
        return books[id].flatMap { $0.message.project == project ? $0.message : nil }
    }

    nonisolated var load: StoreLoad { counted.withLock { $0 } }

    private func count() {
        var load = StoreLoad()
        for book in books.values where !book.isComplete {
            let bytes = book.message.body.bytes.count
            load.total.messages += 1
            load.total.bytes += bytes
            load.byProject[book.message.project, default: .init()].messages += 1
            load.byProject[book.message.project, default: .init()].bytes += bytes
        }
        counted.withLock { $0 = load }
    }

    func audience(of recipient: Recipient<RegistrationKey, [RegistrationKey]>, in project: ProjectID) throws(StoreError)
        -> Int
    {
        audience(of: recipient).count { registrations[$0]?.isActive == true && registrations[$0]?.project == project }
    }

    func control(
        _ id: MessageID, in project: ProjectID, _ control: MessageControl, at time: Timestamp,
        by credential: CredentialUse
    ) async throws(StoreError) -> MessageState? {
        let crashes = try await begin(.control)
        guard let book = books[id], book.message.project == project else { return nil }
        switch (book.state, control) {
        case (.active, .pause):
            books[id]?.state = .paused
            add(.message(id, .paused), project, at: time)
        case (.paused, .resume):
            books[id]?.state = .active
            add(.message(id, .resumed), project, at: time)
        case (.active, .cancel), (.paused, .cancel):
            books[id]?.state = .cancelled
            add(.message(id, .cancelled), project, at: time)
        case (.active, .resume), (.paused, .pause), (.complete, _), (.cancelled, _): break
        }
        changed()
        try end(crashes)
        return books[id]?.state
    }

    func forgetIdempotencyKeys(before time: Timestamp, limit: Int) throws(StoreError) -> Int {
        let old = idempotency.filter { $0.value.time < time }.prefix(limit)
        for key in old.map(\.key) { idempotency[key] = nil }
        changed()
        return old.count
    }

    // MARK: DeliveryStore

    func enroll(_ name: String, for lease: Duration) async throws(StoreError) -> WorkerID {
        let crashes = try await begin(.enroll)
        let worker = WorkerID(rawValue: nextWorker)
        nextWorker += 1
        workers[worker] = leaseTime() + lease
        try end(crashes)
        return worker
    }

    func renew(_ worker: WorkerID, for lease: Duration) async throws(StoreError) {
        let crashes = try await begin(.renew)
        try checkFence(worker)
        workers[worker] = max(workers[worker] ?? leaseTime(), leaseTime() + lease)
        changed()
        try end(crashes)
    }

    func takeOver(at time: Timestamp) async throws(StoreError) -> Int {
        let crashes = try await begin(.takeOver)
        let over = isFresh ? Set(workers.keys) : Set(workers.filter { $0.value < leaseTime() }.keys)
        isFresh = false
        let count = giveBack(over, at: time)
        try end(crashes)
        return count
    }

    @discardableResult
    private func giveBack(_ over: Set<WorkerID>, at time: Timestamp) -> Int {
        for worker in over { workers[worker] = nil }
        let back = claims.filter { over.contains($0.value.worker) }
        var pages: [FanOutPage.ID: [Key]] = [:]
        for (key, claim) in back {
            var history = claim.delivery.history
            history.attempts += 1
            history.unknownAttempts += 1
            history.interruptions += 1
            history.lastCause = TransportCause.interrupted.rawValue
            let lane: Lane = books[key.message]?.message.lane ?? .interactive
            claims[key] = nil
            waiting[key] = Waiting(lane: lane, due: time, history: history)
            if let page = claim.delivery.page { pages[page, default: []].append(key) }
        }
        // Of pages: they come again whole, as part of their shard.
        for (_, keys) in pages {
            guard let first = keys.first, let shard = back[first]?.shard else { continue }
            books[first.message]?.shards[shard.shard]?.returned.append(
                keys.sorted { $0.registration < $1.registration })
        }
        checkLaw()
        return back.count
    }

    /// The rows of pages that were given back are claimed with their page, not one by one.
    private func isOfPage(_ key: Key) -> Bool {
        books[key.message]?.shards.values.contains { $0.returned.contains { $0.contains(key) } } ?? false
    }

    func openFanOuts(
        limitPerProject limit: Int, held: Set<PushRoute>
    ) async throws(StoreError) -> [OpenFanOut] {
        let crashes = try await begin(.openFanOuts)
        var (counts, paced): ([ProjectID: Int], [ProjectID: Int]) = ([:], [:])
        var tried: Set<PushRoute> = []
        var open: [OpenFanOut] = []
        for id in order {
            guard let book = books[id], book.state == .active else { continue }
            let remaining = book.shards.values.reduce(0) { $0 + $1.unclaimed.count }
            let project = book.message.project
            let all = book.shards.sorted { $0.key < $1.key }.filter { !$0.value.isDone }.map { number, shard in
                OpenFanOut(
                    id: .init(message: book.number, shard: number), message: id, project: project,
                    rate: book.message.options.rate, finishBy: book.message.options.finishBy, remaining: remaining,
                    route: shard.route)
            }
            open += all.filter { shard in shard.route.map { held.contains($0) && tried.insert($0).inserted } ?? false }
            let free = all.filter { shard in shard.route.map { !held.contains($0) } ?? true }
            guard let first = free.first else { continue }
            if first.isPaced {
                guard paced[project, default: 0] < OpenFanOut.pacedLimit else { continue }
                paced[project, default: 0] += 1
            } else {
                guard counts[project, default: 0] < limit else { continue }
                counts[project, default: 0] += 1
            }
            open += free.prefix(OpenFanOut.shardsPerMessage)
        }
        try end(crashes)
        return open
    }

    func claimPage(
        of fanOut: OpenFanOut.ID, limit: Int, held: Set<PushRoute>, by worker: WorkerID, at time: Timestamp
    ) async throws(StoreError) -> FanOutClaim {
        let crashes = try await begin(.claimPage)
        try failClaim()
        try checkFence(worker)
        expect(limit > 0, "a claim of no delivery")
        let id = order[Int(fanOut.message) - 1]
        guard let book = books[id], book.state == .active, var shard = book.shards[fanOut.shard] else {
            return FanOutClaim(page: nil, isDone: true)
        }
        if shard.route == nil { splitOff(held, from: &shard, of: id) }
        let page = FanOutPage.ID(rawValue: nextPage)
        nextPage += 1
        var deliveries: [ClaimedDelivery] = []
        if let returned = shard.returned.popLast() {
            for key in returned {
                guard let entry = waiting.removeValue(forKey: key) else { continue }
                deliveries += [claim(key, by: worker, page: page, shard: fanOut, history: entry.history)].compactMap(
                    \.self)
            }
        } else {
            let keys = shard.unclaimed.prefix(limit)
            shard.unclaimed.removeFirst(keys.count)
            books[id]?.recipients += keys.count
            for key in keys {
                let name = Key(message: id, registration: key)
                deliveries +=
                    [claim(name, by: worker, page: page, shard: fanOut, history: AttemptHistory())].compactMap(\.self)
            }
        }
        books[id]?.shards[fanOut.shard] = shard
        pageSizes.append(deliveries.count)
        pages.append((book.message.project, id, deliveries.count, time))
        checkLaw()
        try end(crashes)
        return FanOutClaim(
            page: deliveries.isEmpty ? nil : FanOutPage(id: page, message: id, deliveries: deliveries),
            isDone: shard.isDone)
    }

    private func splitOff(_ held: Set<PushRoute>, from shard: inout Shard, of id: MessageID) {
        for route in held {
            let keys = shard.unclaimed.filter { registrations[$0].map(PushRoute.init) == route }
            guard !keys.isEmpty else { continue }
            shard.unclaimed.removeAll { keys.contains($0) }
            let number = Int64(books[id]?.shards.count ?? 0)
            books[id]?.shards[number] = Shard(unclaimed: keys[...], route: route)
        }
    }

    func dueRoutes(_ lane: Lane, at time: Timestamp) async throws(StoreError) -> DueRoutes {
        let crashes = try await begin(.dueRoutes)
        let rows = waiting.filter { key, row in
            row.lane == lane && books[key.message]?.state == .active && !isOfPage(key)
        }
        let routes = Set(rows.filter { $0.value.due <= time }.keys.compactMap(route))
        try end(crashes)
        return DueRoutes(
            routes: routes.sorted { $0.channel.description < $1.channel.description },
            next: rows.values.map(\.due).filter { $0 > time }.min())
    }

    private func route(of key: Key) -> PushRoute? {
        registrations[key.registration].map(PushRoute.init)
    }

    func claimDue(
        _ lane: Lane, _ route: PushRoute, limit: Int, by worker: WorkerID, at time: Timestamp
    ) async throws(StoreError) -> [ClaimedDelivery] {
        try await claimDue(lane, route, limit: limit, of: nil, by: worker, at: time)
    }

    func claimDue(
        _ lane: Lane, _ route: PushRoute, of messages: [MessageID], by worker: WorkerID, at time: Timestamp
    ) async throws(StoreError) -> [ClaimedDelivery] {
        try await claimDue(lane, route, limit: messages.count, of: Set(messages), by: worker, at: time)
    }

    private func claimDue(
        _ lane: Lane, _ route: PushRoute, limit: Int, of messages: Set<MessageID>?, by worker: WorkerID,
        at time: Timestamp
    ) async throws(StoreError) -> [ClaimedDelivery] {
        let crashes = try await begin(.claimDue)
        try failClaim()
        try checkFence(worker)
        expect(limit > 0, "a claim of no delivery")
        let due = waiting.filter { key, row in
            row.lane == lane && row.due <= time && books[key.message]?.state == .active
                && self.route(of: key) == route && !isOfPage(key) && messages?.contains(key.message) != false
        }
        .sorted { $0.value.due < $1.value.due }.prefix(limit)
        let deliveries = due.compactMap { key, entry in
            waiting[key] = nil
            return claim(key, by: worker, page: nil, shard: nil, history: entry.history)
        }
        checkLaw()
        try end(crashes)
        return deliveries
    }

    func settle(_ settlements: [Settlement], by worker: WorkerID) async throws(StoreError) -> SettleResult {
        let crashes = try await begin(.settle)
        if settleFailures > 0 {
            settleFailures -= 1
            changed()
            throw StoreError(
                settleFailure, "no space left on device", isOfWholeStore: settleFailure != .failed)
        }
        guard !settlements.contains(where: { $0.delivery.registration.key == refused }) else {
            changed()
            throw StoreError(.failed, "a row is refused")
        }
        try checkFence(worker)
        if let unclaimed = settlements.first(where: { $0.delivery.registration.key == disowned }) {
            disowned = nil
            changed()
            return SettleResult(refused: [unclaimed.delivery.message])
        }
        var readdressed: [Int] = []
        for (place, settlement) in settlements.enumerated() {
            guard let retry = self.readdressed(settlement) else {
                settle(settlement, by: worker)
                continue
            }
            settle(retry, by: worker)
            readdressed.append(place)
        }
        let complete = complete(Set(settlements.map(\.delivery.message)))
        checkLaw()
        try end(crashes)
        return SettleResult(complete: complete, readdressed: readdressed)
    }

    private func readdressed(_ settlement: Settlement) -> Settlement? {
        guard case .ended(let entry) = settlement.result, entry.refusesDeviceToken,
            entry.time < settlement.delivery.expiresAt,
            let registration = registrations[settlement.delivery.registration.key], registration.isActive,
            registration.address.identity != settlement.delivery.registration.address.identity
        else { return nil }
        return Settlement(delivery: settlement.delivery, result: .retry(entry.history, notBefore: entry.time))
    }

    private func complete(_ ids: Set<MessageID>) -> [MessageID] {
        var complete: [MessageID] = []
        for id in ids {
            guard let book = books[id], !book.isComplete, book.shards.values.allSatisfy(\.isDone), open(id) == 0
            else { continue }
            books[id]?.isComplete = true
            if book.state != .cancelled { books[id]?.state = .complete }
            complete.append(id)
            let last = ledger.filter { $0.key.message == id }.values.map(\.time).max() ?? book.message.acceptedAt
            add(.message(id, .complete), book.message.project, at: last)
        }
        count()
        return complete
    }

    func bringForward(
        waitingBeyond limit: Timestamp, to time: Timestamp, count: Int
    ) throws(StoreError) -> Int {
        let late = waiting.filter { key, row in
            row.due > limit && books[key.message]?.state == .active && !isOfPage(key)
        }.prefix(count)
        for key in late.map(\.key) { waiting[key]?.due = time }
        if !late.isEmpty { changed() }
        return late.count
    }

    func endExpiredPauses(limit: Int, at time: Timestamp) async throws(StoreError) -> Int {
        let expired = books.filter { $0.value.state == .paused && $0.value.message.expiresAt <= time }.prefix(limit)
        for (id, book) in expired {
            books[id]?.state = .active
            add(.message(id, .resumed), book.message.project, at: time)
        }
        if !expired.isEmpty { changed() }
        return expired.count
    }

    func clampTimes(to now: Timestamp) -> Bool {
        let limit = now + .seconds(2 * 3600)
        let late = registrations.filter { $0.value.refreshedAt > limit }.map(\.key)
        for key in late { registrations[key]?.refreshedAt = now }
        return !late.isEmpty
    }

    func bookCancelled(limit: Int, at time: Timestamp) async throws(StoreError) -> Int {
        let crashes = try await begin(.bookCancelled)
        var booked = 0
        var touched: Set<MessageID> = []
        for (id, book) in books where book.state == .cancelled && !book.isComplete {
            touched.insert(id)
            for key in waiting.keys.filter({ $0.message == id }).prefix(limit - booked) {
                let history = waiting.removeValue(forKey: key)?.history ?? AttemptHistory()
                cancel(key, history: history, at: time)
                booked += 1
            }
            for number in book.shards.keys {
                books[id]?.shards[number]?.returned = []
                let keys = books[id]?.shards[number]?.unclaimed.prefix(limit - booked) ?? []
                books[id]?.shards[number]?.unclaimed.removeFirst(keys.count)
                for key in keys {
                    books[id]?.recipients += 1
                    cancel(Key(message: id, registration: key), history: AttemptHistory(), at: time)
                    booked += 1
                }
            }
        }
        _ = complete(touched)
        checkLaw()
        try end(crashes)
        return booked
    }

    func bookExpired(limit: Int, at time: Timestamp) throws(StoreError) -> Int {
        var booked = 0
        var touched: Set<MessageID> = []
        for (id, book) in books
        where book.state == .active && !book.isComplete && book.message.expiresAt <= time {
            touched.insert(id)
            let keys = waiting.filter { $0.key.message == id && $0.value.history.refusedBy == nil }.keys
            for key in keys.prefix(limit - booked) {
                let history = waiting.removeValue(forKey: key)?.history ?? AttemptHistory()
                cancel(key, as: .expired, history: history, at: time)
                booked += 1
            }
            for number in book.shards.keys {
                let keys = books[id]?.shards[number]?.unclaimed.prefix(limit - booked) ?? []
                books[id]?.shards[number]?.unclaimed.removeFirst(keys.count)
                for key in keys {
                    books[id]?.recipients += 1
                    cancel(Key(message: id, registration: key), as: .expired, history: AttemptHistory(), at: time)
                    booked += 1
                }
            }
        }
        guard booked > 0 else { return 0 }
        _ = complete(touched)
        checkLaw()
        changed()
        return booked
    }

    private func cancel(
        _ key: Key, as outcome: LedgerOutcome = .cancelled, history: AttemptHistory, at time: Timestamp
    ) {
        expect(ledger[key] == nil, "ended twice")
        let reason = outcome == .expired ? history.lastCause ?? "Expired" : "Cancelled"
        if let project = books[key.message]?.message.project {
            ownEnds.append(StoreEnds(project: project, outcome: outcome, reason: reason, count: 1))
        }
        ledger[key] = LedgerEntry(
            outcome: outcome, reason: reason, verdict: nil,
            history: history, time: time, latencyMilliseconds: 0,
            pushID: PushID(message: key.message, registration: key.registration))
        if let entry = ledger[key] { add(entry, of: key) }
        books[key.message]?.ended[outcome, default: 0] += 1
    }

    func takeOwnEnds() -> [StoreEnds] {
        defer { ownEnds = [] }
        return ownEnds
    }

    func backlog() async throws(StoreError) -> [Lane: Int] {
        let crashes = try await begin(.backlog)
        var counts: [Lane: Int] = [:]
        for key in Array(waiting.keys) + Array(claims.keys) {
            guard let lane = books[key.message]?.message.lane else { continue }
            counts[lane, default: 0] += 1
        }
        try end(crashes)
        return counts
    }

    // MARK: Rules

    /// - Returns: whether the process ends when the call is committed.
    private func begin(_ call: Call) async throws(StoreError) -> Bool {
        guard !isCrashed else { throw StoreError(.unavailable, "the process has ended", isOfWholeStore: true) }
        calls[call, default: 0] += 1
        changed()
        if hungCall == call { await withCheckedContinuation { hanging.append($0) } }
        switch fault?(call, calls[call] ?? 0) {
        case nil: return false
        case .crashAfter: return true
        case .error: throw StoreError(.failed, "injected")
        case .slow:
            for _ in 0..<100 { await Task.yield() }
            return false
        case .crashBefore:
            crash()
            throw StoreError(.unavailable, "the process has ended", isOfWholeStore: true)
        }
    }

    private func end(_ crashes: Bool) throws(StoreError) {
        guard crashes else { return }
        crash()
        throw StoreError(.unavailable, "the process has ended", isOfWholeStore: true)
    }

    private func crash() {
        isCrashed = true
        changed()
    }

    private func checkFence(_ worker: WorkerID) throws(StoreError) {
        guard workers[worker] != nil else { throw StoreError(.fenced, "the lease was taken over") }
    }

    private func failClaim() throws(StoreError) {
        guard claimFailures > 0 else { return }
        claimFailures -= 1
        changed()
        throw StoreError(.failed, "disk I/O error")
    }

    private func claim(
        _ key: Key, by worker: WorkerID, page: FanOutPage.ID?, shard: OpenFanOut.ID?, history: AttemptHistory
    ) -> ClaimedDelivery? {
        expect(claims[key] == nil, "claimed twice")
        expect(ledger[key] == nil, "claimed after its end")
        guard let registration = registrations[key.registration], let book = books[key.message] else {
            expect(false, "a claim names what is not there")
            return nil
        }
        let delivery = ClaimedDelivery(
            message: key.message, project: book.message.project, acceptedAt: book.message.acceptedAt,
            expiresAt: book.message.expiresAt, registration: DeliveryRegistration(registration), page: page,
            history: history)
        claims[key] = Claim(delivery: delivery, worker: worker, shard: shard)
        return delivery
    }

    private func settle(_ settlement: Settlement, by worker: WorkerID) {
        let key = Key(
            message: settlement.delivery.message, registration: settlement.delivery.registration.key)
        guard let claim = claims.removeValue(forKey: key) else {
            return expect(false, "settled what is not claimed")
        }
        let held = claim.delivery
        expect(claim.worker == worker, "settled by another worker")
        expect(held.page == settlement.delivery.page, "settled with another page")
        switch settlement.result {
        case .ended(let entry):
            expect(ledger[key] == nil, "ended twice")
            expect(entry.history.attempts >= held.history.attempts, "attempts went back")
            ledger[key] = entry
            add(entry, of: key)
            books[key.message]?.ended[entry.outcome, default: 0] += 1
            note(entry.verdict, about: held.registration, at: entry.time)
        case .retry(let history, let notBefore):
            guard books[key.message]?.state != .cancelled else {
                return cancel(key, history: history, at: notBefore)
            }
            let expiresAt = books[key.message]?.message.expiresAt ?? notBefore
            expect(notBefore < expiresAt, "a retry after the expiry")
            let lane = books[key.message]?.message.lane ?? .interactive
            waiting[key] = Waiting(lane: lane, due: notBefore, history: history)
            retries[key, default: []].append(notBefore)
        }
    }

    private func note(_ verdict: DeviceTokenVerdict?, about sent: DeliveryRegistration, at time: Timestamp) {
        guard let registration = registrations[sent.key], registration.isActive,
            registration.address.identity == sent.address.identity
        else { return }
        switch verdict {
        case .proven(let channel)?:
            expect(!sent.isProven || sent.channel != channel, "proven twice")
            registrations[sent.key]?.provenAt = registration.provenAt ?? time
            registrations[sent.key]?.address = sent.address.on(channel)
            registrations[sent.key]?.quarantine = nil
        case .doubtful?:
            expect(sent.isProven, "doubted what was never proven")
            registrations[sent.key]?.provenAt = nil
        case .refused(let reason)?:
            expect(!sent.isProven && !sent.isQuarantined, "quarantined at once, or twice")
            guard !registration.isProven, registration.refreshedAt == sent.refreshedAt else { return }
            registrations[sent.key]?.quarantine = Quarantine(time: time, reason: reason)
        case .dead(let since)?:
            guard since > registration.refreshedAt else { return }
            registrations[sent.key]?.end = RegistrationEnd(time: time, cause: .unregistered)
            add(
                .registrationEnded(
                    EndedRegistration(registration: registration.id, app: registration.app, cause: .unregistered)),
                registration.project, at: time)
        case nil: break
        }
    }

    private func open(_ id: MessageID) -> Int {
        waiting.keys.count { $0.message == id } + claims.keys.count { $0.message == id }
    }

    /// recipients = ended + in flight, for every message.
    private func checkLaw() {
        var open: [MessageID: Int] = [:]
        for key in waiting.keys { open[key.message, default: 0] += 1 }
        for key in claims.keys { open[key.message, default: 0] += 1 }
        for (id, book) in books {
            let ended = book.ended.values.reduce(0, +)
            expect(book.recipients == ended + (open[id] ?? 0), "message \(id) does not balance")
        }
        expect(forgotten > 0 || deliveryEvents == ledger.count, "deliveries that ended without an event, or with two")
        source.post(.events)
        changed()
    }

    private func expect(_ condition: Bool, _ violation: String) {
        if !condition { violations.append(violation) }
    }

    private func changed() {
        var rest = watchers
        rest.removeAll { watcher in
            guard watcher.condition(self) else { return false }
            watcher.1.resume()
            return true
        }
        watchers = rest
    }
}

extension PushRoute {
    /// The way of a registration.
    init(_ registration: Registration) {
        self.init(project: registration.project, app: registration.app, channel: registration.channel)
    }
}
