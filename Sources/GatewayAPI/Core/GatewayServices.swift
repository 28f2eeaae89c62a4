package import Delivery
package import Links
package import Logging
package import PushModel
package import Store
package import Traces
package import Webhooks

/// What the HTTP API stands on.
package struct GatewayServices: Sendable {
    /// What every request may use.
    package var request: RequestServices
    /// How the gateway is, for the few routes that show it to operators.
    package var state: GatewayState
    /// When API keys were used.
    package var keyUses: KeyUses
    /// Answers on the hosts of links; `nil`: there are none.
    package var links: LinkResponder?
    /// Files that are served beside the API and the module for browsers, by path.
    package var files: [String: ServedFile] = [:]
    /// Records requests and their messages; `nil`: nothing is traced.
    package var tracer: StepTracer?
    /// The console for operators; `nil`: there is none.
    package var console: ConsoleMount?
    /// Logs requests.
    package var logger: Logger

    /// Puts the services together.
    package init(
        store: any APIStore,
        acceptor: MessageAcceptor, controller: MessageController, projects: ProjectDirectory,
        upstreams: @escaping @Sendable () -> [UpstreamStatus],
        storeState: @escaping @Sendable () async -> StoreState,
        recentReasons: @escaping @Sendable (ProjectID) -> [ReasonCount] = { _ in [] },
        refusals: RefusalCatalog,
        certificates: @escaping @Sendable (ProjectID) -> [CertificateStatus] = { _ in [] },
        metricsText: @escaping @Sendable () -> String,
        clientLimits: ClientRateLimits = ClientRateLimits(.none), publicURL: @escaping @Sendable () -> String,
        keyUses: KeyUses = KeyUses(), linkHosts: LinkHosts = LinkHosts(), links: LinkResponder? = nil,
        clock: any Clock<Duration> = ContinuousClock(), wallTime: @escaping WallTime, logger: Logger
    ) {
        request = RequestServices(
            store: store, acceptor: acceptor, controller: controller, projects: projects, clientLimits: clientLimits,
            publicURL: publicURL, refusals: refusals, linkHosts: linkHosts, clock: clock, wallTime: wallTime)
        self.links = links
        var state = GatewayState()
        state.upstreams = upstreams
        state.store = storeState
        state.recentReasons = recentReasons
        state.certificates = certificates
        state.metricsText = metricsText
        self.state = state
        self.keyUses = keyUses
        self.logger = logger
    }
}

/// What every request may use.
package struct RequestServices: Sendable {
    /// Everything that is kept.
    package var store: any APIStore
    /// Takes messages in.
    package var acceptor: MessageAcceptor
    /// Pauses, resumes and cancels messages.
    package var controller: MessageController
    /// The projects as configured.
    package var projects: ProjectDirectory
    /// How often clients may ask.
    package var clientLimits: ClientRateLimits
    /// Under which URL clients reach the gateway, without a slash at the end.
    package var publicURL: @Sendable () -> String
    /// What the reasons in the ledger stand for.
    package var refusals: RefusalCatalog
    /// Gives apps the links that led to them; `nil`: no project has links.
    package var attribution: LinkAttribution?
    /// Makes and deletes broadcast channels; `nil`: there is no way to their management.
    package var channels: ChannelController?
    /// Keeps and tests endpoints of webhooks; `nil`: none are sent.
    package var webhooks: WebhookController?
    /// Makes the digests that stand for users who were erased; `nil`: erasing is not offered.
    package var digestKey: DigestKey?
    /// The hosts of links, and the policies of their projects.
    package var linkHosts: LinkHosts
    /// By which waits end.
    package var clock: any Clock<Duration>
    /// Wall time.
    package var wallTime: WallTime
}
