import PushModel
import Testing

@testable import Links

struct LinkResolutionTests {
    private static let link = "link=https%3A%2F%2Fa.example%2Fx"
    private static let android = link + "&apn=com.example.app"
    private static let apple = link + "&ibi=com.example.app"

    private func resolution(
        _ query: String, url: String = "https://go.example.com/abc", settings: LinkSettings = SampleLinks.settings(),
        click: String? = "c1", isDebug: Bool = false
    ) throws -> LinkResolution {
        try LinkResolution(
            url: url, parameters: LinkParameters(query: query), project: SampleLinks.project(settings),
            policy: LinkPolicy(settings), click: click, isDebug: isDebug)
    }

    private func decision(
        _ query: String, _ agent: String, settings: LinkSettings = SampleLinks.settings()
    ) throws -> LinkDecision {
        try resolution(query, settings: settings).decision(for: LinkClient(userAgent: agent))
    }

    // MARK: Rows 1, 2, 13 and 14

    @Test("d=1 is the debug page for all (row 1, V24), a crawler gets the social page (row 2, V23)")
    func pages() throws {
        for kind in LinkClient.Kind.allCases {
            #expect(try resolution(Self.android, isDebug: true).decision(for: LinkClient(kind)) == .debugPage)
        }
        #expect(try decision(Self.android + "&ibi=com.example.app", "Twitterbot/1.0") == .socialPage)
    }

    @Test("a link without a target, or with one that is not allowed any more, is refused (rows 13 and 14, V10)")
    func refused() throws {
        #expect(throws: LinkProblem.self) { try resolution("apn=com.example.app") }
        #expect(throws: LinkProblem.self) { try resolution("link=javascript:x") }
        let tightened = SampleLinks.settings(targets: ["other.example"])
        #expect(throws: LinkProblem.self) { try resolution(Self.link, settings: tightened) }
        #expect(throws: LinkProblem.self) { try resolution(Self.link + "&ofl=https://evil.example/") }
    }

    @Test("a fallback that is no URL is passed over")
    func badFallbacks() throws {
        #expect(try decision(Self.link + "&ofl=javascript:x", SampleAgents.windows) == .redirect("https://a.example/x"))
        #expect(
            try decision(Self.apple + "&efr=1&ifl=data:x", SampleAgents.iPhone) == .redirect("https://a.example/x"))
    }

    // MARK: Rows 3 to 5

    @Test("Chrome on Android gets an intent URL at the app's own package (row 3, V18)")
    func intent() throws {
        let query = Self.android + "&afl=https%3A%2F%2Fa.example%2F%3Fq%3D1%3Bpackage%3Dcom.evil%3Bend%23Intent%3B"
        let decision = try decision(query, SampleAgents.androidChrome)
        let fallback = "https%3A%2F%2Fa.example%2F%3Fq%3D1%3Bpackage%3Dcom.evil%3Bend%23Intent%3B"
        #expect(
            decision
                == .intent(
                    "intent://go.example.com/abc#Intent;scheme=https;package=com.example.app;action=android.intent.action.VIEW;category=android.intent.category.BROWSABLE;S.browser_fallback_url=\(fallback);end"
                ))
    }

    @Test("a link's own URL can't end the intent's block")
    func intentLink() throws {
        let resolution = try resolution(Self.android, url: "https://go.example.com/?st=a;b#Intent;package=com.evil;end")
        guard case .intent(let text) = resolution.decision(for: LinkClient(.androidChrome)) else {
            Issue.record("no intent")
            return
        }
        #expect(
            text.hasPrefix("intent://go.example.com/?st=a%3Bb%23Intent%3Bpackage=com.evil%3Bend#Intent;scheme=https;"))
        #expect(text.split(separator: "#").count == 2)
    }

    @Test("other browsers on Android get the Play Store with a referrer (row 4, V19)")
    func play() throws {
        let query = Self.android + "&utm_source=news%20letter&utm_campaign=a%26b&amv=12"
        #expect(
            try decision(query, SampleAgents.androidFirefox)
                == .redirect(
                    "https://play.google.com/store/apps/details?id=com.example.app&referrer=gl_click%3Dc1%26utm_source%3Dnews%2520letter%26utm_campaign%3Da%2526b&min_version=12"
                ))
        #expect(
            try resolution(Self.android, click: nil).decision(for: LinkClient(.androidOther))
                == .redirect("https://play.google.com/store/apps/details?id=com.example.app"))
    }

    @Test("afl goes before the Play Store (row 4)")
    func androidFallback() throws {
        #expect(
            try decision(Self.android + "&afl=https://x.b.example/", SampleAgents.androidWebView)
                == .redirect("https://x.b.example/"))
    }

    @Test("without apn Android gets link, or al (row 5)")
    func androidBrowser() throws {
        #expect(try decision(Self.link, SampleAgents.androidChrome) == .redirect("https://a.example/x"))
        #expect(
            try decision(Self.link + "&al=https://a.example/al", SampleAgents.androidFirefox)
                == .redirect("https://a.example/al"))
        #expect(
            try decision(Self.link + "&afl=https://a.example/afl", SampleAgents.androidChrome)
                == .redirect("https://a.example/x"))
    }

    @Test("an app that the project doesn't have is never opened, nor its page in a store")
    func foreignApps() throws {
        #expect(
            try decision(Self.link + "&apn=com.evil", SampleAgents.androidChrome) == .redirect("https://a.example/x"))
        #expect(
            try decision(Self.link + "&apn=com.evil&afl=https://a.example/afl", SampleAgents.androidChrome)
                == .redirect("https://a.example/afl"))
        #expect(
            try decision(Self.link + "&ibi=com.evil&isi=666&efr=1", SampleAgents.iPhone)
                == .redirect("https://a.example/x"))
        #expect(
            try decision(Self.apple + "&isi=666&efr=1", SampleAgents.iPhone)
                == .redirect("https://apps.apple.com/app/id1234567890"))
    }

    // MARK: Rows 6 to 10

    @Test("iOS gets the preview page (row 7, V21), and goes on where there is none")
    func preview() throws {
        #expect(try decision(Self.apple + "&isi=1234567890", SampleAgents.iPhone) == .preview)
        #expect(
            try decision(
                Self.apple + "&isi=1234567890", SampleAgents.iPhone, settings: SampleLinks.settings(preview: nil))
                == .redirect("https://apps.apple.com/app/id1234567890"))
    }

    @Test("with efr=1 iOS goes to ifl, else to the App Store, else to link (row 8, V20)")
    func forced() throws {
        let forced = Self.apple + "&efr=1"
        #expect(
            try decision(forced + "&isi=1234567890&ifl=https://a.example/ifl", SampleAgents.iPhone)
                == .redirect("https://a.example/ifl"))
        #expect(
            try decision(forced + "&isi=1234567890", SampleAgents.iPhone)
                == .redirect("https://apps.apple.com/app/id1234567890"))
        #expect(try decision(forced, SampleAgents.iPhone) == .redirect("https://a.example/x"))
    }

    @Test("the App Store gets the campaign and the product page")
    func appStore() throws {
        let query = Self.apple + "&efr=1&isi=1234567890"
        #expect(
            try decision(query + "&pt=1&at=a%26b&ct=c&ppid=p-1", SampleAgents.iPhone)
                == .redirect("https://apps.apple.com/app/id1234567890?pt=1&at=a%26b&ct=c&ppid=p-1&mt=8"))
        #expect(
            try decision(query + "&mt=12", SampleAgents.iPhone)
                == .redirect("https://apps.apple.com/app/id1234567890?mt=12"))
    }

    @Test("on an iPad ipbi and ipfl go before ibi and ifl (row 9)")
    func iPad() throws {
        let query = Self.apple + "&efr=1&ifl=https://a.example/ifl&ipfl=https://a.example/ipfl"
        #expect(try decision(query, SampleAgents.oldIPad) == .redirect("https://a.example/ipfl"))
        #expect(try decision(query, SampleAgents.iPhone) == .redirect("https://a.example/ifl"))
        let pad = try resolution(Self.apple + "&ipbi=com.example.pad&isi=77&efr=1")
        #expect(pad.appleApp(isPad: true)?.id.rawValue == "com.example.pad")
        #expect(pad.appleApp(isPad: false)?.id.rawValue == "com.example.app")
        #expect(pad.decision(for: LinkClient(.iPad)) == .redirect("https://apps.apple.com/app/id77"))
        #expect(
            try decision(Self.link + "&ipbi=com.example.pad", SampleAgents.iPhone) == .redirect("https://a.example/x"))
        #expect(try decision(Self.link + "&ipbi=com.example.pad", SampleAgents.oldIPad) == .preview)
    }

    @Test("without ibi iOS gets link (row 10)")
    func appleBrowser() throws {
        #expect(
            try decision(Self.link + "&ifl=https://a.example/ifl", SampleAgents.iPhone)
                == .redirect("https://a.example/x"))
    }

    // MARK: Row 11

    @Test("computers get ofl, else link (row 11, V22)")
    func desktop() throws {
        for agent in [SampleAgents.windows, SampleAgents.linux, SampleAgents.macChrome, "curl/8.5.0"] {
            #expect(
                try decision(Self.apple + "&ofl=https://a.example/ofl", agent) == .redirect("https://a.example/ofl"))
            #expect(try decision(Self.apple, agent) == .redirect("https://a.example/x"))
        }
    }

    @Test("Safari on a Mac is asked whether it is an iPad, where that makes a difference (§3.7)")
    func macSafari() throws {
        #expect(
            try decision(Self.apple + "&ofl=https://a.example/ofl", SampleAgents.macSafari)
                == .ipadCheck(desktop: "https://a.example/ofl"))
        #expect(try decision(Self.link, SampleAgents.macSafari) == .redirect("https://a.example/x"))
        #expect(try decision(Self.apple + "&efr=1", SampleAgents.macSafari) == .redirect("https://a.example/x"))
    }

    // MARK: Campaigns and schemes

    @Test("link gets the utm parameters when a browser opens it, unless it has some or would not be allowed then")
    func campaigns() throws {
        let query = "&utm_source=a%20b&utm_medium=c"
        let agent = SampleAgents.windows
        #expect(
            try decision("link=https://a.example/x?y%23z" + query, agent)
                == .redirect("https://a.example/x?y&utm_source=a%20b&utm_medium=c#z"))
        #expect(
            try decision(Self.link + query, agent) == .redirect("https://a.example/x?utm_source=a%20b&utm_medium=c"))
        #expect(
            try decision("link=https://a.example/?utm_source=own" + query, agent)
                == .redirect("https://a.example/?utm_source=own"))
        #expect(
            try decision(Self.link + "&ofl=https://a.example/ofl" + query, agent) == .redirect("https://a.example/ofl"))
        let strict = SampleLinks.settings(targets: [], patterns: ["https://a\\.example/x"])
        #expect(try decision(Self.link + query, agent, settings: strict) == .redirect("https://a.example/x"))
    }

    @Test("a custom scheme is the link's or the bundle id, never one that runs code")
    func schemes() throws {
        #expect(try resolution(Self.apple).customScheme(isPad: false) == "com.example.app")
        #expect(try resolution(Self.apple + "&ius=Shop").customScheme(isPad: false) == "shop")
        for scheme in ["javascript", "DATA", "a%3Ab", "1x", "a%20b", "https"] {
            #expect(try resolution(Self.apple + "&ius=" + scheme).customScheme(isPad: false) == "com.example.app")
        }
        #expect(try resolution(Self.link + "&ius=shop&ibi=com.evil").customScheme(isPad: false) == nil)
    }
}
