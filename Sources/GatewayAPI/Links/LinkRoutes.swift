import HTTPTypes
import Hummingbird
import Links
import PushModel

/// The REST API of Dynamic Links (firebasedynamiclinks.v1.json), and what it lacked: lists, changes and deletions.
enum LinkRoutes {
    static let all: [Route] = [
        .links(.post, "shortLinks", .createLinks, ShortLinkRoutes.create),
        .links(.post, "managedShortLinks:create", .manageLinks, ManagedLinkRoutes.create),
        .links(.get, "managedShortLinks", .manageLinks, ManagedLinkRoutes.list),
        .links(.get, "managedShortLinks/{link}", .manageLinks, ManagedLinkRoutes.get),
        .links(.patch, "managedShortLinks/{link}", .manageLinks, ManagedLinkRoutes.change),
        .links(.delete, "managedShortLinks/{link}", .manageLinks, ManagedLinkRoutes.delete),
        // The link is one segment of the path, percent-encoded: the router takes paths apart before it decodes them.
        .links(.get, "{link}/linkStats", .readLinkStats, LinkStatsRoutes.get),
    ]
}

extension Route {
    /// A route of Dynamic Links' API. Its project is the credential's, which may be an API key in the query.
    static func links(
        _ method: HTTPRequest.Method, _ path: String, _ access: Access,
        _ handle: @escaping @Sendable (ProjectCall) async throws -> Response
    ) -> Route {
        var route = Route(method: method, path: "/v1/" + path, scope: .keyProject(access, handle)).withQueryKey
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

    /// Counts a link that a client makes.
    func checkNewLink() throws(FCMError) { try call.checkNewLink(of: caller) }
}

extension FCMError {
    /// A link that is refused.
    init(_ problem: LinkProblem) {
        let name = problem.parameter.map { " ('\($0.rawValue)')" } ?? ""
        self = .badRequest(problem.field, "\(problem.field)\(name) \(problem.message).")
    }
}
