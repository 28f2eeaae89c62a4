import Foundation
import GRDB
import PushModel
import Store

/// Registration keys in ascending order, read from the store a few hundred at a time: memory does not depend on how many
/// there are. Valid within the snapshot that it was made in.
struct KeyStream {
    /// Where the keys come from.
    enum Source {
        /// Who subscribed to a topic by the time of subscription `number`.
        case topic(Int64, number: Int64)
        /// The active registrations of apps.
        case apps([Int64])
        /// The list of a message.
        case list(Int64)
        /// What was set aside for a shard.
        case setAside(OpenFanOut.ID)
    }

    static let topic = """
        SELECT registration FROM subscription
        WHERE topic = ? AND registration > ? AND registration <= ? AND number <= ? ORDER BY registration LIMIT 500
        """
    static let app = """
        SELECT key FROM registration INDEXED BY registration_by_app
        WHERE app = ? AND ended_at IS NULL AND key > ? AND key <= ? ORDER BY key LIMIT \(step)
        """
    /// Keys that one statement reads.
    private static let step = 500
    static let list = "SELECT keys FROM message_list WHERE message = ? AND last_key > ? ORDER BY last_key LIMIT 1"

    static let setAside = """
        SELECT keys FROM set_aside WHERE message = ? AND shard = ? AND last_key > ? ORDER BY last_key LIMIT 1
        """

    private let db: Database
    private let source: Source
    /// The last key that there can be.
    private let last: Int64
    /// Keys up to this one were read.
    private var read: Int64
    private var keys: [Int64] = []
    private var next = 0
    private var isAtEnd = false

    /// Begins after key `after` and ends with `last` at the latest.
    init(_ source: Source, after: Int64, last: Int64, in db: Database) {
        self.db = db
        self.source = source
        self.last = last
        read = after
    }

    /// The next key, which is not taken; `nil` at the end.
    mutating func peek() throws -> Int64? {
        if next == keys.count { try fill() }
        return next < keys.count ? keys[next] : nil
    }

    /// Goes past the next key.
    mutating func advance() {
        next += 1
    }

    /// Goes to the first key that is `key` or greater.
    mutating func seek(_ key: Int64) {
        while next < keys.count, keys[next] < key { next += 1 }
        if next == keys.count { read = max(read, key - 1) }
    }

    private mutating func fill() throws {
        guard !isAtEnd, read < last else { return }
        next = 0
        switch source {
        case .topic(let id, let number):
            keys = try Int64.fetchAll(db.cachedStatement(sql: Self.topic), arguments: [id, read, last, number])
        case .apps(let apps):
            try fill(apps)
        case .list(let message):
            try fill(Self.list, [message, read])
        case .setAside(let shard):
            try fill(Self.setAside, [shard.message, shard.shard, read])
        }
        if let newest = keys.last { read = newest } else { isAtEnd = true }
    }

    /// Reads on in each app. What lies beyond the end of a list that goes on is read again with the next step.
    private mutating func fill(_ apps: [Int64]) throws {
        var bound = last
        keys.removeAll(keepingCapacity: true)
        for app in apps {
            let found = try Int64.fetchAll(db.cachedStatement(sql: Self.app), arguments: [app, read, last])
            if found.count == Self.step, let end = found.last { bound = min(bound, end) }
            keys += found
        }
        guard apps.count > 1 else { return }
        keys = keys.filter { $0 <= bound }.sorted()
    }

    private mutating func fill(_ sql: String, _ arguments: StatementArguments) throws {
        let chunk = try Data.fetchOne(db.cachedStatement(sql: sql), arguments: arguments)
        keys = try chunk.map { try PackedKeys.keys($0).filter { read < $0 && $0 <= last } } ?? []
    }
}

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
        _ expression: StoredExpression, project: ProjectID, after: Int64, last: Int64, number: Int64, in db: Database
    ) throws {
        let literals = expression.literals
        let table = TopicTable(db: db)
        topics = try literals.map { literal in
            // A topic that nobody ever subscribed to has no number: no row has number 0.
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

/// A condition's expression as it is stored: postfix, the parts divided by spaces, `!`, `&`, `|` or a topic. What was
/// accepted is read without the parser, whose rules may change.
struct StoredExpression {
    let expression: Condition.Expression

    /// Takes an expression.
    init(_ expression: Condition.Expression) {
        self.expression = expression
    }

    /// Reads ``text``.
    init(stored text: String) throws {
        var stack: [Condition.Expression] = []
        for part in text.split(separator: " ") {
            switch part {
            case "!":
                guard let inner = stack.popLast() else { throw StoreError.invalid("a condition") }
                stack.append(.not(inner))
            case "&", "|":
                guard let right = stack.popLast(), let left = stack.popLast() else {
                    throw StoreError.invalid("a condition")
                }
                stack.append(part == "&" ? .all(left, right) : .any(left, right))
            default: stack.append(.subscribed(try Topic(stored: String(part))))
            }
        }
        guard let expression = stack.popLast(), stack.isEmpty else { throw StoreError.invalid("a condition") }
        self.expression = expression
    }

    /// What is stored.
    var text: String { Self.postfix(expression) }

    private var condition: Condition { Condition(text: "", expression: expression) }

    /// A topic as it occurs in an expression.
    struct Literal: Hashable {
        let topic: Topic
        /// Whether it stands behind an odd number of negations.
        let isNegated: Bool
    }

    /// The topics as they occur, each once; one that is both asked for and excluded is there twice.
    var literals: [Literal] {
        var literals: [Literal] = []
        Self.forEach(expression, isNegated: false) { if !literals.contains($0) { literals.append($0) } }
        return literals
    }

    /// Whether it holds for who subscribes to these.
    func holds(_ isSubscribed: (Literal) -> Bool) -> Bool {
        Self.holds(expression, isNegated: false, isSubscribed)
    }

    private static func forEach(_ expression: Condition.Expression, isNegated: Bool, _ body: (Literal) -> Void) {
        switch expression {
        case .subscribed(let topic): body(Literal(topic: topic, isNegated: isNegated))
        case .not(let inner): forEach(inner, isNegated: !isNegated, body)
        case .all(let left, let right), .any(let left, let right):
            forEach(left, isNegated: isNegated, body)
            forEach(right, isNegated: isNegated, body)
        }
    }

    private static func holds(
        _ expression: Condition.Expression, isNegated: Bool, _ isSubscribed: (Literal) -> Bool
    ) -> Bool {
        switch expression {
        case .subscribed(let topic): isSubscribed(Literal(topic: topic, isNegated: isNegated))
        case .not(let inner): !holds(inner, isNegated: !isNegated, isSubscribed)
        case .all(let left, let right):
            holds(left, isNegated: isNegated, isSubscribed) && holds(right, isNegated: isNegated, isSubscribed)
        case .any(let left, let right):
            holds(left, isNegated: isNegated, isSubscribed) || holds(right, isNegated: isNegated, isSubscribed)
        }
    }

    /// The topics, each once.
    var topics: [Topic] { condition.topics }

    /// Whether it holds for who subscribes to none of its topics.
    var holdsWithoutTopics: Bool { condition.holds { _ in false } }

    /// The most for whom it can hold, when each topic has `count` subscribers and the project `total` registrations.
    func bound(total: Int64, _ count: (Topic) throws -> Int64) rethrows -> Int64 {
        min(total, try Self.bound(expression, total, count))
    }

    private static func bound(
        _ expression: Condition.Expression, _ total: Int64, _ count: (Topic) throws -> Int64
    ) rethrows -> Int64 {
        switch expression {
        case .subscribed(let topic): try count(topic)
        case .not: total
        case .all(let left, let right): min(try bound(left, total, count), try bound(right, total, count))
        case .any(let left, let right): min(total, try bound(left, total, count) + bound(right, total, count))
        }
    }

    private static func postfix(_ expression: Condition.Expression) -> String {
        switch expression {
        case .subscribed(let topic): topic.rawValue
        case .not(let inner): "\(postfix(inner)) !"
        case .all(let left, let right): "\(postfix(left)) \(postfix(right)) &"
        case .any(let left, let right): "\(postfix(left)) \(postfix(right)) |"
        }
    }
}
