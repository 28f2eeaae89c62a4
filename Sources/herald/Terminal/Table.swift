/// A table for people: columns padded to their widest cell, the last one ragged.
struct Table {
    /// Titles of the columns.
    var titles: [String]
    /// Cells, one for each title.
    var rows: [[String]] = []

    /// The table as lines, whole.
    var lines: [String] { lines(width: nil) }

    /// The table as lines of at most `width` characters as far as that is possible: cells of the widest columns are cut
    /// first, none to less than ``narrowest``. `nil`: nothing is cut.
    func lines(width: Int?) -> [String] {
        let all = [titles] + rows.map { $0.map(Self.safe) }
        var widths = titles.indices.map { column in
            all.map { $0.indices.contains(column) ? $0[column].count : 0 }.max() ?? 0
        }
        if let width { Self.narrow(&widths, to: width - 2 * (titles.count - 1)) }
        return all.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                let text = Self.cut(cell, to: widths[column])
                line += column == row.count - 1 ? text : text.padded(to: widths[column]) + "  "
            }
            return line
        }
    }

    /// No column is cut to less.
    private static let narrowest = 8

    private static func narrow(_ widths: inout [Int], to room: Int) {
        var excess = widths.reduce(0, +) - room
        while excess > 0, let widest = widths.indices.max(by: { widths[$0] < widths[$1] }), widths[widest] > narrowest {
            // Down to the next narrower one, so that equally wide columns are cut alike.
            let next = widths.filter { $0 < widths[widest] }.max() ?? narrowest
            let cut = min(excess, max(1, widths[widest] - max(next, narrowest)))
            widths[widest] -= cut
            excess -= cut
        }
    }

    private static func cut(_ text: String, to width: Int) -> String {
        text.count > width ? text.prefix(max(0, width - 1)) + "…" : text
    }

    /// Text that came from elsewhere must not steer the terminal.
    static func safe(_ text: String) -> String {
        String(
            String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : $0 }))
    }
}

extension String {
    /// The text with spaces behind it up to `width` characters.
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }

    /// The text with spaces before it up to `width` characters.
    func aligned(to width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }
}
