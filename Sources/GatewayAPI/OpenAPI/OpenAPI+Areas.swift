import HTTPTypes
import Hummingbird

extension OpenAPI {
    /// Every part of the API; the order is the document's.
    static let areas: [Area] = [
        sending, message, batches, registrations, devices, topics, channels, instanceID, reports, webhooks,
        deliveryData, audit,
        status,
        export, legacy, tokens, links, attribution, referral, serverOperations, errors,
    ]

    /// The names of the query parameters that a route is described with.
    static func queryParameters(of route: Route) -> [String] {
        areas.lazy.flatMap(\.operations).first { $0.path == route.path && $0.method == route.method }
            .map { operation in operation.parameters.filter { $0.place == .query }.map(\.name) } ?? []
    }

    /// The route of the document.
    static func routes(_ document: @escaping @Sendable () -> Response) -> [Route] {
        [.open(.get, "/openapi.json") { _ in document() }]
    }
}
