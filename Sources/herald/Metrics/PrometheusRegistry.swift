import CoreMetrics
import PushModel
import Synchronization

/// The metrics of a process: a swift-metrics backend that writes Prometheus' text format 0.0.4.
///
/// A family is all series of one name; it has one kind, and at most ``seriesLimit`` label sets: beyond it new ones are
/// added up in one series whose labels say `other`, so that a label with too many values can't eat the memory.
final class PrometheusRegistry: MetricsFactory, Sendable {
    /// Upper bounds of histogram buckets in seconds: from a quick answer to a delivery that waited an hour.
    static let buckets: [Double] = [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600,
    ]

    /// The most label sets of one family.
    let seriesLimit: Int

    private struct Family {
        var kind: Kind
        var series: [Labels: Series] = [:]
        var order: [Labels] = []
    }

    private let families = Mutex<[String: Family]>([:])
    private let help: [String: String]

    /// An empty registry.
    init(seriesLimit: Int = 500) {
        self.seriesLimit = seriesLimit
        help = Dictionary(uniqueKeysWithValues: MetricName.allCases.map { ($0.rawValue, $0.help) })
    }

    /// The text of a scrape: families by name, series in the order they came.
    var text: String {
        let families = families.withLock { $0 }
        var lines: [String] = []
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            if let help = help[name] { lines.append("# HELP \(name) \(Self.escapedHelp(help))") }
            lines.append("# TYPE \(name) \(family.kind.rawValue)")
            for labels in family.order {
                if let series = family.series[labels] { lines += series.lines(name: name, labels: labels) }
            }
        }
        return lines.map { $0 + "\n" }.joined()
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(label, .counter, dimensions)
    }

    func makeFloatingPointCounter(label: String, dimensions: [(String, String)]) -> any FloatingPointCounterHandler {
        series(label, .counter, dimensions)
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(label, .gauge, dimensions)
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        series(label, aggregate ? .histogram : .gauge, dimensions)
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(label, .histogram, dimensions)
    }

    // Series stay when a handle goes: a counter that vanishes and comes back at zero would look like a restart.
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}

    /// Replaces all series of a gauge: those that are not in `values` vanish.
    func setGauge(_ name: MetricName, _ values: [(labels: [(String, String)], value: Double)]) {
        set(name, .gauge, values)
    }

    /// Replaces all series of a counter that is kept elsewhere.
    func setCounter(_ name: MetricName, _ values: [(labels: [(String, String)], value: Double)]) {
        set(name, .counter, values)
    }

    private func set(_ name: MetricName, _ kind: Kind, _ values: [(labels: [(String, String)], value: Double)]) {
        families.withLock { families in
            var family = Family(kind: kind)
            for entry in values.prefix(seriesLimit) {
                let labels = Labels(entry.labels)
                let series = Series(kind: kind)
                series.set(entry.value)
                if family.series.updateValue(series, forKey: labels) == nil { family.order.append(labels) }
            }
            families[name.rawValue] = family
        }
    }

    private func series(_ name: String, _ kind: Kind, _ dimensions: [(String, String)]) -> Series {
        let name = Self.validName(name)
        let labels = Labels(dimensions)
        return families.withLock { families in
            var family = families[name] ?? Family(kind: kind)
            // One name, two kinds is a mistake of ours; the second is kept out of the scrape rather than in its way.
            guard family.kind == kind else { return Series(kind: kind) }
            if let known = family.series[labels] { return known }
            let key = family.series.count < seriesLimit ? labels : labels.overflow
            let series = family.series[key] ?? Series(kind: kind)
            if family.series.updateValue(series, forKey: key) == nil { family.order.append(key) }
            families[name] = family
            return series
        }
    }

    private static func validName(_ name: String) -> String {
        let mapped = name.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == ":") ? $0 : "_" }
        return mapped.first?.isNumber == true ? "_" + String(mapped) : String(mapped)
    }

    private static func escapedHelp(_ text: String) -> String {
        text.map { $0 == "\\" ? "\\\\" : $0 == "\n" ? "\\n" : String($0) }.joined()
    }
}
