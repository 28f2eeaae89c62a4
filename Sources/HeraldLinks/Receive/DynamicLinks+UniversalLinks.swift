public import Foundation

/// Receives a link or an error, on the main actor, once. For a long link there may be both: what was read from it is good,
/// though the gateway could not be told.
public typealias DynamicLinkUniversalLinkHandler = @MainActor (DynamicLink?, (any Error)?) -> Void

/// Receives the link that a short link stands for, as a URL of the app's custom scheme, or an error; on the main actor.
public typealias DynamicLinkResolverHandler = @MainActor (URL?, (any Error)?) -> Void

extension DynamicLinks {
    /// Whether a URL has the form of a short link: one of the custom domains, then a suffix.
    public func matchesShortLinkFormat(_ url: URL) -> Bool { options?.customDomains.isShortLink(url) ?? false }

    /// Takes a universal link, short or long, and passes on the link within. Call it from
    /// `application(_:continue:restorationHandler:)` with the activity's `webpageURL`.
    ///
    /// - Returns: whether it is a link of the app's; if not, the completion is not called.
    @discardableResult
    public func handleUniversalLink(_ url: URL, completion: @escaping DynamicLinkUniversalLinkHandler) -> Bool {
        guard let form = options?.customDomains.form(of: url) else { return false }
        // The bridge from completions to tasks: the task ends with the one call of the completion.
        Task {
            let (link, error) = await open(url, form: form)
            await completion(link, error)
        }
        return true
    }

    /// Takes a universal link, short or long, and answers the link within; `nil` if it is no link of the app's.
    ///
    /// A long link is answered even when the gateway can't be told of it.
    public func handleUniversalLink(_ url: URL) async throws(DynamicLinksError) -> DynamicLink? {
        guard let form = options?.customDomains.form(of: url) else { return nil }
        let (link, error) = await open(url, form: form)
        if link == nil, let error { throw error }
        return link
    }

    /// Reads a long link without waiting for the gateway, which is told in the background; `nil` for any other URL.
    public func dynamicLink(fromUniversalLink url: URL) -> DynamicLink? {
        guard case .long(let query)? = options?.customDomains.form(of: url) else { return nil }
        // In the background, its answer unread: it counts the opening, and the link is known already.
        Task { _ = await open(url, form: .long(query)) }
        return Self.link(in: query)
    }

    /// Takes a universal link as ``handleUniversalLink(_:completion:)`` does; one that is not the app's is passed on as
    /// neither a link nor an error.
    public func dynamicLink(fromUniversalLink url: URL, completion: @escaping DynamicLinkUniversalLinkHandler) {
        guard !handleUniversalLink(url, completion: completion) else { return }
        Task { await completion(nil, nil) }
    }

    /// Asks the gateway what a short link stands for. ``dynamicLink(fromCustomSchemeURL:)`` reads the answer.
    public func resolveShortLink(_ url: URL, completion: @escaping DynamicLinkResolverHandler) {
        Task {
            let (link, error) = await open(url, form: .short)
            await completion(link.flatMap { customSchemeURL(of: $0) }, error)
        }
    }

    /// Resolves a link at the gateway; for a long one that fails, what it says itself stands.
    private func open(_ url: URL, form: DynamicLinksCustomDomains.Form) async -> (DynamicLink?, DynamicLinksError?) {
        do throws(DynamicLinksError) {
            let answered = try await reopen(url)
            if case .long(let query) = form, answered?.url == nil { return (Self.link(in: query), nil) }
            return (answered, nil)
        } catch {
            guard case .long(let query) = form else { return (nil, error) }
            return (Self.link(in: query), error)
        }
    }

    /// The link within a long link: a match beyond doubt.
    private static func link(in query: LinkQuery) -> DynamicLink {
        var parameters = LinkQuery()
        parameters.add(.deepLink, query[.link])
        parameters.add(.matchType, "unique")
        for name in [.iosMinimumVersion, .utmSource, .utmMedium, .utmCampaign, .utmTerm, .utmContent]
            as [LinkQuery.Name]
        {
            parameters.add(name, query[name])
        }
        return DynamicLink(parameters: parameters)
    }

    /// Asks `reopenAttribution`. A 2xx answer that is no object says nothing, as in Firebase's SDK.
    private func reopen(_ url: URL) async throws(DynamicLinksError) -> DynamicLink? {
        let gateway = try self.gateway()
        let request = ReopenRequest(requestedLink: url.absoluteString, bundleID: gateway.options.bundleID)
        let answer = try await gateway.post(request, to: "reopenAttribution")
        guard answer.isSuccess else { throw DynamicLinksError(refusal: answer.object) }
        guard let object = answer.object else { return nil }
        var parameters = LinkQuery()
        parameters.add(.deepLink, object.text("deepLink"))
        parameters.add(.matchType, "unique")
        parameters.add(.iosMinimumVersion, object.text("iosMinAppVersion"))
        parameters.add(.invitation, object.identifier("invitationId"))
        parameters.addCampaign(of: object)
        return DynamicLink(parameters: parameters)
    }
}

extension LinkQuery {
    /// Adds the utm values of an answer.
    mutating func addCampaign(of answer: JSONObject) {
        add(.utmSource, answer.text("utmSource"))
        add(.utmMedium, answer.text("utmMedium"))
        add(.utmCampaign, answer.text("utmCampaign"))
        add(.utmTerm, answer.text("utmTerm"))
        add(.utmContent, answer.text("utmContent"))
    }
}
