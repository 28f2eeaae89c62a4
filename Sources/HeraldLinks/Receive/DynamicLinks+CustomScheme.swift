public import Foundation

extension DynamicLinks {
    /// Whether a URL of the app's custom scheme is one of ours, with a link in it or without: the app should do nothing
    /// else with it.
    public func shouldHandleDynamicLink(fromCustomSchemeURL url: URL) -> Bool {
        hasOwnScheme(url) && url.host() == "google" && url.path(percentEncoded: true).hasPrefix("/link")
    }

    /// Reads a URL of the app's custom scheme, `<scheme>://google/link/?deep_link_id=…`; `nil` for any other. Call it from
    /// `application(_:open:options:)`.
    ///
    /// Any app may open such a URL: what it says of its match type proves nothing.
    public func dynamicLink(fromCustomSchemeURL url: URL) -> DynamicLink? {
        guard hasOwnScheme(url), url.host() == "google" else { return nil }
        let path = url.path(percentEncoded: true)
        guard path == "/link" || path == "/link/" else { return nil }
        let parameters = LinkQuery(parsing: url.query(percentEncoded: true) ?? "")
        return parameters.items.isEmpty ? nil : DynamicLink(parameters: parameters)
    }

    private func hasOwnScheme(_ url: URL) -> Bool {
        guard let scheme = url.scheme?.lowercased(), let options else { return false }
        return scheme == options.urlScheme?.lowercased() || scheme == options.bundleID?.lowercased()
    }

    /// The URL of the app's custom scheme that says what a link says; `nil` without a scheme.
    func customSchemeURL(of link: DynamicLink) -> URL? { customSchemeURL(query: link.parameters.encoded) }

    /// The URL of the app's custom scheme with a query.
    func customSchemeURL(query: String) -> URL? {
        guard let scheme = options?.urlScheme ?? options?.bundleID else { return nil }
        return URL(string: "\(scheme.lowercased())://google/link/?\(query)")
    }
}
