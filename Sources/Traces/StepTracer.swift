package import PushModel
package import Tracing

/// Records the steps of messages as spans: one for a batch, whatever the number of its pushes.
///
/// A span of one message is in the message's trace, which follows from its id; one of several is a trace of its own. Either
/// links to the accept of each traced message, instead of being its child: a step serves many messages, and a message
/// goes through many steps, some of them days later.
///
/// Safe to share. Where nothing is traced there is no tracer, and what would use it looks at an optional.
package struct StepTracer: Sendable {
    /// The most links of a span, OpenTelemetry's default.
    package static let linkLimit = 128

    private let tracer: any Tracer
    private let sampler: TraceSampler

    /// Prepares a tracer that hands spans to `tracer`.
    package init(_ tracer: any Tracer, sampler: TraceSampler) {
        self.tracer = tracer
        self.sampler = sampler
    }

    /// The time now, for the start of a span.
    package var now: TraceTime { DefaultTracerClock.now }

    /// Whether a new message of a request is traced.
    ///
    /// - Parameter request: `nil`: no request has it sent.
    package func decide(for request: RequestTrace?) -> Bool {
        sampler.samples(request?.parent, random: .random(in: 0..<1))
    }

    /// Begins the trace of a request.
    ///
    /// - Parameter parent: what its caller says; `nil`: nothing.
    package func request(of parent: SpanContext?) -> RequestTrace {
        RequestTrace(parent: parent, start: now)
    }

    /// The context of a new span of these messages, before it is recorded.
    package func context(of messages: [MessageID]) -> SpanContext {
        var generator = SystemRandomNumberGenerator()
        if messages.count == 1 { return messages[0].acceptContext.child(using: &generator) }
        return SpanContext(
            traceID: .random(using: &generator), spanID: .random(using: &generator), isSampled: true)
    }

    /// Records a step that is over.
    ///
    /// - Parameters:
    ///   - messages: the traced messages that it was for, each once; links lead to their accepts, up to ``linkLimit``.
    ///   - context: the span's own; `nil`: a new one.
    ///   - links: the spans that came before: of the request, the claim, the hand-over.
    ///   - failure: why it failed; `nil`: it did not.
    /// - Returns: the span's context.
    @discardableResult
    package func record(
        _ step: TraceStep, of messages: [MessageID], as context: SpanContext? = nil, from start: TraceTime,
        until end: TraceTime? = nil, links: [SpanContext] = [], _ attributes: SpanAttributes = [:],
        failure: String? = nil
    ) -> SpanContext {
        let own = context ?? self.context(of: messages)
        var origin = InstrumentationContext.topLevel
        origin.own = own
        let span = tracer.startSpan(step.rawValue, context: origin, ofKind: step.kind, at: start)
        var attributes = attributes
        attributes["messaging.system"] = "herald"
        attributes["messaging.operation.name"] = step.rawValue
        if messages.count == 1 {
            attributes["messaging.message.id"] = messages[0].rawValue
        } else if !messages.isEmpty {
            attributes["herald.traced_messages"] = messages.count
        }
        span.attributes = attributes
        // The accept has no link to itself.
        if step != .accept {
            for message in messages.prefix(Self.linkLimit - min(links.count, Self.linkLimit)) {
                span.addLink(Self.link(to: message.acceptContext, message))
            }
        }
        for link in links.prefix(Self.linkLimit) { span.addLink(Self.link(to: link, nil)) }
        if let failure { span.setStatus(SpanStatus(code: .error, message: failure)) }
        span.end(at: end ?? now)
        return own
    }

    /// Records a request that was answered, if it is traced: its caller, or one of its messages, or chance says so, or it
    /// failed with a status of 500 or more.
    ///
    /// - Parameters:
    ///   - isByCaller: whether the caller may decide; otherwise its span is the parent, and chance decides all the same.
    ///   - name: method and route, never the path itself; made, as the attributes, only where it is traced.
    ///   - isSend: whether messages are what decides about it.
    package func record(
        _ request: RequestTrace, name: @autoclosure () -> String, status: Int, isSend: Bool, isByCaller: Bool = true,
        _ attributes: @autoclosure () -> SpanAttributes
    ) {
        let messages = request.messages
        let isFailure = status >= 500
        let isChosen = request.parent.map { $0.isSampled && sampler.followsParent && isByCaller } ?? false
        guard isFailure || isChosen || !messages.isEmpty || (!isSend && decide(for: isByCaller ? request : nil))
        else { return }
        var origin = InstrumentationContext.topLevel
        origin.span = request.parent
        origin.own = request.context
        let span = tracer.startSpan(name(), context: origin, ofKind: .server, at: request.start)
        var attributes = attributes()
        attributes["http.response.status_code"] = status
        if messages.count == 1 { attributes["messaging.message.id"] = messages[0].rawValue }
        span.attributes = attributes
        for message in messages { span.addLink(Self.link(to: message.acceptContext, message)) }
        if isFailure { span.setStatus(SpanStatus(code: .error)) }
        span.end(at: now)
    }

    private static func link(to context: SpanContext, _ message: MessageID?) -> SpanLink {
        var attributes: SpanAttributes = [:]
        if let message { attributes["messaging.message.id"] = message.rawValue }
        return SpanLink(context: InstrumentationContext(context), attributes: attributes)
    }
}

/// A time in a trace, of the wall clock.
package typealias TraceTime = DefaultTracerClock.Timestamp
