/// A parameter of a long link, by the name that it has in the query.
package enum LinkParameter: String, Hashable, Sendable, CaseIterable {
    // What the app receives.
    case link
    // Android.
    case androidPackage = "apn"
    case androidFallback = "afl"
    case androidMinimumVersion = "amv"
    case androidLink = "al"
    // iOS.
    case iosBundle = "ibi"
    case iosFallback = "ifl"
    case iosScheme = "ius"
    case ipadFallback = "ipfl"
    case ipadBundle = "ipbi"
    case appStoreID = "isi"
    case iosMinimumVersion = "imv"
    case productPage = "ppid"
    // Other platforms, and how.
    case otherFallback = "ofl"
    case forcedRedirect = "efr"
    // What previews show.
    case socialTitle = "st"
    case socialDescription = "sd"
    case socialImage = "si"
    // Campaigns.
    case utmSource = "utm_source"
    case utmMedium = "utm_medium"
    case utmCampaign = "utm_campaign"
    case utmTerm = "utm_term"
    case utmContent = "utm_content"
    case googleClick = "gclid"
    case affiliateToken = "at"
    case campaignToken = "ct"
    case mediaType = "mt"
    case providerToken = "pt"
}
