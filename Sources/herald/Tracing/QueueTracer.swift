import Traces
import Tracing

/// A swift-distributed-tracing backend whose spans go to a queue, from which ``SpanExporter`` takes them.
///
/// Whether something is recorded is decided before a span is started (``Traces/StepTracer``): all that are started here are.
struct QueueTracer: Tracer {
    let queue: SpanQueue

    func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> InstrumentationContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> QueuedSpan {
        let context = context()
        var generator = SystemRandomNumberGenerator()
        let parent = context.span
        let own =
            context.own ?? parent?.child(using: &generator)
            ?? SpanContext(traceID: .random(using: &generator), spanID: .random(using: &generator), isSampled: true)
        return QueuedSpan(
            FinishedSpan(
                context: own, parent: parent?.traceID == own.traceID ? parent?.spanID : nil, name: operationName,
                kind: kind, start: instant().nanosecondsSinceEpoch), in: queue)
    }

    /// Nothing: the exporter sends every few seconds, and at the end.
    func forceFlush() {}

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        guard let parent = extractor.extract(key: "traceparent", from: carrier) else { return }
        let state = extractor.extract(key: "tracestate", from: carrier)
        if let span = SpanContext(parents: [parent], states: state.map { [$0] } ?? []) { context.span = span }
    }

    func inject<Carrier, Inject: Injector>(
        _ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let span = context.span else { return }
        injector.inject(span.parent, forKey: "traceparent", into: &carrier)
        if !span.state.isEmpty { injector.inject(span.state, forKey: "tracestate", into: &carrier) }
    }
}
