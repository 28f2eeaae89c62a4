import HTTPListener
import Hummingbird
import HummingbirdCore

/// Builds the responder for every request from the route table.
struct GatewayRouter {
    private let services: GatewayServices
    private let limits: BodyLimits
    private let routes: GatewayListener.Routes

    private typealias MakeCall =
        @Sendable (_ request: Request, _ context: GatewayRequestContext, _ bodyLimitBytes: Int) -> Call

    /// Prepares a router over `services`.
    init(
        services: GatewayServices, limits: BodyLimits,
        routes: GatewayListener.Routes = .api(withOperations: true)
    ) {
        self.routes = routes
        self.services = services
        self.limits = limits
    }

    /// The responder: hosts of links before everything else; then request ids around request log and metrics around traces around what browsers need around error answers around the
    /// routes.
    ///
    /// - Parameter provenConnections: the listener's; `nil`: there is no listener.
    func responder(provenConnections: ProvenConnections? = nil) -> HostResponder {
        let signers = AccountSigners(
            store: services.request.store, limits: services.request.clientLimits, wallTime: services.request.wallTime)
        let authenticator = Authenticator(
            store: services.request.store, signers: signers, limits: services.request.clientLimits,
            uses: services.keyUses,
            publicURL: services.request.publicURL, wallTime: services.request.wallTime)
        let bodies = BodyGate(limitBytes: 16 * limits.standard)
        let call: MakeCall = { [services = services.request] request, context, bodyLimitBytes in
            Call(
                request: request, context: context, services: services, bodyLimitBytes: bodyLimitBytes, bodies: bodies,
                signers: signers, provenConnections: provenConnections)
        }
        let table = RouteTable(state: services.state, batches: BatchGate(limitBytes: 4 * limits.batch))
        let parts = responder(of: table.partRoutes, authenticator, call)
        let api = responder(of: table.routes(on: routes, parts: parts), authenticator, call)
        return HostResponder(
            api: api, links: routes == .operations ? nil : services.links,
            files: routes == .operations ? [:] : BrowserModule.files.merging(services.files) { $1 },
            console: routes == .operations ? nil : services.console, tracer: services.tracer)
    }

    private func responder(
        of routes: [Route], _ authenticator: Authenticator, _ call: @escaping MakeCall
    ) -> RouterResponder<GatewayRequestContext> {
        let router = Router(context: GatewayRequestContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: RequestIDs<GatewayRequestContext>())
        router.add(middleware: RequestLog<GatewayRequestContext>())
        if let tracer = services.tracer { router.add(middleware: RequestTraces(tracer: tracer)) }
        let paths = RoutePaths(routes)
        router.add(middleware: CrossOrigin(paths: paths))
        router.add(middleware: ErrorAnswers(paths: paths))
        router.add(middleware: HeaderLimit<GatewayRequestContext>())
        router.add(middleware: HostLimit<GatewayRequestContext>())
        for route in routes {
            let bodyLimitBytes = min(route.isBatch ? limits.batch : limits.standard, route.bodyLimitBytes)
            let parameters = route.takesAnyQuery ? nil : OpenAPI.queryParameters(of: route)
            router.on(RouterPath(route.path), method: route.method) { request, context in
                // As at Google's front end, before anything else is looked at.
                if let parameters, request.uri.query != nil {
                    try Query(request.uri).refuseUnknown(known: parameters)
                }
                return try await route.respond(
                    to: call(request, context, bodyLimitBytes), authenticator: authenticator)
            }
        }
        return router.buildResponder()
    }
}
