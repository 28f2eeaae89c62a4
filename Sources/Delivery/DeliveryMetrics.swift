import Metrics
import PushModel
import Store
import Synchronization

/// The runner's figures for operators. Labels come from small sets.
final class DeliveryMetrics: Sendable {
    private struct Key: Hashable {
        var metric: MetricName
        var outcome: String
        var reason: String
    }

    /// Counters that were used, so that the factory is asked once for each.
    private let counters = Mutex<[Key: Counter]>([:])
    private let latency = Recorder(label: MetricName.deliveryLatency.rawValue, aggregate: true)
    private let inFlightGauges: [Lane: Gauge]
    private let backlogGauges: [Lane: Gauge]

    private let correctedEnvironments = Counter(label: MetricName.correctedEnvironments.rawValue)
    private let quarantines = Counter(label: MetricName.quarantines.rawValue)

    init(inFlightLimit: Int) {
        func gauges(_ name: MetricName) -> [Lane: Gauge] {
            Dictionary(
                uniqueKeysWithValues: Lane.allCases.map {
                    ($0, Gauge(label: name.rawValue, dimensions: [("lane", $0.rawValue)]))
                })
        }
        inFlightGauges = gauges(.inFlight)
        backlogGauges = gauges(.backlog)
        for gauge in gauges(.inFlightLimit).values { gauge.record(inFlightLimit) }
    }

    /// Pushes in flight in a lane.
    func inFlight(_ count: Int, in lane: Lane) {
        inFlightGauges[lane]?.record(count)
    }

    /// Deliveries in the store that have not ended.
    func backlog(_ counts: [Lane: Int]) {
        for lane in Lane.allCases { backlogGauges[lane]?.record(counts[lane] ?? 0) }
    }

    /// Counts a recorded batch.
    func count(_ findings: [Finding], _ settlements: [Settlement]) {
        var counts: [Key: Int] = [:]
        for (finding, settlement) in zip(findings, settlements) {
            if case .answered(_, let outcome, true, _) = finding {
                counts[Key(metric: .attempts, outcome: outcome.metricLabel, reason: outcome.reasonLabel), default: 0] +=
                    1
            }
            guard case .ended(let entry) = settlement.result else { continue }
            let key = Key(
                metric: .deliveries, outcome: entry.outcome.rawValue, reason: ReasonLabel.of(entry.reason))
            counts[key, default: 0] += 1
            if entry.outcome == .accepted { latency.record(Double(entry.latencyMilliseconds) / 1000) }
        }
        for (key, count) in counts { counter(key).increment(by: count) }
    }

    /// Counts what a recorded batch taught about registrations.
    func count(_ lessons: Lessons) {
        let corrected = lessons.total(\.corrected)
        if corrected > 0 { correctedEnvironments.increment(by: corrected) }
        let quarantined = lessons.total(\.quarantined)
        if quarantined > 0 { quarantines.increment(by: quarantined) }
    }

    private func counter(_ key: Key) -> Counter {
        counters.withLock { counters in
            if let counter = counters[key] { return counter }
            let counter = Counter(
                label: key.metric.rawValue, dimensions: [("outcome", key.outcome), ("reason", key.reason)])
            counters[key] = counter
            return counter
        }
    }
}
