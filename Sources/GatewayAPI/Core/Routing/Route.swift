import Delivery
import HTTPTypes
import Hummingbird
import PushModel

/// One row of the route table: method, path, who may, what happens.
struct Route: Sendable {
    /// The method.
    let method: HTTPRequest.Method
    /// The path, with captures in braces.
    let path: String
    /// Who may use it, and on what.
    let scope: Scope
    /// The largest body that the route's requests can need; the configured limit may be lower.
    var bodyLimitBytes = 16 << 10
    /// The largest body that an app's requests can need, with a client key.
    var clientBodyLimitBytes = Int.max
    /// Whether requests are batches, for which another configured limit holds.
    var isBatch = false

    /// Whether requests take some tens of microseconds of computing: small ones are answered on the event loop of their
    /// connection, everything else beside it.
    var isBrief = false

    /// Whether any query is taken: probes and scrapers add what they like.
    var takesAnyQuery = false
    /// Whether the API key may also stand in the query, as `key`.
    var takesQueryKey = false

    /// Who may use a route, and on what.
    enum Scope: Sendable {
        /// Anyone.
        case open(@Sendable (Call) async throws -> Response)
        /// A credential of the project that the path names.
        case project(Access, @Sendable (ProjectCall) async throws -> Response)
        /// A credential: the project is the credential's (Instance ID API).
        case keyProject(Access, @Sendable (ProjectCall) async throws -> Response)
    }

    /// A route that anyone may use.
    static func open(
        _ method: HTTPRequest.Method, _ path: String, _ handle: @escaping @Sendable (Call) async throws -> Response
    ) -> Route {
        Route(method: method, path: path, scope: .open(handle))
    }

    /// A route below `/v1/projects/{project}`.
    static func project(
        _ method: HTTPRequest.Method, _ path: String, _ access: Access,
        _ handle: @escaping @Sendable (ProjectCall) async throws -> Response
    ) -> Route {
        Route(method: method, path: "/v1/projects/{project}/" + path, scope: .project(access, handle))
    }

    /// A route of the Instance ID API.
    static func instanceID(
        _ method: HTTPRequest.Method, _ path: String, _ access: Access,
        _ handle: @escaping @Sendable (ProjectCall) async throws -> Response
    ) -> Route {
        Route(method: method, path: "/iid/" + path, scope: .keyProject(access, handle))
    }

    /// The route with another body limit.
    func limited(toBytes limit: Int) -> Route {
        var route = self
        route.bodyLimitBytes = limit
        return route
    }

    /// The route with another body limit, and with a smaller one for client keys.
    func limited(toBytes limit: Int, ofClients clientLimit: Int) -> Route {
        var route = limited(toBytes: limit)
        route.clientBodyLimitBytes = clientLimit
        return route
    }

    /// The route as one whose requests are brief.
    var brief: Route {
        var route = self
        route.isBrief = true
        return route
    }

    /// The route with any query.
    var withAnyQuery: Route {
        var route = self
        route.takesAnyQuery = true
        return route
    }

    /// The route for batches, whose body limit is the configured one for these.
    var forBatches: Route {
        var route = limited(toBytes: .max)
        route.isBatch = true
        return route
    }

    /// Whether a key of another project is told so in FCM's own words: only where messages are sent.
    var isSend: Bool { path.hasSuffix("/messages:send") || path.hasSuffix("/messages:batchSend") }
}
