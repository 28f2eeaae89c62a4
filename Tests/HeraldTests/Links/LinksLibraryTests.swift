import AsyncHTTPClient
import Foundation
import HeraldLinks
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import herald

/// HeraldLinks against a whole gateway, by URLSession.
@Suite(.timeLimit(.minutes(5)))
struct LinksLibraryTests {
    /// A gateway whose project has links, and an app's side of it.
    private static func with(
        _ body: (_ process: GatewayProcess, _ links: DynamicLinks) async throws -> Void
    ) async throws {
        try await GatewayUnderTest.with { test in
            let file = URL(filePath: test.directory.file("projects/demo.yaml"))
            let project = try String(contentsOf: file, encoding: .utf8)
            try Data(
                (project + "\nlinks:\n  prefixes: [\"https://go.example.com\"]\n  targets: [www.example.com]\n").utf8
            ).write(to: file)
            let process = try await test.start()
            let host = try #require(URL(string: process.baseURL))
            try await body(
                process,
                DynamicLinks(
                    options: HeraldLinksOptions(
                        host: host, apiKey: test.keys.client, bundleID: "com.example.app",
                        customDomains: ["https://go.example.com"])))
            await process.end(with: SIGTERM)
        }
    }

    private static func longLink(to link: String) throws -> URL {
        let target = try #require(URL(string: link))
        let builder = try #require(
            DynamicLinkComponents(link: target, domainURIPrefix: "https://go.example.com"))
        builder.iOSParameters = DynamicLinkIOSParameters(bundleID: "com.example.app")
        return try #require(builder.url)
    }

    @Test("a builder's link is made short, the same link the same, leads where it should, and comes to the app")
    func shortened() async throws {
        try await Self.with { process, links in
            let long = try Self.longLink(to: "https://www.example.com/p?a=1&b=2")
            let (first, _) = try await links.shorten(long, pathLength: .short)
            let (second, _) = try await links.shorten(long, pathLength: .short)
            let (unguessable, _) = try await links.shorten(long)
            #expect(first == second)
            #expect(links.matchesShortLinkFormat(first))
            #expect(unguessable.lastPathComponent.count == 17)
            #expect(try await Self.location(of: unguessable, at: process) == "https://www.example.com/p?a=1&b=2")
            try await Self.receive(at: process, links)
        }
    }

    /// Makes a link as Firebase's documentation does, with everything set, and receives it as an app does: installed, and
    /// at its first launch.
    private static func receive(at process: GatewayProcess, _ links: DynamicLinks) async throws {
        let (short, warnings) = try await links.shorten(try documentedLink(), pathLength: .unguessable)
        #expect(warnings.allSatisfy { !$0.isEmpty })
        #expect(
            try await location(of: short, at: process)
                == "https://www.example.com/my-page?utm_source=orkut&utm_medium=social&utm_campaign=example-promo")
        let opened = try #require(try await links.handleUniversalLink(short))
        #expect(opened.url?.absoluteString == "https://www.example.com/my-page")
        #expect(opened.matchType == .unique && opened.minimumAppVersion == "1.2.3")
        #expect(opened.utmParametersDictionary["utm_campaign"] as? String == "example-promo")
        let told = await withCheckedContinuation { (continuation: CheckedContinuation<URL?, Never>) in
            let isHandled = links.handleUniversalLink(short) { link, _ in continuation.resume(returning: link?.url) }
            #expect(isHandled)
        }
        #expect(told == opened.url)
        // The clipboard as the preview page leaves it.
        let pending = await links.retrievePendingLink(
            clipboard: short.absoluteString + "?_icp=1",
            device: DynamicLinkDevice(modelName: "iPhone14,5", screenWidth: 390, screenHeight: 844))
        #expect(pending.dynamicLink?.url == opened.url && pending.dynamicLink?.matchType == .unique)
        #expect(pending.dynamicLink?.minimumAppVersion == "1.2.3" && pending.shouldClearClipboard)
        let custom = try #require(pending.customSchemeURL)
        #expect(links.dynamicLink(fromCustomSchemeURL: custom)?.url == opened.url)
    }

    private static func documentedLink() throws -> URL {
        let link = try #require(URL(string: "https://www.example.com/my-page"))
        let linkBuilder = DynamicLinkComponents(link: link, domainURIPrefix: "https://go.example.com")
        linkBuilder?.iOSParameters = DynamicLinkIOSParameters(bundleID: "com.example.app")
        linkBuilder?.iOSParameters?.appStoreID = "123456789"
        linkBuilder?.iOSParameters?.minimumAppVersion = "1.2.3"
        linkBuilder?.androidParameters = DynamicLinkAndroidParameters(packageName: "com.example.android")
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
        return try #require(linkBuilder?.url)
    }

    @Test("a target that the project does not name is refused with the field's name")
    func refused() async throws {
        try await Self.with { _, links in
            let long = try Self.longLink(to: "https://other.example/")
            let error = await #expect(throws: DynamicLinksError.self) { try await links.shorten(long) }
            #expect(error?.remoteStatus == "INVALID_ARGUMENT")
            #expect(error?.remoteErrorCode == 400)
            #expect(error?.message.contains("link") == true)
        }
    }

    /// Where a browser on a desktop is sent.
    private static func location(of link: URL, at process: GatewayProcess) async throws -> String? {
        let client = HTTPClient(configuration: HTTPClient.Configuration(redirectConfiguration: .disallow))
        var request = HTTPClientRequest(url: process.baseURL + link.path)
        request.headers.add(name: "host", value: "go.example.com")
        request.headers.add(name: "user-agent", value: "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0")
        let response = try await client.execute(request, timeout: TimeAmount(.longerThanAnyTest))
        try await client.shutdown()
        #expect(response.status.code == 302)
        return response.headers.first(name: "location")
    }
}
