package import Logging
package import PushModel
package import Store
package import Traces

/// What the senders of all endpoints share.
package struct WebhookServices: Sendable {
    /// What they ask of the store.
    package typealias Stores = WebhookStore & EventStore & LedgerStore

    /// Endpoints, events and reports.
    package var store: any Stores
    /// Makes requests.
    package var transport: any WebhookTransport
    /// How many of them at a time.
    package var slots: SendingSlots
    /// When events are read.
    package var budget: ReadingBudget
    /// Counts what becomes of them.
    package var metrics: WebhookMetrics
    /// By which rests end.
    package var clock: any Clock<Duration>
    /// The time that schedules go by.
    package var wallTime: WallTime
    /// From 0 up to 1.
    package var random: @Sendable () -> Double
    /// Records requests of traced messages; `nil`: nothing is traced.
    package var tracer: StepTracer?
    /// Whether this gateway sends them: of several that share a store one does.
    package var isSending: @Sendable () -> Bool = { true }
    /// Logs endpoints that fail.
    package var logger: Logger

    /// Puts them together.
    package init(
        store: any Stores, transport: any WebhookTransport, slots: SendingSlots = SendingSlots(), budget: ReadingBudget,
        metrics: WebhookMetrics = WebhookMetrics(), clock: any Clock<Duration>, wallTime: @escaping WallTime,
        random: @escaping @Sendable () -> Double, tracer: StepTracer? = nil, logger: Logger
    ) {
        self.store = store
        self.transport = transport
        self.slots = slots
        self.budget = budget
        self.metrics = metrics
        self.clock = clock
        self.wallTime = wallTime
        self.random = random
        self.tracer = tracer
        self.logger = logger
    }

    /// Signs a delivery and sends it, once.
    func send(_ delivery: WebhookDelivery, to endpoint: WebhookEndpoint) async -> (WebhookAnswer, WebhookAttempt) {
        let (time, start) = (wallTime(), ContinuousClock.now)
        let span = WebhookSpan(of: delivery, tracer)
        let answer: WebhookAnswer
        do throws(WebhookSignature.InvalidSecret) {
            let signature = try WebhookSignature.header(
                id: delivery.id, at: time, body: delivery.body, secrets: endpoint.secrets)
            var headers = [
                (name: "webhook-id", value: delivery.id), (name: "webhook-timestamp", value: String(time.seconds)),
                (name: "webhook-signature", value: signature),
            ]
            if let span { headers.append((name: "traceparent", value: span.context.parent)) }
            answer = await transport.send(
                WebhookRequest(
                    endpoint: endpoint.id, project: endpoint.project, url: endpoint.settings.url, headers: headers,
                    body: delivery.body))
        } catch {
            answer = WebhookAnswer(.secret, "The endpoint's secret can't sign; rotate it.")
        }
        span?.record(answer, of: endpoint)
        let attempt = WebhookAttempt(
            delivery: delivery.id, type: delivery.type, first: delivery.first, last: delivery.last,
            events: delivery.events, time: time, latency: ContinuousClock.now - start, status: answer.status,
            failure: answer.failure?.rawValue, detail: answer.detail, answer: answer.text)
        return (answer, attempt)
    }
}
