import HTTPListener
import HTTPTypes
import Hummingbird
package import HummingbirdCore
package import PushModel
package import Store

/// Answers the requests for link and preview hosts: a redirect, a page, a picture, or an association file. Nothing of these
/// requests reaches the API.
///
/// The way of a redirect is short: no body, no authentication, no JSON; a link that is remembered, a decision, a `Location`.
package struct LinkResponder: Sendable {
    /// How a link is found.
    package typealias LookUp = @Sendable (LinkKey) async throws -> ResolvedLink?

    let hosts: LinkHosts
    let lookUp: LookUp
    let traffic: any LinkTraffic
    let misses: MissBudget
    let pages: LinkPages
    let proxies: Int
    let wallTime: WallTime
    private let metrics = RequestMetrics()

    /// The longest target of a request in bytes: a long link, and what pages add to it.
    static let targetLimit = LinkLimits.longLinkBytes + LinkLimits.markBytes

    /// Puts a responder together.
    ///
    /// - Parameters:
    ///   - lookUp: finds a link whatever its state; what was found lately is remembered there.
    ///   - proxies: as many proxies in front add whom they ask for to `X-Forwarded-For`.
    /// - Throws: what the parser of the pages' templates says.
    package init(
        hosts: LinkHosts, lookUp: @escaping LookUp, traffic: any LinkTraffic = UntoldTraffic(),
        misses: MissBudget = MissBudget(rate: 0), proxies: Int = 0, wallTime: @escaping WallTime
    ) throws {
        self.hosts = hosts
        self.lookUp = lookUp
        self.traffic = traffic
        self.misses = misses
        self.proxies = proxies
        self.wallTime = wallTime
        pages = try LinkPages()
    }

    /// What the host of a request is for; `nil`: the request is the API's.
    package func role(of request: Request) -> LinkHosts.Role? {
        request.head.soundAuthority.flatMap(hosts.role)
    }

    /// Answers a request for a host of links.
    ///
    /// - Parameter peer: the IP address of the other end of the connection.
    package func respond(to request: Request, as role: LinkHosts.Role, from peer: String?) async -> Response {
        let start = ContinuousClock.now
        let visit = LinkVisit(request, peer: peer, proxies: proxies, time: wallTime())
        let response: Response
        do {
            switch role {
            case .links(let site): response = try await answer(visit, on: site)
            case .preview(let host): response = try await previewAnswer(visit, on: host)
            }
        } catch {
            response = .unavailable
        }
        metrics.record(route: "links", status: response.status.code, duration: ContinuousClock.now - start)
        // A body after the answer to HEAD would be taken for the next answer (RFC 9110 §9.3.2).
        return request.method == .head ? response.createHeadResponse() : response
    }

    private func answer(_ visit: LinkVisit, on site: LinkSite) async throws -> Response {
        guard visit.isReading else { return .methodNotAllowed("GET, HEAD") }
        guard visit.target.utf8.count <= Self.targetLimit else { return .page(pages.badLink("It is too long.")) }
        if let file = file(visit.path, of: site) { return file }
        guard let place = site.place(of: visit.path) else { return .page(pages.unknownHost()) }
        switch LinkPath(place.rest) {
        case .none: return .page(pages.notFound())
        case .picture(let suffix):
            return try await found(.short(suffix), visit, place) { link in
                // Milliseconds, which the other connections of the event loop are not to wait for.
                await withTaskExecutorPreference(globalConcurrentExecutor) { picture(of: link, visit) }
            }
        case .link(let name):
            return try await found(name, visit, place) { link in decide(link, visit) }
        }
    }

    /// The files that stand at the root of every link host.
    private func file(_ path: String, of site: LinkSite) -> Response? {
        switch path {
        case "/.well-known/apple-app-site-association", "/apple-app-site-association":
            .file(site.appleAssociation, "application/json")
        case "/.well-known/assetlinks.json": .file(site.androidAssociation, "application/json")
        // Previews need crawlers; X-Robots-Tag keeps links out of indexes.
        case "/robots.txt": .file(Array("User-agent: *\nAllow: /\n".utf8), "text/plain; charset=utf-8")
        default: nil
        }
    }

    /// Finds what a path names, and answers with it.
    func found(
        _ name: LinkPath.Name, _ visit: LinkVisit,
        _ place: (prefix: LinkPrefix, tenant: LinkTenant, rest: Substring),
        _ answer: (OpenedLink) async throws -> Response
    ) async throws -> Response {
        do throws(OpenedLink.Refusal) {
            let link = try await opened(name, visit, place.prefix, place.tenant)
            do {
                return try await answer(link)
            } catch {
                throw .failed(error)
            }
        } catch {
            switch error {
            case .unknown: return .page(pages.notFound())
            case .expired: return .page(pages.gone())
            case .invalid(let problem): return refused(problem)
            case .tooMany(let seconds): return .tooManyMisses(retryAfterSeconds: seconds)
            case .failed(let error): throw error
            }
        }
    }
}

extension LinkProblem {
    /// The problem for who opened the link: the parameter's name, not the API's.
    var readerText: String { (parameter.map { "parameter '\($0.rawValue)' " } ?? "address ") + message }
}
