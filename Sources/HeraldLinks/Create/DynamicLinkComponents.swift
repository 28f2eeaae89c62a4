public import Foundation

/// What a Dynamic Link is made of: the link that the app receives, and what each platform does with it.
///
/// ``url`` is the long link, made here; ``shorten()`` asks the gateway for a short one. As in Firebase's SDK this is a
/// class with properties that may be set one by one. It is not `Sendable`: it belongs to the isolation that made it.
public final class DynamicLinkComponents {
    /// The link that the app receives, and where browsers go in the end: `http` or `https`.
    public var link: URL
    /// What the links begin with, as `https://go.example.com` or `https://example.com/link`.
    public var domain: String?
    /// Where the link was published, for statistics.
    public var analyticsParameters: DynamicLinkGoogleAnalyticsParameters?
    /// What previews show.
    public var socialMetaTagParameters: DynamicLinkSocialMetaTagParameters?
    /// Which app opens the link on iOS.
    public var iOSParameters: DynamicLinkIOSParameters?
    /// What the App Store's statistics are told.
    public var iTunesConnectParameters: DynamicLinkItunesConnectAnalyticsParameters?
    /// Which app opens the link on Android.
    public var androidParameters: DynamicLinkAndroidParameters?
    /// How iOS goes on from the browser.
    public var navigationInfoParameters: DynamicLinkNavigationInfoParameters?
    /// Where other platforms go.
    public var otherPlatformParameters: DynamicLinkOtherPlatformParameters?
    /// How ``shorten()`` makes the short link.
    public var options: DynamicLinkComponentsOptions?

    /// Begins a link; `nil` for a prefix that is no `https` URL with a host, as in Firebase's SDK.
    public init?(link: URL, domainURIPrefix: String) {
        guard let prefix = URL(string: domainURIPrefix), prefix.scheme?.lowercased() == "https",
            prefix.host()?.isEmpty == false
        else { return nil }
        self.link = link
        domain = domainURIPrefix
    }

    /// The long link with all that is set, `<prefix>/?link=…&…`.
    public var url: URL? {
        guard var prefix = domain else { return nil }
        while prefix.last == "/" { prefix.removeLast() }
        return URL(string: prefix + "/?" + query.encoded)
    }

    private var query: LinkQuery {
        var query = LinkQuery()
        query.add(.link, link.absoluteString)
        analyticsParameters?.add(to: &query)
        socialMetaTagParameters?.add(to: &query)
        iOSParameters?.add(to: &query)
        iTunesConnectParameters?.add(to: &query)
        androidParameters?.add(to: &query)
        navigationInfoParameters?.add(to: &query)
        otherPlatformParameters?.add(to: &query)
        return query
    }
}
