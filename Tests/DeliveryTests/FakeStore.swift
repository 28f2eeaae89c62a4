import PushModel
import Store
import Synchronization

/// A store in memory that keeps the rules: only what is waiting can be claimed, only what is claimed can be settled,
/// and after each step every message balances. A broken rule lands in ``violations``.
actor FakeStore: MessageStore, DeliveryStore {
    private nonisolated let active = Atomic(0)

    struct Key: Hashable {
        var message: MessageID
        var registration: RegistrationKey
    }

    struct Waiting {
        var lane: Lane
        var due: Timestamp
        var history: AttemptHistory
    }

    struct Book {
        var message: Message
        var facts: MessageFacts
        /// Registrations of the topic that no page has claimed yet.
        var unclaimed: ArraySlice<RegistrationKey> = []
        var recipients = 0
        var ended: [LedgerOutcome: Int] = [:]
        var isComplete = false
    }

    private(set) var registrations: [RegistrationKey: Registration] = [:]
    private(set) var subscribers: [RegistrationKey] = []
    private(set) var books: [MessageID: Book] = [:]
    private(set) var order: [MessageID] = []
    private(set) var waiting: [Key: Waiting] = [:]
    private(set) var claimed: [Key: ClaimedDelivery] = [:]
    private(set) var ledger: [Key: LedgerEntry] = [:]
    private(set) var retries: [Key: [Timestamp]] = [:]
    private(set) var violations: [String] = []
    private(set) var pageSizes: [Int] = []
    private(set) var claims = 0
    private(set) var rescues = 0
    private var nextPage: Int64 = 1
    private var settleFailures = 0
    private var refused: RegistrationKey?
    private var unreadable: Set<MessageID> = []
    private var claimFailures = 0
    private var watchers: [(condition: @Sendable (isolated FakeStore) -> Bool, CheckedContinuation<Void, Never>)] = []

    // MARK: What tests do

    func add(_ registration: Registration, subscribed: Bool = false) {
        registrations[registration.key] = registration
        if subscribed { subscribers.append(registration.key) }
    }

    func end(_ key: RegistrationKey, _ cause: RegistrationEnd.Cause) {
        registrations[key]?.end = RegistrationEnd(time: Sample.start, cause: cause)
    }

    func failSettles(_ count: Int) { settleFailures = count }
    /// Settlements of a registration are refused, and with them everything in the same step.
    func refuse(_ key: RegistrationKey?) { refused = key }
    func damage(_ message: MessageID) { unreadable.insert(message) }
    func failClaims(_ count: Int) { claimFailures = count }

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

    func accept(_ new: NewMessage) throws(StoreError) -> Message {
        expect(books[new.id] == nil, "message \(new.id) accepted twice")
        let recipient: Message.Recipient
        var unclaimed: ArraySlice<RegistrationKey> = []
        switch new.recipient {
        case .registration(let key, let id): recipient = .registration(key, id)
        case .topic(let topic):
            unclaimed = subscribers[...]
            recipient = .topic(topic, audience: unclaimed.count)
        }
        let message = Message(
            id: new.id, project: new.project, recipient: recipient, content: new.content, acceptedAt: new.acceptedAt,
            expiresAt: new.expiresAt)
        var book = Book(message: message, facts: new.facts, unclaimed: unclaimed)
        if case .registration(let key, _) = recipient {
            book.recipients = 1
            waiting[Key(message: new.id, registration: key)] = Waiting(
                lane: .interactive, due: new.acceptedAt, history: AttemptHistory())
        }
        books[new.id] = book
        order.append(new.id)
        countActive()
        checkLaw()
        return message
    }

    func message(_ id: MessageID, in project: ProjectID) throws(StoreError) -> Message? {
        guard !unreadable.contains(id) else { throw StoreError(.failed, "the message is damaged") }
        return books[id].flatMap { $0.message.project == project ? $0.message : nil }
    }

    nonisolated var activeMessages: Int { active.load(ordering: .acquiring) }

    private func countActive() {
        active.store(books.values.count { !$0.isComplete }, ordering: .releasing)
    }

    // MARK: DeliveryStore

    func rescue() throws(StoreError) -> Int {
        expect(claims == 0 || !claimed.isEmpty || rescues == 0, "rescue with nothing to rescue after claims")
        rescues += 1
        let count = claimed.count
        for (key, delivery) in claimed {
            let lane: Lane = books[key.message]?.message.lane ?? .interactive
            var history = delivery.history
            history.attempts += 1
            history.unknownAttempts += 1
            history.lastCause = TransportCause.interrupted.rawValue
            waiting[key] = Waiting(lane: lane, due: Sample.start, history: history)
        }
        claimed = [:]
        checkLaw()
        return count
    }

    func claimPage(limit: Int, at time: Timestamp) throws(StoreError) -> FanOutPage? {
        try failClaim()
        guard let id = order.first(where: { books[$0]?.unclaimed.isEmpty == false }), let book = books[id] else {
            return nil
        }
        let keys = book.unclaimed.prefix(limit)
        let page = FanOutPage.ID(rawValue: nextPage)
        nextPage += 1
        books[id]?.unclaimed.removeFirst(keys.count)
        books[id]?.recipients += keys.count
        let deliveries = keys.compactMap { key in
            claim(Key(message: id, registration: key), page: page, history: AttemptHistory())
        }
        pageSizes.append(deliveries.count)
        checkLaw()
        return FanOutPage(id: page, message: id, deliveries: deliveries)
    }

    func claimDue(_ lane: Lane, limit: Int, at time: Timestamp) throws(StoreError) -> [ClaimedDelivery] {
        try failClaim()
        let due = waiting.filter { $0.value.lane == lane && $0.value.due <= time }
            .sorted { $0.value.due < $1.value.due }.prefix(limit)
        let deliveries = due.compactMap { key, entry in
            waiting[key] = nil
            return claim(key, page: nil, history: entry.history)
        }
        checkLaw()
        return deliveries
    }

    func nextDue(_ lane: Lane, after time: Timestamp) throws(StoreError) -> Timestamp? {
        waiting.values.filter { $0.lane == lane && $0.due > time }.map(\.due).min()
    }

    func settle(_ settlements: [Settlement]) throws(StoreError) -> [MessageID] {
        if settleFailures > 0 {
            settleFailures -= 1
            changed()
            throw StoreError(.failed, "no space left on device")
        }
        guard !settlements.contains(where: { $0.delivery.registration.key == refused }) else {
            changed()
            throw StoreError(.failed, "a constraint failed")
        }
        for settlement in settlements { settle(settlement) }
        var complete: [MessageID] = []
        for id in Set(settlements.map(\.delivery.message)) {
            guard let book = books[id], !book.isComplete, book.unclaimed.isEmpty, open(id) == 0 else { continue }
            books[id]?.isComplete = true
            countActive()
            complete.append(id)
        }
        checkLaw()
        return complete
    }

    func backlog() throws(StoreError) -> [Lane: Int] {
        var counts: [Lane: Int] = [:]
        for key in Array(waiting.keys) + Array(claimed.keys) {
            guard let lane = books[key.message]?.message.lane else { continue }
            counts[lane, default: 0] += 1
        }
        return counts
    }

    // MARK: Rules

    private func failClaim() throws(StoreError) {
        claims += 1
        guard claimFailures > 0 else { return }
        claimFailures -= 1
        changed()
        throw StoreError(.failed, "disk I/O error")
    }

    private func claim(_ key: Key, page: FanOutPage.ID?, history: AttemptHistory) -> ClaimedDelivery? {
        expect(claimed[key] == nil, "claimed twice")
        expect(ledger[key] == nil, "claimed after its end")
        guard let registration = registrations[key.registration], let book = books[key.message] else {
            expect(false, "a claim names what is not there")
            return nil
        }
        let delivery = ClaimedDelivery(
            message: key.message, project: book.message.project, acceptedAt: book.message.acceptedAt,
            expiresAt: book.message.expiresAt, registration: registration, page: page, history: history)
        claimed[key] = delivery
        return delivery
    }

    private func settle(_ settlement: Settlement) {
        let key = Key(
            message: settlement.delivery.message, registration: settlement.delivery.registration.key)
        guard let held = claimed.removeValue(forKey: key) else {
            return expect(false, "settled what is not claimed")
        }
        expect(held.page == settlement.delivery.page, "settled with another page")
        switch settlement.result {
        case .ended(let entry):
            expect(ledger[key] == nil, "ended twice")
            expect(entry.history.attempts >= held.history.attempts, "attempts went back")
            ledger[key] = entry
            books[key.message]?.ended[entry.outcome, default: 0] += 1
            note(entry.verdict, about: held.registration, at: entry.time)
        case .retry(let history, let notBefore):
            let expiresAt = books[key.message]?.message.expiresAt ?? notBefore
            expect(notBefore < expiresAt, "a retry after the expiry")
            let lane = books[key.message]?.message.lane ?? .interactive
            waiting[key] = Waiting(lane: lane, due: notBefore, history: history)
            retries[key, default: []].append(notBefore)
        }
    }

    private func note(_ verdict: DeviceTokenVerdict?, about sent: Registration, at time: Timestamp) {
        guard let registration = registrations[sent.key], registration.isActive,
            registration.deviceToken == sent.deviceToken
        else { return }
        switch verdict {
        case .proven(let environment)?:
            expect(!sent.isProven || sent.environment != environment, "proven twice")
            registrations[sent.key]?.provenAt = registration.provenAt ?? time
            registrations[sent.key]?.environment = environment
            registrations[sent.key]?.quarantine = nil
        case .doubtful?:
            expect(sent.isProven, "doubted what was never proven")
            registrations[sent.key]?.provenAt = nil
        case .refused(let reason)?:
            expect(!sent.isProven && sent.quarantine == nil, "quarantined at once, or twice")
            guard !registration.isProven, registration.refreshedAt == sent.refreshedAt else { return }
            registrations[sent.key]?.quarantine = Quarantine(time: time, reason: reason)
        case .dead(let since)?:
            guard since > registration.refreshedAt else { return }
            registrations[sent.key]?.end = RegistrationEnd(time: time, cause: .unregistered)
        case nil: break
        }
    }

    private func open(_ id: MessageID) -> Int {
        waiting.keys.count { $0.message == id } + claimed.keys.count { $0.message == id }
    }

    /// recipients = ended + in flight, for every message.
    private func checkLaw() {
        var open: [MessageID: Int] = [:]
        for key in waiting.keys { open[key.message, default: 0] += 1 }
        for key in claimed.keys { open[key.message, default: 0] += 1 }
        for (id, book) in books {
            let ended = book.ended.values.reduce(0, +)
            expect(book.recipients == ended + (open[id] ?? 0), "message \(id) does not balance")
        }
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
