import JSON
package import Logging
package import PushModel
import Signing
import Synchronization
import Upstream

/// Sends pushes to browsers: one upstream for each origin and key, opened when the first push comes for it.
///
/// Lifecycle: ``use(_:)`` sets the apps, as often as the configuration changes; ``shutdown(within:)`` ends everything, once.
package final class WebPushSender: PushSender {
    /// What must not be mixed on a connection.
    struct Destination: Hashable, Sendable {
        let service: PushServiceName
        let subject: String
        let publicKey: [UInt8]
        let trustFile: String?
        /// Whether the project names the service: it may have a private address then.
        let isNamed: Bool
    }

    private struct AppKey: Hashable {
        let project: ProjectID
        let app: AppID
    }

    private let onDemand: UpstreamsOnDemand<Destination>
    private let apps = Mutex<[AppKey: WebPushAppConfiguration]>([:])
    private let wallTime: WallTime

    /// The most origins that have connections at a time.
    static let originLimit = 2000
    /// An origin without a push for so long loses its connections.
    private static let idleTime: Duration = .seconds(600)

    /// The most pushes of a lane that one origin has in hand.
    static let loadLimit = 5000

    /// Prepares the sender; nothing is dialed before the first push.
    ///
    /// - Parameter inFlightLimit: the most pushes of a lane that the gateway has under way: half of them may be to browsers,
    ///   a quarter to one origin.
    package init(
        loopCount: Int, connectionLimit: Int = 4, inFlightLimit: Int = .max, wallTime: @escaping WallTime,
        logger: Logger
    ) {
        self.wallTime = wallTime
        onDemand = UpstreamsOnDemand(
            loopCount: loopCount, limit: Self.originLimit, idleTime: Self.idleTime,
            loadLimit: min(Self.loadLimit, inFlightLimit / 4),
            connectionLimit: connectionLimit, http1: PlainHTTPClient(), wallTime: wallTime, logger: logger)
    }

    init(
        transport: any RequestTransport, originLimit: Int = WebPushSender.originLimit, wideLimit: Int = 100,
        loadLimit: Int = WebPushSender.loadLimit, connectionLimit: Int = 4,
        wallTime: @escaping WallTime, uptime: @escaping Uptime, logger: Logger
    ) {
        self.wallTime = wallTime
        onDemand = UpstreamsOnDemand(
            transport: transport, limit: originLimit, wideLimit: wideLimit, idleTime: Self.idleTime,
            loadLimit: loadLimit,
            connectionLimit: connectionLimit, wallTime: wallTime, uptime: uptime, logger: logger)
    }

    /// Replaces the apps. Upstreams that no app needs any more are closed when they have been idle for a while.
    package func use(_ apps: [WebPushAppConfiguration]) {
        let byKey = Dictionary(
            apps.map { (AppKey(project: $0.project, app: $0.app), $0) }, uniquingKeysWith: { _, last in last })
        self.apps.withLock { $0 = byKey }
    }

    /// As ``UpstreamsOnDemand/divide(among:)``.
    package func divide(among nodes: Int) { onDemand.divide(among: nodes) }

    /// Sends a batch: grouped by origin and key, all groups at the same time.
    package func send(_ batch: [Push], report: @escaping @Sendable ([PushReport]) -> Void) async {
        let (groups, refused) = grouped(batch)
        if !refused.isEmpty { report(refused) }
        await withDiscardingTaskGroup { tasks in
            for group in groups {
                tasks.addTask {
                    await self.onDemand.send(
                        batch, at: group.indices, to: group.destination,
                        describe: { self.description(of: group.destination, key: group.key) }, report: report)
                }
            }
        }
    }

    private struct Group {
        let destination: Destination
        let key: ES256PrivateKey
        var indices: [Int] = []
    }

    /// The way that a push went: nearly all of a batch are of one app and go to one service.
    private struct KnownWay {
        let route: PushRoute
        let serviceURL: String
        let applicationKey: [UInt8]?
        /// Its place among the groups.
        let group: Int

        init?(of push: Push, group: Int) {
            guard let subscription = push.address.webSubscription, let serviceURL = subscription.serviceURL
            else { return nil }
            route = push.route
            self.serviceURL = serviceURL
            applicationKey = subscription.applicationKey
            self.group = group
        }

        func leads(_ push: Push) -> Bool {
            guard push.route == route, let subscription = push.address.webSubscription else { return false }
            return subscription.endpoint.hasPrefix(serviceURL) && subscription.applicationKey == applicationKey
        }
    }

    private func grouped(_ batch: [Push]) -> (groups: [Group], refused: [PushReport]) {
        let apps = apps.withLock { $0 }
        var groups: [Group] = []
        var places: [Destination: Int] = [:]
        var refused: [PushReport] = []
        var last: KnownWay?
        for (index, push) in batch.enumerated() {
            if let last, last.leads(push) {
                groups[last.group].indices.append(index)
                continue
            }
            switch way(of: push, apps) {
            case .success(let (destination, key)):
                let place = places[destination] ?? groups.count
                if place == groups.count {
                    groups.append(Group(destination: destination, key: key))
                    places[destination] = place
                }
                groups[place].indices.append(index)
                last = KnownWay(of: push, group: place)
            case .failure(let refusal):
                refused.append(
                    PushReport(index: index, outcome: refusal.outcome, latency: .zero, isAttempt: false))
            }
        }
        return (groups, refused)
    }

    /// Why a push goes nowhere.
    private struct NoWay: Error {
        let outcome: Outcome
    }

    private func way(
        of push: Push, _ apps: [AppKey: WebPushAppConfiguration]
    ) -> Result<(Destination, ES256PrivateKey), NoWay> {
        guard let app = apps[AppKey(project: push.route.project, app: push.route.app)],
            let subscription = push.address.webSubscription,
            let service = PushServiceName(endpoint: subscription.endpoint)
        else { return .failure(NoWay(outcome: .notSent(.noRoute))) }
        guard service.isPublic || app.services.contains(service) else {
            return .failure(NoWay(outcome: .rejected(Refusal(.serviceNotAllowed, .push(.address)))))
        }
        // A subscription that does not say was made with the present key, or with one of the time before it was asked.
        let key =
            subscription.applicationKey.map { point in app.keys.first { $0.publicPoint == point } } ?? app.keys.first
        guard let key else {
            return .failure(NoWay(outcome: .rejected(Refusal(.keyUnknown, .addressDoubtful))))
        }
        let isNamed = app.services.contains(service)
        // A file with the authority of a company's own service would shut out the public ones.
        let destination = Destination(
            service: service, subject: app.subject, publicKey: key.publicPoint,
            trustFile: isNamed ? app.trustFile : nil, isNamed: isNamed)
        return .success((destination, key))
    }

    private func description(of destination: Destination, key: ES256PrivateKey) -> UpstreamDescription {
        let service = destination.service
        // The beginning of the key: an origin has an upstream for each.
        var configuration = UpstreamConfiguration(
            name: "\(service) vapid/\(Base64URL.text(destination.publicKey).prefix(8))",
            endpoint: UpstreamEndpoint(host: service.host, port: service.port), trustFile: destination.trustFile)
        configuration.isNamedByOthers = !destination.isNamed
        configuration.answerFields = WebPushService.answerFields
        return UpstreamDescription(
            configuration: configuration,
            service: WebPushService(host: service.host, wallTime: wallTime, uptime: onDemand.uptime),
            tokens: VAPIDTokenSource(
                key: key, subject: destination.subject, origin: service.origin, wallTime: wallTime))
    }

    /// Closes the connections to origins that no push has gone to for ten minutes. To be called now and then.
    package func closeIdle() { onDemand.closeIdle() }

    /// One entry for each origin and key that has connections.
    package var upstreams: [UpstreamStatus] { onDemand.upstreams }

    /// The apps that no bulk pushes are wanted for now: an origin has many in hand, or all origins hold theirs.
    package var heldRoutes: [PushRoute: HeldRoute] { onDemand.heldRoutes }

    /// Sets what is called when ``heldRoutes`` changed.
    package func onHeldRoutesChange(_ body: @escaping @Sendable () -> Void) { onDemand.onHeldRoutesChange(body) }

    package func windDown() { onDemand.windDown() }

    package func shutdown(within limit: Duration) async { await onDemand.shutdown(within: limit) }
}
