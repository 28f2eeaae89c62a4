import PushModel
import Store
import Synchronization

/// Writes events that say where messages stand, for projects in which an endpoint asks for them: for each message at most one
/// in each round, and only when more of its deliveries have ended.
final class ProgressWriter: Sendable {
    /// Messages of a project that are looked at in a round.
    private static let limit = 100

    private let store: any WebhookStore & LedgerStore
    private let wallTime: WallTime
    /// How many deliveries of a message had ended.
    private let told = Mutex<[MessageID: Int]>([:])

    init(store: any WebhookStore & LedgerStore, wallTime: @escaping WallTime) {
        self.store = store
        self.wallTime = wallTime
    }

    /// One round.
    func write(for endpoints: [WebhookEndpoint]) async throws(StoreError) {
        let asking = endpoints.filter { $0.state == .enabled && $0.settings.types.contains(.messageProgress) }
        var now: [MessageID: Int] = [:]
        for project in Set(asking.map(\.project)) {
            let reports = try await store.reports(in: project, state: .active, after: nil, limit: Self.limit).elements
            let before = told.withLock { $0 }
            var changed: [MessageID] = []
            for report in reports {
                let ended = report.ended.values.reduce(0, +)
                now[report.message.id] = ended
                if ended > before[report.message.id] ?? 0 { changed.append(report.message.id) }
            }
            try await store.noteProgress(of: changed, in: project, at: wallTime())
        }
        told.withLock { $0 = now }
    }
}
