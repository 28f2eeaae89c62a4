import Delivery
import Links
import PushModel
import Store

/// Charts as SVG: pure functions of figures, with a text alternative and a table beside.
enum Charts {
    private static let width = 720
    private static let height = 190
    private static let left = 52
    private static let bottom = 24
    private static let top = 8

    /// One bar, cut into parts.
    struct Bar {
        /// What stands below it; empty: nothing.
        var label: String
        /// What it is, for its title and the table.
        var name: String
        /// When it begins, if it is of a time that readers want in their own zone, and whether its label is that of a day.
        var time: (begin: Timestamp, isDay: Bool)?
        /// The parts from below: the class, what it is called, how many.
        var parts: [(kind: String, name: String, count: Int)]

        var total: Int { parts.reduce(0) { $0 + $1.count } }
    }

    /// Bars that are cut into parts, with a legend, a sentence for those who can't see them, and a table.
    static func bars(_ bars: [Bar], title: String, tableHead: String) -> Markup {
        let highest = niceCeiling(bars.map(\.total).max() ?? 0)
        let (plotWidth, plotHeight) = (width - left, height - bottom - top)
        let step = Double(plotWidth) / Double(max(bars.count, 1))
        var svg = ""
        for line in 0...2 {
            let y = top + plotHeight - plotHeight * line / 2
            svg += "<line class=\"grid-line\" x1=\"\(left)\" x2=\"\(width)\" y1=\"\(y)\" y2=\"\(y)\"/>"
            svg +=
                "<text class=\"axis\" x=\"\(left - 8)\" y=\"\(y + 4)\" text-anchor=\"end\">"
                + short(highest * line / 2) + "</text>"
        }
        for (place, bar) in bars.enumerated() {
            let x = Double(left) + step * Double(place)
            var y = Double(top + plotHeight)
            var rects = ""
            for part in bar.parts where part.count > 0 && highest > 0 {
                let size = max(1, Double(plotHeight) * Double(part.count) / Double(highest))
                y -= size
                rects +=
                    "<rect class=\"c-\(part.kind)\" x=\"\(short(x + step * 0.12))\" y=\"\(short(y))\" "
                    + "width=\"\(short(step * 0.76))\" height=\"\(short(size))\"/>"
            }
            if !rects.isEmpty {
                svg += "<g>\(pointed(bar))\(rects)</g>"
            }
            if !bar.label.isEmpty {
                svg +=
                    "<text class=\"axis\" x=\"\(short(x + step / 2))\" y=\"\(height - 6)\" text-anchor=\"middle\""
                    + attributes(bar, isLabel: true) + ">\(HTMLText.escaped(bar.label))</text>"
            }
        }
        let kinds = bars.first?.parts ?? []
        let totals = kinds.map { kind in
            let sum = bars.reduce(0) { $0 + ($1.parts.first { $0.kind == kind.kind }?.count ?? 0) }
            return "\(Format.number(sum)) \(kind.name)"
        }
        let alternative = HTMLText.escaped("\(title): \(totals.joined(separator: ", ")).")
        let legend =
            kinds.count < 2
            ? ""
            : "<ul class=\"legend\">"
                + kinds.map { "<li><span class=\"key c-\($0.kind)\"></span>\(HTMLText.escaped($0.name))</li>" }.joined()
                + "</ul>"
        return Markup(
            "<figure class=\"chart\"><svg viewBox=\"0 0 \(width) \(height)\" role=\"img\" aria-label=\"\(alternative)\">"
                + svg + "</svg>" + legend + table(bars, kinds.map(\.name), tableHead) + "</figure>")
    }

    /// The same figures as a table; steps without any are left out.
    private static func table(_ bars: [Bar], _ names: [String], _ head: String) -> String {
        let heads = ([head] + names).map { "<th scope=\"col\">\(HTMLText.escaped($0))</th>" }.joined()
        let rows = bars.filter { $0.total > 0 }.map { bar in
            "<tr><th scope=\"row\"><span\(attributes(bar))>\(HTMLText.escaped(bar.name))</span></th>"
                + bar.parts.map { "<td class=\"num\">\(Format.number($0.count))</td>" }.joined() + "</tr>"
        }
        guard !rows.isEmpty else { return "<p class=\"dim\">No figures in this span.</p>" }
        return "<details class=\"as-table\"><summary>As a table</summary><div class=\"table\"><table><thead><tr>"
            + "\(heads)</tr></thead><tbody>\(rows.joined())</tbody></table></div></details>"
    }

    /// What a pointer over the bar shows.
    private static func pointed(_ bar: Bar) -> String {
        let parts = bar.parts.filter { $0.count > 0 }.map { "\(Format.number($0.count)) \($0.name)" }
        let rest = HTMLText.escaped(": " + parts.joined(separator: ", "))
        let attributes = bar.time == nil ? "" : attributes(bar) + " data-rest=\"\(rest)\""
        return "<title\(attributes)>\(HTMLText.escaped(bar.name))\(rest)</title>"
    }

    /// By which the script shows a time in the reader's zone.
    private static func attributes(_ bar: Bar, isLabel: Bool = false) -> String {
        guard let (begin, isDay) = bar.time else { return "" }
        let form = isLabel ? " data-form=\"\(isDay ? "day" : "clock")\"" : ""
        return " data-time=\"\(begin.rfc3339)\"\(form)"
    }

    /// The smallest of 2, 4, 10, 20, 40, 100 … that is not below a number.
    static func niceCeiling(_ number: Int) -> Int {
        var unit = 1
        while true {
            for factor in [2, 4, 10] where unit * factor >= number { return unit * factor }
            guard unit < Int.max / 100 else { return number }
            unit *= 10
        }
    }

    private static func short(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return tenths.isMultiple(of: 10) ? String(tenths / 10) : "\(tenths / 10).\(abs(tenths % 10))"
    }

    /// `1.2k`, `3M`.
    private static func short(_ number: Int) -> String {
        switch number {
        case ..<1000: String(number)
        case ..<1_000_000: short(Double(number) / 1000) + "k"
        default: short(Double(number) / 1_000_000) + "M"
        }
    }
}

extension TrafficSeries {
    /// The steps as bars, labelled now and then.
    var bars: [Charts.Bar] {
        counts.enumerated().map { place, counts in
            let time = start + .seconds(span.stepSeconds * Int64(place))
            let text = time.rfc3339
            let label =
                place.isMultiple(of: span.labelEvery) ? String(text.dropFirst(span == .week ? 5 : 11).prefix(5)) : ""
            return Charts.Bar(
                label: label, name: text.prefix(16).replacing("T", with: " ") + " UTC",
                time: (time, span == .week),
                parts: LedgerOutcome.allCases.map { ($0.rawValue, $0.rawValue, counts[$0] ?? 0) })
        }
    }
}

extension TrafficSpan {
    /// Every how many steps the time is written.
    fileprivate var labelEvery: Int {
        switch self {
        case .hour: 10
        case .day: 12
        case .week: 12
        }
    }

    /// What it is called.
    var title: String {
        switch self {
        case .hour: "Last hour"
        case .day: "Last day"
        case .week: "Last week"
        }
    }
}
