import FCMWire
import HTTPTypes
import Hummingbird
import Links
import PushModel

/// The REST API of Dynamic Links (firebasedynamiclinks.v1.json), and what it lacked: lists, changes and deletions.
enum LinkRoutes {
    static let all: [Route] = [
        .links(.post, "shortLinks", .createLinks, ShortLinkRoutes.create),
        .links(.post, "managedShortLinks:create", .createManagedLinks, ManagedLinkRoutes.create),
        .links(.get, "managedShortLinks", .manageLinks, ManagedLinkRoutes.list),
        .links(.get, "managedShortLinks/{link}", .manageLinks, ManagedLinkRoutes.get),
        .links(.patch, "managedShortLinks/{link}", .manageLinks, ManagedLinkRoutes.change),
        .links(.delete, "managedShortLinks/{link}", .manageLinks, ManagedLinkRoutes.delete),
        // The link is one segment of the path, percent-encoded: the router takes paths apart before it decodes them.
        .links(.get, "{link}/linkStats", .readLinkStats, LinkStatsRoutes.get),
    ]
}

extension Route {
    /// A route of Dynamic Links' API. Its project is the credential's, which may be an API key in the query; a header
    /// `X-Herald-Project` that names another one is refused.
    static func links(
        _ method: HTTPRequest.Method, _ path: String, _ access: Access,
        _ handle: @escaping @Sendable (ProjectCall) async throws -> Response
    ) -> Route {
        let scope = Scope.keyProject(access) { call in
            try call.checkProject()
            return try await handle(call)
        }
        var route = Route(method: method, path: "/v1/" + path, scope: scope).withQueryKey
        // A long link may have as much in each of its parameters as a browser takes.
        route.bodyLimitBytes = 64 << 10
        return route
    }

    /// The route with the API key also in the query, as Google's clients and apps of Dynamic Links have it.
    var withQueryKey: Route {
        var route = self
        route.takesQueryKey = true
        return route
    }
}

extension ProjectCall {
    /// The links of the caller's project.
    ///
    /// - Throws: 400 when it has none.
    func linkTenant() throws(FCMError) -> LinkTenant {
        guard let tenant = services.linkHosts.tenant(project.id) else {
            throw FCMError(
                .failedPrecondition, "The project has no links: add links.prefixes to its project file.",
                reason: .invalidField)
        }
        return tenant
    }

    /// Refuses a caller who means another project than the credential's.
    fileprivate func checkProject() throws(FCMError) {
        guard let text = call.request.headers[.intendedProject] else { return }
        guard text == String(project.number) || text == project.id.rawValue else {
            throw FCMError(
                .permissionDenied,
                "\(caller.credential.name) is not of the project '\(text.excerpt)'; the project of a link is the "
                    + "credential's.", reason: .otherProject)
        }
    }

    /// Counts a link that a client makes.
    func checkNewLink() throws(FCMError) { try call.checkNewLink(of: caller) }
}

extension HTTPField.Name {
    /// `X-Herald-Project`: the id or number of the project that the caller means.
    fileprivate static let intendedProject = HTTPField.Name("X-Herald-Project")!
}

extension FCMError {
    /// A link that is refused.
    init(_ problem: LinkProblem) {
        let name = problem.parameter.map { " ('\($0.rawValue)')" } ?? ""
        self = .badRequest(problem.field, "\(problem.field)\(name) \(problem.message).")
    }
}
