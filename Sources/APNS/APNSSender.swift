package import Logging
package import PushModel
package import Upstream

/// Sends pushes to APNs: one upstream for each (endpoint, team, key), one provider token for each (team, key).
///
/// Lifecycle: ``use(_:)`` sets the routes, as often as the configuration changes; ``shutdown(within:)`` ends everything,
/// once.
package final class APNSSender: PushSender {
    private let router: UpstreamRouter<UpstreamKey>
    /// What goes to channels has upstreams of its own, opened by the first publication.
    private let broadcasts: BroadcastSender
    /// `nil`: no other gateway pushes with the same keys.
    private let sharedTokens: (any SharedProviderTokens)?

    /// Prepares the sender; nothing is dialed before the first push.
    ///
    /// - Parameters:
    ///   - loopCount: loop threads of the engine, at least 1.
    ///   - connectionLimit: the most connections of an upstream, at least 1.
    ///   - keyLogFile: a file that TLS secrets are appended to, for reading recorded traffic; `nil`: none.
    ///   - badDeviceTokens: when a share of BadDeviceToken stops an app's pushes.
    ///   - sharedTokens: where gateways leave provider tokens for each other; `nil`: this one signs all of its own.
    package init(
        loopCount: Int, connectionLimit: Int = 4, keyLogFile: String? = nil,
        badDeviceTokens: DoubtfulAddressLimits = DoubtfulAddressLimits(),
        sharedTokens: (any SharedProviderTokens)? = nil, wallTime: @escaping WallTime, logger: Logger
    ) {
        self.sharedTokens = sharedTokens
        router = UpstreamRouter(
            loopCount: loopCount, connectionLimit: connectionLimit, keyLogFile: keyLogFile,
            doubtfulAddresses: badDeviceTokens, wallTime: wallTime, logger: logger)
        broadcasts = BroadcastSender(
            UpstreamsOnDemand(
                loopCount: 1, limit: BroadcastSender.limit, idleTime: BroadcastSender.idleTime,
                loadLimit: BroadcastSender.loadLimit, connectionLimit: 1, wallTime: wallTime, logger: logger))
    }

    init(
        transport: any RequestTransport, connectionLimit: Int = 4,
        badDeviceTokens: DoubtfulAddressLimits = DoubtfulAddressLimits(),
        sharedTokens: (any SharedProviderTokens)? = nil, wallTime: @escaping WallTime,
        uptime: @escaping Uptime, logger: Logger
    ) {
        self.sharedTokens = sharedTokens
        router = UpstreamRouter(
            transport: transport, connectionLimit: connectionLimit, doubtfulAddresses: badDeviceTokens,
            wallTime: wallTime, uptime: uptime, logger: logger)
        broadcasts = BroadcastSender(
            UpstreamsOnDemand(
                transport: transport, limit: BroadcastSender.limit, idleTime: BroadcastSender.idleTime,
                loadLimit: BroadcastSender.loadLimit, connectionLimit: 1, wallTime: wallTime, uptime: uptime,
                logger: logger))
    }

    /// Replaces the routes of all apps; see ``UpstreamRouter/use(_:)``. APNs binds a connection to the bundle ids that its
    /// key has when it first pushes, so an app that an upstream did not serve before gets new connections.
    ///
    /// - Throws: ``APNSConfigurationError`` when a trust file or a certificate can't be used; nothing changes then.
    package func use(_ apps: [APNSAppConfiguration]) throws(APNSConfigurationError) {
        var ways: [PushRoute: BroadcastSender.Way] = [:]
        try router.use { draft throws(APNSConfigurationError) in
            ways = [:]
            for app in apps {
                do throws(UpstreamConfigurationError) {
                    try add(app, to: &draft, &ways)
                } catch {
                    throw APNSConfigurationError(app: app.app, error)
                }
            }
        }
        broadcasts.use(ways)
    }

    private func add(
        _ app: APNSAppConfiguration, to draft: inout RoutingDraft<UpstreamKey>,
        _ ways: inout [PushRoute: BroadcastSender.Way]
    ) throws(UpstreamConfigurationError) {
        for (environment, endpoint) in app.endpoints {
            let key = UpstreamKey(app, endpoint: endpoint, proxy: app.proxies[environment])
            // All upstreams of a credential share its tokens, those that are kept included.
            let tokens = draft.tokens { $0.credential == key.credential } ?? tokenSource(of: app.credential)
            try draft.add(PushRoute(project: app.project, app: app.app, channel: .apns(environment)), to: key) {
                UpstreamDescription(
                    configuration: UpstreamConfiguration(
                        name: key.name, endpoint: endpoint, trustFile: key.trustFile, proxy: key.proxy,
                        identity: app.credential.identity),
                    service: APNSService(credential: key.credential), tokens: tokens)
            }
            let route = PushRoute(project: app.project, app: app.app, channel: .broadcast(environment))
            ways[route] = BroadcastSender.Way(app, environment, endpoint, tokens: tokens)
        }
    }

    private func tokenSource(of credential: APNSCredential) -> ProviderTokenSource? {
        let (wallTime, uptime) = router.clocks
        return switch credential {
        case .providerKey(let teamID, let keyID, let key):
            ProviderTokenSource(
                keyID: keyID, teamID: teamID, key: key, wallTime: wallTime, uptime: uptime, shared: sharedTokens)
        case .certificate: nil
        }
    }
}

// MARK: - PushSender

extension APNSSender {
    /// Sends a batch: grouped by upstream and lane, all groups at the same time.
    package func send(_ batch: [Push], report: @escaping @Sendable ([PushReport]) -> Void) async {
        let others = batch.indices.filter { !batch[$0].route.channel.isOfDevices }
        guard !others.isEmpty else { return await router.send(batch, report: report) }
        let devices = batch.indices.filter { batch[$0].route.channel.isOfDevices }
        async let sent: Void = broadcasts.send(batch, at: others, report: report)
        if !devices.isEmpty {
            await router.send(devices.map { batch[$0] }) { reports in
                report(reports.map { $0.moved(to: devices[$0.index]) })
            }
        }
        await sent
    }

    /// One entry for each upstream; of broadcasts those that were opened.
    package var upstreams: [UpstreamStatus] { router.upstreams + broadcasts.upstreams }

    /// As ``UpstreamRouter/heldRoutes``.
    package var heldRoutes: [PushRoute: HeldRoute] { router.heldRoutes }

    /// Sets what is called when ``heldRoutes`` changed.
    package func onHeldRoutesChange(_ body: @escaping @Sendable () -> Void) { router.onHeldRoutesChange(body) }

    /// As ``UpstreamRouter/divide(among:)``. Upstreams of broadcasts have one connection each.
    package func divide(among nodes: Int) { router.divide(among: nodes) }

    /// As ``UpstreamRouter/windDown()``.
    package func windDown() {
        router.windDown()
        broadcasts.windDown()
    }

    /// As ``UpstreamRouter/shutdown(within:)``.
    package func shutdown(within limit: Duration) async {
        async let others: Void = broadcasts.shutdown(within: limit)
        await router.shutdown(within: limit)
        await others
    }
}

extension APNSConfigurationError {
    fileprivate init(app: AppID, _ error: UpstreamConfigurationError) {
        let field =
            switch error.part {
            case .identity: "certificate"
            case .trustFile: "trust"
            case .proxy: "proxy"
            case .endpoint: "endpoint"
            }
        self.init(app: app, field: field, message: error.message)
    }
}
