/// Where a link was published: the utm parameters.
public final class DynamicLinkGoogleAnalyticsParameters {
    /// `utm_source`.
    public var source: String?
    /// `utm_medium`.
    public var medium: String?
    /// `utm_campaign`.
    public var campaign: String?
    /// `utm_term`.
    public var term: String?
    /// `utm_content`.
    public var content: String?

    /// Names the three that are common.
    public init(source: String, medium: String, campaign: String) {
        self.source = source
        self.medium = medium
        self.campaign = campaign
    }

    /// Makes empty parameters.
    public init() {}

    func add(to query: inout LinkQuery) {
        query.add(.utmSource, source)
        query.add(.utmMedium, medium)
        query.add(.utmCampaign, campaign)
        query.add(.utmTerm, term)
        query.add(.utmContent, content)
    }
}

/// What the App Store's URL says for the App Store's own statistics.
public final class DynamicLinkItunesConnectAnalyticsParameters {
    /// The affiliate token, `at`.
    public var affiliateToken: String?
    /// The campaign, `ct`.
    public var campaignToken: String?
    /// The provider, `pt`.
    public var providerToken: String?
    /// The custom product page of the App Store, `ppid`; Firebase's SDK has none.
    public var productPageID: String?

    /// Makes empty parameters.
    public init() {}

    func add(to query: inout LinkQuery) {
        query.add(.affiliateToken, affiliateToken)
        query.add(.campaignToken, campaignToken)
        query.add(.providerToken, providerToken)
        query.add(.productPage, productPageID)
    }
}
