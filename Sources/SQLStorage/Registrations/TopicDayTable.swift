import PushModel
import Store

/// How many joined and left topics by day, within one transaction. `day` is that of the write, whatever time a subscription
/// has: so the sums say by how much a topic grew.
struct TopicDayTable {
    let db: any Database

    static let join = """
        INSERT INTO topic_day (topic, day, joined, gone) VALUES (?, ?, ?, 0)
        ON CONFLICT (topic, day) DO UPDATE SET joined = topic_day.joined + excluded.joined
        """
    /// Registrations leave the topic of a name, each that of its project.
    static let leave = """
        INSERT INTO topic_day (topic, day, joined, gone)
        SELECT t.id, ?3, 0, count(*) FROM numbers(?1) k CROSS JOIN registration r ON r.key = k.value
        CROSS JOIN app a ON a.id = r.app CROSS JOIN topic t ON t.project = a.project AND t.name = ?2
        GROUP BY t.id
        ON CONFLICT (topic, day) DO UPDATE SET gone = topic_day.gone + excluded.gone
        """
    /// One registration is about to leave all of its topics.
    static let leaveAll = """
        INSERT INTO topic_day (topic, day, joined, gone)
        SELECT s.topic, ?2, 0, 1 FROM subscription s INDEXED BY subscription_by_registration WHERE s.registration = ?1
        ON CONFLICT (topic, day) DO UPDATE SET gone = topic_day.gone + 1
        """
    static let ofTopic = "SELECT day, joined, gone FROM topic_day WHERE topic = ? AND day >= ? ORDER BY day"
    static let forget = """
        DELETE FROM topic_day WHERE (topic, day) IN (
            SELECT topic, day FROM topic_day INDEXED BY topic_day_by_day WHERE day < ? LIMIT ?)
        """

    func joined(_ count: Int64, _ topic: Int64, on day: Int64) throws {
        try db.post(Self.join, [topic, day, count])
    }

    func left(_ keys: [RegistrationKey], _ topic: Topic, at time: Timestamp) throws {
        guard !keys.isEmpty else { return }
        try db.post(Self.leave, [keys.map(\.rawValue), topic.rawValue, DeliveryDay.day(of: time)])
    }

    func leavesAll(_ key: RegistrationKey, at time: Timestamp) throws {
        try db.post(Self.leaveAll, [key.rawValue, DeliveryDay.day(of: time)])
    }

    func days(of topic: Int64, since day: Int64) throws -> [TopicDay] {
        try db.rows(Self.ofTopic, [topic, day]).map { TopicDay(day: $0[0], joined: $0[1], left: $0[2]) }
    }
}
