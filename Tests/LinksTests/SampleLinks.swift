import PushModel

@testable import Links

/// A project with links, and what its links are opened with.
enum SampleLinks {
    static let prefix = LinkPrefix(host: "go.example.com")
    static let pathPrefix = LinkPrefix(host: "links.example.com", path: "/promo")
    static let preview = LinkPrefix(host: "preview.example.com")

    static func settings(
        preview: LinkPrefix? = preview, targets: [String] = ["a.example", "*.b.example"], patterns: [String] = []
    ) -> LinkSettings {
        LinkSettings(prefixes: [prefix, pathPrefix], preview: preview, targets: targets, patterns: patterns)
    }

    static func appleApp(_ id: String, store: Int64?, appIDPrefix: String? = "TEAM123456") -> App {
        App(
            id: AppID(rawValue: id)!, service: .apple(DeviceService(environment: .production, firebaseKeys: .none)),
            links: AppLinkIdentity(appStoreID: store, appIDPrefix: appIDPrefix))
    }

    static func androidApp(_ id: String, sha256: [String] = ["14:6D:E9:83"]) -> App {
        App(id: AppID(rawValue: id)!, service: .android(isReached: false), links: AppLinkIdentity(sha256: sha256))
    }

    static let apps = [
        appleApp("com.example.app", store: 1_234_567_890), appleApp("com.example.pad", store: nil),
        androidApp("com.example.app"),
    ]

    static func project(_ settings: LinkSettings = settings(), id: String = "shop", apps: [App] = apps) -> Project {
        Project(id: ProjectID(rawValue: id)!, number: 1, apps: apps, links: settings)
    }

    static func policy(targets: [String] = ["a.example", "*.b.example"], patterns: [String] = []) throws -> LinkPolicy {
        try LinkPolicy(settings(targets: targets, patterns: patterns))
    }

    static func check(_ query: String) throws -> [LinkWarning.Code] {
        let link = try LongLink(url: "https://go.example.com/?" + query, prefixes: [prefix])
        return try LinkCheck(project: project(), policy: policy()).check(link).map(\.code)
    }
}

/// User agents as browsers send them.
enum SampleAgents {
    static let androidChrome =
        "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36"
    static let samsung =
        "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/25.0 Chrome/121.0.0.0 Mobile Safari/537.36"
    static let androidFirefox = "Mozilla/5.0 (Android 14; Mobile; rv:127.0) Gecko/127.0 Firefox/127.0"
    static let androidWebView =
        "Mozilla/5.0 (Linux; Android 14; Pixel 8 Build/AP1A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/126.0.0.0 Mobile Safari/537.36"
    static let androidFacebook =
        "Mozilla/5.0 (Linux; Android 13; SM-G991B) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/126.0.0.0 Mobile Safari/537.36 [FB_IAB/FB4A;FBAV/468.0.0.0;]"
    static let cubot =
        "Mozilla/5.0 (Linux; Android 11; CUBOT X50) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36"
    static let iPhone =
        "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1"
    static let iPhoneInstagram =
        "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/21F79 Instagram 336.0.0 (iPhone14,5; iOS 17_5)"
    static let oldIPad =
        "Mozilla/5.0 (iPad; CPU OS 12_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/12.1 Mobile/15E148 Safari/604.1"
    static let iPadChrome =
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/126 Version/11.1.1 Safari/605.1.15"
    static let macSafari =
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15"
    static let macChrome =
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"
    static let macFirefox = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:127.0) Gecko/20100101 Firefox/127.0"
    static let windows =
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0"
    static let linux = "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0"
    static let linuxChrome =
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"
    static let windowsPhone =
        "Mozilla/5.0 (Windows Phone 10.0; Android 6.0.1; Microsoft; Lumia 950) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/52.0.2743.116 Mobile Safari/537.36 Edge/15.15063"
    static let crawlers = [
        "Twitterbot/1.0", "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
        "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", "WhatsApp/2.23.20.0",
        "TelegramBot (like TwitterBot)", "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)",
        "LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)",
        "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.1 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)",
        "Mozilla/5.0 (compatible; Google-InspectionTool/1.0;)",
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0",
        "Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5", "Pinterestbot/1.0", "Baiduspider",
        "Mozilla/5.0 (compatible; theoldreader.com)", "W3C-checklink/4.5 [4.160] linkchecker",
    ]
}
