@testable import Links

/// Pages whose every value comes from one function, so that tests can put anything anywhere.
struct SamplePages {
    /// A page as the tests name it.
    let name: String
    let page: LinkPage

    /// Every kind of page.
    ///
    /// - Parameter value: the value of a field, by its name.
    static func all(_ pages: LinkPages, value: (String) -> String) -> [SamplePages] {
        [
            SamplePages(name: "preview", page: pages.preview(preview(value))),
            SamplePages(name: "social", page: pages.social(social(value))),
            SamplePages(name: "debug", page: pages.debug(debug(value))),
            SamplePages(
                name: "ipad",
                page: pages.ipadCheck(
                    IPadCheckPage(
                        ipadURL: "https://ipad.example/" + query(value("ipad")),
                        desktopURL: "https://desktop.example/" + query(value("desktop"))))),
            SamplePages(name: "bad", page: pages.badLink(value("reason"))),
        ]
    }

    /// A value as a URL has it: percent-encoded, but for what would be harmful if a URL had it raw.
    private static func query(_ value: String) -> String {
        "?x=" + value.unicodeScalars.filter { (0x21...0x7e).contains($0.value) && $0 != "\\" }.map(String.init).joined()
    }

    private static func preview(_ value: (String) -> String) -> PreviewPage {
        PreviewPage(
            title: value("title"), description: value("description"),
            imageURL: "https://image.example/" + query(value("image")), appName: value("app"), host: value("host"),
            openURL: "https://open.example/" + query(value("open")), copiedLink: value("copied"),
            reportPath: "/r" + query(value("report")))
    }

    private static func social(_ value: (String) -> String) -> SocialPage {
        SocialPage(
            url: "https://go.example.com/" + query(value("url")), title: value("title"),
            description: value("description"), imageURL: "https://image.example/" + query(value("image")),
            siteName: value("site"),
            ios: SocialPage.AppLink(url: value("iosURL"), id: value("iosID"), name: value("iosName")),
            android: SocialPage.AppLink(url: value("androidURL"), id: value("androidID"), name: value("androidName")),
            webURL: "https://web.example/" + query(value("web")))
    }

    private static func debug(_ value: (String) -> String) -> DebugPage {
        DebugPage(
            shortLink: value("short"), longLink: value("long"),
            parameters: [.init(name: value("parameter"), meaning: value("meaning"), value: value("value"))],
            warnings: [.init(code: value("code"), message: value("message"))],
            branches: [
                .init(
                    platform: value("platform"), steps: [.init(question: value("question"), answer: value("answer"))],
                    outcome: value("outcome"), target: value("target"))
            ])
    }
}
