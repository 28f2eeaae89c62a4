import Delivery
import HTTPListener
import HTTPTypes
import Hummingbird
package import HummingbirdCore
import Logging
import NIOCore
import PushModel
import Store

/// Answers the requests for the console: who is signed in, whether they may, and the page.
///
/// What an operator sees of projects is those in which they have a role: any other answers as if it was not there.
package struct ConsoleResponder: Sendable {
    private let services: ConsoleServices
    private let path: String
    private let templates: ConsoleTemplates
    private let assets: ConsoleAssets
    private let signIn: SignInPages
    private let feeds: LiveFeeds
    private let routes: [ConsoleRoute]
    private let metrics = RequestMetrics()

    /// The largest body of a form.
    private static let formLimit = 256 << 10

    /// Puts a responder together; all templates are parsed.
    ///
    /// - Parameter path: where the console is on the listener.
    /// - Throws: what the parser of a template says.
    package init(_ services: ConsoleServices, configuration: ConsoleConfiguration) throws {
        self.services = services
        path = configuration.path
        templates = try ConsoleTemplates()
        assets = ConsoleAssets()
        signIn = SignInPages(services: services, configuration: configuration)
        feeds = LiveFeeds(clock: services.clock)
        routes = ConsolePages.routes
    }

    /// Where the console is for the browser: a proxy may have it below a path.
    private var base: String {
        let url = services.publicURL()
        guard let scheme = url.firstRange(of: "://"),
            let slash = url[scheme.upperBound...].firstIndex(of: "/")
        else { return path }
        return url[slash...] + path
    }

    /// Answers a request whose path begins with the console's.
    ///
    /// - Parameters:
    ///   - peer: the IP address of the other end of the connection.
    ///   - calls: sends requests through the API's own routes.
    package func respond(
        to request: Request, from peer: String?, calls: @escaping ServiceCalls
    ) async -> Response {
        let isHead = request.method == .head
        let start = ContinuousClock.now
        let response = await answer(request, peer, calls)
        let duration = ContinuousClock.now - start
        metrics.record(route: "console", status: response.status.code, duration: duration)
        // As of the API's requests: never the path, which can hold a token.
        services.logger.debug(
            "Request answered",
            metadata: [
                "http.method": "\([.get, .head, .post].contains(request.method) ? request.method.rawValue : "other")",
                "http.route": "console", "http.status": "\(response.status.code)", "duration": "\(duration)",
            ])
        // A body after the answer to HEAD would be taken for the next answer (RFC 9110 §9.3.2).
        return isHead ? response.createHeadResponse() : response
    }

    /// See ``ConsoleServices/Calls``.
    package typealias ServiceCalls = ConsoleServices.Calls

    private func answer(
        _ request: Request, _ peer: String?, _ calls: @escaping ServiceCalls
    ) async -> Response {
        var visit = Visit(request, below: path, from: peer, proxies: services.proxies)
        guard visit != nil else { return failure(.notFound, nil) }
        var signedIn: SignedIn?
        do {
            if request.method == .post { visit?.form = try await Self.form(of: request) }
            guard let visit else { return failure(.notFound, nil) }
            if let asset = assets.response(to: visit) { return asset }
            let keeper = signIn.keeper(base: base)
            signedIn = try await keeper.find(visit, isUse: visit.query["live"] == nil)
            if request.method == .post { try check(visit, signedIn) }
            if let response = try await signIn.respond(to: visit, signedIn, base: base, templates) { return response }
            guard let signedIn else { return signIn.challenge(visit, base: base) }
            return try await projectPage(visit, signedIn, keeper, calls)
        } catch let error as ConsoleError {
            return failure(error, signedIn)
        } catch let error as StoreError {
            services.logger.error("console: the store failed", metadata: ["error": "\(error)"])
            return failure(
                ConsoleError(
                    .serviceUnavailable, "The store can’t be read now", "Try again in a moment. \(error.message)"),
                signedIn)
        } catch {
            services.logger.error("console: a page failed", metadata: ["error": "\(error)"])
            return failure(
                ConsoleError(
                    .internalServerError, "This page could not be made", "The log of the gateway says why."), signedIn)
        }
    }

    /// Whether a form comes from a page of this console, of the same session.
    private func check(_ visit: Visit, _ signedIn: SignedIn?) throws(ConsoleError) {
        guard visit.isOfOrigin(services.publicURL()) else { throw .staleForm }
        guard let signedIn else { return }
        guard SessionSecret.isFormToken(visit.form.text("_token"), of: signedIn.secret) else { throw .staleForm }
    }

    private func projectPage(
        _ visit: Visit, _ signedIn: SignedIn, _ keeper: SessionKeeper, _ calls: @escaping ServiceCalls
    ) async throws -> Response {
        let roles = signedIn.owner.roles.filter { services.projects.project($0.key) != nil }
        if visit.segments.isEmpty {
            guard let first = roles.keys.map(\.rawValue).min() else { throw SignInPages.noProject }
            return .seeOther("\(base)/p/\(first)")
        }
        guard visit.segments.count >= 2, visit.segments[0] == "p", let id = ProjectID(rawValue: visit.segments[1]),
            let role = roles[id], let project = services.projects.project(id)
        else { throw ConsoleError.notFound }
        let segments = visit.segments.dropFirst(2)
        let method: HTTPRequest.Method = visit.request.method == .head ? .get : visit.request.method
        let found = routes.compactMap { route in route.captures(of: segments).map { (route, $0) } }
        guard !found.isEmpty else { throw ConsoleError.notFound }
        guard let (route, captures) = found.first(where: { $0.0.method == method }) else {
            throw ConsoleError(.methodNotAllowed, "This is done with a form", "Go back and use the page’s buttons.")
        }
        guard role >= route.role else { throw ConsoleError.forbidden(route.role.rawValue, role.rawValue) }
        let call = ConsoleCall(
            visit: visit, captures: captures, signedIn: signedIn, project: project, role: role, services: services,
            base: base, consolePath: path, calls: calls, keeper: keeper)
        if route.needsProof, !call.isProven {
            return signIn.proofPage(visit, signedIn, back: visit.form["_back"] ?? call.root, base: base, templates)
        }
        if visit.query["live"] != nil, method == .get { return live(route, call) }
        return respond(try await route.respond(call), call)
    }

    private func respond(_ reply: Reply, _ call: ConsoleCall) -> Response {
        switch reply {
        case .response(let response): return response
        case .redirect(let place): return .seeOther(place)
        case .page(let page):
            let layout = Layout(call.signedIn, project: call.project, role: call.role, base: base, services: services)
            return .html(
                templates.render(
                    page, layout.model(for: page, at: base + call.visit.request.uri.string.dropFirst(path.utf8.count))),
                status: page.status)
        }
    }

    /// The page's part that changes, over and over.
    private func live(_ route: ConsoleRoute, _ call: ConsoleCall) -> Response {
        let isAllowed: @Sendable () async throws -> Bool = {
            guard let signedIn = try await call.keeper.find(call.visit, isUse: false) else { return false }
            // With another role the page is another one: it is loaded again.
            return signedIn.owner.roles[call.project.id] == call.role
        }
        return feeds.response(call, isAllowed: isAllowed) { [templates, services, base] in
            guard case .page(let page) = try await route.respond(call), page.isLive else { return nil }
            let layout = Layout(call.signedIn, project: call.project, role: call.role, base: base, services: services)
            var model = layout.model(for: page, at: "")
            model["token"] = LiveFeeds.tokenPlace
            return templates.renderLive(page, model)
        }
    }

    private func failure(_ error: ConsoleError, _ signedIn: SignedIn?) -> Response {
        let layout = Layout(signedIn, project: nil, role: nil, base: base, services: services)
        let page = Reply.Page(
            template: .message, title: error.title, model: ["heading": error.title, "text": error.text, "base": base])
        return .html(templates.render(page, layout.model(for: page, at: "")), status: error.status)
    }

    private static func form(of request: Request) async throws -> Form {
        do {
            return Form(Array(buffer: try await request.body.collect(upTo: formLimit)))
        } catch is NIOTooManyBytesError {
            throw ConsoleError(.contentTooLarge, "The form is too large", "It may have 256 KiB.")
        }
    }
}
