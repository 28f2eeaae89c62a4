package import Tracing

/// The steps of a message that have spans of their own.
package enum TraceStep: String, Sendable, CaseIterable {
    /// A message was committed.
    case accept
    /// A page, or single deliveries together, were claimed.
    case claim
    /// A batch of pushes was at its push service, until the last answer.
    case send
    /// Results were recorded.
    case settle
    /// A webhook was called. Its request carries the span's context, made before it (``StepTracer/context(of:)``), as
    /// ``SpanContext/parent``.
    case webhook

    /// How the step stands to the spans that it links to.
    package var kind: SpanKind {
        switch self {
        case .accept: .producer
        case .claim, .settle: .consumer
        case .send, .webhook: .client
        }
    }
}
