import PushModel
import Traces
import Tracing

/// The span of a batch that is at its push service: of batches with a traced message alone.
struct SendTrace: Sendable {
    /// The span.
    let context: SpanContext
    /// The traced messages of the batch.
    let messages: [MessageID]
    /// The span of the claim that it comes from.
    let claim: SpanContext?
    /// When it was handed over.
    let start: TraceTime
    /// Its way.
    let route: PushRoute
    /// How many pushes it has.
    let pushes: Int
    /// How many of them were not accepted by their answers.
    var failures = 0

    /// Records it, now that the last answer came.
    func record(in tracer: StepTracer?) {
        tracer?.record(
            .send, of: messages, as: context, from: start, links: claim.map { [$0] } ?? [],
            [
                "herald.project": .string(route.project.rawValue), "herald.app": .string(route.app.rawValue),
                "herald.channel": "\(route.channel)", "herald.pushes": .int(Int64(pushes)),
                "herald.not_accepted": .int(Int64(failures)),
            ],
            failure: failures > 0 ? "\(failures) of \(pushes) pushes were not accepted" : nil)
    }
}
