/// A boolean expression over topics, FCM's `condition`: `'a' in topics && ('b' in topics || !('c' in topics))`.
package struct Condition: Hashable, Sendable {
    /// The most topics that a condition names (FCM's limit).
    package static let topicLimit = 5

    /// The parsed expression.
    package indirect enum Expression: Hashable, Sendable {
        /// `'name' in topics`.
        case subscribed(Topic)
        /// `!x`.
        case not(Expression)
        /// `x && y`.
        case all(Expression, Expression)
        /// `x || y`.
        case any(Expression, Expression)
    }

    /// The text as it was sent.
    package let text: String
    /// What it says.
    package let expression: Expression

    /// Takes a text with what it was parsed to.
    package init(text: String, expression: Expression) {
        self.text = text
        self.expression = expression
    }

    /// The topics that it names, each once, in the order of the text.
    package var topics: [Topic] {
        var topics: [Topic] = []
        expression.collect(into: &topics)
        return topics
    }

    /// Whether it holds for a registration that subscribes to exactly the topics for which `isSubscribed` is true.
    package func holds(_ isSubscribed: (Topic) -> Bool) -> Bool {
        expression.holds(isSubscribed)
    }
}

extension Condition.Expression {
    fileprivate func collect(into topics: inout [Topic]) {
        switch self {
        case .subscribed(let topic): if !topics.contains(topic) { topics.append(topic) }
        case .not(let inner): inner.collect(into: &topics)
        case .all(let left, let right), .any(let left, let right):
            left.collect(into: &topics)
            right.collect(into: &topics)
        }
    }

    fileprivate func holds(_ isSubscribed: (Topic) -> Bool) -> Bool {
        switch self {
        case .subscribed(let topic): isSubscribed(topic)
        case .not(let inner): !inner.holds(isSubscribed)
        case .all(let left, let right): left.holds(isSubscribed) && right.holds(isSubscribed)
        case .any(let left, let right): left.holds(isSubscribed) || right.holds(isSubscribed)
        }
    }
}
