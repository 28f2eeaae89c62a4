import Delivery
import Logging
import PushModel
import ServiceLifecycle
import Store

/// Sends the events of all projects to their endpoints: one sender for each that is enabled, so that none waits for another.
///
/// Runs until graceful shutdown. What is under way then is sent again after the next start, with the same ids.
package struct WebhookService: Service {
    /// How often the figures are told, and how long an endpoint that another process made waits.
    private static let interval: Duration = .seconds(10)

    private let services: WebhookServices
    private let progress: ProgressWriter
    private let shutdown: @Sendable () async -> Void

    /// Prepares a service.
    ///
    /// - Parameter shutdown: called when nothing is sent any more.
    package init(_ services: WebhookServices, shutdown: @escaping @Sendable () async -> Void = {}) {
        self.services = services
        self.shutdown = shutdown
        progress = ProgressWriter(store: services.store, wallTime: services.wallTime)
    }

    /// Sends until graceful shutdown or cancellation.
    package func run() async {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                let senders = SenderTable()
                let changes = services.store.changes.makeAsyncIterator()
                group.addTask { await self.follow(changes, senders) }
                group.addTask { await self.repeatFigures(senders) }
                let wake = senders.changed
                while !Task.isCancelled {
                    await start(senders, in: &group)
                    await wake.wait(atMost: Self.interval, on: services.clock)
                }
                group.cancelAll()
            }
        }
        await shutdown()
    }

    /// Starts senders for endpoints that have none; tells those that run what changed.
    private func start(_ senders: SenderTable, in group: inout DiscardingTaskGroup) async {
        let endpoints: [WebhookEndpoint]
        do throws(StoreError) {
            // Without endpoints the senders that run end.
            endpoints = services.isSending() ? try await services.store.webhooks(of: nil) : []
        } catch {
            guard !Task.isCancelled else { return }
            return services.logger.warning("Webhooks not read", metadata: ["error": "\(error)"])
        }
        for endpoint in endpoints where endpoint.state == .enabled {
            guard let signal = senders.add(endpoint) else { continue }
            let services = services
            group.addTask {
                var sender = EndpointSender(endpoint, services, signal: signal)
                await sender.run()
                senders.remove(endpoint.id)
            }
        }
        senders.retain(endpoints)
        await services.transport.keep(Set(endpoints.map(\.id)))
    }

    /// Wakes senders when something is committed.
    private func follow(_ changes: StoreChanges.AsyncIterator, _ senders: SenderTable) async {
        var changes = changes
        while let change = await changes.next() {
            if change.contains(.webhooks) { senders.changed.raise() }
            if change.contains(.events) { senders.wakeAll() }
        }
    }

    private func repeatFigures(_ senders: SenderTable) async {
        while !Task.isCancelled {
            do throws(StoreError) {
                guard services.isSending() else {
                    await services.clock.pause(Self.interval)
                    continue
                }
                let endpoints = try await services.store.webhooks(of: nil)
                try await progress.write(for: endpoints)
                let newest = try await services.store.events(after: .zero, EventFilter(), limit: 0).newest
                tell(endpoints, newest: newest)
            } catch {
                guard !Task.isCancelled else { return }
                services.logger.warning("Figures of webhooks not read", metadata: ["error": "\(error)"])
            }
            await services.clock.pause(Self.interval)
        }
    }

    private func tell(_ endpoints: [WebhookEndpoint], newest: EventNumber) {
        let enabled = endpoints.filter { $0.state == .enabled }
        let lag = enabled.map { newest.rawValue - $0.position.cursor.rawValue }.max() ?? 0
        services.metrics.set(services.slots)
        services.metrics.set(
            enabled: enabled.count, failing: enabled.count { $0.position.failingSince != nil },
            disabled: endpoints.count - enabled.count, lag: lag)
    }
}
