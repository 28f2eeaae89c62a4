import Delivery
import PushModel
import Store

extension PrometheusRegistry {
    /// Sets the figures of tracing.
    func setTracing(_ queue: SpanQueue) {
        let counts = queue.counts
        setGauge(.traceQueue, [(labels: [], value: Double(counts.waiting))])
        setGauge(.traceQueueLimit, [(labels: [], value: Double(queue.limit))])
        setCounter(.traceSpansExported, [(labels: [], value: Double(counts.exported))])
        setCounter(
            .traceSpansDropped,
            SpanQueue.Loss.allCases.map { loss in
                (labels: [("reason", loss.rawValue)], value: Double(counts.lost[loss] ?? 0))
            })
    }

    /// Sets how many deliveries ended how, by app, topic and label; names that lost their place leave the scrape.
    func setEnds(_ ends: [NamedEnds]) {
        for kind in NamedEnds.Kind.allCases {
            let name: MetricName =
                switch kind {
                case .app: .appDeliveries
                case .topic: .topicDeliveries
                case .label: .labelDeliveries
                }
            setCounter(
                name,
                ends.filter { $0.kind == kind }.map { end in
                    (
                        labels: [
                            ("project", end.project), (kind.rawValue, end.name), ("outcome", end.outcome.rawValue),
                        ], value: Double(end.count)
                    )
                })
        }
    }
}
