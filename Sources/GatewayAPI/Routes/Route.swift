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
    /// Whether requests are batches, for which another configured limit holds.
    var isBatch = false

    /// Whether any query is taken: probes and scrapers add what they like.
    var takesAnyQuery = false

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

    /// Every route of the gateway.
    static var all: [Route] { all(on: .api(withOperations: true)) }

    /// The routes of a listener.
    static func all(on routes: ListenerConfiguration.Routes) -> [Route] {
        guard routes != .operations else { return OperationsRoutes.all(on: routes) }
        return api + OperationsRoutes.all(on: routes)
    }

    private static var api: [Route] {
        SendRoutes.all + MultipartBatch.all + LegacySend.all + DeviceGroupRoutes.all
            + RegistrationRoutes.all + TopicRoutes.all + TopicListRoutes.all + InstanceIDRoutes.all
            + InstallationRoutes.all + ReceiptRoutes.all
            + ReportRoutes.all + WhyRoutes.all + DeliveryDataRoutes.all + AuditRoutes.all + StatusRoutes.all
            + ControlRoutes.all + ExportRoutes.all + TokenRoutes.all + OpenAPI.routes
    }

    /// Whether a key of another project is told so in FCM's own words: only where messages are sent.
    var isSend: Bool { path.hasSuffix("/messages:send") || path.hasSuffix("/messages:batchSend") }
}

extension Route {
    /// Finds out who calls and whether they may, then answers.
    func respond(to call: Call, authenticator: Authenticator) async throws -> Response {
        switch scope {
        case .open(let handle):
            return try await handle(call)
        case .project(let access, let handle):
            let caller = try await authenticator.caller(of: call)
            let name = try call.parameter("project")
            let project: Project
            do throws(FCMError) {
                project = try foreignChecked(call.services.projects.project(named: name), caller)
            } catch {
                throw error.hinting(SenderHint.project(name, of: caller.project))
            }
            try access.check(caller)
            try call.checkRate(of: caller)
            return try await handle(ProjectCall(call: call, project: project, caller: caller))
        case .keyProject(let access, let handle):
            let caller = try await authenticator.caller(of: call)
            let project = try foreignChecked(call.services.projects.project(caller.project), caller)
            try access.check(caller)
            try call.checkRate(of: caller)
            return try await handle(ProjectCall(call: call, project: project, caller: caller))
        }
    }

    // An unknown project and one of someone else's give the same answer: nothing is revealed.
    private func foreignChecked(_ project: Project?, _ caller: Caller) throws(FCMError) -> Project {
        guard let project, project.id == caller.project else {
            throw isSend ? FCMError(.senderIDMismatch) : .wrongProject(caller)
        }
        return project
    }
}
