import Synchronization
import Traces
import Tracing

/// A span that is being recorded, and goes to the queue of the exporter when it ends. What is said of it later counts no more.
final class QueuedSpan: Span {
    private struct State {
        var span: FinishedSpan
        var hasEnded = false
    }

    /// The most events and links of a span, OpenTelemetry's default.
    private static let limit = 128

    let context: InstrumentationContext
    private let queue: SpanQueue
    private let state: Mutex<State>

    init(_ span: FinishedSpan, in queue: SpanQueue) {
        context = InstrumentationContext(span.context)
        self.queue = queue
        state = Mutex(State(span: span))
    }

    var operationName: String {
        get { state.withLock { $0.span.name } }
        set { change { $0.name = newValue } }
    }

    var attributes: SpanAttributes {
        get { state.withLock { $0.span.attributes } }
        set { change { $0.attributes = newValue } }
    }

    var isRecording: Bool { state.withLock { !$0.hasEnded } }

    func setStatus(_ status: SpanStatus) { change { $0.status = status } }

    func addEvent(_ event: SpanEvent) {
        change { if $0.events.count < Self.limit { $0.events.append(event) } }
    }

    func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {
        var attributes = attributes
        attributes["exception.type"] = "\(type(of: error))"
        addEvent(SpanEvent(name: "exception", at: instant(), attributes: attributes))
    }

    /// Adds a link; one to what is no span of ours is none.
    func addLink(_ link: SpanLink) {
        guard let context = link.context.span else { return }
        change { span in
            if span.links.count < Self.limit {
                span.links.append(FinishedSpan.Link(context: context, attributes: link.attributes))
            }
        }
    }

    func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        let end = instant().nanosecondsSinceEpoch
        let finished: FinishedSpan? = state.withLock { state in
            guard !state.hasEnded else { return nil }
            state.hasEnded = true
            // The clock may have been set meanwhile.
            state.span.end = max(end, state.span.start)
            return state.span
        }
        if let finished { queue.append(finished) }
    }

    private func change(_ change: (inout FinishedSpan) -> Void) {
        state.withLock { state in
            if !state.hasEnded { change(&state.span) }
        }
    }
}
