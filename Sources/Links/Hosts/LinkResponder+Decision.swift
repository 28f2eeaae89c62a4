import HTTPListener
import HTTPTypes
import Hummingbird
import HummingbirdCore
import PushModel
import Store

extension LinkResponder {
    /// Decides what a client gets, and counts.
    func decide(_ link: OpenedLink, _ visit: LinkVisit) -> Response {
        if visit.isFromComputer, !visit.isDebug, let url = link.knownComputerURL {
            count(link, visit, [.click, .redirect])
            return .redirect(to: url)
        }
        return resolve(link, visit)
    }

    private func resolve(_ link: OpenedLink, _ visit: LinkVisit) -> Response {
        // Only a phone may go on to a store, and its app be opened for the first time.
        let app = visit.isClick && !visit.isDebug && !visit.isFromPreview ? link.app(on: visit.client) : nil
        // iOS is told of by its preview page, unless it is left out.
        let isTold = app.map { $0.platform == .android || !link.hasPreview } ?? false
        let click = isTold ? app.map { traffic.take(opening($0, link, visit)) } : nil
        let resolution: LinkResolution
        do throws(LinkProblem) {
            resolution = try LinkResolution(
                url: link.url, parameters: link.parameters, project: link.tenant.project, policy: link.tenant.policy,
                click: click?.description, isDebug: visit.isDebug)
        } catch {
            return refused(error)
        }
        switch resolution.decision(for: visit.client) {
        case .redirect(let url), .intent(let url):
            count(link, visit, [.click, .redirect])
            if visit.isFromComputer { link.keep(computerURL: url) }
            return .redirect(to: url)
        case .preview:
            count(link, visit, [.click])
            return .redirect(to: previewURL(of: link, visit))
        case .ipadCheck:
            // Counted when the page has found out which it is.
            return .page(
                pages.ipadCheck(
                    IPadCheckPage(
                        ipadURL: link.url.appending(parameter: .isPad),
                        desktopURL: link.url.appending(parameter: .isNoPad))))
        case .socialPage: return .page(pages.social(SocialPage(resolution, policy: link.tenant.policy)))
        case .debugPage: return .page(pages.debug(DebugPage(link, resolution)))
        }
    }

    /// The page of a link that leads nowhere, or where it must not.
    func refused(_ problem: LinkProblem) -> Response { .page(pages.badLink("Its \(problem.readerText).")) }

    /// Counts what a click brought about. A click through the preview page was counted when it was led there.
    private func count(_ opened: OpenedLink, _ visit: LinkVisit, _ events: [LinkEvent]) {
        guard visit.isClick, let link = opened.link else { return }
        let events = visit.isFromPreview ? events.filter { $0 != .click } : events
        traffic.count(events, of: link.id, on: visit.client.platform, at: visit.time)
    }

    private func opening(_ app: App, _ link: OpenedLink, _ visit: LinkVisit) -> LinkOpening {
        LinkOpening(
            project: link.tenant.project.id, app: app.key, url: link.url, link: link.link?.id,
            invitation: link.invitation, address: visit.address,
            userAgent: visit.userAgent, languages: visit.request.headers[.acceptLanguage],
            client: visit.client, windows: link.tenant.settings.windows)
    }

    // MARK: Preview

    private func previewURL(of link: OpenedLink, _ visit: LinkVisit) -> String {
        guard let preview = link.tenant.settings.preview else { return link.url }
        let rest = link.url.firstRange(of: "://").map { link.url[$0.upperBound...] } ?? ""
        // With the port, which the page's own URL need not have.
        let url = preview.url + "/" + rest
        return visit.query?.hasParameter(.isPad) == true ? url.appending(parameter: .isPad) : url
    }

    /// Answers a request for a preview host: `/<host>/<path>?<query>` is the page of the link there.
    func previewAnswer(_ visit: LinkVisit, on previewHost: String) async throws -> Response {
        if let id = reportedTap(visit) { return try await takeReport(of: id, visit) }
        guard visit.isReading else { return .methodNotAllowed("GET, HEAD") }
        guard visit.target.utf8.count <= Self.targetLimit else { return .page(pages.badLink("It is too long.")) }
        if visit.path == "/robots.txt" {
            return .file(Array("User-agent: *\nAllow: /\n".utf8), "text/plain; charset=utf-8")
        }
        let parts = visit.path.dropFirst().split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let host = parts.first, let site = hosts.site(LinkHosts.host(of: String(host))),
            let place = site.place(of: "/" + (parts.count > 1 ? parts[1] : "")),
            place.tenant.settings.preview?.host == previewHost,
            case .link(let name) = LinkPath(place.rest)
        else { return .page(pages.unknownHost()) }
        return try await found(name, visit, place) { link in preview(of: link, visit) }
    }

    private func preview(of link: OpenedLink, _ visit: LinkVisit) -> Response {
        let resolution: LinkResolution
        do throws(LinkProblem) {
            resolution = try LinkResolution(
                url: link.url, parameters: link.parameters, project: link.tenant.project, policy: link.tenant.policy)
        } catch {
            return .page(
                pages.badLink(
                    "Its \(error.parameter.map { "parameter '\($0.rawValue)'" } ?? "address") \(error.message)."))
        }
        if visit.client.kind == .crawler {
            return .page(pages.social(SocialPage(resolution, policy: link.tenant.policy)))
        }
        // Anything but the device that was sent here starts again at the link.
        guard let app = link.app(on: visit.client), app.platform == .apple else { return .redirect(to: link.url) }
        let click = visit.isClick ? traffic.take(opening(app, link, visit)) : nil
        let marks = click.map { ["cid=\($0)"] } ?? []
        let isPad = visit.query?.hasParameter(.isPad) == true
        return .page(
            pages.preview(
                PreviewPage(
                    title: link.parameters[.socialTitle], description: link.parameters[.socialDescription],
                    imageURL: link.parameters.socialImage(allowedBy: link.tenant.policy)?.text,
                    host: resolution.targets.link.host,
                    openURL: link.unfolded(with: [.isFromPreview] + (isPad ? [.isPad] : []) + marks),
                    copiedLink: marks.reduce(link.url) { $0.appending(parameter: $1) },
                    reportPath: click.map { Self.reportPath + $0.description })))
    }

    /// Where preview pages report to.
    private static let reportPath = "/_/clicks/"
    /// The largest report in bytes.
    private static let reportLimit = 4096

    private func reportedTap(_ visit: LinkVisit) -> ClickID? {
        guard visit.request.method == .post, visit.path.hasPrefix(Self.reportPath) else { return nil }
        return ClickID(rawValue: visit.path.dropFirst(Self.reportPath.count))
    }

    private func takeReport(of id: ClickID, _ visit: LinkVisit) async throws -> Response {
        let form: String
        do {
            form = String(buffer: try await visit.request.body.collect(upTo: Self.reportLimit))
        } catch {
            return .page(pages.badLink("Its report is too long or did not come to its end."))
        }
        traffic.take(DeviceReport(form: form), of: id)
        return Response(status: .noContent, headers: .ofLinks)
    }
}

extension DeviceReport {
    /// Reads the form that a preview page sends; what is missing or malformed stays out.
    init(form: String) {
        var fields: [ClickReport: String] = [:]
        for pair in form.split(separator: "&").prefix(20) {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = ClickReport(rawValue: String(parts[0])), parts.count == 2 else { continue }
            let value = PercentEncoding.decode(String(parts[1]).replacing("+", with: " "))
            fields[name] = value.isEmpty ? nil : value
        }
        self.init(
            PageTraits(
                width: fields[.width].flatMap { Int($0) }, height: fields[.height].flatMap { Int($0) },
                language: fields[.language], timeZone: fields[.timeZone]),
            isSaved: fields[.saved] == "1")
    }
}
