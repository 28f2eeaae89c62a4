import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import PushModel

/// Builds the responder for every request from the route table.
struct GatewayRouter {
    private let services: GatewayServices
    private let limits: BodyLimits
    private let routes: ListenerConfiguration.Routes

    /// Prepares a router over `services`.
    init(
        services: GatewayServices, limits: BodyLimits,
        routes: ListenerConfiguration.Routes = .api(withOperations: true)
    ) {
        self.routes = routes
        self.services = services
        self.limits = limits
    }

    /// The responder: request ids around request log and metrics around what browsers need around error answers around the
    /// routes.
    func responder() -> RouterResponder<GatewayRequestContext> {
        let shared = (
            authenticator: Authenticator(
                store: services.store, limits: services.clientLimits, uses: services.keyUses,
                publicURL: services.publicURL, wallTime: services.wallTime),
            batches: BatchGate(limitBytes: 4 * limits.batch)
        )
        let parts = responder(of: MultipartBatch.partRoutes, parts: nil, shared)
        return responder(of: Route.all(on: routes), parts: parts, shared)
    }

    /// - Parameter parts: answers the parts of batches.
    private func responder(
        of routes: [Route], parts: RouterResponder<GatewayRequestContext>?,
        _ shared: (authenticator: Authenticator, batches: BatchGate)
    ) -> RouterResponder<GatewayRequestContext> {
        let router = Router(context: GatewayRequestContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: RequestIDs())
        router.add(middleware: RequestLog())
        router.add(middleware: CrossOrigin(paths: RoutePaths(routes)))
        router.add(middleware: ErrorAnswers(paths: RoutePaths(routes)))
        router.add(middleware: HeaderLimit())
        for route in routes {
            let bodyLimitBytes = min(route.isBatch ? limits.batch : limits.standard, route.bodyLimitBytes)
            let parameters = route.takesAnyQuery ? nil : OpenAPI.queryParameters(of: route)
            router.on(RouterPath(route.path), method: route.method) { [services] request, context in
                // As at Google's front end, before anything else is looked at.
                if let parameters, request.uri.query != nil {
                    try Query(request.uri).refuseUnknown(known: parameters)
                }
                let call = Call(
                    request: request, context: context, services: services, bodyLimitBytes: bodyLimitBytes,
                    batches: shared.batches, partResponder: parts)
                return try await route.respond(to: call, authenticator: shared.authenticator)
            }
        }
        return router.buildResponder()
    }
}

/// Which methods each path of the table takes: the router itself tells an unknown path and a wrong method not apart.
struct RoutePaths: Sendable {
    private let routes: [(path: RouterPath, method: HTTPRequest.Method)]

    /// Takes the table.
    init(_ routes: [Route]) {
        self.routes = routes.map { (RouterPath($0.path), $0.method) }
    }

    /// The methods that a path takes, in the order of the table.
    func methods(of path: String) -> [HTTPRequest.Method] {
        let parts = path.split(separator: "/")
        let matches = routes.filter { route in
            route.path.count == parts.count && zip(route.path, parts).allSatisfy { $0 ~= $1 }
        }
        // The closest pattern wins, as in the router: `messages:send` is no message id.
        let closest = matches.map { literals(in: $0.path, parts) }.max()
        return matches.filter { literals(in: $0.path, parts) == closest }.map(\.method)
    }

    private func literals(in path: RouterPath, _ parts: [Substring]) -> Int {
        zip(path, parts).count { $0 == $1 }
    }
}

/// Turns everything that a route throws into an error answer, and logs what the operator should know.
struct ErrorAnswers: RouterMiddleware {
    let paths: RoutePaths

    func handle(
        _ request: Request, context: GatewayRequestContext,
        next: (Request, GatewayRequestContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch {
            let response = response(to: error, request, context)
            // A body after the answer to HEAD would be taken for the next answer (RFC 9110 §9.3.2).
            return request.method == .head ? response.createHeadResponse() : response
        }
    }

    private func response(to error: any Error, _ request: Request, _ context: GatewayRequestContext) -> Response {
        if let error = error as? HTTPError, error.status == .notFound { return unmatched(request) }
        let answer = FCMError(any: error)
        log(answer, context)
        return answer.response(for: request.uri.path)
    }

    private func unmatched(_ request: Request) -> Response {
        let methods = paths.methods(of: request.uri.path)
        let hint = SenderHint.path(request.uri.path)
        guard !methods.isEmpty else {
            return FCMError(.notFound, "The requested URL was not found on this server.", reason: .unknownPath)
                .hinting(hint).response(for: request.uri.path)
        }
        var response = FCMError(.methodNotAllowed).hinting(hint).response(for: request.uri.path)
        response.headers[.allow] = methods.map(\.rawValue).joined(separator: ", ")
        return response
    }

    private func log(_ answer: FCMError, _ context: GatewayRequestContext) {
        guard answer.code.httpStatus >= 500 else { return }
        context.logger.log(
            // A gateway that stops refuses what comes meanwhile: nothing failed.
            level: answer.reason == .gatewayUnavailable ? .debug : .error, "Request failed",
            metadata: [
                "http.route": "\(context.endpointPath ?? "")", "http.status": "\(answer.code.httpStatus)",
                "error": "\(answer.cause ?? answer.message)",
            ])
    }
}
