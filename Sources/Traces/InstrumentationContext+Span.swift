package import Tracing

extension InstrumentationContext {
    private enum SpanKey: InstrumentationContextKey {
        typealias Value = SpanContext
        static let nameOverride: String? = "herald.span"
    }

    private enum OwnKey: InstrumentationContextKey {
        typealias Value = SpanContext
        static let nameOverride: String? = "herald.own-span"
    }

    /// The span that work belongs to; of a span's link, the span that it leads to.
    package var span: SpanContext? {
        get { self[SpanKey.self] }
        set { self[SpanKey.self] = newValue }
    }

    /// What the span that is started with this context is to be; `nil`: a new one.
    package var own: SpanContext? {
        get { self[OwnKey.self] }
        set { self[OwnKey.self] = newValue }
    }

    /// The context of a span.
    package init(_ span: SpanContext) {
        self = .topLevel
        self.span = span
    }
}
