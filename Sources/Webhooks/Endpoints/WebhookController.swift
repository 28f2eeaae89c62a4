import Delivery
import IPAddresses
package import PushModel
package import Store

/// What owners of endpoints ask for, beside what the store does for them.
package struct WebhookController: Sendable {
    /// The most endpoints of a project.
    package static let limit = 20
    /// The most bytes of a description.
    package static let longestDescription = 200
    /// How long a check waits for name servers.
    static let checkTimeout: Duration = .seconds(5)
    /// How often the store is asked when a replay is counted, a thousand events each, before it says "at least".
    private static let countPages = 100

    /// What was found of the events of a replay.
    package struct Count: Hashable, Sendable {
        /// How many events.
        package var events: Int
        /// Whether that is all.
        package var isExact: Bool
    }

    private let services: WebhookServices
    private let lookup: HTTPWebhookTransport.Lookup
    /// Where webhooks may go.
    package let policy: WebhookPolicy

    /// Prepares a controller over what senders stand on.
    package init(
        _ services: WebhookServices, policy: WebhookPolicy, lookup: @escaping HTTPWebhookTransport.Lookup
    ) {
        self.services = services
        self.policy = policy
        self.lookup = lookup
    }

    /// The endpoints.
    package var store: any WebhookServices.Stores { services.store }

    /// Checks a URL, and where its name leads now; a name that leads nowhere yet, or of which nothing is heard in
    /// ``checkTimeout``, is no problem: it is checked before each request.
    package func check(_ text: String, for project: ProjectID) async throws(WebhookURLProblem) {
        let url = try WebhookURL(text, policy)
        if let literal = url.literal { return try policy.check([literal], port: url.port) }
        guard let addresses = await addresses(of: url.host, for: project) else { return }
        try policy.check(addresses, port: url.port)
    }

    private func addresses(of host: String, for project: ProjectID) async -> [IPAddress]? {
        let (lookup, clock) = (lookup, services.clock)
        return await withTaskGroup(of: [IPAddress]?.self) { group in
            group.addTask {
                guard case .success(let found) = await lookup(host, project) else { return nil }
                return found
            }
            group.addTask {
                // Cancelled when the answer came first.
                await clock.pause(Self.checkTimeout)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
    }

    /// Sends a test, once, whatever state the endpoint is in; it is kept among the attempts.
    package func test(_ endpoint: WebhookEndpoint) async throws(StoreError) -> WebhookAttempt {
        let number = UInt64.random(in: .min ... .max)
        let delivery = WebhookDelivery.test(of: endpoint, number: number, at: services.wallTime())
        let (answer, attempt) = await services.send(delivery, to: endpoint)
        services.metrics.count(answer)
        // An earlier revision than any: only the attempt counts.
        var progress = WebhookProgress(revision: -1, position: WebhookPosition(cursor: .zero))
        progress.attempt = attempt
        try await services.store.note(progress, of: endpoint.id, at: services.wallTime())
        return attempt
    }

    /// Counts what a replay would send.
    package func count(_ replay: WebhookReplay, of endpoint: WebhookEndpoint) async throws(StoreError) -> Count {
        if replay.isOnlyFailed {
            let count = try await services.store.deadLetterCount(
                of: endpoint.id, after: replay.cursor, upTo: replay.last)
            return Count(events: count, isExact: true)
        }
        let selection = EventSelection(endpoint: endpoint.id, filter: endpoint.settings.filter)
        let filter = selection.events(of: endpoint.project, among: endpoint.settings.types, replaying: replay)
        var (count, last) = (0, replay.cursor)
        for _ in 0..<Self.countPages {
            let start = ContinuousClock.now
            let page = try await services.store.events(after: last, filter, limit: 1000)
            count += page.events.count { $0.number <= replay.last && selection.keeps($0) }
            last = page.last
            // What it takes is taken from the share of the senders.
            services.budget.spend(ContinuousClock.now - start, behind: 0)
            if page.isAtEnd || last >= replay.last { return Count(events: count, isExact: !selection.needsMessages) }
        }
        return Count(events: count, isExact: false)
    }
}
