import PushModel
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2)))
struct ConditionTests {
    private static func topic(_ name: String) -> Condition.Expression { .subscribed(Topic(rawValue: name)!) }
    private static let a = topic("a")
    private static let b = topic("b")
    private static let c = topic("c")

    @Test(
        arguments: [
            ("'a' in topics", a),
            ("\"a\" in topics", a),
            (" ( ( 'a'\tin\n topics ) ) ", a),
            ("!'a' in topics", .not(a)),
            ("! ! ('a' in topics)", .not(.not(a))),
            ("!('a' in topics)", .not(a)),
            ("'a' in topics && 'b' in topics", .all(a, b)),
            ("'a'in topics||'b'in topics", .any(a, b)),
            // Equal rank, from left to right.
            ("'a' in topics || 'b' in topics && 'c' in topics", .all(.any(a, b), c)),
            ("'a' in topics && 'b' in topics || 'c' in topics", .any(.all(a, b), c)),
            ("'a' in topics || ('b' in topics && 'c' in topics)", .any(a, .all(b, c))),
            // `!` binds to the next operand only.
            ("!'a' in topics && 'b' in topics", .all(.not(a), b)),
            ("!('a' in topics && 'b' in topics)", .not(.all(a, b))),
            ("'a' in topics && ('b' in topics || !('c' in topics))", .all(a, .any(b, .not(c)))),
            ("'in' in topics", topic("in")),
            ("'a-_.~%1' in topics", topic("a-_.~%1")),
        ] as [(String, Condition.Expression)])
    func whatIsWrittenIsRead(text: String, expression: Condition.Expression) throws {
        let condition = try Condition(parsing: text)
        #expect(condition.expression == expression)
        #expect(condition.text == text)
    }

    @Test(arguments: [
        ("", 0, "expected a topic in quotes, '!' or '(', found the end"),
        ("  ", 2, "expected a topic in quotes, '!' or '(', found the end"),
        ("a in topics", 0, "expected a topic in quotes, '!' or '('"),
        ("'a'", 3, "expected \"in topics\", found the end"),
        ("'a' on topics", 4, "expected \"in topics\""),
        ("'a' IN topics", 4, "expected \"in topics\""),
        ("'a' intopics", 4, "expected \"in topics\""),
        ("'a' in topic", 7, "expected \"topics\""),
        ("'a' in topicsx", 7, "expected \"topics\""),
        ("'a in topics", 0, "the quote is not closed"),
        ("'a\" in topics", 0, "the quote is not closed"),
        ("'' in topics", 1, "a topic's name must match [a-zA-Z0-9-_.~%]{1,900}"),
        ("'/topics/a' in topics", 1, "a topic's name must match [a-zA-Z0-9-_.~%]{1,900}"),
        ("'a' in topics 'b' in topics", 14, "expected '&&' or '||'"),
        ("'a' in topics & 'b' in topics", 14, "expected '&&' or '||'"),
        ("'a' in topics &&", 16, "expected a topic in quotes, '!' or '(', found the end"),
        ("'a' in topics && || 'b' in topics", 17, "expected a topic in quotes, '!' or '('"),
        ("('a' in topics", 0, "there is no ')' for this '('"),
        ("('a' in topics & 'b' in topics)", 15, "expected '&&', '||' or ')'"),
        ("'a' in topics)", 13, "there is no '(' for this ')'"),
        ("()", 1, "expected a topic in quotes, '!' or '('"),
        ("!", 1, "expected a topic in quotes, '!' or '(', found the end"),
        ("'é' in topics", 1, "a topic's name must match [a-zA-Z0-9-_.~%]{1,900}"),
    ])
    func anErrorSaysWhereAndWhy(text: String, offset: Int, message: String) {
        #expect(throws: ConditionSyntaxError(offset: offset, message: message)) { try Condition(parsing: text) }
    }

    @Test func fiveTopicsAreTheMost() throws {
        func text(_ count: Int) -> String {
            (0..<count).map { "'t\($0)' in topics" }.joined(separator: " || ")
        }
        #expect(try Condition(parsing: text(5)).topics.count == 5)
        #expect(throws: ConditionSyntaxError.self) { try Condition(parsing: text(6)) }
        let repeated = Array(repeating: "'a' in topics", count: 6).joined(separator: " && ")
        #expect(throws: ConditionSyntaxError.self) { try Condition(parsing: repeated) }
        #expect(try Condition(parsing: "'a' in topics && 'a' in topics").topics.count == 1)
    }

    @Test func theLongestNamesFit() throws {
        let names = "abcde".map { "'\(String(repeating: String($0), count: 900))' in topics" }
        #expect(try Condition(parsing: names.joined(separator: " || ")).topics.count == 5)
        let long = "'a' in topics" + String(repeating: " ", count: Condition.textLimitBytes)
        #expect(throws: ConditionSyntaxError.self) { try Condition(parsing: long) }
    }

    @Test(arguments: ["(", "!", "!(", "(!", "( "])
    func hostileDepthIsRefused(opening: String) throws {
        func text(_ count: Int) -> String {
            String(repeating: opening, count: count) + "'a' in topics"
                + String(repeating: ")", count: opening.contains("(") ? count : 0)
        }
        #expect(try Condition(parsing: text(20)).topics.count == 1)
        #expect(throws: ConditionSyntaxError.self) { try Condition(parsing: text(1000)) }
    }

    /// Evaluates by sets of devices, as the words say it: the other way round than `holds`.
    private static func members(
        _ expression: Condition.Expression, _ subscribers: [Topic: Set<Int>], of everyone: Set<Int>
    ) -> Set<Int> {
        switch expression {
        case .subscribed(let topic): subscribers[topic] ?? []
        case .not(let inner): everyone.subtracting(members(inner, subscribers, of: everyone))
        case .all(let left, let right):
            members(left, subscribers, of: everyone).intersection(members(right, subscribers, of: everyone))
        case .any(let left, let right):
            members(left, subscribers, of: everyone).union(members(right, subscribers, of: everyone))
        }
    }

    /// Writes an expression with random white space, quotes and superfluous parentheses.
    private static func text(
        _ expression: Condition.Expression, isOperand: Bool, _ random: inout some RandomNumberGenerator
    ) -> String {
        func space(_ random: inout some RandomNumberGenerator) -> String {
            ["", " ", "  ", "\t\n"].randomElement(using: &random)!
        }
        let text: String
        var needsParentheses = Int.random(in: 0..<5, using: &random) == 0
        switch expression {
        case .subscribed(let topic):
            let quote = Bool.random(using: &random) ? "'" : "\""
            text = "\(quote)\(topic)\(quote)\(space(&random))in \(space(&random))topics"
        case .not(let inner): text = "!\(space(&random))\(Self.text(inner, isOperand: true, &random))"
        case .all(let left, let right), .any(let left, let right):
            let isAll = if case .all = expression { true } else { false }
            // A chain runs from left to right: the left side needs no parentheses, the right one does.
            text =
                Self.text(left, isOperand: false, &random) + space(&random) + (isAll ? "&&" : "||") + space(&random)
                + Self.text(right, isOperand: true, &random)
            needsParentheses = needsParentheses || isOperand
        }
        return needsParentheses ? "(\(space(&random))\(text)\(space(&random)))" : text
    }

    private static func expression(
        topics: Int, _ random: inout some RandomNumberGenerator
    ) -> Condition.Expression {
        if Int.random(in: 0..<4, using: &random) == 0 { return .not(expression(topics: topics, &random)) }
        guard topics > 1 else { return topic(String("abcd".randomElement(using: &random)!)) }
        let left = Int.random(in: 1..<topics, using: &random)
        let (one, other) = (expression(topics: left, &random), expression(topics: topics - left, &random))
        return Bool.random(using: &random) ? .all(one, other) : .any(one, other)
    }

    @Test(arguments: 0..<20)
    func readingAgreesWithSetsAndComesBack(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        let everyone = Set(0..<40)
        for _ in 0..<200 {
            let subscribers = Dictionary(
                uniqueKeysWithValues: "abcd".map { name in
                    (Topic(rawValue: String(name))!, everyone.filter { _ in Bool.random(using: &random) })
                })
            let expression = Self.expression(topics: .random(in: 1...5, using: &random), &random)
            let text = Self.text(expression, isOperand: false, &random)
            let condition = try Condition(parsing: text)
            #expect(condition.expression == expression, "\(text)")
            let members = Self.members(expression, subscribers, of: everyone)
            let held = everyone.filter { device in condition.holds { subscribers[$0]?.contains(device) ?? false } }
            #expect(held == members, "\(text)")
        }
    }

    @Test(arguments: 0..<20)
    func noTextBreaksTheParser(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        let pieces = [
            "'a' in topics", "'a'", "\"b\"", "in", "topics", " in topics", "&&", "||", "!", "(", ")", " ", "'", "é",
            "\0", "&",
        ]
        var read = 0
        for _ in 0..<2000 {
            let text = (0..<Int.random(in: 0...12, using: &random)).map { _ in pieces.randomElement(using: &random)! }
                .joined()
            do {
                let condition = try Condition(parsing: text)
                #expect((1...Condition.topicLimit).contains(condition.topics.count))
                read += 1
            } catch {
                #expect((0...text.utf8.count).contains(error.offset), "\(text)")
            }
        }
        #expect(read > 0)
    }
}
