import PushModel
import Store
import Traces
import Tracing

/// The span of one request. Its context is made before the request, which carries it as `traceparent`.
struct WebhookSpan {
    /// What the request carries.
    let context: SpanContext
    private let tracer: StepTracer
    private let delivery: WebhookDelivery
    private let start: TraceTime

    /// `nil`: the request is not recorded. Traced messages decide; where it is about none, the sampler does.
    init?(of delivery: WebhookDelivery, _ tracer: StepTracer?) {
        guard let tracer else { return nil }
        guard !delivery.traced.isEmpty || (!delivery.isOfMessages && tracer.decide(for: nil)) else { return nil }
        self.tracer = tracer
        self.delivery = delivery
        context = tracer.context(of: delivery.traced)
        start = tracer.now
    }

    /// The request to `endpoint` is over.
    func record(_ answer: WebhookAnswer, of endpoint: WebhookEndpoint) {
        var attributes: SpanAttributes = [
            "herald.webhook": .string(endpoint.name), "herald.webhook_id": .string(delivery.id),
            "herald.event_type": .string(delivery.type), "herald.events": .int(Int64(delivery.events)),
        ]
        if let status = answer.status { attributes["http.response.status_code"] = status }
        tracer.record(
            .webhook, of: delivery.traced, as: context, from: start, attributes, failure: answer.failure?.rawValue)
    }
}
