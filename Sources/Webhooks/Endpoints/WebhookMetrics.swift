package import CoreMetrics
import Metrics
import PushModel

/// What `/metrics` says of webhooks.
package struct WebhookMetrics: Sendable {
    private let attempts: [String: Counter]
    private let inFlight: Gauge
    private let waiting: Gauge
    private let endpoints: [String: Gauge]
    private let lag: Gauge

    /// Makes the metrics; the limit is told at once.
    package init(factory: any MetricsFactory = MetricsSystem.factory, limit: Int = SendingSlots.Limits().total) {
        let results = ["taken"] + WebhookAnswer.Failure.allCases.map(\.rawValue)
        attempts = Dictionary(
            uniqueKeysWithValues: results.map { result in
                let labels = [("result", result)]
                return (
                    result,
                    Counter(label: MetricName.webhookAttempts.rawValue, dimensions: labels, factory: factory)
                )
            })
        inFlight = Gauge(label: MetricName.webhookInFlight.rawValue, factory: factory)
        waiting = Gauge(label: MetricName.webhookWaiting.rawValue, factory: factory)
        lag = Gauge(label: MetricName.webhookLag.rawValue, factory: factory)
        endpoints = Dictionary(
            uniqueKeysWithValues: ["enabled", "failing", "disabled"].map { state in
                let labels = [("state", state)]
                return (
                    state, Gauge(label: MetricName.webhookEndpoints.rawValue, dimensions: labels, factory: factory)
                )
            })
        Gauge(label: MetricName.webhookInFlightLimit.rawValue, factory: factory).record(limit)
    }

    /// An attempt ended.
    func count(_ answer: WebhookAnswer) {
        attempts[answer.failure?.rawValue ?? "taken"]?.increment()
    }

    /// How it stands.
    func set(_ slots: SendingSlots) {
        inFlight.record(slots.inUse)
        waiting.record(slots.waiting)
    }

    /// How many endpoints there are of each kind, and how many events the one that is furthest behind lacks.
    func set(enabled: Int, failing: Int, disabled: Int, lag: Int64) {
        endpoints["enabled"]?.record(enabled)
        endpoints["failing"]?.record(failing)
        endpoints["disabled"]?.record(disabled)
        self.lag.record(lag)
    }
}
