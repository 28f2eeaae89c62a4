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
    /// One registration leaves one topic of its project.
    static let leave = """
        INSERT INTO topic_day (topic, day, joined, gone)
        SELECT t.id, ?3, 0, 1 FROM topic t WHERE t.name = ?2 AND t.project = (
            SELECT a.project FROM registration r JOIN app a ON a.id = r.app WHERE r.key = ?1)
        ON CONFLICT (topic, day) DO UPDATE SET gone = topic_day.gone + 1
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

    func left(_ key: RegistrationKey, _ topic: Topic, at time: Timestamp) throws {
        try db.post(Self.leave, [key.rawValue, topic.rawValue, DeliveryDay.day(of: time)])
    }

    func leavesAll(_ key: RegistrationKey, at time: Timestamp) throws {
        try db.post(Self.leaveAll, [key.rawValue, DeliveryDay.day(of: time)])
    }

    func days(of topic: Int64, since day: Int64) throws -> [TopicDay] {
        try db.rows(Self.ofTopic, [topic, day]).map { TopicDay(day: $0[0], joined: $0[1], left: $0[2]) }
    }
}
