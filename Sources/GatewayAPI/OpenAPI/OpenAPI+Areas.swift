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
        queryParameters[route.path]?[route.method] ?? []
    }

    /// By path and method.
    private static let queryParameters: [String: [HTTPRequest.Method: [String]]] = {
        var names: [String: [HTTPRequest.Method: [String]]] = [:]
        for operation in areas.lazy.flatMap(\.operations) where names[operation.path]?[operation.method] == nil {
            names[operation.path, default: [:]][operation.method] =
                operation.parameters.filter { $0.place == .query }.map(\.name)
        }
        return names
    }()

    /// The route of the document.
    static func routes(_ document: @escaping @Sendable () -> Response) -> [Route] {
        [.open(.get, "/openapi.json") { _ in document() }]
    }
}
