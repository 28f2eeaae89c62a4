import PushModel
import Synchronization
import Upstream

/// Sends publications to channels: an upstream for each endpoint and credential, apart from that of device pushes, opened
/// by the first publication. What holds one back (a capability that is switched off, a rest that APNs asks for) holds back
/// no device.
final class BroadcastSender: Sendable {
    /// How the broadcasts of one app travel in one environment.
    struct Way: Sendable {
        let key: UpstreamKey
        private let credential: APNSCredential
        /// Shared with the app's device pushes: one provider token for a key, whatever it sends.
        private let tokens: (any AuthorizationSource)?

        init(
            _ app: APNSAppConfiguration, _ environment: PushEnvironment, _ endpoint: UpstreamEndpoint,
            tokens: (any AuthorizationSource)?
        ) {
            var key = UpstreamKey(
                app, endpoint: app.broadcastEndpoints[environment] ?? endpoint, proxy: app.proxies[environment])
            key.isForBroadcasts = true
            key.publicationLimit = app.publicationLimit
            self.key = key
            credential = app.credential
            self.tokens = tokens
        }

        var description: UpstreamDescription {
            UpstreamDescription(
                configuration: UpstreamConfiguration(
                    name: key.name, endpoint: key.endpoint, trustFile: key.trustFile, proxy: key.proxy,
                    identity: credential.identity),
                service: BroadcastService(credential: key.credential, addressLimit: key.publicationLimit),
                tokens: tokens)
        }
    }

    /// The most upstreams at a time.
    static let limit = 1000
    /// The most publications of a lane that one has in hand.
    static let loadLimit = 1000
    /// One that nothing was published to for so long is closed.
    static let idleTime: Duration = .seconds(900)

    private let open: UpstreamsOnDemand<UpstreamKey>
    private let ways = Mutex<[PushRoute: Way]>([:])

    init(_ open: UpstreamsOnDemand<UpstreamKey>) {
        self.open = open
    }

    /// Replaces the ways of all apps.
    func use(_ next: [PushRoute: Way]) {
        ways.withLock { $0 = next }
    }

    /// Sends the pushes of `batch` at `indices`, which are publications; each gets one report.
    func send(_ batch: [Push], at indices: [Int], report: @escaping @Sendable ([PushReport]) -> Void) async {
        let ways = ways.withLock { $0 }
        await withDiscardingTaskGroup { tasks in
            for (route, places) in Dictionary(grouping: indices, by: { batch[$0].route }) {
                guard let way = ways[route] else {
                    report(places.map { PushReport(index: $0, outcome: .notSent(.noRoute), latency: .zero) })
                    continue
                }
                tasks.addTask { [open] in
                    await open.send(batch, at: places, to: way.key, describe: { way.description }, report: report)
                }
            }
        }
        open.closeIdle()
    }

    /// One entry for each upstream that is open.
    var upstreams: [UpstreamStatus] {
        let ways = ways.withLock { $0 }
        return open.upstreams.map { upstream in
            var status = upstream
            status.routes = Set(ways.lazy.filter { $0.value.key.name == upstream.name }.map(\.key))
            status.projects = Set(status.routes.map(\.project))
            return status
        }
    }

    func windDown() { open.windDown() }

    func shutdown(within limit: Duration) async { await open.shutdown(within: limit) }
}
