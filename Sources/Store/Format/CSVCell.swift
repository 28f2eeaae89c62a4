/// Texts as cells of CSV files that are opened with spreadsheets: labels, users, topics and collapse keys are chosen by
/// others, and a cell that begins like a formula is run as one (OWASP, "CSV Injection").
package enum CSVCell {
    /// What a formula begins with: `=`, `+`, `-`, `@`, tab and line ends.
    private static let formulaStarts = Set("=+-@\t\r\n".utf8)

    /// The text with an apostrophe in front where a spreadsheet would take it for a formula. One that begins with
    /// apostrophes and such a character behind them gets another one, so that ``original(_:)`` has them all back.
    package static func inert(_ text: String) -> String {
        isAffected(text) ? "'" + text : text
    }

    /// The text that ``inert(_:)`` was given.
    package static func original(_ cell: String) -> String {
        cell.utf8.first == UInt8(ascii: "'") && isAffected(cell) ? String(cell.dropFirst()) : cell
    }

    private static func isAffected(_ text: String) -> Bool {
        text.utf8.first { $0 != UInt8(ascii: "'") }.map(formulaStarts.contains) ?? false
    }

    /// The text in quotes if it needs them: RFC 4180 §2 asks for them around a comma, a quote or a line break, and has
    /// quotes inside doubled.
    package static func quoted(_ text: String) -> String {
        guard text.utf8.contains(where: { [UInt8(ascii: ","), UInt8(ascii: "\""), 10, 13].contains($0) }) else {
            return text
        }
        return "\"" + text.replacing("\"", with: "\"\"") + "\""
    }
}
