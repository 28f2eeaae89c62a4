package import PushModel
package import Store

extension SQLStore: EventStore {
    /// Walks the rows after the number; what they name is looked up in the same snapshot.
    package func events(
        after number: EventNumber, _ filter: EventFilter, limit: Int
    ) async throws(StoreError) -> EventPage {
        try await read { db in
            var reader = EventReader(db: db, filter: filter, limit: limit)
            return try reader.page(after: number.rawValue)
        }
    }

    /// Halves the rows by their times.
    package func lastEvent(before time: Timestamp) async throws(StoreError) -> EventNumber {
        try await read { db in EventNumber(rawValue: try EventReader.last(before: time, in: db)) }
    }

    /// Each notice that says something new is a row.
    package func note(
        _ notices: [RouteNotice], by worker: WorkerID, at time: Timestamp
    ) async throws(StoreError) {
        guard !notices.isEmpty else { return }
        try await write(rows: notices.count) { db in
            try WorkerTable(db: db).check(worker)
            for notice in notices { try RoutePauseTable(db: db).note(notice, by: worker.rawValue, at: time) }
        }
    }

    /// Removes rows from the oldest on.
    package func forgetEvents(before time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await write(rows: limit) { db in try EventTable(db: db).forget(before: time, limit: limit) }
    }

    /// What this process commits.
    package var changes: StoreChanges { changeSource.changes }
}

/// Reads events: rows of `event`, with the ledger blocks, messages, registrations and routes that they name.
struct EventReader {
    /// The most rows that one call looks at.
    static let rowLimit = 2000

    static let rows = """
        SELECT number, first, project, time, body FROM event WHERE number > ? ORDER BY number LIMIT \(rowLimit)
        """
    static let oldest = "SELECT first FROM event ORDER BY number LIMIT 1"
    static let at = "SELECT number, first, time FROM event WHERE number >= ? ORDER BY number LIMIT 1"
    static let blocks = """
        SELECT id, rows, outcomes FROM ledger_block INDEXED BY ledger_block_by_project
        WHERE project = ? AND id BETWEEN ? AND ? ORDER BY id
        """
    static let message = "SELECT id, accepted_at FROM every_message WHERE seq = ?"
    static let replacement = """
        SELECT r.registration FROM registration_audit r INDEXED BY registration_audit_former
        CROSS JOIN app a ON a.id = r.app
        WHERE r.former = ? AND a.project = ? ORDER BY r.id DESC LIMIT 1
        """

    /// A row as it is stored.
    private struct Step {
        let first: Int64
        let project: ProjectID
        let time: Timestamp
        let body: EventBody
    }

    static let receiptMessage = """
        SELECT m.seq, m.id, t.name, m.label FROM numbers(?) k CROSS JOIN every_message m ON m.seq = k.value
        LEFT JOIN topic t ON t.id = m.topic
        """

    private let db: any Database
    private let filter: EventFilter
    private let limit: Int
    private var events: [Event] = []
    /// Events up to this number are not wanted.
    private var after: Int64 = 0

    init(db: any Database, filter: EventFilter, limit: Int) {
        self.db = db
        self.filter = filter
        self.limit = limit
    }

    /// The newest number that is gone.
    private static func forgotten(_ db: any Database, newest: Int64) throws -> Int64 {
        try db.number(oldest).map { $0 - 1 } ?? newest
    }

    mutating func page(after number: Int64) throws -> EventPage {
        let newest = try EventTable(db: db).newest()
        let forgotten = try Self.forgotten(db, newest: newest)
        after = max(number, forgotten)
        var last = after
        let rows = try db.cursor(Self.rows, [after])
        while events.count < limit, let row = try rows.next() {
            let project = try ProjectID(stored: row[2])
            if filter.project == nil || filter.project == project {
                let body: EventBody
                do { body = try EventBody(decoding: row[4]) } catch { throw StoreError.invalid("an event") }
                try read(
                    Step(first: row[1], project: project, time: Timestamp(milliseconds: row[3]), body: body))
            }
            last = events.count < limit ? row[0] : events.last?.number.rawValue ?? last
        }
        return EventPage(
            events: events, last: EventNumber(rawValue: last), isAtEnd: last >= newest,
            forgotten: EventNumber(rawValue: forgotten), newest: EventNumber(rawValue: newest))
    }

    /// The number before the first row that is not older than `time`.
    static func last(before time: Timestamp, in db: any Database) throws -> Int64 {
        let newest = try EventTable(db: db).newest()
        var (low, high) = (try forgotten(db, newest: newest) + 1, newest + 1)
        while low < high {
            guard let row = try db.row(at, [low + (high - low) / 2]) else { break }
            if row[2] >= time.milliseconds { high = row[1] } else { low = (row[0] as Int64) + 1 }
        }
        return low - 1
    }

    private mutating func add(_ number: Int64, _ step: Step, at time: Timestamp? = nil, _ kind: Event.Kind) {
        guard number > after, events.count < limit else { return }
        let event = Event(
            number: EventNumber(rawValue: number), project: step.project, time: time ?? step.time, kind: kind)
        if filter.keeps(event.type) { events.append(event) }
    }

    private mutating func read(_ step: Step) throws {
        switch step.body {
        case .accepted(let messages):
            guard !filter.isOnlyFailures, filter.keeps(.messageAccepted) else { return }
            try add(messages, .accepted, from: step.first, step)
        case .progress(let messages):
            guard !filter.isOnlyFailures, filter.keeps(.messageProgress) else { return }
            try add(messages, .progress, from: step.first, step)
        case .settled(let settled): try add(settled, step)
        case .controlled(let message, let control):
            guard !filter.isOnlyFailures else { return }
            let change: MessageChange =
                switch control {
                case .paused: .paused
                case .resumed: .resumed
                case .cancelled: .cancelled
                }
            try add([message], change, from: step.first, step)
        case .registrationEnded(let key, let cause): try add([key], cause, from: step.first, step)
        case .route(let route, let isPaused, let isOfCredential):
            let route = try RouteTable(db: db).route(route)
            add(
                step.first, step,
                .route(RouteNotice(route, isPaused: isPaused, isOfCredential: isOfCredential)))
        case .receipts(let receipts):
            guard !filter.isOnlyFailures, receipts.contains(where: { filter.keeps(EventType($0.kind)) }) else { return }
            try add(receipts, step)
        case .clicks(let clicks):
            guard !filter.isOnlyFailures, filter.keeps(.linkClicked) else { return }
            try add(clicks, step)
        case .webhook(let notice): add(step.first, step, .webhook(notice))
        case .referral(let referral):
            guard !filter.isOnlyFailures || referral.rejection != nil else { return }
            add(step.first, step, .referral(referral))
        }
    }

    private mutating func add(
        _ messages: [Int64], _ change: MessageChange, from first: Int64, _ step: Step
    ) throws {
        for (index, seq) in messages.enumerated() where first + Int64(index) > after && events.count < limit {
            // Events may be kept for longer than the messages that they are about.
            guard let row = try db.row(Self.message, [seq]) else { continue }
            let time = change == .accepted ? Timestamp(milliseconds: row[1]) : nil
            add(first + Int64(index), step, at: time, .message(try MessageID(column: row[0]), change))
        }
    }

    private mutating func add(_ keys: [Int64], _ cause: EventBody.Cause, from first: Int64, _ step: Step) throws {
        guard !keys.isEmpty, !filter.isOnlyFailures || cause == .unregistered,
            filter.keeps(EventType(RegistrationEnd.Cause(cause)))
        else { return }
        let names = try LedgerReader(db: db).knownNames(of: keys)
        for (index, name) in names.enumerated() where first + Int64(index) > after && events.count < limit {
            guard let name else { continue }
            var ended = EndedRegistration(
                registration: name.id, app: name.app, cause: RegistrationEnd.Cause(cause))
            if cause == .replaced || cause == .superseded {
                ended.replacement = try db.row(Self.replacement, [name.id.rawValue, step.project.rawValue])
                    .map { try RegistrationID(stored: $0[0]) }
            }
            add(first + Int64(index), step, .registrationEnded(ended))
        }
    }

    private mutating func add(_ settled: EventBody.Settled, _ step: Step) throws {
        let rest = step.first + Int64(settled.deliveries)
        if rest - 1 > after { try addDeliveries(settled, step) }
        try add(settled.unregistered, .unregistered, from: rest, step)
        guard !filter.isOnlyFailures, filter.keeps(.messageFinished) else { return }
        try add(settled.complete, .complete, from: rest + Int64(settled.unregistered.count), step)
    }

    /// The entries of the blocks in their order; blocks without any that is wanted are not unpacked.
    private mutating func addDeliveries(_ settled: EventBody.Settled, _ step: Step) throws {
        let outcomes = wantedOutcomes
        guard !outcomes.isEmpty else { return }
        let wanted = outcomes.reduce(0) { $0 | LedgerBlock.bit(of: $1) }
        let blocks = try db.rows(
            Self.blocks, [step.project.rawValue, settled.blocks.lowerBound, settled.blocks.upperBound])
        guard blocks.reduce(0, { $0 + ($1[1] as Int) }) == settled.deliveries else {
            let last = step.first + Int64(settled.deliveries) - 1
            return add(last, step, .forgotten(deliveries: settled.deliveries))
        }
        var picks: [(number: Int64, pick: LedgerReader.Pick)] = []
        var first = step.first
        for block in blocks where events.count + picks.count < limit {
            defer { first += block[1] }
            guard first + (block[1] as Int64) - 1 > after, (block[2] as Int64) & wanted != 0,
                let row = try db.row(StoredBlock.byID, [block[0] as Int64])
            else { continue }
            let stored = try StoredBlock(row: row)
            let entries = stored.block.entries
            let indices = entries.indices.dropFirst(Int(max(0, after - first + 1))).lazy
                .filter { outcomes.contains(entries[$0].outcome) }.prefix(limit - events.count - picks.count)
            picks += try LedgerReader(db: db).picks(Array(indices), of: stored).map { (first + Int64($0.index), $0) }
        }
        let deliveries = try LedgerReader(db: db).events(picks.map(\.pick))
        for ((number, pick), delivery) in zip(picks, deliveries) {
            add(number, step, at: Timestamp(milliseconds: pick.entry.endedAt), .delivery(delivery))
        }
    }

    /// The ends of deliveries that are read.
    private var wantedOutcomes: Set<LedgerOutcome> {
        Set(
            LedgerOutcome.allCases.filter {
                filter.keeps(EventType($0)) && !(filter.isOnlyFailures && $0 == .accepted)
            })
    }

    /// Receipts of messages and registrations that are known still.
    private mutating func add(_ receipts: [EventBody.Receipt], _ step: Step) throws {
        var messages: [Int64: (id: MessageID, topic: Topic?, label: AnalyticsLabel?)] = [:]
        let rows = try db.cursor(Self.receiptMessage, [Array(Set(receipts.map(\.message)))])
        while let row = try rows.next() {
            messages[row[0]] = (
                try MessageID(column: row[1]), try (row[2] as String?).map { try Topic(stored: $0) },
                try (row[3] as String?).map { try AnalyticsLabel(stored: $0) }
            )
        }
        let names = try LedgerReader(db: db).knownNames(of: receipts.map(\.key))
        for (index, (receipt, name)) in zip(receipts, names).enumerated() {
            guard let name, let message = messages[receipt.message] else { continue }
            let event = ReceiptEvent(
                message: message.id, topic: message.topic, label: message.label, registration: name.id, app: name.app,
                kind: receipt.kind)
            add(
                step.first + Int64(index), step, at: Timestamp(milliseconds: receipt.time), .receipt(event))
        }
    }

    private mutating func add(_ clicks: [EventBody.Click], _ step: Step) throws {
        for (index, click) in clicks.enumerated() where step.first + Int64(index) > after && events.count < limit {
            let link =
                click.link == 0 ? nil : try db.row(LinkTable.byID, [click.link]).map { try Link(row: $0).key.name }
            add(
                step.first + Int64(index), step,
                .click(ClickEvent(app: click.app, link: link, invitation: click.invitation)))
        }
    }
}
