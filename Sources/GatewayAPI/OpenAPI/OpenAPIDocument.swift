import HTTPTypes
import JSON

/// The document, put together.
struct OpenAPIDocument {
    private let routes: [Route]
    private let areas: [OpenAPI.Area]

    /// Describes `routes` as far as `areas` know them.
    init(routes: [Route], areas: [OpenAPI.Area]) {
        self.routes = routes
        self.areas = areas
    }

    /// The document.
    var json: JSONValue {
        .object([
            .init("openapi", .string("3.1.0")),
            .init(
                "info",
                .object([
                    .init("title", .string("Herald")),
                    .init("description", .string("A push gateway with FCM's API. Errors have FCM's shape.")),
                    .init("version", .string("v1")),
                ])),
            .init("servers", .array([.object([.init("url", .string("/"))])])),
            .init("tags", .array(tags.map { .object([.init("name", .string($0))]) })),
            .init("paths", paths),
            .init(
                "components",
                .object([
                    .init("schemas", .object(areas.flatMap { $0.schemas.list.map { .init($0.name, $0.schema.json) } })),
                    .init("securitySchemes", Self.securitySchemes),
                ])),
        ])
    }

    private var tags: [String] { areas.filter { !$0.operations.isEmpty }.map(\.name) }

    /// The operation of each route with its tag, paths in the order of the table.
    private var paths: JSONValue {
        var paths: [JSONValue.Member] = []
        var places: [String: Int] = [:]
        for route in routes {
            guard let (tag, operation) = operation(of: route) else { continue }
            let member = JSONValue.Member(
                route.method.rawValue.lowercased(), RouteDescription(route, operation, tag: tag).json)
            if let place = places[route.path], case .object(let members) = paths[place].value {
                paths[place].value = .object(members + [member])
            } else {
                places[route.path] = paths.count
                paths.append(.init(route.path, .object([member])))
            }
        }
        return .object(paths)
    }

    private func operation(of route: Route) -> (tag: String, OpenAPI.Operation)? {
        for area in areas {
            for operation in area.operations where operation.path == route.path && operation.method == route.method {
                return (area.name, operation)
            }
        }
        return nil
    }

    private static let securitySchemes = JSONValue.object([
        .init(
            "bearer",
            .object([
                .init("type", .string("http")), .init("scheme", .string("bearer")),
                .init("description", .string("`Authorization: Bearer <API key, access token or signed JWT>`.")),
            ])),
        .init("key", scheme("Authorization", "`Authorization: key=<key>`, as the legacy API has it.")),
        .init("apiKey", scheme("X-Goog-Api-Key", "The key alone.")),
        .init("queryKey", scheme("key", "The key alone; only for links.", in: "query")),
    ])

    private static func scheme(_ field: String, _ text: String, in place: String = "header") -> JSONValue {
        .object([
            .init("type", .string("apiKey")), .init("in", .string(place)), .init("name", .string(field)),
            .init("description", .string(text)),
        ])
    }
}
