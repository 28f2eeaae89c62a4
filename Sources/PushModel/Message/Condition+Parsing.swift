/// Where and why a text is not a condition.
package struct ConditionSyntaxError: Error, Hashable, Sendable {
    /// Bytes of UTF-8 before the place.
    package let offset: Int
    /// What was wrong there, without a full stop.
    package let message: String

    /// Describes a syntax error.
    package init(offset: Int, message: String) {
        self.offset = offset
        self.message = message
    }
}

extension Condition {
    /// Longer texts are refused: five topics of the greatest length, and room for everything between them.
    package static let textLimitBytes = 8192

    /// Parses FCM's condition:
    ///
    /// ```
    /// condition = operand { ("&&" | "||") operand }     equal rank, from left to right
    /// operand   = "!" operand | "(" condition ")" | topic "in" "topics"
    /// topic     = "'" name "'" | '"' name '"'
    /// ```
    ///
    /// Parentheses come first; `!` binds to the operand that follows it. `in topics` is in lower case and white space is
    /// free. At most ``topicLimit`` topics, a repeated one counting each time, and 64 levels of parentheses and `!`.
    ///
    /// - Throws: ``ConditionSyntaxError`` with the place of what does not fit.
    package init(parsing text: String) throws(ConditionSyntaxError) {
        guard text.utf8.count <= Self.textLimitBytes else {
            throw ConditionSyntaxError(
                offset: Self.textLimitBytes, message: "the text is longer than \(Self.textLimitBytes) bytes")
        }
        var parser = ConditionParser(text)
        self.init(text: text, expression: try parser.parse())
    }
}

/// One pass over the text, by recursive descent.
private struct ConditionParser {
    /// Deeper texts are refused, so that a text can't exhaust the stack.
    static let depthLimit = 64

    private let bytes: [UInt8]
    private var position = 0
    private var topics = 0

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    mutating func parse() throws(ConditionSyntaxError) -> Condition.Expression {
        let expression = try parseChain(depth: 0)
        guard position == bytes.count else {
            throw error(peek == UInt8(ascii: ")") ? "there is no '(' for this ')'" : "expected '&&' or '||'")
        }
        return expression
    }

    /// Operands joined by `&&` and `||`, up to the end of the text or a closing parenthesis.
    private mutating func parseChain(depth: Int) throws(ConditionSyntaxError) -> Condition.Expression {
        var expression = try parseOperand(depth: depth)
        while true {
            skipWhitespace()
            if take("&&") {
                expression = .all(expression, try parseOperand(depth: depth))
            } else if take("||") {
                expression = .any(expression, try parseOperand(depth: depth))
            } else {
                return expression
            }
        }
    }

    private mutating func parseOperand(depth: Int) throws(ConditionSyntaxError) -> Condition.Expression {
        skipWhitespace()
        guard depth <= Self.depthLimit else { throw error("more than \(Self.depthLimit) levels deep") }
        switch peek {
        case UInt8(ascii: "!"):
            position += 1
            return .not(try parseOperand(depth: depth + 1))
        case UInt8(ascii: "("):
            let opening = position
            position += 1
            let expression = try parseChain(depth: depth + 1)
            skipWhitespace()
            guard take(")") else {
                throw position == bytes.count
                    ? ConditionSyntaxError(offset: opening, message: "there is no ')' for this '('")
                    : error("expected '&&', '||' or ')'")
            }
            return expression
        case UInt8(ascii: "'"), UInt8(ascii: "\""): return try parseTerm()
        default: throw error("expected a topic in quotes, '!' or '('")
        }
    }

    /// `'name' in topics`, from the opening quote on.
    private mutating func parseTerm() throws(ConditionSyntaxError) -> Condition.Expression {
        let opening = position
        guard topics < Condition.topicLimit else { throw error("more than \(Condition.topicLimit) topics") }
        topics += 1
        let topic = try parseTopic(quote: bytes[opening])
        skipWhitespace()
        guard takeWord("in") else { throw error("expected \"in topics\"") }
        skipWhitespace()
        guard takeWord("topics") else { throw error("expected \"topics\"") }
        return .subscribed(topic)
    }

    private mutating func parseTopic(quote: UInt8) throws(ConditionSyntaxError) -> Topic {
        let start = position + 1
        guard let end = bytes[start...].firstIndex(of: quote) else { throw error("the quote is not closed") }
        guard let topic = Topic(rawValue: String(decoding: bytes[start..<end], as: UTF8.self)) else {
            throw ConditionSyntaxError(
                offset: start, message: "a topic's name must match [a-zA-Z0-9-_.~%]{1,900}")
        }
        position = end + 1
        return topic
    }

    /// Steps over `symbol` if it comes next.
    private mutating func take(_ symbol: StaticString) -> Bool {
        guard bytes[position...].starts(with: symbol.description.utf8) else { return false }
        position += symbol.utf8CodeUnitCount
        return true
    }

    /// Steps over `word` if it comes next and ends there.
    private mutating func takeWord(_ word: StaticString) -> Bool {
        let end = position + word.utf8CodeUnitCount
        guard bytes[position...].starts(with: word.description.utf8), end == bytes.count || !bytes[end].isWordByte
        else { return false }
        position = end
        return true
    }

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipWhitespace() {
        while position < bytes.count, [0x20, 0x09, 0x0a, 0x0d].contains(bytes[position]) { position += 1 }
    }

    private func error(_ message: String) -> ConditionSyntaxError {
        ConditionSyntaxError(offset: position, message: position == bytes.count ? message + ", found the end" : message)
    }
}

extension UInt8 {
    fileprivate var isWordByte: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
