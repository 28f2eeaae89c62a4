import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging

/// Turns everything that a route throws into an error answer, and logs what the operator should know.
struct ErrorAnswers: RouterMiddleware {
    let paths: RoutePaths

    func handle(
        _ request: Request, context: GatewayRequestContext,
        next: @concurrent (Request, GatewayRequestContext) async throws -> Response
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
            // A gateway that stops refuses what comes meanwhile: nothing failed. That the disk is low is told once.
            level: [.gatewayUnavailable, .diskSpaceLow].contains(answer.reason) ? .debug : .error, "Request failed",
            metadata: [
                "http.route": "\(context.endpointPath ?? "")", "http.status": "\(answer.code.httpStatus)",
                "error": "\(answer.cause ?? answer.message)",
            ])
    }
}
