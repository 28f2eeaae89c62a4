import PushModel
import Store

/// Writes messages with their work, within one transaction.
///
/// A message to a registration or to a few of them makes deliveries of its own; every other one makes shards, whatever
/// its audience: what accept costs does not depend on it.
struct AcceptStep {
    private static let columns = """
        id, project, registration, topic, condition, expression, user, audience, singles, source,
            bytes, apns_id, label, is_displayed, collapse_key, priority, time_to_live, lane, rate, finish_by,
            collapses_repeats, state, accepted_at, expires_at, completed_at, worker, route, \(CredentialUse.columns)
        """
    private static let values =
        "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?"
    static let insert = "INSERT INTO message (\(columns)) VALUES (\(values))"
    /// With a number that is known before.
    static let insertNumbered = "INSERT INTO message (seq, \(columns)) VALUES (?, \(values))"
    static let insertShard = """
        INSERT INTO fan_out (message, shard, project, after_key, last_key, last_subscription, refreshed_since, expected,
            is_open)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)
        """
    // Two statements: one with both ends would walk the topic.
    static let firstSubscriber = "SELECT min(registration) FROM subscription WHERE topic = ?"
    static let lastSubscriber = "SELECT max(registration) FROM subscription WHERE topic = ?"
    static let lastRegistration = "SELECT max(key) FROM registration"

    private let transaction: WriteTransaction
    private var db: any Database { transaction.db }
    /// Who sends deliveries right away.
    private let worker: WorkerID?
    /// Made for the first message that has links.
    private var links: MessageLinkWriter?
    /// The messages to broadcast channels.
    private var publications: [(message: Int64, new: NewMessage, channel: DeliveryRegistration)] = []

    /// - Parameter worker: claims nothing when its lease ended.
    init(_ transaction: WriteTransaction, worker: WorkerID?) throws {
        self.transaction = transaction
        self.worker = try worker.flatMap { worker in try transaction.isRunning(worker) ? worker : nil }
    }

    mutating func accept(_ prepared: PreparedMessage) throws -> AcceptResult {
        let message = prepared.message
        let keys = IdempotencyTable(db: db, project: message.project)
        var isFirstOfBatch = false
        if let key = message.idempotency {
            if let batch = key.ofBatch {
                switch try keys.use(of: batch, at: message.acceptedAt) {
                case .unused: isFirstOfBatch = true
                case .same: break
                case .other: return .conflict
                }
            }
            switch try keys.use(of: key, at: message.acceptedAt) {
            case .unused: break
            case .same(let id): return .repeated(id)
            case .other: return .conflict
            }
        }
        if case .registration = message.recipient, !message.platforms.isEmpty {
            throw StoreError(.failed, "A message to one registration differs between platforms.")
        }
        guard let (seq, recipient, audience, claims) = try write(prepared) else { return .noRegistration }
        if let seq {
            try make(message.links, of: seq)
            try MessagePlatformTable(db: db).insert(message.platforms, of: seq)
            if let key = message.idempotency {
                try keys.insert(key, message: seq, at: message.acceptedAt)
                if isFirstOfBatch, let batch = key.ofBatch {
                    try keys.insert(batch, message: seq, at: message.acceptedAt)
                }
            }
        }
        let accepted = Message(
            id: message.id, project: message.project, recipient: recipient, audience: audience,
            body: .decoded(message.content), options: message.options, lane: message.lane,
            acceptedAt: message.acceptedAt, expiresAt: message.expiresAt)
        return .accepted(accepted, claims: claims)
    }

    /// Ends the step: nothing is accepted after it. Older publications to the same channels that still wait end with it.
    ///
    /// - Returns: those, for counters.
    mutating func finish() throws -> OwnEnds {
        try links?.finish()
        guard let newest = publications.map(\.new.acceptedAt).max() else { return OwnEnds() }
        var step = try SettleStep(transaction, worker: WorkerID(rawValue: 0), newest: newest)
        for publication in publications {
            try step.supersede(
                before: publication.message, of: publication.new.project, to: publication.channel)
        }
        _ = try step.finish()
        return step.ownEnds
    }

    private mutating func make(_ new: [NewLink], of message: Int64) throws {
        guard !new.isEmpty else { return }
        if links == nil { links = try MessageLinkWriter(db: db) }
        try links?.make(new, of: message)
    }

    /// - Returns: `seq` is `nil` where nothing else refers to the message; `nil`: the registration is gone, and nothing was
    ///   written.
    private mutating func write(
        _ prepared: PreparedMessage
    ) throws -> (seq: Int64?, recipient: Recipient<RegistrationID, Int>, audience: Int, claims: [ClaimedDelivery])? {
        let message = prepared.message
        var row = MessageColumns(source: prepared.source)
        switch message.recipient {
        case .registration(let key):
            guard let registration = try transaction.registration(key),
                message.registration.map({ $0 == registration.id }) ?? true
            else { return nil }
            row.registration = key
            let (seq, claims) = try insertSingle(registration, message, &row)
            if let seq, !registration.channel.isOfDevices { publications.append((seq, message, registration)) }
            return (seq, .registration(registration.id), 1, claims)
        case .topic(let topic):
            let id = try TopicTable(db: db).id(of: topic, message.project.rawValue)
            row.topic = id
            row.audience = try subscribers(of: id)
            let seq = try insert(message, row)
            if row.audience > 0 { try insertShards(seq, message, try range(ofTopic: id), row.audience) }
            return (seq, .topic(topic), Int(row.audience), [])
        case .condition(let condition):
            let expression = StoredExpression(condition.expression)
            row.condition = (condition.text, expression.text)
            row.audience = try AudienceCounter(db: db, project: message.project).bound(expression)
            let seq = try insert(message, row)
            if row.audience > 0 {
                try insertShards(seq, message, try range(of: expression, message.project), row.audience)
            }
            return (seq, .condition(condition), Int(row.audience), [])
        case .list(let keys):
            let (seq, claims) = try insertList(keys, prepared, &row)
            return (seq, .list(Int(row.audience)), Int(row.audience), claims)
        case .user(let user, let keys):
            row.user = user
            let (seq, claims) = try insertList(keys, prepared, &row)
            return (seq, .user(user, Int(row.audience)), Int(row.audience), claims)
        }
    }

    private mutating func insertList(
        _ keys: [RegistrationKey], _ prepared: PreparedMessage, _ row: inout MessageColumns
    ) throws -> (Int64, [ClaimedDelivery]) {
        let (message, chunks) = (prepared.message, prepared.chunks)
        guard let last = keys.last, !chunks.isEmpty else {
            return try insertSingles(try keys.compactMap(transaction.registration), message, &row)
        }
        row.audience = Int64(keys.count)
        row.listBytes = chunks.reduce(0) { $0 + $1.keys.count }
        let seq = try insert(message, row)
        for chunk in chunks {
            try db.post(
                "INSERT INTO message_list (message, last_key, keys) VALUES (?, ?, ?)",
                [seq, chunk.last.rawValue, chunk.keys])
        }
        try insertShards(seq, message, (after: keys[0].rawValue - 1, last: last.rawValue), row.audience)
        return (seq, [])
    }

    /// Makes the delivery of a message to one registration: claimed with the message's row if a worker sends it right away.
    private mutating func insertSingle(
        _ registration: DeliveryRegistration, _ message: NewMessage, _ row: inout MessageColumns
    ) throws -> (Int64?, [ClaimedDelivery]) {
        guard message.isSentAtOnce, let worker else {
            return try insertSingles([registration], message, &row)
        }
        (row.audience, row.singles) = (1, 1)
        row.claim = (worker, try route(of: registration, message))
        // Nearly always nothing refers to it: then the database has no question to answer.
        let isAlone = message.links.isEmpty && message.idempotency == nil && registration.channel.isOfDevices
        let seq: Int64?
        if isAlone {
            try post(message, row)
            seq = nil
        } else {
            seq = try insert(message, row)
        }
        return (seq, [claimed(registration, message)])
    }

    private func route(of registration: DeliveryRegistration, _ message: NewMessage) throws -> Int64 {
        try transaction.route(
            PushRoute(project: message.project, app: registration.app, channel: registration.channel))
    }

    private func claimed(_ registration: DeliveryRegistration, _ message: NewMessage) -> ClaimedDelivery {
        ClaimedDelivery(
            message: message.id, project: message.project, acceptedAt: message.acceptedAt,
            expiresAt: message.expiresAt, registration: registration, page: nil, history: AttemptHistory())
    }

    /// Makes a delivery for each registration, claimed if a worker sends it right away.
    private mutating func insertSingles(
        _ registrations: [DeliveryRegistration], _ message: NewMessage, _ row: inout MessageColumns
    ) throws -> (Int64, [ClaimedDelivery]) {
        row.audience = Int64(registrations.count)
        row.singles = registrations.count
        let seq = try insert(message, row)
        let claimant = message.isSentAtOnce ? worker : nil
        let pending = PendingTable(db: db)
        var claims: [ClaimedDelivery] = []
        for registration in registrations {
            try pending.insert(
                seq, registration.key, message.lane, route: try route(of: registration, message), worker: claimant,
                isHeld: false, AttemptHistory(), notBefore: message.acceptedAt)
            if claimant != nil { claims.append(claimed(registration, message)) }
        }
        return (seq, claims)
    }

    private func subscribers(of topic: Int64) throws -> Int64 {
        try db.number(AudienceCounter.subscribers, [topic]) ?? 0
    }

    /// The range ends at the newest subscriber of now: keys only grow, so one that subscribes later for the first time is
    /// not even looked at; who subscribes again has a newer number.
    private func range(ofTopic topic: Int64) throws -> (after: Int64, last: Int64) {
        let first = try db.number(Self.firstSubscriber, [topic]) ?? 1
        return (first - 1, try db.number(Self.lastSubscriber, [topic]) ?? 0)
    }

    /// From the first subscriber of one of the topics to the last; all registrations when it holds without any topic.
    private func range(
        of expression: StoredExpression, _ project: ProjectID
    ) throws -> (after: Int64, last: Int64) {
        guard !expression.holdsWithoutTopics else { return (0, try db.number(Self.lastRegistration) ?? 0) }
        var range: (after: Int64, last: Int64)?
        for topic in expression.topics {
            guard let id = try TopicTable(db: db).find(topic, in: project) else { continue }
            let other = try self.range(ofTopic: id)
            guard other.last > 0 else { continue }
            range = range.map { (min($0.after, other.after), max($0.last, other.last)) } ?? other
        }
        return range ?? (0, 0)
    }

    /// Cuts a range of keys into shards of one size: several workers do not meet at one cursor then.
    private func insertShards(
        _ seq: Int64, _ message: NewMessage, _ range: (after: Int64, last: Int64), _ audience: Int64
    ) throws {
        let newest = try TopicTable(db: db).lastSubscription()
        let width = max(0, range.last - range.after)
        let size = db.dialect.shardSize
        let count = max(1, min((audience + size - 1) / size, PreparedMessage.shardLimit, width))
        for shard in 0..<count {
            func cut(_ value: Int64, _ shard: Int64) -> Int64 {
                value / count * shard + value % count * shard / count
            }
            try db.post(
                Self.insertShard,
                [
                    seq, shard, message.project.rawValue, range.after + cut(width, shard),
                    range.after + cut(width, shard + 1), newest, message.skipsStaleBefore?.milliseconds,
                    cut(audience, shard + 1) - cut(audience, shard),
                ])
        }
    }

    private func insert(_ message: NewMessage, _ row: MessageColumns) throws -> Int64 {
        try transaction.insertMessages()
        let statement = try transaction.messageInsertion(Self.insert)
        bind(message, row, to: statement)
        guard let seq = try statement.insert() else { throw StoreError(.failed, "A message was not inserted.") }
        return seq
    }

    /// Inserts a message whose number no one needs.
    private func post(_ message: NewMessage, _ row: MessageColumns) throws {
        guard let seq = try transaction.takeSequence() else {
            let statement = try transaction.messageInsertion(Self.insert)
            bind(message, row, to: statement)
            return try statement.post()
        }
        let accepted = AcceptedMessage(
            number: seq, project: message.project, time: message.acceptedAt, bytes: row.source.count + row.listBytes)
        try transaction.add(accepted, Self.insertNumbered) { columns in
            columns.bind(seq)
            bind(message, row, to: columns)
        }
    }

    /// Binds the columns in the order of ``insert``.
    private func bind(_ message: NewMessage, _ row: MessageColumns, to statement: any ParameterBinder) {
        statement.bind(blob: message.id.packed)
        statement.bind(message.project.rawValue)
        statement.bind(row.registration?.rawValue)
        statement.bind(row.topic)
        statement.bind(row.condition?.text)
        statement.bind(row.condition?.expression)
        statement.bind(row.user?.rawValue)
        statement.bind(row.audience)
        statement.bind(row.singles)
        statement.bind(utf8: row.source)
        statement.bind(row.source.count + row.listBytes)
        statement.bind(message.content.pushID?.rawValue)
        statement.bind(message.facts)
        statement.bind(message.lane.code)
        statement.bind(message.options.rate.map(Int64.init))
        statement.bind(message.options.finishBy?.milliseconds)
        statement.bind(message.options.collapsesRepeats)
        statement.bind((row.audience == 0 ? MessageState.complete : .active).rawValue)
        statement.bind(message.acceptedAt.milliseconds)
        statement.bind(message.expiresAt.milliseconds)
        statement.bind(row.audience == 0 ? message.acceptedAt.milliseconds : nil)
        statement.bind(row.claim?.worker.rawValue)
        statement.bind(row.claim?.route)
        statement.bind(message.facts.credential)
    }
}

/// What the recipient of a message puts into its row.
private struct MessageColumns {
    let source: [UInt8]
    var registration: RegistrationKey?
    var topic: Int64?
    var condition: (text: String, expression: String)?
    var user: UserID?
    var audience: Int64 = 0
    var singles = 0
    var listBytes = 0
    var claim: (worker: WorkerID, route: Int64)?
}
