import Mustache

/// The HTML that link hosts answer with, from templates that are parsed once.
///
/// Every value is escaped where it stands, and the only scripts are our own constants: values reach them through data
/// attributes. A value that is thread-safe; rendering takes no lock.
package struct LinkPages: Sendable {
    private let previewTemplate: MustacheTemplate
    private let socialTemplate: MustacheTemplate
    private let debugTemplate: MustacheTemplate
    private let ipadCheckTemplate: MustacheTemplate
    private let messageTemplate: MustacheTemplate
    private let nonce: @Sendable () -> String

    /// Parses all templates.
    ///
    /// - Throws: what the parser says; then a template of this module is wrong.
    package init() throws {
        try self.init(nonce: Self.randomNonce)
    }

    /// - Parameter nonce: makes a nonce of `[0-9A-Za-z]` for each page.
    init(nonce: @escaping @Sendable () -> String) throws {
        func parse(_ template: PageTemplate) throws -> MustacheTemplate { try MustacheTemplate(string: template.text) }
        HTMLText.register()
        previewTemplate = try parse(.preview)
        socialTemplate = try parse(.social)
        debugTemplate = try parse(.debug)
        ipadCheckTemplate = try parse(.ipadCheck)
        messageTemplate = try parse(.message)
        self.nonce = nonce
    }

    /// What iOS browsers see before an app opens; ``badLink(_:)`` when its URL is none of the web.
    package func preview(_ page: PreviewPage) -> LinkPage {
        guard PageURL.isWeb(page.openURL) else { return badLink("It doesn't lead to a web address.") }
        return render(previewTemplate, page, policy: PagePolicy(hasScript: true, reports: page.reportPath != nil))
    }

    /// What crawlers see (§3.8): it redirects to nothing.
    package func social(_ page: SocialPage) -> LinkPage {
        render(socialTemplate, page)
    }

    /// What `d=1` shows (§3.1): how the link is read, and what each platform gets.
    package func debug(_ page: DebugPage) -> LinkPage {
        render(debugTemplate, page)
    }

    /// What a Mac's Safari gets, which may be an iPad's (§3.7); ``badLink(_:)`` when a URL of it is none of the web.
    package func ipadCheck(_ page: IPadCheckPage) -> LinkPage {
        guard PageURL.isWeb(page.ipadURL), PageURL.isWeb(page.desktopURL) else {
            return badLink("It doesn't lead to a web address.")
        }
        return render(ipadCheckTemplate, page, policy: PagePolicy(hasScript: true))
    }

    /// 404: a link that was never made, or is blocked or deleted; they must not differ (§6).
    package func notFound() -> LinkPage {
        message(
            404, "This link doesn’t exist",
            "Check that the address is complete: capital and small letters differ. "
                + "If somebody sent it to you, ask them for a new one.")
    }

    /// 410: a link whose owner gave it an end.
    package func gone() -> LinkPage {
        message(
            410, "This link has expired",
            "Its owner set a date from which it no longer works. If somebody sent it to you, ask them for a new one.")
    }

    /// 400: a link that leads nowhere, or where it must not.
    ///
    /// - Parameter reason: a sentence for the maker of the link.
    package func badLink(_ reason: String) -> LinkPage {
        message(
            400, "This link can’t be opened", "If somebody sent it to you, tell them that it is not made correctly.",
            reason: reason)
    }

    /// 404: a host, or a path on it, that has no links.
    package func unknownHost() -> LinkPage {
        message(
            404, "There are no links at this address",
            "Check the address for a typing error. If it is your domain, it is not set up for links yet.")
    }

    private func message(_ status: Int, _ title: String, _ advice: String, reason: String? = nil) -> LinkPage {
        render(messageTemplate, MessagePage(title: title, advice: advice, reason: reason), status: status)
    }

    private func render<Page>(
        _ template: MustacheTemplate, _ page: Page, status: Int = 200, policy: PagePolicy = PagePolicy()
    ) -> LinkPage {
        let nonce = nonce()
        return LinkPage(
            status: status, html: template.render(Document(nonce: nonce, page: page)),
            contentSecurityPolicy: policy.text(nonce: nonce))
    }

    /// 128 bits of the system's generator, which is cryptographically secure.
    private static func randomNonce() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<4).map { _ in
            let part = String(UInt32.random(in: .min ... .max, using: &generator), radix: 16)
            return String(repeating: "0", count: 8 - part.count) + part
        }.joined()
    }
}

/// What a template sees: the library reads stored properties by their names.
private struct Document<Page> {
    let nonce: String
    let page: Page
}

/// What the pages of ``LinkPages`` say that have no link to show.
private struct MessagePage {
    let title: String
    let advice: String
    let reason: String?
}
