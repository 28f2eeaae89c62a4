import Foundation
import HeraldLinks
import Testing

#if canImport(UIKit)
    import UIKit
#endif

/// The Swift of the article "From Dynamic Links to Herald": each of its lines stands in this file, so that it compiles.
struct ArticleTests {
    @Test("each Swift line of the article is one of this file")
    func swiftLines() throws {
        let tests = URL(filePath: #filePath).deletingLastPathComponent()
        let article = tests.appending(path: "../../Sources/herald/herald.docc/FromDynamicLinks.md")
        let code = Set(try lines(of: URL(filePath: #filePath)))
        var isSwift = false
        var count = 0
        for line in try lines(of: article) {
            if line.hasPrefix("```") {
                isSwift = line == "```swift"
            } else if isSwift, !line.isEmpty {
                count += 1
                #expect(code.contains(line), "\(line)")
            }
        }
        #expect(count > 20)
    }

    /// The lines of a file without what is around them.
    private func lines(of file: URL) throws -> [String] {
        try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }

    private func configure() {
        DynamicLinks.configure(
            options: HeraldLinksOptions(
                host: URL(string: "https://push.example.com")!, apiKey: "hk_…",
                customDomains: ["https://go.example.com"]))
    }

    private func create() {
        let linkBuilder = DynamicLinkComponents(
            link: URL(string: "https://www.example.com/p/1")!, domainURIPrefix: "https://go.example.com")
        linkBuilder?.iOSParameters = DynamicLinkIOSParameters(bundleID: "com.example.app")
        linkBuilder?.iOSParameters?.minimumAppVersion = "1.2.3"
        linkBuilder?.socialMetaTagParameters = DynamicLinkSocialMetaTagParameters()
        linkBuilder?.socialMetaTagParameters?.title = "A page"
        linkBuilder?.options = DynamicLinkComponentsOptions()
        linkBuilder?.options?.pathLength = .short
        linkBuilder?.shorten { url, warnings, error in
            print(url?.absoluteString ?? "\(error!)")
        }
    }

    private func receive(webpageURL: URL, url: URL) -> Bool {
        let handled = DynamicLinks.dynamicLinks().handleUniversalLink(webpageURL) { link, error in
            guard let link, let url = link.url else { return }
            print(url, link.matchType, link.minimumAppVersion ?? "")
        }
        let opened = DynamicLinks.dynamicLinks().dynamicLink(fromCustomSchemeURL: url)
        return handled || opened != nil
    }

    #if canImport(UIKit)
        @MainActor
        private func firstLaunch(modelName: String) async {
            let pasteboard = UIPasteboard.general
            let screen = UIScreen.main.bounds
            let pending = await DynamicLinks.dynamicLinks().checkForPendingDynamicLink(
                clipboard: pasteboard.hasURLs ? pasteboard.string : nil,
                device: DynamicLinkDevice(
                    modelName: modelName, screenWidth: Int(screen.width), screenHeight: Int(screen.height)))
            if pending?.shouldClearClipboard == true { pasteboard.string = "" }
            if let url = pending?.dynamicLink?.url { print(url) }
        }
    #endif
}
