import Synchronization

/// The texts of steps as SQLite takes them, each made once.
final class StatementTexts: Sendable {
    /// What the steps say, and what SQLite calls it.
    private static let words: [(common: String, own: String)] = [
        ("numbers(", "json_each("), ("texts(", "json_each("), ("greatest(", "max("), ("least(", "min("),
        (" numbering ", " sqlite_sequence "),
    ]
    private static let pairs = "pairs("

    private let known = Mutex<[String: String]>([:])

    /// The text of a statement.
    subscript(_ common: String) -> String {
        known.withLock { known in
            if let text = known[common] { return text }
            let text = Self.text(common)
            known[common] = text
            return text
        }
    }

    /// Replaces the words that are not SQLite's.
    static func text(_ common: String) -> String {
        var text = common
        for (word, own) in words { text = text.replacing(word, with: own) }
        guard let start = text.firstRange(of: pairs), let end = text[start.upperBound...].firstIndex(of: ")") else {
            return text
        }
        let parameter = text[start.upperBound..<end]
        text.replaceSubrange(
            start.lowerBound...end,
            with: "(SELECT key, value ->> 0 AS first, value ->> 1 AS second FROM json_each(\(parameter)))")
        return text
    }
}
