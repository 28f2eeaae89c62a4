/// Turns the text of a statement, as steps write it for every engine, into PostgreSQL's: see `Database` in SQLStorage. What
/// stands in quotes stays as it is.
struct StatementText {
    private let source: [Character]
    private var place = 0
    private var text = ""
    private var parameters = 0

    /// PostgreSQL's text.
    static func postgreSQL(_ sql: String) -> String {
        var text = StatementText(sql)
        text.translate()
        return text.text
    }

    private init(_ sql: String) {
        source = Array(sql)
    }

    private mutating func translate() {
        while place < source.count {
            switch source[place] {
            case "'", "\"": copyQuoted()
            case "?": text += parameter()
            case "+" where isSign:
                // Says that no index is to be asked: PostgreSQL's planner is not told.
                place += 1
            case let character where Self.isWord(character): translateWord()
            case let character:
                text.append(character)
                place += 1
            }
        }
    }

    private static func isWord(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || character == "_" || character == "$"
    }

    private var isSign: Bool {
        let isBehindSpace = place == 0 || source[place - 1].isWhitespace || source[place - 1] == "("
        return isBehindSpace && place + 1 < source.count && source[place + 1].isLetter
    }

    private mutating func copyQuoted() {
        let quote = source[place]
        repeat {
            text.append(source[place])
            place += 1
        } while place < source.count && source[place] != quote
        guard place < source.count else { return }
        text.append(quote)
        place += 1
    }

    /// Reads `?` or `?2`. One without a number follows the highest before it (sqlite.org/lang_expr.html#varparam).
    private mutating func parameter() -> String {
        place += 1
        let digits = source[place...].prefix { $0.isNumber }
        place += digits.count
        let number = Int(String(digits)) ?? parameters + 1
        parameters = max(parameters, number)
        return "$\(number)"
    }

    private mutating func word() -> String {
        let word = String(source[place...].prefix { Self.isWord($0) })
        place += word.count
        return word
    }

    /// Looks at the words and signs that follow, without taking them.
    private func next(_ count: Int) -> [String] {
        var rest = self
        var words: [String] = []
        while words.count < count {
            rest.skipSpace()
            guard rest.place < rest.source.count else { break }
            if Self.isWord(rest.source[rest.place]) {
                words.append(rest.word())
            } else {
                words.append(String(rest.source[rest.place]))
                rest.place += 1
            }
        }
        return words
    }

    private mutating func skipSpace() {
        while place < source.count, source[place].isWhitespace { place += 1 }
    }

    private mutating func skipWord() {
        skipSpace()
        _ = word()
    }

    private mutating func translateWord() {
        let word = word()
        switch word {
        case "INDEXED" where next(1) == ["BY"]:
            skipWord()
            skipWord()
            dropSpace()
        case "NOT" where next(1) == ["INDEXED"]:
            skipWord()
            dropSpace()
        case "CROSS" where next(1) == ["JOIN"] && isConditional:
            // The order of loops is the planner's.
            break
        case "numbers", "texts", "pairs":
            guard next(2) == ["(", "?"] else { return text += word }
            skipSpace()
            place += 1
            skipSpace()
            let parameter = parameter()
            skipSpace()
            place += 1
            text += Self.table(word, parameter)
            if !hasAlias { text += " AS \(word)" }
        // Columns whose names are PostgreSQL's own words: alone, the first one would be who is connected.
        case "user", "offset": text += "\"\(word)\""
        default: text += word
        }
    }

    private mutating func dropSpace() {
        while text.last?.isWhitespace == true { text.removeLast() }
    }

    /// Whether the join that begins here has a condition, before the next join or the end of its FROM.
    private var isConditional: Bool {
        var rest = self
        rest.skipWord()
        var depth = 0
        while rest.place < rest.source.count {
            let character = rest.source[rest.place]
            guard Self.isWord(character) else {
                if character == "(" { depth += 1 }
                if character == ")" { depth -= 1 }
                if depth < 0 { return false }
                rest.place += 1
                continue
            }
            let word = rest.word()
            guard depth == 0 else { continue }
            if word == "ON" { return true }
            if Self.ends.contains(word) { return false }
        }
        return false
    }

    /// Words that end an item of FROM.
    private static let ends: Set<String> = [
        "JOIN", "WHERE", "GROUP", "ORDER", "LIMIT", "UNION", "CROSS", "LEFT", "INNER", "HAVING", "WINDOW", "EXCEPT",
        "RETURNING", "ON", "FOR",
    ]

    /// Whether a table has a name of its own here.
    private var hasAlias: Bool {
        guard let word = next(1).first, let first = word.first, first.isLetter || first == "_" else { return false }
        return word == "AS" || !(Self.ends.contains(word) || word == "SET")
    }

    /// A table of the elements of an array; places are counted from 0.
    private static func table(_ kind: String, _ parameter: String) -> String {
        switch kind {
        case "numbers": elements("\(parameter)::bigint[]")
        case "texts": elements("\(parameter)::text[]")
        default:
            """
            (SELECT place - 1 AS key, (\(parameter)::bigint[])[2 * place - 1] AS first, \
            (\(parameter)::bigint[])[2 * place] AS second \
            FROM generate_series(1, cardinality(\(parameter)::bigint[]) / 2) AS place)
            """
        }
    }

    private static func elements(_ array: String) -> String {
        "(SELECT place - 1 AS key, value FROM unnest(\(array)) WITH ORDINALITY AS element (value, place))"
    }
}
