import PushModel
import Store
import Traces
import Tracing

// Spans of claims and hand-overs, where a traced message is among what was claimed.
extension LaneWorker {
    /// Records a claim up to the hand-over.
    ///
    /// - Parameter start: when it began; `nil`: nothing of it is traced.
    /// - Returns: its context, which the spans of its batches link to.
    func traceClaim(_ builder: PushBatchBuilder, from start: TraceTime?) -> SpanContext? {
        guard let tracer, let start, !builder.traced.isEmpty else { return nil }
        return tracer.record(
            .claim, of: builder.traced, from: start,
            [
                "herald.lane": .string(gate.lane.rawValue), "herald.deliveries": .int(Int64(builder.claimed)),
                "herald.batches": .int(Int64(builder.batches.count)),
            ])
    }

    /// Records a claim that the store refused: always, whatever it would have been of.
    func traceFailure(of order: ClaimOrder, _ error: StoreError, from start: TraceTime) {
        guard !error.isConflict else { return }
        tracer?.record(
            .claim, of: [], from: start,
            ["herald.lane": .string(gate.lane.rawValue), "herald.project": .string(order.project.rawValue)],
            failure: error.message)
    }

    /// What the span of a batch will say; `nil`: no message of it is traced.
    func trace(of batch: PushBatchBuilder.Batch, after claim: SpanContext?) -> SendTrace? {
        guard let tracer, !batch.traced.isEmpty else { return nil }
        return SendTrace(
            context: tracer.context(of: batch.traced), messages: batch.traced, claim: claim, start: tracer.now,
            route: batch.route, pushes: batch.pushes.count)
    }
}
