import HTTPListener
import PushModel
import Store

/// A link that a request found: what it says, and whose it is.
struct OpenedLink {
    /// The prefix and the project that it is of.
    let prefix: LinkPrefix
    let tenant: LinkTenant
    let parameters: LinkParameters
    /// The short link; `nil`: it is none.
    var stored: ResolvedLink?
    /// The invitation's name; `nil`: it is none.
    var invitation: String?
    /// The URL of a link that was opened as a long one.
    var longURL: String?

    /// The short link as the store has it.
    var link: Link? { stored?.link }

    /// Its own URL, without internal parameters.
    var url: String {
        if let longURL { return longURL }
        if let invitation { return prefix.url + "/i/" + invitation }
        return stored.map { prefix.url + "/" + $0.link.key.suffix } ?? prefix.url
    }

    /// The app that the link is for on a device, when the project has it; `nil`: it is for the browser there.
    func app(on client: LinkClient) -> App? {
        switch client.kind {
        case .androidChrome, .androidOther: app(.android, .androidPackage)
        case .iPhone: app(.apple, .iosBundle)
        case .iPad: app(.apple, .ipadBundle) ?? app(.apple, .iosBundle)
        case .mac, .desktop, .crawler, .other: nil
        }
    }

    private func app(_ platform: Platform, _ parameter: LinkParameter) -> App? {
        parameters[parameter].flatMap(AppID.init).flatMap { tenant.project.apps[AppKey(platform, $0)] }
    }

    /// Whether iOS shows the preview page before it goes on.
    var hasPreview: Bool { tenant.settings.preview != nil && !parameters.isForcedRedirect }

    /// Why a request finds no link.
    enum Refusal: Error {
        /// It was never made, or is blocked or deleted: they must not differ.
        case unknown
        /// Its owner set an end.
        case expired
        /// It leads nowhere, or where it must not.
        case invalid(LinkProblem)
        /// The address asked for too many that are not there; it may again after these seconds.
        case tooMany(Int)
        /// The store can't be asked.
        case failed(any Error)
    }

    /// What the preview page's button leads to: the link as a long one, which an app reads without asking the gateway; or
    /// as it is, where that would be longer than what is opened.
    func unfolded(with marks: [String]) -> String {
        let long = LongLink.url(prefix: prefix, parameters: parameters.forced)
        let isStored = stored != nil || invitation != nil
        guard isStored else { return marks.reduce(long) { $0.appending(parameter: $1) } }
        guard LongLink.isOpened(long, parameters.forced) else {
            return marks.reduce(url) { $0.appending(parameter: $1) }
        }
        return (["_osl=" + PercentEncoding.encode(url)] + marks).reduce(long) { $0.appending(parameter: $1) }
    }
}

extension OpenedLink {
    /// Where the link leads computers, as far as that was worked out under the project's settings of now.
    var knownComputerURL: String? { longURL == nil ? stored?.computerURL(under: tenant.version) : nil }

    /// Keeps where the link leads computers.
    func keep(computerURL url: String) {
        guard longURL == nil else { return }
        stored?.keep(computerURL: url, under: tenant.version)
    }
}

extension LinkResponder {
    /// Finds what a path names.
    func opened(
        _ name: LinkPath.Name, _ visit: LinkVisit, _ prefix: LinkPrefix, _ tenant: LinkTenant
    ) async throws(OpenedLink.Refusal) -> OpenedLink {
        switch name {
        case .long: return try await long(visit, prefix, tenant)
        case .short(let suffix):
            let link = try await short(suffix, visit, prefix, tenant)
            return OpenedLink(
                prefix: prefix, tenant: tenant,
                parameters: visit.isFromPreview ? link.parameters.forced : link.parameters, stored: link)
        case .invitation(let id):
            try checkBudget(visit)
            let found: LinkInvitation?
            do {
                found = try await traffic.invitation(id, of: tenant.project.id)
            } catch {
                throw .failed(error)
            }
            guard let found else { throw missed(visit) }
            return OpenedLink(
                prefix: prefix, tenant: tenant,
                parameters: visit.isFromPreview ? found.parameters.forced : found.parameters, invitation: id)
        }
    }

    private func short(
        _ suffix: String, _ visit: LinkVisit, _ prefix: LinkPrefix, _ tenant: LinkTenant
    ) async throws(OpenedLink.Refusal) -> ResolvedLink {
        try checkBudget(visit)
        let found: ResolvedLink?
        do {
            found = try await lookUp(LinkKey(prefix: prefix.name, suffix: suffix))
        } catch {
            throw .failed(error)
        }
        guard let found, found.link.state == .active, found.link.project == tenant.project.id else {
            throw missed(visit)
        }
        if let end = found.link.expiresAt, end <= visit.time { throw .expired }
        return found
    }

    private func long(
        _ visit: LinkVisit, _ prefix: LinkPrefix, _ tenant: LinkTenant
    ) async throws(OpenedLink.Refusal) -> OpenedLink {
        guard let query = visit.query, !query.isEmpty else { throw .unknown }
        let parameters = LinkParameters(query: query)
        guard parameters[.link] != nil else { throw .invalid(LinkProblem(.link, message: "is missing")) }
        let url = LongLink.url(prefix: prefix, parameters: parameters)
        // The preview page has it in this form, with more: what is opened here opens there.
        guard LongLink.isOpened(url, parameters) else {
            throw .invalid(LinkProblem(field: "longDynamicLink", message: "is too long"))
        }
        // The button of a preview page leads to the long form of a short link.
        var link: ResolvedLink?
        if visit.isFromPreview, let tapped = visit.parameter("_osl") {
            link = try await shortLink(tapped, as: parameters, visit, prefix, tenant)
        }
        return OpenedLink(prefix: prefix, tenant: tenant, parameters: parameters, stored: link, longURL: url)
    }

    /// The short link that a URL names, when its preview page has a button with these parameters; `nil`: it names none, or
    /// another one, whose counts are none of this visit's.
    private func shortLink(
        _ url: String, as parameters: LinkParameters, _ visit: LinkVisit, _ prefix: LinkPrefix, _ tenant: LinkTenant
    ) async throws(OpenedLink.Refusal) -> ResolvedLink? {
        // What the URL is not is no matter: a mark that says nothing counts nothing.
        guard let tapped = try? LongLink(url: url, prefixes: tenant.settings.prefixes), tapped.prefix == prefix,
            let suffix = tapped.suffix, !suffix.contains("/")
        else { return nil }
        do throws(OpenedLink.Refusal) {
            let found = try await short(suffix, visit, prefix, tenant)
            return found.parameters.forced == parameters ? found : nil
        } catch {
            guard case .failed = error else { return nil }
            throw error
        }
    }

    private func checkBudget(_ visit: LinkVisit) throws(OpenedLink.Refusal) {
        guard !misses.isUntouched, let address = visit.address, let seconds = misses.wait(of: address) else { return }
        throw .tooMany(seconds)
    }

    private func missed(_ visit: LinkVisit) -> OpenedLink.Refusal {
        if let address = visit.address { misses.count(address) }
        return .unknown
    }
}

extension LinkParameters {
    /// With `efr=1`: iOS goes on without the preview page.
    var forced: LinkParameters {
        var parameters = self
        parameters[.forcedRedirect] = "1"
        return parameters
    }
}
