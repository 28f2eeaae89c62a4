import Foundation

/// A table on standard output whose rows come one by one, or JSON at the end.
struct ResultTable {
    private let titles: [String]
    private let isJSON: Bool

    /// The first column is text, the others are figures.
    init(_ titles: [String], isJSON: Bool) {
        self.titles = titles
        self.isJSON = isJSON
        if !isJSON { show(line(titles)) }
    }

    /// Shows a row, unless there will be JSON.
    func add(_ cells: [String]) {
        if !isJSON { show(line(cells)) }
    }

    /// Shows a remark under the table, unless there is JSON.
    func note(_ text: String) {
        if !isJSON { show("  " + text) }
    }

    /// Shows all results as JSON, if that was asked for.
    func end(_ results: some Encodable) throws {
        guard isJSON else { return }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        // A ratio to nothing.
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        show(String(decoding: try encoder.encode(results), as: UTF8.self))
    }

    private func line(_ cells: [String]) -> String {
        let widths = titles.enumerated().map { max($1.count, $0 == 0 ? 22 : 9) }
        return zip(cells, widths).enumerated().map { number, cell in
            let (text, width) = cell
            let space = String(repeating: " ", count: max(0, width - text.count))
            return number == 0 ? text + space : space + text
        }.joined(separator: "  ")
    }
}

/// A figure with so many digits after the point.
func figure(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }

extension Array where Element == Double {
    /// The middle one.
    var median: Double { isEmpty ? .nan : sorted()[count / 2] }
}

extension Duration {
    /// With fractions.
    var seconds: Double { self / .seconds(1) }
}
