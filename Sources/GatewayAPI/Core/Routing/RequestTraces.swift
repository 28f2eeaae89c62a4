import HTTPTypes
import Hummingbird
import HummingbirdCore
import Traces
import Tracing

/// Records requests as spans: the caller's trace goes on where its `traceparent` says so (W3C Trace Context). Never the path
/// itself, which can hold a registration token.
struct RequestTraces: RouterMiddleware {
    let tracer: StepTracer

    /// What makes messages, which decide themselves whether they are traced.
    private static let sendSuffixes = ["/messages:send", "/messages:batchSend", "/fcm/send", "/batch"]
    /// What monitoring asks all the time.
    private static let probes: Set<String> = ["/healthz", "/readyz", "/metrics"]

    func handle(
        _ request: Request, context: GatewayRequestContext,
        next: @concurrent (Request, GatewayRequestContext) async throws -> Response
    ) async throws -> Response {
        // A part of a batch belongs to the batch's request.
        guard context.trace == nil else { return try await next(request, context) }
        let trace = tracer.request(of: SpanContext(callerOf: request))
        var context = context
        context.trace = trace
        let response = try await next(request, context)
        let route = context.endpointPath.flatMap { $0 == "NotFound" ? nil : $0 } ?? "none"
        tracer.record(
            trace, name: "\(request.method.rawValue.prefix(16)) \(route)", status: response.status.code,
            isSend: Self.isChosenOtherwise(route),
            [
                "http.request.method": .string(String(request.method.rawValue.prefix(16))),
                "http.route": .string(route), "herald.request_id": .string(context.id),
            ])
        return response
    }

    /// Whether chance has no say: of a request that makes messages its messages are asked, and probes say nothing.
    private static func isChosenOtherwise(_ route: String) -> Bool {
        probes.contains(route) || sendSuffixes.contains(where: route.hasSuffix)
    }
}

extension SpanContext {
    /// The span that a request says it belongs to; `nil`: it names none, or none that is sound.
    init?(callerOf request: Request) {
        self.init(parents: request.headers[values: .traceParent], states: request.headers[values: .traceState])
    }
}

extension HTTPField.Name {
    /// `traceparent` (W3C Trace Context §3.2).
    static let traceParent = HTTPField.Name("traceparent")!
    /// `tracestate` (§3.3).
    static let traceState = HTTPField.Name("tracestate")!
}
