import GRDB
public import PushModel

extension SQLiteStore: SubscriptionStore {
    /// FCM's limit: topics that one registration may have.
    static let topicLimit: Int64 = 2000

    /// Subscribes one after the other in one transaction, each in the project of its registration.
    public func subscribe(
        _ keys: [RegistrationKey], to topic: Topic, at time: Timestamp
    ) async throws(StoreError) -> [SubscribeResult] {
        try await write { db in
            let topics = TopicTable(db: db)
            return try keys.map { try topics.subscribe($0, to: topic, at: time) }
        }
    }

    /// Deletes in one transaction; a topic stays when its last subscriber goes.
    public func unsubscribe(_ keys: [RegistrationKey], from topic: Topic) async throws(StoreError) -> [Bool] {
        try await write { db in
            try keys.map { key in
                try db.change(TopicTable.unsubscribe, [key.rawValue, topic.rawValue, key.rawValue]) > 0
            }
        }
    }

    /// One subscription, by the clustered key.
    public func subscription(
        of key: RegistrationKey, to topic: Topic
    ) async throws(StoreError) -> Subscription? {
        try await read { db in
            try db.number(TopicTable.subscription, [key.rawValue, topic.rawValue, key.rawValue])
                .map { Subscription(topic: topic, createdAt: Timestamp(milliseconds: $0)) }
        }
    }

    /// Subscriptions of a registration, sorted by name: there are 2000 at most.
    public func subscriptions(
        of key: RegistrationKey, after topic: Topic?, limit: Int
    ) async throws(StoreError) -> [Subscription] {
        try await read { db in
            let rows = try Row.fetchAll(
                db.cachedStatement(sql: TopicTable.subscriptions),
                arguments: [key.rawValue, topic?.rawValue ?? "", limit])
            return try rows.map {
                Subscription(topic: try Topic(stored: $0[0]), createdAt: Timestamp(milliseconds: $0[1]))
            }
        }
    }
}

/// Topics and subscriptions within one transaction. A topic belongs to the project of the registrations that subscribe.
struct TopicTable {
    let db: Database

    static let unsubscribe = """
        DELETE FROM subscription WHERE registration = ? AND topic = (
            SELECT t.id FROM topic t WHERE t.name = ? AND t.project = (SELECT project FROM registration WHERE key = ?))
        """
    static let subscription = """
        SELECT s.created_at FROM subscription s WHERE s.registration = ? AND s.topic = (
            SELECT t.id FROM topic t WHERE t.name = ? AND t.project = (SELECT project FROM registration WHERE key = ?))
        """
    /// A registration has 2000 topics at most: sorting them by name is no matter.
    static let subscriptions = """
        SELECT t.name, s.created_at FROM subscription s INDEXED BY subscription_by_registration
        JOIN topic t ON t.id = s.topic
        WHERE s.registration = ? AND t.name > ? ORDER BY t.name LIMIT ?
        """

    func subscribe(_ key: RegistrationKey, to topic: Topic, at time: Timestamp) throws -> SubscribeResult {
        let owner = try String.fetchOne(
            db.cachedStatement(sql: "SELECT project FROM registration WHERE key = ? AND ended_at IS NULL"),
            arguments: [key.rawValue])
        guard let owner else { return .notActive }
        if let since = try db.number(Self.subscription, [key.rawValue, topic.rawValue, key.rawValue]) {
            return .existed(Subscription(topic: topic, createdAt: Timestamp(milliseconds: since)))
        }
        let count = try db.number("SELECT count(*) FROM subscription WHERE registration = ?", [key.rawValue]) ?? 0
        guard count < SQLiteStore.topicLimit else { return .tooManyTopics }
        try db.change(
            "INSERT INTO subscription (topic, registration, number, created_at) VALUES (?, ?, ?, ?)",
            [try id(of: topic, owner), key.rawValue, try nextSubscription(), time.milliseconds])
        return .created(Subscription(topic: topic, createdAt: time))
    }

    /// The number of the newest subscription in the store.
    func lastSubscription() throws -> Int64 {
        try db.number("SELECT value FROM meta WHERE name = 'subscriptions'") ?? 0
    }

    private func nextSubscription() throws -> Int64 {
        try db.change("UPDATE meta SET value = value + 1 WHERE name = 'subscriptions'", [])
        return try lastSubscription()
    }

    /// The topic's number; the topic is made if it is new.
    func id(of topic: Topic, _ project: String) throws -> Int64 {
        let known = try db.number("SELECT id FROM topic WHERE project = ? AND name = ?", [project, topic.rawValue])
        if let known { return known }
        try db.change("INSERT INTO topic (project, name) VALUES (?, ?)", [project, topic.rawValue])
        return db.lastInsertedRowID
    }
}
