import PushModel
import Store

/// Topics and subscriptions within one transaction. A topic belongs to the project of the registrations that subscribe.
struct TopicTable {
    let db: any Database

    static let unsubscribe = """
        DELETE FROM subscription WHERE registration = ? AND topic = (
            SELECT t.id FROM topic t WHERE t.name = ? AND t.project = (
                SELECT a.project FROM registration r JOIN app a ON a.id = r.app WHERE r.key = ?))
        """
    static let subscription = """
        SELECT s.created_at FROM subscription s WHERE s.registration = ? AND s.topic = (
            SELECT t.id FROM topic t WHERE t.name = ? AND t.project = (
                SELECT a.project FROM registration r JOIN app a ON a.id = r.app WHERE r.key = ?))
        """
    /// A registration has 2000 topics at most: sorting them by name is no matter.
    static let subscriptions = """
        SELECT t.name, s.created_at FROM subscription s INDEXED BY subscription_by_registration
        JOIN topic t ON t.id = s.topic
        WHERE s.registration = ? AND t.name > ? ORDER BY t.name LIMIT ?
        """

    func subscriptions(
        of key: RegistrationKey, after topic: Topic? = nil, limit: Int = Topic.limitPerRegistration
    ) throws -> [Subscription] {
        let rows = try db.rows(Self.subscriptions, [key.rawValue, topic?.rawValue ?? "", limit])
        return try rows.map {
            Subscription(topic: try Topic(stored: $0[0]), createdAt: Timestamp(milliseconds: $0[1]))
        }
    }

    /// The number of the newest subscription in the store.
    func lastSubscription() throws -> Int64 {
        try db.number("SELECT value FROM meta WHERE name = 'subscriptions'") ?? 0
    }

    /// The topic's number; `nil`: it never had a subscriber or a message.
    func find(_ topic: Topic, in project: ProjectID) throws -> Int64? {
        try db.number(Self.byName, [project.rawValue, topic.rawValue])
    }

    static let mark = """
        UPDATE topic SET empty_since = ? WHERE id IN (
            SELECT id FROM topic INDEXED BY topic_empty WHERE subscribers = 0 AND empty_since IS NULL LIMIT ?)
        """
    static let purge = """
        DELETE FROM topic WHERE id IN (
            SELECT t.id FROM topic t INDEXED BY topic_empty
            WHERE t.subscribers = 0 AND t.empty_since < ?
                AND NOT EXISTS (SELECT 1 FROM message m WHERE m.topic = t.id)
                AND NOT EXISTS (SELECT 1 FROM superseded_subscription s WHERE s.topic = t.id) LIMIT ?)
        """
    static let count = "SELECT topics FROM project WHERE name = ?"

    static let byName = "SELECT id FROM topic WHERE project = ? AND name = ?"

    /// The topic's number; the topic is made if it is new.
    func id(of topic: Topic, _ project: String) throws -> Int64 {
        if let known = try db.number(Self.byName, [project, topic.rawValue]) { return known }
        return try db.insert("INSERT INTO topic (project, name) VALUES (?, ?)", [project, topic.rawValue], key: "id")
    }
}
