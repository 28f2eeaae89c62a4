/// A page that a link host answers with.
package struct LinkPage: Hashable, Sendable {
    /// The status of the answer, 200, 400, 404 or 410.
    package let status: Int
    /// The whole document, UTF-8.
    package let html: String
    /// The value of `Content-Security-Policy`. Its nonce is that of this document: neither may be used again.
    package let contentSecurityPolicy: String
}

/// What a document may do, W3C Content Security Policy Level 3: nothing but what is listed here.
struct PagePolicy {
    /// Whether it has a script.
    var hasScript = false
    /// Whether that script reports to the host that the document comes from.
    var reports = false

    /// The header's value. No page has a form, a frame around it or a `base`.
    func text(nonce: String) -> String {
        var directives = ["default-src 'none'", "img-src https:", "style-src 'nonce-\(nonce)'"]
        if hasScript { directives.append("script-src 'nonce-\(nonce)'") }
        // navigator.sendBeacon is a connection (§6.1.2).
        if reports { directives.append("connect-src 'self'") }
        directives += ["frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"]
        return directives.joined(separator: "; ")
    }
}
