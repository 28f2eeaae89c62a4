/// A table for people: columns padded to their widest cell, the last one ragged.
struct Table {
    /// Titles of the columns.
    var titles: [String]
    /// Cells, one for each title.
    var rows: [[String]] = []

    /// The table as lines.
    var lines: [String] {
        let all = [titles] + rows
        let widths = titles.indices.map { column in
            all.map { $0.indices.contains(column) ? Self.safe($0[column]).count : 0 }.max() ?? 0
        }
        return all.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                let text = Self.safe(cell)
                line += column == row.count - 1 ? text : text.padded(to: widths[column]) + "  "
            }
            return line
        }
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
