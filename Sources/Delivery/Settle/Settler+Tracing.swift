import PushModel
import Store
import Traces
import Tracing

// One span for a transaction, where a message of it is traced or a delivery failed.
extension Settler {
    /// Messages that are not traced and failed: so many are named in a span.
    private static let failedMessages = 16

    /// Records a transaction that was committed.
    func trace(_ batch: ResultBatch, _ failures: [FailureLine: Int], from start: TraceTime) {
        guard let tracer, !batch.traced.isEmpty || !failures.isEmpty else { return }
        let failed = Set(failures.keys.map(\.message)).subtracting(batch.traced).prefix(Self.failedMessages)
        let most = failures.max { ($0.value, $1.key.reason) < ($1.value, $0.key.reason) }
        var attributes = Self.attributes(of: batch)
        attributes["herald.failed"] = failures.values.reduce(0, +)
        if let most { attributes["error.type"] = most.key.reason }
        tracer.record(
            .settle, of: Array(batch.traced) + failed, from: start, links: batch.sends, attributes,
            failure: most.map { "\($0.key.outcome.rawValue) \($0.key.reason)" })
    }

    /// Records a transaction that the store refused: always, unless another worker has these deliveries.
    func traceFailure(of batch: ResultBatch, _ error: StoreError, from start: TraceTime) {
        guard !error.isConflict else { return }
        tracer?.record(
            .settle, of: Array(batch.traced), from: start, links: batch.sends, Self.attributes(of: batch),
            failure: error.message)
    }

    private static func attributes(of batch: ResultBatch) -> SpanAttributes {
        ["herald.results": .int(Int64(batch.count))]
    }
}
