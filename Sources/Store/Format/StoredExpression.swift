package import PushModel

/// A condition's expression as it is stored: postfix, the parts divided by spaces, `!`, `&`, `|` or a topic. What was
/// accepted is read without the parser, whose rules may change.
package struct StoredExpression {
    package let expression: Condition.Expression

    /// Takes an expression.
    package init(_ expression: Condition.Expression) {
        self.expression = expression
    }

    /// Reads ``text``.
    package init(stored text: String) throws {
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
            default:
                guard let topic = Topic(rawValue: String(part)) else { throw StoreError.invalid("a topic") }
                stack.append(.subscribed(topic))
            }
        }
        guard let expression = stack.popLast(), stack.isEmpty else { throw StoreError.invalid("a condition") }
        self.expression = expression
    }

    /// What is stored.
    package var text: String { Self.postfix(expression) }

    private var condition: Condition { Condition(text: "", expression: expression) }

    /// A topic as it occurs in an expression.
    package struct Literal: Hashable {
        package let topic: Topic
        /// Whether it stands behind an odd number of negations.
        package let isNegated: Bool
    }

    /// The topics as they occur, each once; one that is both asked for and excluded is there twice.
    package var literals: [Literal] {
        var literals: [Literal] = []
        Self.forEach(expression, isNegated: false) { if !literals.contains($0) { literals.append($0) } }
        return literals
    }

    /// Whether it holds for who subscribes to these.
    package func holds(_ isSubscribed: (Literal) -> Bool) -> Bool {
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
    package var topics: [Topic] { condition.topics }

    /// Whether it holds for who subscribes to none of its topics.
    package var holdsWithoutTopics: Bool { condition.holds { _ in false } }

    /// The most for whom it can hold, when each topic has `count` subscribers and the project `total` registrations.
    package func bound(total: Int64, _ count: (Topic) throws -> Int64) rethrows -> Int64 {
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
