import PushModel
import Store

/// Counts audiences, step by step: a snapshot that is kept for long keeps the log of writes from being reused.
struct AudienceCounter {
    let db: any Database
    let project: ProjectID

    static let subscribers = "SELECT subscribers FROM topic WHERE id = ?"
    static let registrations = "SELECT registrations FROM project WHERE name = ?"
    static let reachableSubscribers = """
        SELECT count(*) FILTER (WHERE r.ended_at IS NULL AND r.quarantined_at IS NULL), max(s.registration), count(*)
        FROM (SELECT registration FROM subscription WHERE topic = ? AND registration > ? ORDER BY registration LIMIT ?) s
        CROSS JOIN registration r ON r.key = s.registration
        """
    static let reachable = """
        SELECT count(*) FROM registration WHERE key = ? AND ended_at IS NULL AND quarantined_at IS NULL
        """
    static let active = "SELECT count(*) FROM registration WHERE key = ? AND ended_at IS NULL"

    /// So many candidates are looked at in one snapshot.
    static let stepSize = 50_000

    /// The most that a condition can reach, from the counts that are kept.
    func bound(_ expression: StoredExpression) throws -> Int64 {
        let total = try db.number(Self.registrations, [project.rawValue]) ?? 0
        return try expression.bound(total: total) { topic in
            try TopicTable(db: db).find(topic, in: project).flatMap { try db.number(Self.subscribers, [$0]) } ?? 0
        }
    }

    /// The most that a message can reach, from the counts that are kept; exact for what names registrations.
    func bound(_ recipient: Recipient<RegistrationKey, [RegistrationKey]>) throws -> Int {
        switch recipient {
        case .registration, .list, .user: return try count(recipient, after: 0, limit: .max).count
        case .topic(let topic):
            guard let id = try TopicTable(db: db).find(topic, in: project) else { return 0 }
            return Int(try db.number(Self.subscribers, [id]) ?? 0)
        case .condition(let condition): return Int(try bound(StoredExpression(condition.expression)))
        }
    }

    /// A part of a count.
    struct Step: Sendable {
        var count: Int
        /// Where the next step goes on; `nil`: this was the last one.
        var next: Int64?
    }

    /// How many a message would reach now, of `limit` candidates after `place`. What names registrations one by one
    /// reaches quarantined ones as well.
    func count(
        _ recipient: Recipient<RegistrationKey, [RegistrationKey]>, after place: Int64, limit: Int
    ) throws -> Step {
        switch recipient {
        case .registration(let key): return Step(count: try sum(Self.active, [key]))
        case .list(let keys), .user(_, let keys):
            let sql = keys.count > NewMessage.smallListLimit ? Self.reachable : Self.active
            let part = keys.dropFirst(Int(place)).prefix(limit)
            return Step(count: try sum(sql, part), next: part.endIndex < keys.endIndex ? Int64(part.endIndex) : nil)
        case .topic(let topic):
            guard let id = try TopicTable(db: db).find(topic, in: project),
                let row = try db.row(Self.reachableSubscribers, [id, place, limit])
            else { return Step(count: 0) }
            let looked: Int = row[2]
            return Step(count: row[0], next: looked == limit ? row[1] : nil)
        case .condition(let condition):
            var stream = try ConditionStream(
                StoredExpression(condition.expression), project: project, after: place, last: .max, number: .max,
                in: db)
            var step = Step(count: 0)
            for _ in 0..<limit {
                guard let (key, isIn) = try stream.next() else { return step }
                if isIn { step.count += Int(try db.number(Self.reachable, [key]) ?? 0) }
                step.next = key
            }
            return step
        }
    }

    private func sum(_ sql: String, _ keys: some Sequence<RegistrationKey>) throws -> Int {
        var sum: Int64 = 0
        for key in keys { sum += try db.number(sql, [key.rawValue]) ?? 0 }
        return Int(sum)
    }
}
