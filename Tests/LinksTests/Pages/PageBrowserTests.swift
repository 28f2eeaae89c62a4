import Foundation
import TestSupport
import Testing

@testable import Links

extension PythonScript {
    static let pageBrowser = PythonScript(
        "page_browser.py", modules: "playwright.sync_api, axe_playwright_python.sync_playwright", programs: ["chromium"]
    )
}

/// The pages in Debian's Chromium, served with their policies: what is in the document, what it does, and what a reader of
/// the screen is told.
@Suite(
    .serialized, .timeLimit(.minutes(5)),
    .enabled(PythonScript.pageBrowser.expectation, { try await PythonScript.pageBrowser.isFound() }))
struct PageBrowserTests {
    /// A page for the script, by its path.
    private struct Served: Encodable {
        var status: Int
        var html: String
        var policy: String
    }

    private let pages: LinkPages
    private let open = "https://go.example.com/?link=https%3A%2F%2Fa.example%2Fx&ibi=com.example.app&_cpt=cpit"

    init() throws {
        pages = try LinkPages()
    }

    private func judge(_ group: String, _ served: [String: LinkPage]) async throws {
        let directory = try TestDirectory()
        let file = directory.file("pages.json")
        let encoded = served.mapValues { Served(status: $0.status, html: $0.html, policy: $0.contentSecurityPolicy) }
        try JSONEncoder().encode(encoded).write(to: URL(filePath: file))
        try await PythonScript.pageBrowser.run(group, file)
    }

    @Test("the preview page copies the link when the box is ticked, reports the device, and opens the app's link")
    func preview() async throws {
        let link = "https://go.example.com/y6N7"
        let title = #"Tea & "cake" <script>window.hacked = 1</script></title>"#
        let page = PreviewPage(
            title: title, description: String(repeating: "averylongword", count: 30),
            imageURL: "https://image.example/i.png", appName: "Tea", host: "a.example", openURL: open, copiedLink: link,
            reportPath: "/_/clicks/f3a1")
        let plain = PreviewPage(host: "a.example", openURL: open)
        try await judge("preview", ["/preview": pages.preview(page), "/plain": pages.preview(plain)])
    }

    @Test("the check tells an iPad from a Mac, and goes to the desktop without JavaScript")
    func ipadCheck() async throws {
        let page = IPadCheckPage(
            ipadURL: "https://preview.example.com/go.example.com/y6N7?a=1&b='2'",
            desktopURL: "https://a.example/x?a=1&b='2'")
        try await judge("ipad", ["/check": pages.ipadCheck(page)])
    }

    @Test("the debug page is read without JavaScript, and has nothing to click")
    func debug() async throws {
        let page = DebugPage(
            shortLink: "https://go.example.com/y6N7", longLink: open,
            parameters: [
                .init(name: "link", meaning: "what the app receives", value: "https://a.example/x"),
                .init(name: "st", meaning: nil, value: "<script>window.hacked = 1</script>"),
            ],
            warnings: [.init(code: "UNRECOGNIZED_PARAM", message: "zzz is not known.")],
            branches: ["Android, Chrome", "iPhone"].map {
                DebugPage.Branch(
                    platform: $0,
                    steps: [
                        .init(question: "Is it a crawler?", answer: "no"),
                        .init(question: "Is there an app?", answer: "yes"),
                    ],
                    outcome: "302 to", target: "javascript:alert(1)")
            })
        let bare = DebugPage(shortLink: nil, longLink: open, parameters: [], warnings: [], branches: [])
        try await judge("debug", ["/debug": pages.debug(page), "/bare": pages.debug(bare)])
    }

    @Test("the social page has its tags and stays where it is")
    func social() async throws {
        let page = SocialPage(
            url: "https://go.example.com/y6N7", title: #"Tea & "cake" <b>"#, description: "'Both'",
            imageURL: "https://image.example/i.png", siteName: "Tea",
            ios: SocialPage.AppLink(url: "com.example.app://google/link/", id: "1234567890", name: "Tea"),
            android: SocialPage.AppLink(url: nil, id: "com.example.app", name: "Tea"), webURL: "https://a.example/x")
        try await judge("social", ["/social": pages.social(page)])
    }

    @Test("messages say in plain words what is wrong")
    func messages() async throws {
        try await judge(
            "messages",
            [
                "/404": pages.notFound(), "/410": pages.gone(), "/400": pages.badLink("<b>link</b> is missing."),
                "/host": pages.unknownHost(),
            ])
    }
}
