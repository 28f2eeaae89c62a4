import CoreMetrics
import Delivery
import Synchronization

extension PrometheusRegistry {
    /// What a family measures.
    enum Kind: String, Hashable, Sendable {
        /// Only grows.
        case counter
        /// A value of now.
        case gauge
        /// Observations by size.
        case histogram
    }

    /// A set of labels in the order of their names.
    struct Labels: Hashable, Sendable {
        private let pairs: [Pair]

        private struct Pair: Hashable, Sendable {
            var name: String
            var value: String
        }

        init(_ dimensions: [(String, String)]) {
            pairs = dimensions.map { Pair(name: Self.validName($0.0), value: $0.1) }.sorted { $0.name < $1.name }
        }

        /// The same names, every value `other`.
        var overflow: Labels {
            Labels(pairs.map { ($0.name, "other") })
        }

        /// `{a="b",le="0.1"}`, or nothing when there are none.
        func text(adding extra: (String, String)? = nil) -> String {
            var parts = pairs.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }
            if let extra { parts.append("\(extra.0)=\"\(extra.1)\"") }
            return parts.isEmpty ? "" : "{\(parts.joined(separator: ","))}"
        }

        private static func escaped(_ value: String) -> String {
            value.map { character in
                switch character {
                case "\\": "\\\\"
                case "\"": "\\\""
                case "\n", "\r\n": "\\n"
                default: String(character)
                }
            }
            .joined()
        }

        private static func validName(_ name: String) -> String {
            let mapped = name.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") ? $0 : "_" }
            return mapped.first?.isNumber == true ? "_" + String(mapped) : String(mapped)
        }
    }

    /// One series: a number, or the buckets of a histogram.
    final class Series: CounterHandler, FloatingPointCounterHandler, MeterHandler, CountedRecorder, TimerHandler,
        Sendable
    {
        private struct Values {
            var value = 0.0
            var buckets: [UInt64]
            var count: UInt64 = 0
            var sum = 0.0
        }

        private let kind: Kind
        private let state: Mutex<Values>

        init(kind: Kind) {
            self.kind = kind
            state = Mutex(
                Values(buckets: kind == .histogram ? Array(repeating: 0, count: PrometheusRegistry.buckets.count) : []))
        }

        func increment(by amount: Int64) { add(Double(amount)) }
        func increment(by amount: Double) { add(amount) }
        func decrement(by amount: Double) { add(-amount) }
        func reset() { set(0.0) }
        func set(_ value: Int64) { set(Double(value)) }
        func set(_ value: Double) { state.withLock { $0.value = value } }
        func record(_ value: Int64) { record(Double(value)) }
        func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1_000_000_000) }

        /// An observation of a histogram, or the value of a gauge.
        func record(_ value: Double) { record(value, times: 1) }

        /// So many equal observations.
        func record(_ value: Double, times count: Int) {
            guard kind == .histogram else { return set(value) }
            let bucket = PrometheusRegistry.buckets.firstIndex { value <= $0 }
            state.withLock { state in
                if let bucket { state.buckets[bucket] += UInt64(count) }
                state.count += UInt64(count)
                state.sum += value * Double(count)
            }
        }

        private func add(_ amount: Double) {
            state.withLock { $0.value += amount }
        }

        /// The lines of a scrape.
        func lines(name: String, labels: Labels) -> [String] {
            let state = state.withLock { $0 }
            guard kind == .histogram else { return ["\(name)\(labels.text()) \(Self.number(state.value))"] }
            var lines: [String] = []
            var below: UInt64 = 0
            for (bound, count) in zip(PrometheusRegistry.buckets, state.buckets) {
                below += count
                lines.append("\(name)_bucket\(labels.text(adding: ("le", Self.number(bound)))) \(below)")
            }
            lines.append("\(name)_bucket\(labels.text(adding: ("le", "+Inf"))) \(state.count)")
            lines.append("\(name)_sum\(labels.text()) \(Self.number(state.sum))")
            lines.append("\(name)_count\(labels.text()) \(state.count)")
            return lines
        }

        /// A number as Prometheus reads it: whole numbers without a fraction.
        private static func number(_ value: Double) -> String {
            if value.isNaN { return "NaN" }
            if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
            return Int64(exactly: value).map(String.init) ?? "\(value)"
        }
    }
}
