import Foundation
import Testing

@testable import HeraldLinks

struct BuilderTests {
    private func parameters(of url: URL?) throws -> [String: String] {
        let text = try #require(url?.absoluteString)
        let query = try #require(text.split(separator: "?", maxSplits: 1).last)
        return Dictionary(uniqueKeysWithValues: LinkQuery(parsing: String(query)).items.map { ($0.name, $0.value) })
    }

    @Test("a long link has every parameter that was set, under its name")
    func everyParameter() throws {
        let builder = try #require(
            DynamicLinkComponents(
                link: url("https://www.example.com/p?id=1&x=a b"), domainURIPrefix: "https://go.example.com"))
        let analytics = DynamicLinkGoogleAnalyticsParameters(source: "s", medium: "m", campaign: "c")
        analytics.term = "t"
        analytics.content = "n"
        builder.analyticsParameters = analytics
        let iOS = DynamicLinkIOSParameters(bundleID: "com.example.app")
        iOS.appStoreID = "123456789"
        iOS.fallbackURL = try url("https://www.example.com/ios")
        iOS.customScheme = "example"
        iOS.iPadBundleID = "com.example.pad"
        iOS.iPadFallbackURL = try url("https://www.example.com/pad")
        iOS.minimumAppVersion = "1.2.3"
        builder.iOSParameters = iOS
        let android = DynamicLinkAndroidParameters(packageName: "com.example.android")
        android.fallbackURL = try url("https://www.example.com/android")
        android.minimumVersion = 123
        builder.androidParameters = android
        let store = DynamicLinkItunesConnectAnalyticsParameters()
        (store.affiliateToken, store.campaignToken) = ("at1", "ct1")
        (store.providerToken, store.productPageID) = ("pt1", "page")
        builder.iTunesConnectParameters = store
        let social = DynamicLinkSocialMetaTagParameters()
        (social.title, social.descriptionText) = ("Olá", "1 + 1 = 2")
        social.imageURL = try url("https://www.example.com/i.png")
        builder.socialMetaTagParameters = social
        builder.navigationInfoParameters = DynamicLinkNavigationInfoParameters()
        builder.navigationInfoParameters?.isForcedRedirectEnabled = true
        builder.otherPlatformParameters = DynamicLinkOtherPlatformParameters()
        builder.otherPlatformParameters?.fallbackUrl = try url("https://www.example.com/other")

        #expect(
            try parameters(of: builder.url) == [
                "link": builder.link.absoluteString, "utm_source": "s", "utm_medium": "m", "utm_campaign": "c",
                "utm_term": "t", "utm_content": "n", "ibi": "com.example.app", "isi": "123456789",
                "ifl": "https://www.example.com/ios", "ius": "example", "ipbi": "com.example.pad",
                "ipfl": "https://www.example.com/pad", "imv": "1.2.3", "apn": "com.example.android",
                "afl": "https://www.example.com/android", "amv": "123", "at": "at1", "ct": "ct1", "pt": "pt1",
                "ppid": "page", "st": "Olá", "sd": "1 + 1 = 2", "si": "https://www.example.com/i.png", "efr": "1",
                "ofl": "https://www.example.com/other",
            ])
    }

    @Test("of values every byte but ASCII letters and digits is percent-encoded")
    func encoding() throws {
        var query = LinkQuery()
        query.add(.link, "https://a.example/x-1_~é")
        #expect(query.encoded == "link=https%3A%2F%2Fa%2Eexample%2Fx%2D1%5F%7E%C3%A9")

        for byte in UInt8(1)..<128 {
            let character = String(UnicodeScalar(byte))
            var query = LinkQuery()
            query.add(.socialTitle, character)
            let isPlain = character.first.map { $0.isASCII && ($0.isLetter || $0.isNumber) } == true
            #expect(query.encoded.hasPrefix("st=%") == !isPlain, "\(byte)")
            #expect(LinkQuery(parsing: query.encoded)[.socialTitle] == character)
        }
    }

    @Test(
        "a prefix that is no https URL makes no components",
        arguments: ["", "go.example.com", "http://go.example.com", "https://"])
    func badPrefix(prefix: String) throws {
        #expect(DynamicLinkComponents(link: try url("https://a.example"), domainURIPrefix: prefix) == nil)
    }

    @Test(
        "the query begins after one slash, with and without one in the prefix, below a path too",
        arguments: [
            "https://go.example.com", "https://go.example.com/", "https://example.com/link",
            "https://example.com/link/",
        ])
    func slash(prefix: String) throws {
        let builder = try #require(DynamicLinkComponents(link: url("https://a.example"), domainURIPrefix: prefix))
        let base = prefix.hasSuffix("/") ? prefix : prefix + "/"
        #expect(builder.url?.absoluteString == base + "?link=https%3A%2F%2Fa%2Eexample")
    }

    @Test("amv and efr are in the link once they were set, an empty text never")
    func whatWasSet() throws {
        let builder = try #require(
            DynamicLinkComponents(link: url("https://a.example"), domainURIPrefix: "https://go.example.com"))
        builder.androidParameters = DynamicLinkAndroidParameters(packageName: "")
        builder.navigationInfoParameters = DynamicLinkNavigationInfoParameters()
        builder.socialMetaTagParameters = DynamicLinkSocialMetaTagParameters()
        builder.socialMetaTagParameters?.title = ""
        #expect(try parameters(of: builder.url) == ["link": "https://a.example"])

        builder.androidParameters?.minimumVersion = 0
        builder.navigationInfoParameters?.isForcedRedirectEnabled = false
        #expect(try parameters(of: builder.url) == ["link": "https://a.example", "amv": "0", "efr": "0"])
    }

    @Test("a query is split at the first = of a pair, and + stays")
    func parsing() {
        let query = LinkQuery(parsing: "link=https://a.example/?a=b&st=1+1&sd=%zz&x&link=second")
        #expect(query[.link] == "https://a.example/?a=b")
        #expect(query[.socialTitle] == "1+1")
        #expect(query[.socialDescription] == nil)
    }
}
