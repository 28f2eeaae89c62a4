import PushModel
import Store

/// What a project has to claim in one lane: fan-outs and routes with due deliveries, which take turns.
struct ProjectQueue {
    /// Every route that its apps have.
    private(set) var routes: Set<PushRoute> = []
    /// The routes with single deliveries and retries that are due.
    private(set) var dueRoutes: [PushRoute] = []
    /// Whether due deliveries come before the next page.
    private(set) var isDueNext = false
    private var fanOuts: [OpenFanOut] = []
    /// The message that had the last page.
    private var lastMessage = Int64.min

    /// Whether it has something to claim.
    var hasWork: Bool { !fanOuts.isEmpty || !dueRoutes.isEmpty }

    /// The fan-outs that no claim is under way of, the next message first.
    func openFanOuts(besides busy: Set<OpenFanOut.ID>) -> [OpenFanOut] {
        let open = fanOuts.filter { !busy.contains($0.id) }
        return open.filter { $0.id.message > lastMessage } + open.filter { $0.id.message <= lastMessage }
    }

    /// Takes over a project as it is configured.
    mutating func configure(_ project: Project) {
        routes = []
        for app in project.apps.values {
            for channel in app.channels {
                routes.insert(PushRoute(project: project.id, app: app.id, channel: channel))
            }
        }
    }

    /// Takes over what the store offers.
    mutating func offered(_ fanOuts: [OpenFanOut], _ dueRoutes: [PushRoute]) {
        self.fanOuts = fanOuts.sorted { ($0.id.message, $0.id.shard) < ($1.id.message, $1.id.shard) }
        self.dueRoutes = dueRoutes
    }

    /// A page of a fan-out is being claimed.
    mutating func claimed(_ fanOut: OpenFanOut) {
        lastMessage = fanOut.id.message
        isDueNext = true
    }

    /// Due deliveries are being claimed.
    mutating func claimedDue() {
        isDueNext = false
    }

    /// A fan-out has nothing more to claim.
    mutating func remove(_ fanOut: OpenFanOut.ID) {
        fanOuts.removeAll { $0.id == fanOut }
    }

    /// A route has nothing more that is due.
    mutating func remove(_ route: PushRoute) {
        dueRoutes.removeAll { $0 == route }
    }

    /// A message has nothing more to claim.
    mutating func remove(_ message: MessageID) {
        fanOuts.removeAll { $0.message == message }
    }
}
