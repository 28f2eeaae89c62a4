import Logging
import SQLStorage
import SQLiteStorage
import Store
import TestSupport
import Webhooks

/// A receiver of webhooks that answers what a test says, and keeps the last request.
final class WebhookReceiver: WebhookTransport {
    let status = Shared(204)
    let last = Shared<WebhookRequest?>(nil)

    func send(_ request: WebhookRequest) async -> WebhookAnswer {
        last.withLock { $0 = request }
        return WebhookAnswer(status: status.withLock { $0 }, text: "thanks")
    }

    func keep(_ endpoints: Set<WebhookID>) async {}

    /// Webhooks that come to this receiver. No name is found, so URLs are looked at by their form alone.
    func controller(over store: SQLiteStore, at clock: TestGateway.Dial, logger: Logger) -> WebhookController {
        let services = WebhookServices(
            store: store, transport: self, budget: ReadingBudget(clock: ContinuousClock(), isBusy: { false }),
            clock: ContinuousClock(), wallTime: { clock.now }, random: { 0.5 }, logger: logger)
        return WebhookController(
            services, policy: WebhookPolicy(), lookup: { _, _ in .failure(WebhookLookupFailure("no name server")) })
    }
}
