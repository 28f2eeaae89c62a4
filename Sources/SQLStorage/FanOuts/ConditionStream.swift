import PushModel
import Store

/// The keys for which a condition holds, in ascending order: the streams of its topics are merged.
///
/// A topic that is asked for counts by the subscriptions of accept, one that is excluded by those of now: who left what
/// excludes him gets the message, who joined it does not, and who left and joined it again neither.
struct ConditionStream {
    private var topics: [KeyStream]
    /// There when the condition holds for somebody who subscribes to none of the topics.
    private var everyone: KeyStream?
    /// For each set of topics as they occur, as bits, whether the condition holds for who subscribes to these.
    private let holds: [Bool]
    /// Topics without which it never holds: the search goes from one of their common keys to the next.
    private let required: [Int]

    /// - Parameter number: subscriptions up to this one count, but for topics that are excluded.
    init(
        _ expression: StoredExpression, project: ProjectID, after: Int64, last: Int64, number: Int64,
        in db: any Database
    ) throws {
        let literals = expression.literals
        let table = TopicTable(db: db)
        topics = try literals.map { literal in
            // A topic without any subscription so far has no number: no row has number 0.
            let id = try table.find(literal.topic, in: project) ?? 0
            let newest = literal.isNegated ? .max : number
            return KeyStream(.topic(id, number: newest), after: after, last: last, in: db)
        }
        let holds = (0..<(1 << literals.count)).map { set in
            expression.holds { literal in literals.firstIndex(of: literal).map { set >> $0 & 1 == 1 } ?? false }
        }
        self.holds = holds
        required = literals.indices.filter { topic in
            !holds.indices.contains { $0 >> topic & 1 == 0 && holds[$0] }
        }
        if holds[0] {
            let apps = try AppTable(db: db).ids(of: project)
            everyone = KeyStream(.apps(apps), after: after, last: last, in: db)
        }
    }

    /// One step of the merge: the key that was looked at, and whether the condition holds for it; `nil` at the end.
    mutating func next() throws -> (key: Int64, isIn: Bool)? {
        if !required.isEmpty {
            var least: Int64 = 0
            for index in required {
                guard let key = try topics[index].peek() else { return nil }
                least = max(least, key)
            }
            for index in topics.indices { topics[index].seek(least) }
        }
        var key = try everyone?.peek()
        for index in topics.indices {
            if let other = try topics[index].peek() { key = key.map { min($0, other) } ?? other }
        }
        guard let key else { return nil }
        var set = 0
        for index in topics.indices where try topics[index].peek() == key {
            set |= 1 << index
            topics[index].advance()
        }
        if try everyone?.peek() == key { everyone?.advance() }
        return (key, holds[set])
    }
}
