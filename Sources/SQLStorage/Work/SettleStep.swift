import PushModel
import Store

/// One settle transaction: a bit for each delivery of a page, a row for each single delivery or retry, and sums at the
/// end.
///
/// What this worker has not claimed (settled before, taken over, never handed out) changes nothing and is counted as
/// refused. A delivery is open in exactly one place: its page, `pending`, or its message, which names who claimed it.
struct SettleStep {
    /// The reason of deliveries that end because their message was cancelled.
    static let cancelled = "Cancelled"
    /// The reason of deliveries that end because their time ran out before any attempt.
    static let expired = "Expired"

    static let pageByID = "SELECT message, settled, keys, open FROM page WHERE id = ? AND worker = ?"
    static let messageBySeq = "SELECT \(OpenMessageRow.columns) FROM message WHERE seq = ?"
    static let messageByID = "SELECT \(OpenMessageRow.columns) FROM message WHERE id = ?"
    static let putBack = """
        UPDATE pending SET worker = NULL, route = ?, not_before = ?, attempts = ?, unknown_attempts = ?,
            interruptions = ?, last_cause = ?, probing_since = ?, refused_by = ?
        WHERE message = ? AND registration = ? AND worker = ?
        """
    static let release = "UPDATE message SET worker = NULL, route = NULL WHERE seq = ?"
    static let settlePage = "UPDATE page SET settled = ?, open = ? WHERE id = ?"
    static let removePage = "DELETE FROM page WHERE id = ?"

    /// The messages of settlements that changed nothing.
    private(set) var refused: [MessageID] = []
    /// What this step ended without being told to.
    private(set) var ownEnds = OwnEnds()

    private let transaction: WriteTransaction
    private var db: any Database { transaction.db }
    private let worker: WorkerID
    /// What the entries of this step get as their time of recording.
    private let recordedAt: Timestamp
    private let registrations: RegistrationTable
    private var ledger: LedgerWriter
    private var events = SettledEvents()
    private var proofs = Proofs()
    private var messages: OpenMessages
    private var pages: [OpenPage] = []
    private var pageIndex: [FanOutPage.ID: Int] = [:]
    private var lastPage: Int?

    /// As ``init(_:worker:newest:)``, in a transaction of which nothing is shared.
    init(db: any Database, worker: WorkerID, newest: Timestamp?) throws {
        try self.init(WriteTransaction(db: db), worker: worker, newest: newest)
    }

    /// Begins a step of a worker whose newest end came at `newest`; `nil`: nothing ends in it.
    init(_ transaction: WriteTransaction, worker: WorkerID, newest: Timestamp?) throws {
        let db = transaction.db
        self.transaction = transaction
        self.worker = worker
        recordedAt = try transaction.recordingTime(newest)
        registrations = RegistrationTable(db: db)
        ledger = LedgerWriter(db: db, recordedAt: recordedAt)
        messages = OpenMessages(transaction)
    }

    /// The retry that takes the place of an end, because the device token that was refused is not the registration's any
    /// more; `nil`: it is, or no time is left.
    func readdressed(_ settlement: Settlement) throws -> Settlement? {
        guard case .ended(let entry) = settlement.result, entry.refusesDeviceToken,
            entry.time < settlement.delivery.expiresAt,
            try registrations.hasMoved(settlement.delivery.registration)
        else { return nil }
        return Settlement(delivery: settlement.delivery, result: .retry(entry.history, notBefore: entry.time))
    }

    /// - Returns: whether it changed anything.
    @discardableResult
    mutating func apply(_ settlement: Settlement) throws -> Bool {
        let isApplied =
            if let page = settlement.delivery.page {
                try applyToPage(page, settlement)
            } else {
                try applyToPending(settlement)
            }
        if !isApplied { refused.append(settlement.delivery.message) }
        return isApplied
    }

    /// Writes ledger, pages, messages and events.
    ///
    /// - Returns: messages that are complete now.
    mutating func finish() throws -> [MessageID] {
        try proofs.write(to: db)
        try ledger.write(&events, block: transaction.takeBlock) { try transaction.app($1, of: $0) }
        for page in pages where page.isChanged {
            if page.open > 0 {
                try db.post(Self.settlePage, [page.settled.bytes, page.open, page.id.rawValue])
            } else {
                try db.post(Self.removePage, [page.id.rawValue])
            }
        }
        let completed = try completeMessages()
        try events.write(to: db, at: recordedAt)
        return completed
    }

    /// Completes the messages that have nothing open any more, and counts them once for each project.
    private mutating func completeMessages() throws -> [MessageID] {
        var completed: [MessageID] = []
        var loads: [(project: ProjectID, sum: StoreLoad.Sum)] = []
        var claimed = ClaimedEnds(worker: worker)
        for message in messages.all {
            guard let time = message.lastEnd, try complete(message, at: time, &claimed) else { continue }
            completed.append(message.id)
            events.add(complete: message.seq, of: message.project)
            let place = loads.lastIndex { $0.project == message.project } ?? loads.count
            if place == loads.count { loads.append((message.project, StoreLoad.Sum())) }
            loads[place].sum.messages += 1
            loads[place].sum.bytes += message.bytes
        }
        try claimed.write(to: db)
        for load in loads { try ProjectLoad(db: db).take(load.sum, from: load.project) }
        return completed
    }

    private func complete(_ message: OpenMessage, at time: Timestamp, _ claimed: inout ClaimedEnds) throws -> Bool {
        let block = ledger.blocks[message.seq]
        guard message.hasEndedClaim else { return try transaction.complete(message.seq, at: time, block: block) }
        if let block, db.dialect.joinsRows {
            claimed.add(message.seq, at: time, block: block)
            return true
        }
        try transaction.completeClaimed(message.seq, by: worker, at: time, block: block)
        return true
    }

    private mutating func applyToPage(_ id: FanOutPage.ID, _ settlement: Settlement) throws -> Bool {
        let delivery = settlement.delivery
        guard let page = try page(id), messages[pages[page].message].id == delivery.message,
            let index = pages[page].index(of: delivery.registration.key.rawValue), pages[page].settled.settle(index)
        else { return false }
        pages[page].open -= 1
        pages[page].isChanged = true
        let message = pages[page].message
        switch settlement.result {
        case .ended(let entry): try ended(entry, message, delivery)
        case .retry(let history, _) where messages[message].state == .cancelled:
            cancelled(history, message, delivery.registration)
        case .retry(let history, let notBefore):
            let known = messages[message]
            try wait(known, delivery, history, until: notBefore)
        }
        return true
    }

    /// Makes a row of `pending` for a delivery that had none.
    private func wait(
        _ message: OpenMessage, _ delivery: ClaimedDelivery, _ history: AttemptHistory, until time: Timestamp
    ) throws {
        try PendingTable(db: db).insert(
            message.seq, delivery.registration.key, message.lane, route: try route(of: delivery), worker: nil,
            isHeld: message.state != .active, history, notBefore: time)
    }

    /// Settles the delivery that its message names as claimed.
    private mutating func applyToClaim(_ settlement: Settlement, _ message: Int) throws {
        let delivery = settlement.delivery
        messages[message].claimant = nil
        switch settlement.result {
        case .ended(let entry):
            messages[message].hasEndedClaim = true
            try ended(entry, message, delivery)
        case .retry(let history, _) where messages[message].state == .cancelled:
            messages[message].hasEndedClaim = true
            cancelled(history, message, delivery.registration)
        case .retry(let history, _) where try isSuperseded(delivery, message):
            messages[message].hasEndedClaim = true
            superseded(history, message, delivery.registration)
        case .retry(let history, let notBefore):
            try db.post(Self.release, [messages[message].seq])
            try wait(messages[message], delivery, history, until: notBefore)
            try supersede(before: messages[message].seq, of: delivery.project, to: delivery.registration)
        }
    }

    private mutating func applyToPending(_ settlement: Settlement) throws -> Bool {
        let delivery = settlement.delivery
        guard let message = try messages.find(delivery.message) else { return false }
        let key = delivery.registration.key
        if messages[message].claimant == worker, messages[message].registration == key {
            try applyToClaim(settlement, message)
            return true
        }
        switch settlement.result {
        case .ended(let entry):
            guard try take(key.rawValue, message) else { return false }
            try ended(entry, message, delivery)
        case .retry(let history, _) where messages[message].state == .cancelled:
            guard try take(key.rawValue, message) else { return false }
            cancelled(history, message, delivery.registration)
        case .retry(let history, _) where try isSuperseded(delivery, message):
            guard try take(key.rawValue, message) else { return false }
            superseded(history, message, delivery.registration)
        case .retry(let history, let notBefore):
            guard try putBack(delivery, message, history, notBefore) else { return false }
            try supersede(before: messages[message].seq, of: delivery.project, to: delivery.registration)
        }
        return true
    }

    private func putBack(
        _ delivery: ClaimedDelivery, _ message: Int, _ history: AttemptHistory, _ notBefore: Timestamp
    ) throws -> Bool {
        try db.change(
            Self.putBack,
            [
                try route(of: delivery), notBefore.milliseconds, history.attempts, history.unknownAttempts,
                history.interruptions, history.lastCause, history.probingSince?.milliseconds,
                history.refusedBy?.rawValue, messages[message].seq, delivery.registration.key.rawValue, worker.rawValue,
            ]) > 0
    }

    private func take(_ key: Int64, _ message: Int) throws -> Bool {
        try db.change(PendingTable.take, [messages[message].seq, key, worker.rawValue]) > 0
    }

    /// Appends a ledger entry, and notes what it taught about the registration.
    private mutating func ended(_ entry: LedgerEntry, _ message: Int, _ delivery: ClaimedDelivery) throws {
        append(entry, message, delivery.registration.key, delivery.registration.appKey)
        if case .proven(let channel)? = entry.verdict {
            guard db.dialect.joinsRows else {
                return try registrations.prove(delivery.registration, in: channel, at: entry.time)
            }
            return try proofs.add(delivery.registration, in: channel, at: entry.time, to: db)
        }
        // What is proven is not put into quarantine, and the other way round: in their order.
        if entry.verdict != nil { try proofs.write(to: db) }
        switch entry.verdict {
        case .doubtful?: try registrations.doubt(delivery.registration)
        case .refused(let reason)?:
            try registrations.quarantine(delivery.registration, Quarantine(time: entry.time, reason: reason))
        case .dead(let since)?:
            if try registrations.endUnregistered(delivery.registration, deadSince: since, at: entry.time) {
                events.add(unregistered: delivery.registration.key.rawValue, of: delivery.project)
            }
        case .proven?, nil: break
        }
    }

    private mutating func append(_ entry: LedgerEntry, _ message: Int, _ key: RegistrationKey, _ app: AppKey?) {
        let known = messages[message]
        ledger.append(entry, of: known.source, key: key, app: app)
        if known.lastEnd.map({ $0 < entry.time }) ?? true { messages[message].lastEnd = entry.time }
    }

    /// A delivery ends because its message was cancelled: with the clock of the ledger, which the cancelling moved.
    private mutating func cancelled(_ history: AttemptHistory, _ message: Int, _ registration: DeliveryRegistration) {
        end(.cancelled, Self.cancelled, history, message, registration.key, registration.appKey, at: recordedAt)
    }

    private mutating func end(
        _ outcome: LedgerOutcome, _ reason: String, _ history: AttemptHistory, _ message: Int, _ key: RegistrationKey,
        _ app: AppKey? = nil, at time: Timestamp
    ) {
        let known = messages[message]
        let entry = LedgerEntry(
            outcome: outcome, reason: reason, verdict: nil, history: history, time: time,
            latencyMilliseconds: max(0, (time - known.acceptedAt).wholeMilliseconds), pushID: known.pushID(key))
        append(entry, message, key, app)
        ownEnds.count(known.project, outcome, reason)
    }

    private func route(of delivery: ClaimedDelivery) throws -> Int64 {
        try transaction.route(
            PushRoute(
                project: delivery.project, app: delivery.registration.app, channel: delivery.registration.channel))
    }

    private mutating func page(_ id: FanOutPage.ID) throws -> Int? {
        if let lastPage, pages[lastPage].id == id { return lastPage }
        if let known = pageIndex[id] {
            lastPage = known
            return known
        }
        guard let row = try db.row(Self.pageByID, [id.rawValue, worker.rawValue]) else { return nil }
        let (seq, settled, keys, open): (Int64, [UInt8], [UInt8], Int) = (row[0], row[1], row[2], row[3])
        let page = OpenPage(
            id: id, message: try messages.find(seq), keys: try PackedKeys.keys(keys), settled: KeyBitmap(settled),
            open: open)
        guard page.keys.count <= page.settled.bytes.count * 8 else { throw StoreError.invalid("a page") }
        pages.append(page)
        pageIndex[id] = pages.count - 1
        lastPage = pages.count - 1
        return lastPage
    }
}

// Deliveries that the store itself ends.
extension SettleStep {
    /// The reason of deliveries to registrations that were purged: APNs' word for it.
    private static let unregistered = "Unregistered"

    /// Ends a due delivery that was claimed and whose registration is gone.
    mutating func endPurged(_ due: PendingTable.Due, at time: Timestamp) throws {
        let message = try messages.find(due.message)
        guard try take(due.key, message) else { return }
        end(.rejected, Self.unregistered, due.history, message, RegistrationKey(rawValue: due.key), at: time)
    }

    /// Ends a recipient of a claimed page whose registration is gone.
    mutating func endPurged(_ key: Int64, of page: FanOutTable.ReleasedPage, at time: Timestamp) throws {
        guard let index = try self.page(page.id), let place = pages[index].index(of: key),
            pages[index].settled.settle(place)
        else { return }
        pages[index].open -= 1
        pages[index].isChanged = true
        end(
            .rejected, Self.unregistered, AttemptHistory(interruptions: page.interruptions), pages[index].message,
            RegistrationKey(rawValue: key), at: time)
    }

    /// Books recipients of a message that is cancelled or whose time has run out and that no worker claims any more; they are
    /// open nowhere else.
    mutating func book(
        _ keys: some Sequence<(key: Int64, history: AttemptHistory)>, of message: Int64, as outcome: LedgerOutcome,
        at time: Timestamp
    ) throws {
        let message = try messages.find(message)
        for (key, history) in keys {
            let reason = outcome == .cancelled ? Self.cancelled : history.lastCause ?? Self.expired
            end(outcome, reason, history, message, RegistrationKey(rawValue: key), at: time)
        }
    }
}

// Publications to broadcast channels: of each channel only the newest waits, since it says all that the older ones said
// (apns-channels.md §3).
extension SettleStep {
    /// The reason of publications that a newer one took the place of.
    static let superseded = "Superseded"

    private static let waitingOfChannel = """
        FROM pending INDEXED BY pending_due
        WHERE lane IN (0, 1) AND route = ? AND worker IS NULL AND is_held = 0 AND registration = ?
        """
    static let newerPublication = "SELECT 1 \(waitingOfChannel) AND message > ? LIMIT 1"
    static let olderPublications = """
        SELECT message, attempts, unknown_attempts, last_cause \(waitingOfChannel) AND message < ?
        """
    static let withdraw = "DELETE FROM pending WHERE message = ? AND registration = ? AND worker IS NULL"

    /// Ends what waits for the channel that a registration stands for and is older than `message`. Of a device: nothing.
    mutating func supersede(before message: Int64, of project: ProjectID, to channel: DeliveryRegistration) throws {
        guard !channel.channel.isOfDevices else { return }
        let key = channel.key.rawValue
        let route = try transaction.route(PushRoute(project: project, app: channel.app, channel: channel.channel))
        let rows = try db.rows(Self.olderPublications, [route, key, message])
        for row in rows {
            let older: Int64 = row[0]
            try db.change(Self.withdraw, [older, key])
            superseded(AttemptHistory(row: row, from: 1), try messages.find(older), channel)
        }
    }

    /// Whether a newer publication waits for the channel of this one.
    private func isSuperseded(_ delivery: ClaimedDelivery, _ message: Int) throws -> Bool {
        guard !delivery.registration.channel.isOfDevices else { return false }
        return try db.number(
            Self.newerPublication,
            [try route(of: delivery), delivery.registration.key.rawValue, messages[message].seq]) != nil
    }

    private mutating func superseded(_ history: AttemptHistory, _ message: Int, _ channel: DeliveryRegistration) {
        end(.cancelled, Self.superseded, history, message, channel.key, channel.appKey, at: recordedAt)
    }
}
