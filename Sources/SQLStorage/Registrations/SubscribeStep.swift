package import PushModel
package import Store

extension SQLStore: SubscriptionStore {
    /// Subscribes one after the other in one transaction, each in the project of its registration.
    package func subscribe(
        _ keys: [RegistrationKey], to topic: Topic, at time: Timestamp, topicLimit: Int?
    ) async throws(StoreError) -> [SubscribeResult] {
        try await write(rows: keys.count) { db in
            var batch = SubscriptionBatch(db: db, at: time, topicLimit: topicLimit)
            let results = try keys.map { try batch.subscribe($0, to: topic, at: time) }
            try batch.finish()
            return results
        }
    }

    /// Deletes in one transaction; a topic stays when its last subscriber goes.
    package func unsubscribe(
        _ keys: [RegistrationKey], from topic: Topic, at time: Timestamp
    ) async throws(StoreError) -> [Bool] {
        try await write(rows: keys.count) { db in
            let ended = try keys.map { key in
                try db.change(TopicTable.unsubscribe, [key.rawValue, topic.rawValue, key.rawValue]) > 0
            }
            try TopicDayTable(db: db).left(zip(keys, ended).filter { $0.1 }.map { $0.0 }, topic, at: time)
            return ended
        }
    }

    /// A range of the primary key.
    package func growth(
        of topic: Topic, in project: ProjectID, since day: Int64
    ) async throws(StoreError) -> [TopicDay]? {
        try await read { db in
            guard let id = try TopicTable(db: db).find(topic, in: project) else { return nil }
            return try TopicDayTable(db: db).days(of: id, since: day)
        }
    }

    /// By the index of days.
    package func forgetTopicDays(before day: Int64, limit: Int) async throws(StoreError) -> Int {
        try await write(rows: limit) { db in try db.change(TopicDayTable.forget, [day, limit]) }
    }

    /// Marks those that are empty now, in steps of their own, then removes in one transaction.
    package func purgeTopics(
        emptySince time: Timestamp, at now: Timestamp, limit: Int
    ) async throws(StoreError) -> Int {
        guard limit > 0 else { return 0 }
        var marked = limit
        while marked == limit {
            marked = try await write { db in try db.change(TopicTable.mark, [now.milliseconds, limit]) }
        }
        return try await write { db in try db.change(TopicTable.purge, [time.milliseconds, limit]) }
    }

    /// One subscription, by the clustered key.
    package func subscription(
        of key: RegistrationKey, to topic: Topic
    ) async throws(StoreError) -> Subscription? {
        try await read { db in
            try db.number(TopicTable.subscription, [key.rawValue, topic.rawValue, key.rawValue])
                .map { Subscription(topic: topic, createdAt: Timestamp(milliseconds: $0)) }
        }
    }

    /// Subscriptions of a registration, sorted by name: there are 2000 at most.
    package func subscriptions(
        of key: RegistrationKey, after topic: Topic?, limit: Int
    ) async throws(StoreError) -> [Subscription] {
        try await read { db in
            try TopicTable(db: db).subscriptions(of: key, after: topic, limit: limit)
        }
    }
}

/// New subscriptions within one transaction. Each of them would change the topic's count and the number of the newest
/// subscription; ``finish()`` does it once for all, and has to be called before the transaction ends.
struct SubscriptionBatch {
    private struct TopicName: Hashable {
        let project: String
        let topic: Topic
    }

    static let owner = """
        SELECT a.project FROM registration r JOIN app a ON a.id = r.app WHERE r.key = ? AND r.ended_at IS NULL
        """
    static let since = "SELECT created_at FROM subscription WHERE topic = ? AND registration = ?"
    static let count =
        "SELECT count(*) FROM subscription INDEXED BY subscription_by_registration WHERE registration = ?"
    static let insertion = "INSERT INTO subscription (topic, registration, number, created_at) VALUES (?, ?, ?, ?)"
    /// Several topics; for PostgreSQL.
    static let named = """
        SELECT t.name, t.id FROM texts(?2) n
        CROSS JOIN LATERAL (SELECT id, name FROM topic WHERE project = ?1 AND name = n.value LIMIT 1) t
        """

    private let db: any Database
    /// The day of the write.
    private let day: Int64
    /// The most topics that a project may have for another to be made; `nil`: any number.
    private let topicLimit: Int?
    private var topics: [TopicName: Int64] = [:]
    private var last: Int64?
    private var added: [Int64: Int64] = [:]
    private var insertion: (any PreparedStatement)?
    /// Of new registrations, to be inserted together.
    private var waiting: [NewSubscription] = []
    /// So many wait at most.
    private static let waitingLimit = 100_000

    private struct NewSubscription {
        let topic: Int64
        let key: Int64
        let number: Int64
        let time: Int64

        /// Binds what ``SubscriptionBatch/insertion`` takes.
        func bind(to row: any ParameterBinder) {
            row.bind(topic)
            row.bind(key)
            row.bind(number)
            row.bind(time)
        }
    }

    /// - Parameter now: when it is written, whatever times the subscriptions have.
    init(db: any Database, at now: Timestamp, topicLimit: Int? = nil) {
        self.db = db
        day = DeliveryDay.day(of: now)
        self.topicLimit = topicLimit
    }

    mutating func subscribe(_ key: RegistrationKey, to topic: Topic, at time: Timestamp) throws -> SubscribeResult {
        let owner = try db.text(Self.owner, [key.rawValue])
        guard let owner else { return .notActive }
        if let id = try known(topic, owner) {
            if let since = try db.number(Self.since, [id, key.rawValue]) {
                return .existed(Subscription(topic: topic, createdAt: Timestamp(milliseconds: since)))
            }
        } else if let topicLimit, try db.number(TopicTable.count, [owner]) ?? 0 >= Int64(topicLimit) {
            return .noNewTopic
        }
        // Before the topic is made: topics stay, and those without a subscriber would never end.
        let count = try db.number(Self.count, [key.rawValue]) ?? 0
        guard count < Int64(Topic.limitPerRegistration) else { return .tooManyTopics }
        try insert(try numbered(key, id(of: topic, owner), at: time))
        return .created(Subscription(topic: topic, createdAt: time))
    }

    /// Subscribes a registration that was made in this transaction: it has neither this topic nor too many. The rows come
    /// together with ``insertWaiting()``, in the order of their table: that takes a third of the time of inserting each
    /// between rows of other tables.
    mutating func subscribe(new key: RegistrationKey, of project: ProjectID, to topic: Topic, at time: Timestamp) throws
    {
        waiting.append(try numbered(key, id(of: topic, project.rawValue), at: time))
        if waiting.count == Self.waitingLimit { try insertWaiting() }
    }

    /// Looks topics up together: none of them is asked for by itself then, unless it is new.
    mutating func find(_ wanted: Set<Topic>, of project: ProjectID) throws {
        let unknown = wanted.filter { topics[TopicName(project: project.rawValue, topic: $0)] == nil }
        guard unknown.count > 1 else { return }
        let found = try db.cursor(Self.named, [project.rawValue, unknown.map(\.rawValue)])
        while let row = try found.next() {
            topics[TopicName(project: project.rawValue, topic: try Topic(stored: row[0]))] = row[1] as Int64
        }
    }

    /// Inserts what waits. To be called before anything asks for subscriptions of registrations that were made in this
    /// transaction.
    mutating func insertWaiting() throws {
        waiting.sort { ($0.topic, $0.key) < ($1.topic, $1.key) }
        if db.dialect.joinsRows {
            try insertTogether(waiting)
        } else {
            for subscription in waiting { try insert(subscription) }
        }
        waiting.removeAll(keepingCapacity: true)
    }

    private mutating func insertTogether(_ subscriptions: [NewSubscription]) throws {
        let rows = RowBatch()
        for subscription in subscriptions {
            subscription.bind(to: rows)
            rows.endRow()
            added[subscription.topic, default: 0] += 1
            if rows.count == RowBatch.limit {
                try db.insert(Self.insertion, rows)
                rows.removeAll()
            }
        }
        if rows.count > 0 { try db.insert(Self.insertion, rows) }
    }

    /// Writes the sums. Also called before anything ends subscriptions in the same transaction: a trigger takes those off
    /// the counts at once, which never may go below zero.
    mutating func finish() throws {
        try insertWaiting()
        guard let last, !added.isEmpty else { return }
        try db.post("UPDATE meta SET value = ? WHERE name = 'subscriptions'", [last])
        for (topic, count) in added {
            try db.post("UPDATE topic SET subscribers = subscribers + ? WHERE id = ?", [count, topic])
            try TopicDayTable(db: db).joined(count, topic, on: day)
        }
        added.removeAll(keepingCapacity: true)
    }

    private mutating func numbered(
        _ key: RegistrationKey, _ topic: Int64, at time: Timestamp
    ) throws -> NewSubscription {
        let number = try (last ?? TopicTable(db: db).lastSubscription()) + 1
        last = number
        return NewSubscription(topic: topic, key: key.rawValue, number: number, time: time.milliseconds)
    }

    private mutating func insert(_ new: NewSubscription) throws {
        let insertion = try insertion ?? db.statement(Self.insertion)
        self.insertion = insertion
        new.bind(to: insertion)
        try insertion.post()
        added[new.topic, default: 0] += 1
    }

    /// The topic's number; `nil`: there is no such topic yet.
    private func known(_ topic: Topic, _ project: String) throws -> Int64? {
        if let known = topics[TopicName(project: project, topic: topic)] { return known }
        return try db.number(TopicTable.byName, [project, topic.rawValue])
    }

    private mutating func id(of topic: Topic, _ project: String) throws -> Int64 {
        let name = TopicName(project: project, topic: topic)
        if let known = topics[name] { return known }
        let id = try TopicTable(db: db).id(of: topic, project)
        topics[name] = id
        return id
    }
}
