import HTTP2Client
import PushModel
import Synchronization

extension APNSSender {
    /// Replaces the ways of all apps: pools that are no longer needed finish and close, pools that stay keep their
    /// connections, unless they serve an app that they did not serve before: APNs binds a connection to the bundle ids
    /// that its key has when it first pushes, so those get new connections. Pushes without a way end as
    /// `notSent(no_route)`. Does nothing after ``shutdown(within:)``.
    ///
    /// - Throws: ``APNSConfigurationError`` when a trust file or a certificate can't be used; nothing changes then.
    package func use(_ apps: [APNSAppConfiguration]) throws(APNSConfigurationError) {
        while true {
            let present = ways.withLock { $0 }
            if present.isShutDown { return }
            var prepared = Preparation(present: present)
            do {
                for app in apps { try add(app, to: &prepared) }
            } catch {
                retire(prepared.opened)
                throw error
            }
            let next = prepared.ways
            let isInForce = ways.withLock { ways in
                guard ways.generation == present.generation else { return false }
                ways = next
                return true
            }
            if isInForce {
                settle(from: present, to: next)
                return
            }
            // Another call was faster: begin again from what it left.
            retire(prepared.opened)
        }
    }

    /// Ways in the making.
    private struct Preparation {
        let present: Ways
        var ways: Ways
        /// Pools made for these ways; to be closed when they don't come into force.
        var opened: [Upstream] = []
        /// Tokens are shared by all pools of a key, kept pools included.
        var tokens: [UpstreamKey.Credential: ProviderTokenSource]

        init(present: Ways) {
            self.present = present
            ways = Ways(generation: present.generation + 1)
            tokens = [:]
            for upstream in present.upstreams.values { tokens[upstream.key.credential] = upstream.tokens }
        }
    }

    private func add(_ app: APNSAppConfiguration, to prepared: inout Preparation) throws(APNSConfigurationError) {
        for (environment, endpoint) in app.endpoints {
            let key = UpstreamKey(app, endpoint: endpoint, proxy: app.proxies[environment])
            let upstream: Upstream
            if let known = prepared.ways.upstreams[key] ?? prepared.present.upstreams[key] {
                upstream = known
            } else {
                upstream = try open(key, for: app, tokens: &prepared.tokens)
                prepared.opened.append(upstream)
            }
            prepared.ways.upstreams[key] = upstream
            let route = PushRoute(project: app.project, app: app.app, environment: environment)
            prepared.ways.routes[route] = upstream
        }
    }

    private func open(
        _ key: UpstreamKey, for app: APNSAppConfiguration,
        tokens: inout [UpstreamKey.Credential: ProviderTokenSource]
    ) throws(APNSConfigurationError) -> Upstream {
        var configuration = key.poolConfiguration
        configuration.identity = app.credential.identity
        let bell = Bell()
        configuration.reachChanged = { bell.ring() }
        configuration.connectionLimit = connectionLimit
        let pools: UpstreamPools
        do {
            pools = try UpstreamPools(configuration, transport: transport)
        } catch {
            let isCertificate = error.message.hasPrefix(PoolConfiguration.Identity.failurePrefix)
            let isTrust = error.kind == .tlsFailed && key.trustFile != nil
            let field =
                isCertificate ? "certificate" : isTrust ? "trust" : key.proxy == nil ? "endpoint" : "proxy"
            throw APNSConfigurationError(app: app.app, field: field, message: error.message)
        }
        let source = tokens[key.credential] ?? tokenSource(of: app.credential)
        tokens[key.credential] = source
        let upstream = Upstream(
            key: key, pools: pools, tokens: source, badDeviceTokens: badDeviceTokens, wallTime: wallTime,
            uptime: uptime, logger: logger, holdChanged: { [weak self] in self?.updateHeldRoutes() })
        bell.hang { [weak upstream] in upstream?.updateHold() }
        return upstream
    }

    private func tokenSource(of credential: APNSCredential) -> ProviderTokenSource? {
        switch credential {
        case .providerKey(let teamID, let keyID, let key):
            ProviderTokenSource(keyID: keyID, teamID: teamID, key: key, wallTime: wallTime, uptime: uptime)
        case .certificate: nil
        }
    }

    /// Does what follows from a change that is in force.
    private func settle(from old: Ways, to new: Ways) {
        retire(old.upstreams.filter { new.upstreams[$0.key] == nil }.map(\.value))
        let apps = Self.apps(of: new)
        for (identity, before) in Self.apps(of: old) {
            guard let after = apps[identity], !after.apps.isSubset(of: before.apps) else { continue }
            after.upstream.renew()
        }
        updateHeldRoutes()
    }

    private static func apps(of ways: Ways) -> [ObjectIdentifier: (upstream: Upstream, apps: Set<AppID>)] {
        var apps: [ObjectIdentifier: (upstream: Upstream, apps: Set<AppID>)] = [:]
        for (route, upstream) in ways.routes {
            apps[ObjectIdentifier(upstream), default: (upstream, [])].apps.insert(route.app)
        }
        return apps
    }

    /// Closes pools in the background.
    ///
    /// A bridge from a synchronous call: the tasks end with the drain limit at the latest, or earlier when
    /// ``shutdown(within:)`` closes all pools, theirs included; nobody needs to wait for them.
    private func retire(_ upstreams: [Upstream]) {
        for upstream in upstreams {
            Task { await upstream.close(within: Self.drainLimit) }
        }
    }
}
