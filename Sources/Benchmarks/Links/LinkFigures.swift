/// The figures of ``LinksCommand``: rows of a table, or JSON at the end.
final class LinkFigures {
    private let table: ResultTable
    private var values: [String: Double] = [:]

    init(isJSON: Bool) {
        table = ResultTable(["what", "figure", "p99", "unit"], isJSON: isJSON)
    }

    /// Takes a figure.
    func note(_ name: String, _ value: Double, p99: Double? = nil, _ unit: String) {
        table.add([name, figure(value, 2), p99.map { figure($0, 2) } ?? "", unit])
        values["\(name), \(unit)"] = value
        if let p99 { values["\(name), p99 \(unit)"] = p99 }
    }

    /// Takes percentiles, in microseconds.
    func note(_ name: String, _ latency: Percentiles) {
        note(name, latency.p50, p99: latency.p99, "µs")
    }

    /// Shows all as JSON, if that was asked for.
    func end() throws {
        try table.end(values)
    }
}
