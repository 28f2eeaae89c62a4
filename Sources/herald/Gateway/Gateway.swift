import APNS
import Console
import Delivery
import FCMRelay
import Foundation
import GatewayAPI
import HTTPListener
import Links
import Logging
import PushModel
import ServiceLifecycle
import Store
import UnixSignals
import WebPush
import Webhooks

/// A whole gateway: store, upstream, delivery and HTTP API, wired from a configuration.
///
/// The initialiser opens the store and checks everything that can be checked; nothing runs before ``run()``, which
/// serves until graceful shutdown and closes the store at the end.
struct Gateway: Service {
    private let configuration: GatewayConfiguration
    private let store: any AdministeredStore
    private let acceptor: MessageAcceptor
    private let runner: DeliveryRunner
    private let housekeeper: Housekeeper
    private let idleConnections: IdleConnectionCleaner
    private let server: GatewayServer
    /// The listener for operations; `nil`: there is none.
    private let operations: NamedListener?
    private let listenerWatch: ListenerWatch?
    private let certificates: CertificateWatch
    private let keyUses: KeyUseWriter
    private let linkDirectory: LinkDirectory
    private let linkCounter: LinkCounter
    private let clicks: ClickRecorder
    private let channelClient: APNSChannelClient
    private let channels: ChannelWatch
    private let webhooks: WebhookService
    private let disk: DiskSpace
    /// What a gateway beside others does; none when it has the store for itself.
    private let nodeServices: [any Service]
    private let departure: NodeHeartbeat.Departure
    /// `nil`: nothing is traced.
    private let telemetry: Telemetry?
    private let logger: Logger

    /// Reads the project files again; what SIGHUP does.
    let reloader: ProjectReloader
    /// Where newer versions of the projects come from; `nil`: they are files.
    private let storedProjects: StoredProjectSource?

    /// Wires a gateway.
    ///
    /// - Parameters:
    ///   - command: what a second gateway on the same data directory calls this one.
    ///   - metrics: where `/metrics` reads; the process bootstraps swift-metrics with the same one.
    ///   - files: files that are served beside the API, by path.
    ///   - onListening: called with the bound port once the gateway listens.
    /// - Throws: ``Failure`` with the line to print and the exit code.
    init(
        configuration: GatewayConfiguration, command: String = "herald serve",
        metrics: PrometheusRegistry = PrometheusRegistry(), files: [String: ServedFile] = [:], logger: Logger,
        onListening: @escaping @Sendable (_ port: Int) -> Void = { _ in }
    ) async throws(Failure) {
        do {
            try await self.init(configuration, command, metrics, files, logger, onListening)
        } catch {
            throw Failure(starting: configuration, error)
        }
    }

    private init(
        _ configuration: GatewayConfiguration, _ command: String, _ metrics: PrometheusRegistry,
        _ files: [String: ServedFile], _ logger: Logger, _ onListening: @escaping @Sendable (_ port: Int) -> Void
    ) async throws {
        let holder = GatewayHolder(
            command: command, address: configuration.listen.url(port: configuration.listen.port),
            since: Timestamp.systemTime())
        let starting = try await StartingProjects(configuration, holder, logger: logger)
        let (projects, storedProjects) = (starting.projects, starting.source)
        self.storedProjects = storedProjects
        let directory = ProjectDirectory(projects.projects)
        let linkHosts = LinkHosts()
        try linkHosts.replace(with: projects.projects)
        // Deliveries go by a time that is the same for all gateways that share the store, whatever their machines' clocks say.
        let sharedTime = SharedTime(nil)
        let system: WallTime = { sharedTime.now ?? Timestamp.systemTime() }
        let sharedTokens = configuration.database.map { _ in NodeProviderTokens(logger: logger) }
        let senders = try Self.senders(for: projects, configuration, sharedTokens, system, logger)
        let sender = senders.all
        let channelClient = APNSChannelClient(wallTime: system, logger: logger)
        channelClient.use(projects.upstreams)
        self.channelClient = channelClient
        ProjectReloader.log(projects.warnings, to: logger)
        let logPublicHost: @Sendable ([Project]) -> Void = { projects in
            let check = PublicHostCheck(configuration: configuration, projects: projects)
            for warning in check.warnings { logger.warning("configuration", metadata: ["problem": "\(warning)"]) }
        }
        logPublicHost(projects.projects)
        let certificates = CertificateWatch(
            clock: ContinuousClock(), wallTime: Timestamp.systemTime, logger: logger)
        certificates.watch(projects.certificates)
        let certificateList = CertificateList(apps: certificates)
        certificateList.use(projects.credentials)

        let opened: OpenedStore
        if let early = starting.opened {
            opened = early
        } else {
            opened = try await configuration.openStoreWithNodes(as: .gateway, holder: holder, logger: logger)
        }
        let store = opened.store
        let (liveNodes, nodeAddress) = (LiveNodes(), NodeHeartbeat.Address())
        let nodeName = "\(ProcessInfo.processInfo.hostName):\(ProcessInfo.processInfo.processIdentifier)"
        if opened.nodes != nil { liveNodes.beginBesideOthers() }
        let departure = NodeHeartbeat.Departure()
        self.departure = departure
        if let nodes = opened.nodes {
            sharedTokens?.begin(in: nodes)
            let asked = ContinuousClock.now
            sharedTime.update(to: try await nodes.time(), asked: asked)
            // Messages are accepted all the same: who runs it is to know what that is worth.
            for finding in await SharedStore.findings(of: store, isUnsafeAllowed: false) where finding.grade == .bad {
                logger.error("the database is not safe", metadata: ["problem": "\(finding.text)"])
            }
        }
        // Nor does it jump back when the clock is set.
        let start = ContinuousClock.now
        let time = SteadyTime(
            system: system, uptime: { ContinuousClock.now - start }, lastRecordedAt: store.lastRecordedAt)
        let limits = configuration.deliveryLimits
        let telemetry = Telemetry(configuration.tracing, wallTime: Timestamp.systemTime, logger: logger)
        self.telemetry = telemetry
        let admission = Admission(in: store, limits: limits)
        let composer = PlatformComposer()
        let refusals = RefusalCatalog(merging: [
            APNSReasonTable.catalog, WebPushReasonTable.catalog, FCMRelayReasonTable.catalog,
        ])
        let runner = DeliveryRunner(
            name: nodeName, store: store, sender: sender, composer: composer, projects: directory, limits: limits,
            refusals: refusals,
            admission: admission, nodes: liveNodes, clock: ContinuousClock(), wallTime: { time.now() },
            random: { Double.random(in: 0..<1) }, tracer: telemetry?.tracer, logger: logger)
        liveNodes.onChange { count in
            senders.divide(among: count)
            // One that ended leaves work behind, and this gateway has other shards now.
            for lane in [Lane.interactive, .bulk] { runner.wake(lane) }
        }
        nodeServices =
            opened.nodes.map { nodes in
                [
                    NodeHeartbeat(
                        store: nodes, name: nodeName, address: nodeAddress, departure: departure, live: liveNodes,
                        time: sharedTime, projects: storedProjects, logger: logger),
                    OtherNodesWatch(
                        store: nodes, runner: runner, departure: departure,
                        maybeNewerProjects: storedProjects?.state.maybeNewer, logger: logger),
                ] as [any Service]
            } ?? []
        storedProjects?.state.onChange { departure.wake() }
        // A database that a server has is not on a disk of this machine.
        let disk = DiskSpace(
            limitBytes: configuration.database == nil ? configuration.limits.freeBytes : 0,
            directory: configuration.dataDirectory, logger: logger)
        self.disk = disk
        acceptor = MessageAcceptor(
            store: store, composer: composer, admission: admission, runner: runner, disk: disk,
            wallTime: { time.now() }, tracer: telemetry?.tracer)
        housekeeper = Housekeeper(
            [
                .idempotencyKeys(of: store), .endedRegistrations(of: store), .accessTokens(of: store),
                .signIns(of: store),
                .installationTokens(of: store), .installations(of: store), .auditEntries(of: store),
                .traffic(of: store), .topicDays(of: store), .linkCounts(of: store), .clicks(of: store),
                .attributedInstalls(of: store), .clickedReferrals(of: store),
                .webhookAttempts(of: store), .deadLetters(of: store),
                .events(of: store, lifetime: .seconds(3600 * configuration.retention.eventHours)),
            ]
                + Housekeeper.Chore.retention(of: store) {
                    directory.retentionRules(standard: configuration.retention.messages)
                } + [.emptyTopics(of: store), .files(of: store)], nodes: liveNodes, clock: ContinuousClock(),
            wallTime: { time.now() },
            logger: logger)
        let isAlone = opened.nodes == nil
        let publicURL = PublicURL(of: configuration)
        let uses = KeyUses()
        keyUses = KeyUseWriter(uses, to: store, clock: ContinuousClock(), logger: logger)
        let linkDirectory = LinkDirectory(store: store)
        self.linkDirectory = linkDirectory
        linkCounter = LinkCounter(wallTime: { time.now() }, logger: logger) { counts throws(StoreError) in
            try await store.add(counts)
        }
        let digestKey = DigestKey(try await store.digestKey())
        clicks = ClickRecorder(store: store, key: digestKey, wallTime: { time.now() }, logger: logger)
        clicks.index.keepWindows(of: projects.projects)
        let misses = MissBudget(rate: configuration.limits.linkMissRate, nodes: { liveNodes.count })
        let links = try LinkResponder(
            hosts: linkHosts, lookUp: { try await linkDirectory.link($0) },
            traffic: RecordedTraffic(linkCounter, clicks, invitations: store),
            misses: misses, proxies: configuration.limits.proxies,
            wallTime: { time.now() })
        var services = GatewayServices(
            store: store, acceptor: acceptor,
            controller: MessageController(store: store, runner: runner, wallTime: { time.now() }),
            projects: directory, upstreams: { sender.upstreams }, storeState: { await store.state() },
            recentReasons: { runner.recentReasons(of: $0) }, refusals: refusals,
            certificates: { certificateList.status(of: $0) },
            metricsText: {
                metrics.setUpstreams(sender.upstreams)
                metrics.setCertificates(certificates.watched)
                metrics.setDisk(disk.state)
                metrics.setVersion()
                if !isAlone { metrics.setGauge(.nodes, [(labels: [], value: Double(liveNodes.count))]) }
                if let storedProjects { metrics.setStoredProjects(storedProjects.state) }
                metrics.setEnds(runner.endsByName)
                if let telemetry { metrics.setTracing(telemetry.queue) }
                return metrics.text
            },
            clientLimits: ClientRateLimits(configuration.clientRates, nodes: { liveNodes.count }),
            publicURL: { publicURL.text },
            keyUses: uses, linkHosts: linkHosts, links: links, wallTime: system,
            logger: logger)
        var attribution = LinkAttribution(store: store, clicks: clicks, key: digestKey) { [linkCounter] in
            linkCounter.count($0.event, of: $0.link, on: $0.platform)
        }
        attribution.misses = misses
        services.request.attribution = attribution
        services.state.disk = { disk.state }
        services.state.credentials = { certificateList.credentials(of: $0) }
        let channelController = ChannelController(
            store: store, service: channelClient, wallTime: { time.now() }, logger: logger)
        services.request.channels = channelController
        channels = ChannelWatch(
            channelController, store: store, projects: directory, clock: ContinuousClock(), logger: logger)
        let outgoing = WebhookWiring(
            configuration, store: store, isSaturated: { runner.isSaturated }, isSending: { liveNodes.isFirst },
            wallTime: { time.now() }, tracer: telemetry?.tracer, logger: logger)
        services.request.webhooks = outgoing.controller
        webhooks = outgoing.service
        services.files = files
        services.tracer = telemetry?.tracer
        services.request.digestKey = digestKey
        services.console = try configuration.consoleMount(
            ConsoleServices(
                store: store, projects: directory, publicURL: { publicURL.text }, refusals: refusals,
                composer: composer,
                traffic: { project, span throws(StoreError) in try await runner.traffic(of: project, span) },
                linkHosts: linkHosts,
                makeKey: { project, role, time, name, end in
                    let key = APIKey(project: project, role: role, at: time, name: name, expiresAt: end)
                    return (key.text, key.record)
                }, settings: configuration.shownSettings, proxies: configuration.limits.proxies,
                forwardProxy: configuration.consoleProxy, wallTime: system, logger: logger))
        do {
            operations = try Self.operationsListener(configuration, services)
            server = try Self.server(configuration, services) { port in
                var holder = holder
                holder.address = configuration.listen.url(port: port)
                publicURL.listens(at: holder.address)
                nodeAddress.url = holder.address
                outgoing.listeners.add(configuration.listen.host, port: port)
                store.note(holder)
                onListening(port)
            }
        } catch {
            try store.close()
            throw error
        }
        certificateList.listens(with: server.certificates)
        listenerWatch =
            server.certificates.isEmpty
            ? nil
            : ListenerWatch(
                server.certificates, clock: ContinuousClock(), wallTime: Timestamp.systemTime, logger: logger)
        reloader = ProjectReloader(
            directory: configuration.projectsDirectory, configuredAt: configuration.place(of: .projects),
            environmentProxy: configuration.environmentProxy, retention: configuration.retention.messages,
            useUpstreams: { projects throws(ConfigurationError) in
                try senders.use(projects)
                channelClient.use(projects.upstreams)
                certificateList.use(projects.credentials)
            },
            useProjects: { [clicks] projects in
                directory.replace(with: projects)
                clicks.index.keepWindows(of: projects)
                do throws(LinkProblem) {
                    try linkHosts.replace(with: projects)
                } catch {
                    // Reading the files checked it.
                    logger.error("links not taken over", metadata: ["problem": "\(error)"])
                }
                logPublicHost(projects)
            }, useCertificates: { certificates.watch($0) }, logger: logger)
        idleConnections = senders.cleaner
        self.certificates = certificates
        self.configuration = configuration
        self.store = store
        self.runner = runner
        self.logger = logger
    }

    /// The ways to the push services of the projects.
    private static func senders(
        for projects: ProjectSet, _ configuration: GatewayConfiguration, _ sharedTokens: NodeProviderTokens?,
        _ wallTime: @escaping WallTime, _ logger: Logger
    ) throws(ConfigurationError) -> PushSenders {
        let senders = PushSenders(configuration, sharedTokens: sharedTokens, wallTime: wallTime, logger: logger)
        if let proxy = configuration.environmentProxy?.proxy {
            logger.notice("the environment names a proxy", metadata: ["proxy": "\(proxy)"])
        }
        try senders.use(projects)
        return senders
    }

    /// The listener, with certificate and key read.
    private static func server(
        _ configuration: GatewayConfiguration, _ services: GatewayServices,
        _ onListening: @escaping @Sendable (_ port: Int) -> Void
    ) throws(Failure) -> GatewayServer {
        let (listen, logger) = (configuration.listen, services.logger)
        do {
            return try GatewayServer(listener: configuration.listener, services: services) { port in
                logger.notice("listening", metadata: ["address": "\(listen.url(port: port))", "port": "\(port)"])
                for warning in ListenerCheck(configuration: configuration).warnings {
                    logger.warning("listener", metadata: ["problem": "\(warning)"])
                }
                onListening(port)
            }
        } catch {
            throw Failure(certificate: error, in: configuration)
        }
    }

    /// The listener for operations, if there is to be one.
    private static func operationsListener(
        _ configuration: GatewayConfiguration, _ services: GatewayServices
    ) throws -> NamedListener? {
        guard let listener = configuration.operationsListener else { return nil }
        let server = try GatewayServer(listener: listener, services: services) { [logger = services.logger] port in
            logger.notice(
                "listening for operations",
                metadata: ["address": "http://\(listener.http.host):\(port)", "port": "\(port)"])
        }
        return NamedListener(
            server: server, configuration: configuration, host: .operationsHost, port: .operationsPort)
    }

    /// Serves until graceful shutdown: then stops accepting, finishes what is in flight within the limit, closes the
    /// store.
    ///
    /// - Throws: ``Failure`` with the line to print and the exit code.
    func run() async throws {
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        // Stopped from last to first: no new messages and claims, no new requests, no more questions how it is. The runner
        // winds down meanwhile and ends the connections to push services.
        var services: [any Service] = [
            DeliveryService(runner: runner),
            housekeeper,
            idleConnections,
            channels,
            webhooks,
            FileCleaner(store, clock: ContinuousClock(), logger: logger),
            keyUses,
            linkDirectory,
            linkCounter,
            clicks,
            disk,
            certificates,
            ReloadService(
                hangups: hangups, reloader: reloader, storedProjects: storedProjects?.state, listener: listenerWatch),
        ]
        if let storedProjects {
            services.append(StoredProjectsWatch(source: storedProjects, reloader: reloader, logger: logger))
        }
        // Before the deliveries: others hear what is given back until the last of them has ended.
        services = nodeServices + services
        // The first one: it ends when all that is traced has ended.
        if let telemetry { services.insert(telemetry.exporter, at: 0) }
        if let listenerWatch {
            listenerWatch.look()
            services.append(listenerWatch)
        }
        if let operations { services.append(operations) }
        services += [server, AcceptGate(acceptor: acceptor, runner: runner, departure: departure)]
        // A port in use stops the others in order too: what they had begun is finished, and only one line is told.
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: services.map {
                    ServiceGroupConfiguration.ServiceConfiguration(
                        service: $0, failureTerminationBehavior: .gracefullyShutdownGroup)
                }, logger: groupLogger))
        do {
            try await group.run()
        } catch let error as CancellationError {
            closeStore()
            throw error
        } catch {
            logger.debug("stopped by an error", metadata: ["error": "\(error)"])
            closeStore()
            throw Failure(starting: configuration, error)
        }
        // Requests have ended, and with them what they asked of it.
        await channelClient.shutdown(within: .seconds(1))
        closeStore()
        logger.info("stopped")
    }

    /// The lifecycle library reports each service's start and stop at info: too much for an operator.
    private var groupLogger: Logger {
        var logger = logger
        logger.logLevel = max(logger.logLevel, .warning)
        return logger
    }

    private func closeStore() {
        do {
            try store.close()
        } catch {
            logger.error("the store did not close", metadata: ["error": "\(error)"])
        }
    }
}
