package import PushModel
package import Store

// The lists of topics that FCM does not have.
extension SQLStore {
    /// A range of the index of names; the count is kept with the topic.
    package func topics(
        in project: ProjectID, beginningWith prefix: String, after topic: Topic?, limit: Int
    ) async throws(StoreError) -> [TopicSummary] {
        try await read { db in
            try TopicReader(db: db, project: project).topics(beginningWith: prefix, after: topic, limit: limit)
        }
    }

    /// One topic by its name.
    package func topic(_ topic: Topic, in project: ProjectID) async throws(StoreError) -> TopicSummary? {
        try await read { db in
            guard let id = try TopicTable(db: db).find(topic, in: project) else { return nil }
            return TopicSummary(
                topic: topic, subscribers: Int(try db.number(AudienceCounter.subscribers, [id]) ?? 0))
        }
    }

    /// A range of the clustered subscriptions.
    package func subscribers(
        of topic: Topic, in project: ProjectID, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<Subscriber>? {
        let last = try cursor.map { text throws(StoreError) in
            try PageCursor(text: text, of: .subscribers).last
        }
        return try await read { db in
            guard let id = try TopicTable(db: db).find(topic, in: project) else { return nil }
            return try TopicReader(db: db, project: project).subscribers(of: id, after: last ?? 0, limit: limit)
        }
    }
}

/// Reads topics and their subscribers within one snapshot.
struct TopicReader {
    let db: any Database
    let project: ProjectID

    static let topics = """
        SELECT name, subscribers FROM topic WHERE project = ? AND name >= ? AND name < ? ORDER BY name LIMIT ?
        """
    static let subscribers = """
        SELECT \(Registration.columnsWithoutNames), s.created_at
        FROM subscription s CROSS JOIN registration r ON r.key = s.registration
        WHERE s.topic = ? AND s.registration > ? ORDER BY s.registration LIMIT ?
        """

    func topics(beginningWith prefix: String, after topic: Topic?, limit: Int) throws -> [TopicSummary] {
        // One lower bound, so that a page begins where the one before ended. Names have characters from "%" to "~"
        // only: a blank is before all that can follow, a DEL behind.
        let next = topic.map { $0.rawValue + " " } ?? ""
        let bounds: SQLArguments = [project.rawValue, max(next, prefix), prefix + "\u{7f}", limit]
        let rows = try db.rows(Self.topics, bounds)
        return try rows.map { TopicSummary(topic: try Topic(stored: $0[0]), subscribers: $0[1]) }
    }

    func subscribers(of topic: Int64, after key: Int64, limit: Int) throws -> ResultPage<Subscriber> {
        guard limit > 0 else { return ResultPage(elements: [], nextCursor: nil) }
        var names = AppNames(db: db)
        var found: [Subscriber] = []
        let rows = try db.cursor(Self.subscribers, [topic, key, limit + 1])
        while let row = try rows.next() {
            found.append(
                Subscriber(
                    registration: try names.registration(row),
                    subscribedAt: Timestamp(milliseconds: row[row.count - 1])))
        }
        let page = Array(found.prefix(limit))
        let last = found.count > limit ? page.last?.registration.key.rawValue : nil
        return ResultPage(elements: page, nextCursor: last.map { PageCursor(.subscribers, after: $0).text })
    }
}
