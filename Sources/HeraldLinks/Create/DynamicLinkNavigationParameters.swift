public import Foundation

/// How iOS goes on from the browser.
public final class DynamicLinkNavigationInfoParameters {
    /// Whether the preview page is skipped; in the link once it was set. It costs the match by clipboard.
    public var isForcedRedirectEnabled: Bool {
        get { givenForcedRedirect ?? false }
        set { givenForcedRedirect = newValue }
    }
    private var givenForcedRedirect: Bool?

    /// Makes empty parameters.
    public init() {}

    func add(to query: inout LinkQuery) {
        query.add(.forcedRedirect, givenForcedRedirect.map { $0 ? "1" : "0" })
    }
}

/// What platforms other than iOS and Android do with a link.
public final class DynamicLinkOtherPlatformParameters {
    /// Where they go instead of the link itself.
    public var fallbackUrl: URL?

    /// Makes empty parameters.
    public init() {}

    func add(to query: inout LinkQuery) { query.add(.otherFallback, fallbackUrl?.absoluteString) }
}
