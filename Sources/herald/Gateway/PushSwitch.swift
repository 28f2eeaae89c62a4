import PushModel

/// Leads each push to the sender of its platform. The platforms have nothing in common behind it, neither connections nor
/// threads nor queues: one that does not answer holds up its own pushes.
final class PushSwitch: PushSender {
    private let senders: [Platform: any PushSender]

    /// Leads to these senders; a push to a platform without one ends as `notSent(no_route)`.
    init(_ senders: [Platform: any PushSender]) {
        self.senders = senders
    }

    func send(_ batch: [Push], report: @escaping @Sendable ([PushReport]) -> Void) async {
        guard let first = batch.first?.route.channel.platform else { return }
        // Batches are of one route but for those that tests make.
        guard batch.contains(where: { $0.route.channel.platform != first }) else {
            return await send(batch, to: first, report: report)
        }
        let places = Dictionary(grouping: batch.indices) { batch[$0].route.channel.platform }
        await withDiscardingTaskGroup { tasks in
            for (platform, places) in places {
                tasks.addTask {
                    await self.send(places.map { batch[$0] }, to: platform) { reports in
                        report(reports.map { $0.moved(to: places[$0.index]) })
                    }
                }
            }
        }
    }

    private func send(
        _ batch: [Push], to platform: Platform, report: @escaping @Sendable ([PushReport]) -> Void
    ) async {
        guard let sender = senders[platform] else {
            return report(batch.indices.map { PushReport(index: $0, outcome: .notSent(.noRoute), latency: .zero) })
        }
        await sender.send(batch, report: report)
    }

    func windDown() {
        for sender in senders.values { sender.windDown() }
    }

    func shutdown(within limit: Duration) async {
        await withDiscardingTaskGroup { tasks in
            for sender in senders.values { tasks.addTask { await sender.shutdown(within: limit) } }
        }
    }

    var upstreams: [UpstreamStatus] { senders.values.flatMap(\.upstreams).sorted { $0.name < $1.name } }

    var heldRoutes: [PushRoute: HeldRoute] {
        // No two have a route in common.
        senders.values.reduce(into: [:]) { all, sender in
            let held = sender.heldRoutes
            if all.isEmpty { all = held } else { all.merge(held) { first, _ in first } }
        }
    }

    func onHeldRoutesChange(_ body: @escaping @Sendable () -> Void) {
        for sender in senders.values { sender.onHeldRoutesChange(body) }
    }
}
