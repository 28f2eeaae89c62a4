extension LinkParameter {
    /// The field of the REST API that holds it, below `dynamicLinkInfo` (firebasedynamiclinks.v1.json); `otherFallback` and
    /// `productPage` are not in the published reference.
    package var restField: String {
        switch self {
        case .link: "link"
        case .androidPackage: "androidInfo.androidPackageName"
        case .androidFallback: "androidInfo.androidFallbackLink"
        case .androidMinimumVersion: "androidInfo.androidMinPackageVersionCode"
        case .androidLink: "androidInfo.androidLink"
        case .iosBundle: "iosInfo.iosBundleId"
        case .iosFallback: "iosInfo.iosFallbackLink"
        case .iosScheme: "iosInfo.iosCustomScheme"
        case .ipadFallback: "iosInfo.iosIpadFallbackLink"
        case .ipadBundle: "iosInfo.iosIpadBundleId"
        case .appStoreID: "iosInfo.iosAppStoreId"
        case .iosMinimumVersion: "iosInfo.iosMinimumVersion"
        case .productPage: "iosInfo.iosProductPageId"
        case .otherFallback: "desktopInfo.desktopFallbackLink"
        case .forcedRedirect: "navigationInfo.enableForcedRedirect"
        case .socialTitle: "socialMetaTagInfo.socialTitle"
        case .socialDescription: "socialMetaTagInfo.socialDescription"
        case .socialImage: "socialMetaTagInfo.socialImageLink"
        case .utmSource: "analyticsInfo.googlePlayAnalytics.utmSource"
        case .utmMedium: "analyticsInfo.googlePlayAnalytics.utmMedium"
        case .utmCampaign: "analyticsInfo.googlePlayAnalytics.utmCampaign"
        case .utmTerm: "analyticsInfo.googlePlayAnalytics.utmTerm"
        case .utmContent: "analyticsInfo.googlePlayAnalytics.utmContent"
        case .googleClick: "analyticsInfo.googlePlayAnalytics.gclid"
        case .affiliateToken: "analyticsInfo.itunesConnectAnalytics.at"
        case .campaignToken: "analyticsInfo.itunesConnectAnalytics.ct"
        case .mediaType: "analyticsInfo.itunesConnectAnalytics.mt"
        case .providerToken: "analyticsInfo.itunesConnectAnalytics.pt"
        }
    }

    /// The parameter that has this name in a query; by the bytes, without an allocation.
    init?(name: ArraySlice<UInt8>) {
        guard let index = Self.keys.firstIndex(of: Self.key(name)) else { return nil }
        let candidate = Self.table[index]
        guard candidate.rawValue.utf8.elementsEqual(name) else { return nil }
        self = candidate
    }

    private static let table = allCases
    /// The first eight bytes of each name, in the order of ``table``: no two are the same.
    private static let keys = table.map { key(Array($0.rawValue.utf8)[...]) }

    private static func key(_ name: ArraySlice<UInt8>) -> UInt64 {
        name.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The place in the canonical order, which is that of the names' bytes.
    var rank: Int {
        switch self {
        case .androidFallback: 0
        case .androidLink: 1
        case .androidMinimumVersion: 2
        case .androidPackage: 3
        case .affiliateToken: 4
        case .campaignToken: 5
        case .forcedRedirect: 6
        case .googleClick: 7
        case .iosBundle: 8
        case .iosFallback: 9
        case .iosMinimumVersion: 10
        case .ipadBundle: 11
        case .ipadFallback: 12
        case .appStoreID: 13
        case .iosScheme: 14
        case .link: 15
        case .mediaType: 16
        case .otherFallback: 17
        case .productPage: 18
        case .providerToken: 19
        case .socialDescription: 20
        case .socialImage: 21
        case .socialTitle: 22
        case .utmCampaign: 23
        case .utmContent: 24
        case .utmMedium: 25
        case .utmSource: 26
        case .utmTerm: 27
        }
    }

    // Not by the names, as an enum with raw values has it: redirects compare parameters by the hundred.

    package static func == (lhs: Self, rhs: Self) -> Bool { lhs.rank == rhs.rank }

    package func hash(into hasher: inout Hasher) { hasher.combine(rank) }
}
