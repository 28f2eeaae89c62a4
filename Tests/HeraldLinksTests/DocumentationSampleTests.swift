import Foundation
import HeraldLinks
import Testing

/// What the documentation of Firebase's SDK for iOS shows, line by line, with the import changed. The suite sets the shared
/// instance and is therefore serial.
@Suite(.serialized, .timeLimit(.minutes(1)))
@MainActor
struct DocumentationSampleTests {
    /// What Linux has no `NSUserActivity` for.
    private struct UserActivity {
        var webpageURL: URL?
    }

    private static let shortAnswer = """
        {"shortLink": "https://example.com/link/WXYZ", "previewLink": "https://example.com/link/WXYZ?d=1",
         "warning": [{"warningCode": "UNRECOGNIZED_PARAM", "warningMessage": "Param 'zzz' is not recognised."}]}
        """

    private func configure(_ stub: LinkStub) throws {
        DynamicLinks.configure(
            options: HeraldLinksOptions(
                host: try url("https://push.example.com"), apiKey: "hk_client", bundleID: "com.example.ios",
                customDomains: ["https://example.com/link"]),
            transport: stub)
    }

    private func makeLinkBuilder() throws -> DynamicLinkComponents? {
        let link = try #require(URL(string: "https://www.example.com/my-page"))
        let dynamicLinksDomainURIPrefix = "https://example.com/link"
        let linkBuilder = DynamicLinkComponents(link: link, domainURIPrefix: dynamicLinksDomainURIPrefix)
        linkBuilder?.iOSParameters = DynamicLinkIOSParameters(bundleID: "com.example.ios")
        linkBuilder?.androidParameters = DynamicLinkAndroidParameters(packageName: "com.example.android")
        return linkBuilder
    }

    @Test("create a long link from parameters")
    func createLongLink() throws {
        let linkBuilder = try makeLinkBuilder()
        let longDynamicLink = try #require(linkBuilder?.url)
        #expect(
            longDynamicLink.absoluteString
                == "https://example.com/link/?link=https%3A%2F%2Fwww%2Eexample%2Ecom%2Fmy%2Dpage"
                + "&ibi=com%2Eexample%2Eios&apn=com%2Eexample%2Eandroid")
    }

    @Test("set the parameters one by one, through optional chaining")
    func dynamicLinkParameters() throws {
        let linkBuilder = try makeLinkBuilder()
        linkBuilder?.iOSParameters?.appStoreID = "123456789"
        linkBuilder?.iOSParameters?.minimumAppVersion = "1.2.3"
        linkBuilder?.androidParameters?.minimumVersion = 123
        linkBuilder?.analyticsParameters = DynamicLinkGoogleAnalyticsParameters(
            source: "orkut", medium: "social", campaign: "example-promo")
        linkBuilder?.iTunesConnectParameters = DynamicLinkItunesConnectAnalyticsParameters()
        linkBuilder?.iTunesConnectParameters?.providerToken = "123456"
        linkBuilder?.iTunesConnectParameters?.campaignToken = "example-promo"
        linkBuilder?.socialMetaTagParameters = DynamicLinkSocialMetaTagParameters()
        linkBuilder?.socialMetaTagParameters?.title = "Example of a Dynamic Link"
        linkBuilder?.socialMetaTagParameters?.descriptionText = "Installed or not"
        linkBuilder?.socialMetaTagParameters?.imageURL = URL(string: "https://www.example.com/my-image.jpg")

        let longDynamicLink = try #require(linkBuilder?.url?.absoluteString)
        for part in [
            "isi=123456789", "imv=1%2E2%2E3", "amv=123", "utm_source=orkut", "utm_medium=social",
            "utm_campaign=example%2Dpromo", "pt=123456", "ct=example%2Dpromo", "st=Example%20of%20a%20Dynamic%20Link",
            "sd=Installed%20or%20not", "si=https%3A%2F%2Fwww%2Eexample%2Ecom%2Fmy%2Dimage%2Ejpg",
        ] {
            #expect(longDynamicLink.contains(part), "\(part)")
        }
    }

    @Test("create a short link, with a completion")
    func shorten() async throws {
        let stub = LinkStub(Self.shortAnswer)
        try configure(stub)
        let linkBuilder = try makeLinkBuilder()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            linkBuilder?.shorten { url, warnings, error in
                #expect(url?.absoluteString == "https://example.com/link/WXYZ")
                #expect(warnings == ["Param 'zzz' is not recognised."])
                #expect(error == nil)
                continuation.resume()
            }
        }
        let request = try #require(stub.requests.first)
        #expect(request.url == "https://push.example.com/v1/shortLinks")
        #expect(request.headers["X-Ios-Bundle-Identifier"] == "com.example.ios")
        #expect(request.headers["X-Goog-Api-Key"] == "hk_client")
        let long = try #require(linkBuilder?.url?.absoluteString)
        #expect(request.body == #"{"longDynamicLink":"\#(long)"}"#)
    }

    @Test("set the length of a short link")
    func pathLength() async throws {
        let stub = LinkStub(Self.shortAnswer)
        try configure(stub)
        let linkBuilder = try makeLinkBuilder()
        linkBuilder?.options = DynamicLinkComponentsOptions()
        linkBuilder?.options?.pathLength = .short
        let answer = try await linkBuilder?.shorten()
        #expect(answer?.0.absoluteString == "https://example.com/link/WXYZ")
        #expect(answer?.1.count == 1)
        #expect(stub.requests.first?.body.contains(#""suffix":{"option":"SHORT"}"#) == true)
    }

    @Test("create a short link from a long link, with a completion and without")
    func shortenURL() async throws {
        let stub = LinkStub(Self.shortAnswer)
        try configure(stub)
        let longDynamicLink = try #require(
            URL(string: "https://example.com/link/?link=https://www.example.com/my-page"))
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            DynamicLinkComponents.shortenURL(longDynamicLink, options: nil) { url, warnings, error in
                #expect(url?.absoluteString == "https://example.com/link/WXYZ")
                #expect(error == nil)
                continuation.resume()
            }
        }
        let options = DynamicLinkComponentsOptions()
        options.pathLength = .unguessable
        let (url, warnings) = try await DynamicLinkComponents.shortenURL(longDynamicLink, options: options)
        #expect(url.absoluteString == "https://example.com/link/WXYZ")
        #expect(warnings.count == 1)
        #expect(stub.requests.map { $0.body.contains("UNGUESSABLE") } == [false, true])
    }

    @Test("open a link: the activity's webpage URL, handed on from a delegate")
    func continueUserActivity() async throws {
        try configure(LinkStub(#"{"deepLink": "https://www.example.com/my-page", "iosMinAppVersion": "1.2.3"}"#))
        let userActivity = UserActivity(webpageURL: URL(string: "https://example.com/link/WXYZ"))
        let webpageURL = try #require(userActivity.webpageURL)
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let handled = DynamicLinks.dynamicLinks()
                .handleUniversalLink(webpageURL) { dynamiclink, error in
                    #expect(dynamiclink?.url?.absoluteString == "https://www.example.com/my-page")
                    #expect(dynamiclink?.matchType == .unique)
                    #expect(dynamiclink?.minimumAppVersion == "1.2.3")
                    #expect(error == nil)
                    continuation.resume()
                }
            #expect(handled)
        }
    }

    @Test("open a link: the URL of a custom scheme")
    func openURL() throws {
        try configure(LinkStub("{}"))
        let opened = try url(
            "com.example.ios://google/link/?deep_link_id=https%3A%2F%2Fwww%2Eexample%2Ecom&match_type=weak")
        let dynamicLink = try #require(DynamicLinks.dynamicLinks().dynamicLink(fromCustomSchemeURL: opened))
        #expect(dynamicLink.url?.absoluteString == "https://www.example.com")
        #expect(dynamicLink.matchType == .weak)
    }
}
