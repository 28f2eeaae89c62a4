package import Logging
package import PushModel
import Synchronization
package import Upstream

/// Sends pushes to Android devices through Google: one upstream for each (endpoint, Firebase project, account), one access
/// token for each account.
///
/// Lifecycle: ``use(_:)`` sets the apps, as often as the configuration changes; ``shutdown(within:)`` ends everything, once.
package final class FCMRelaySender: PushSender {
    /// What a token is shared by.
    struct AccountKey: Hashable, Sendable {
        let email: String
        let keyID: String
        let tokenURL: String
        let fingerprint: [UInt8]
        let trustFile: String?
        let proxy: UpstreamProxy?
    }

    /// What connections and pace are shared by.
    struct UpstreamKey: Hashable, Sendable {
        let endpoint: UpstreamEndpoint
        let projectID: String
        let account: AccountKey
        let maxPerSecond: Int
    }

    private struct Accounts {
        var sources: [AccountKey: AccessTokenSource] = [:]
        var routes: [PushRoute: AccountKey] = [:]

        func source(of route: PushRoute) -> AccessTokenSource? { routes[route].flatMap { sources[$0] } }
    }

    private let router: UpstreamRouter<UpstreamKey>
    private let logger: Logger
    private let accounts = Mutex(Accounts())
    private let holdChanged = Mutex<(@Sendable () -> Void)?>(nil)

    /// Google allows so many streams on a connection and answers more with GOAWAY.
    private static let streamLimit = 100
    /// So many times the connections of a service with a thousand streams each carry about as much.
    package static let connectionShare = 4
    /// Google takes more frequent PINGs for an attack, and closes idle connections after three minutes itself.
    private static let pingInterval: Duration = .seconds(60)
    /// For so long others wait while a token is asked for.
    private static let answerTime: Duration = .seconds(5)
    private static let drainLimit: Duration = .seconds(60)

    /// Prepares the sender; nothing is dialed before the first push.
    ///
    /// - Parameters:
    ///   - loopCount: loop threads of the engine, at least 1.
    ///   - connectionLimit: the most connections of an upstream, each with a hundred streams.
    ///   - doubtfulTokens: when a share of refused tokens stops an app's pushes.
    package convenience init(
        loopCount: Int, connectionLimit: Int = 10, keyLogFile: String? = nil,
        doubtfulTokens: DoubtfulAddressLimits = DoubtfulAddressLimits(), wallTime: @escaping WallTime, logger: Logger
    ) {
        self.init(
            router: UpstreamRouter(
                loopCount: loopCount, connectionLimit: connectionLimit, keyLogFile: keyLogFile,
                doubtfulAddresses: doubtfulTokens, wallTime: wallTime, logger: logger), logger: logger)
    }

    init(router: UpstreamRouter<UpstreamKey>, logger: Logger) {
        self.router = router
        self.logger = logger
    }

    /// Replaces the apps; see ``UpstreamRouter/use(_:)``. Accounts that stay keep their tokens.
    ///
    /// - Throws: ``FCMRelayConfigurationError`` when a trust file or an endpoint can't be used; nothing changes then.
    package func use(_ apps: [FCMRelayAppConfiguration]) throws(FCMRelayConfigurationError) {
        let present = accounts.withLock { $0 }
        var next = Accounts()
        do throws(FCMRelayConfigurationError) {
            for app in apps {
                let key = AccountKey(app)
                if next.sources[key] == nil {
                    if let known = present.sources[key] {
                        next.sources[key] = known
                    } else {
                        next.sources[key] = try source(for: app)
                    }
                }
                next.routes[PushRoute(project: app.project, app: app.app, channel: .fcm)] = key
            }
            try route(apps, next)
        } catch {
            retire(next.sources.filter { present.sources[$0.key] == nil })
            throw error
        }
        accounts.withLock { $0 = next }
        retire(present.sources.filter { next.sources[$0.key] == nil })
        tellHoldChange()
    }

    private func route(
        _ apps: [FCMRelayAppConfiguration], _ accounts: Accounts
    ) throws(FCMRelayConfigurationError) {
        let (wallTime, uptime) = router.clocks
        try router.use { draft throws(FCMRelayConfigurationError) in
            for app in apps {
                let account = AccountKey(app)
                let key = UpstreamKey(
                    endpoint: app.endpoint, projectID: app.account.projectID, account: account,
                    maxPerSecond: app.maxPerSecond)
                let service = FCMRelayService(
                    projectID: app.account.projectID, wallTime: wallTime, uptime: uptime)
                do throws(UpstreamConfigurationError) {
                    try draft.add(PushRoute(project: app.project, app: app.app, channel: .fcm), to: key) {
                        UpstreamDescription(
                            configuration: Self.configuration(
                                name: "\(app.endpoint) \(app.account.projectID)", app.endpoint, of: app),
                            service: service, tokens: accounts.sources[account],
                            maxPerSecond: app.maxPerSecond > 0 ? app.maxPerSecond : nil)
                    }
                } catch {
                    throw FCMRelayConfigurationError(app, error)
                }
            }
        }
    }

    private static func configuration(
        name: String, _ endpoint: UpstreamEndpoint, of app: FCMRelayAppConfiguration
    ) -> UpstreamConfiguration {
        var configuration = UpstreamConfiguration(
            name: name + (app.proxy.map { " via \($0)" } ?? ""), endpoint: endpoint, trustFile: app.trustFile,
            proxy: app.proxy)
        configuration.streamLimit = streamLimit
        configuration.pingInterval = pingInterval
        return configuration
    }

    private func source(
        for app: FCMRelayAppConfiguration
    ) throws(FCMRelayConfigurationError) -> AccessTokenSource {
        let (wallTime, uptime) = router.clocks
        do throws(UpstreamConfigurationError) {
            let requests = try router.requests(
                Self.configuration(name: app.account.tokenURL, app.account.tokenEndpoint, of: app))
            return AccessTokenSource(
                account: app.account, requests: requests, wallTime: wallTime, uptime: uptime, logger: logger
            ) { [weak self] in self?.tellHoldChange() }
        } catch {
            throw FCMRelayConfigurationError(app, error)
        }
    }

    /// Closes token requests in the background: a bridge from a synchronous call, whose tasks end with the drain limit.
    private func retire(_ sources: [AccountKey: AccessTokenSource]) {
        for source in sources.values {
            Task { await source.close(within: Self.drainLimit) }
        }
    }
}

// MARK: - PushSender

extension FCMRelaySender {
    /// Sends a batch. Pushes of an account without a token wait for the request that is under way, and are held back when
    /// it fails.
    package func send(_ batch: [Push], report: @escaping @Sendable ([PushReport]) -> Void) async {
        let accounts = accounts.withLock { $0 }
        guard let first = batch.first?.route else { return }
        if !batch.contains(where: { $0.route != first }) {
            return await send(batch, as: accounts.source(of: first), report: report)
        }
        // Batches are of one route but for those that tests make.
        let places = Dictionary(grouping: batch.indices) { batch[$0].route }
        await withDiscardingTaskGroup { tasks in
            for (route, places) in places {
                tasks.addTask {
                    await self.send(places.map { batch[$0] }, as: accounts.source(of: route)) { reports in
                        report(reports.map { $0.moved(to: places[$0.index]) })
                    }
                }
            }
        }
    }

    private func send(
        _ batch: [Push], as source: AccessTokenSource?, report: @escaping @Sendable ([PushReport]) -> Void
    ) async {
        // Without a route: the router says so.
        switch await source?.ready() ?? .ready {
        case .ready: await router.send(batch, report: report)
        case .held(let refusal, let after):
            report(
                batch.indices.map {
                    PushReport(
                        index: $0, outcome: .throttled(refusal, after: after), latency: .zero, isAttempt: false)
                })
        }
    }

    /// One entry for each upstream; that of an account without a token shows a pause.
    package var upstreams: [UpstreamStatus] {
        let accounts = accounts.withLock { $0 }
        let (wallTime, uptime) = router.clocks
        return router.upstreams.map { status in
            var status = status
            let failure = status.routes.lazy.compactMap { accounts.source(of: $0)?.failure }.first
            guard let failure else { return status }
            status.pauses.append(
                UpstreamPause(
                    part: .everything, reason: failure.refusal.reason, since: failure.since,
                    nextProbe: wallTime() + (failure.notBefore - uptime())))
            status.lastFailure = status.lastFailure ?? failure.detail
            if failure.since >= status.lastTrouble?.time ?? failure.since {
                status.lastTrouble = UpstreamTrouble(reason: failure.refusal.reason.rawValue, time: failure.since)
            }
            return status
        }
    }

    /// Those of the router, and those whose account has no token.
    package var heldRoutes: [PushRoute: HeldRoute] {
        var held = router.heldRoutes
        let accounts = accounts.withLock { $0 }
        let now = router.clocks.uptime()
        for (route, key) in accounts.routes {
            guard let source = accounts.sources[key], let failure = source.failure else { continue }
            let left = max(.zero, failure.notBefore - now, source.isAsking ? Self.answerTime : .zero)
            if left > held[route]?.retryAfter ?? .zero - .nanoseconds(1) {
                held[route] = HeldRoute(retryAfter: left, limit: 1, isOfCredential: true)
            }
        }
        return held
    }

    package func onHeldRoutesChange(_ body: @escaping @Sendable () -> Void) {
        holdChanged.withLock { $0 = body }
        router.onHeldRoutesChange(body)
    }

    private func tellHoldChange() {
        holdChanged.withLock { $0 }?()
    }

    /// As ``UpstreamRouter/divide(among:)``.
    package func divide(among nodes: Int) { router.divide(among: nodes) }

    package func windDown() { router.windDown() }

    package func shutdown(within limit: Duration) async { await router.shutdown(within: limit) }
}

extension FCMRelaySender.AccountKey {
    init(_ app: FCMRelayAppConfiguration) {
        self.init(
            email: app.account.email, keyID: app.account.keyID, tokenURL: app.account.tokenURL,
            fingerprint: app.account.fingerprint, trustFile: app.trustFile, proxy: app.proxy)
    }
}

extension FCMRelayConfigurationError {
    fileprivate init(_ app: FCMRelayAppConfiguration, _ error: UpstreamConfigurationError) {
        let field =
            switch error.part {
            case .identity, .trustFile: "trust"
            case .proxy: "proxy"
            case .endpoint: "endpoint"
            }
        self.init(project: app.project, app: app.app, field: field, message: error.message)
    }
}
