import Store
import Testing

@testable import Links

struct LinkClientTests {
    @Test(
        "browsers are told by what they say",
        arguments: [
            (SampleAgents.androidChrome, .androidChrome), (SampleAgents.samsung, .androidChrome),
            (SampleAgents.cubot, .androidChrome), (SampleAgents.androidFirefox, .androidOther),
            (SampleAgents.androidWebView, .androidOther), (SampleAgents.androidFacebook, .androidOther),
            (SampleAgents.iPhone, .iPhone), (SampleAgents.iPhoneInstagram, .iPhone), (SampleAgents.oldIPad, .iPad),
            (SampleAgents.iPadChrome, .iPad), (SampleAgents.macSafari, .mac), (SampleAgents.macChrome, .desktop),
            (SampleAgents.macFirefox, .desktop), (SampleAgents.windows, .desktop), (SampleAgents.linux, .desktop),
            (SampleAgents.windowsPhone, .desktop), ("curl/8.5.0", .other), ("", .other),
        ] as [(String, LinkClient.Kind)])
    func kinds(agent: String, kind: LinkClient.Kind) {
        #expect(LinkClient(userAgent: agent).kind == kind)
    }

    @Test("crawlers are told by their names", arguments: SampleAgents.crawlers)
    func crawlers(agent: String) {
        let client = LinkClient(userAgent: agent)
        #expect(client.kind == .crawler)
        #expect(!client.isClick)
    }

    @Test("hints of newer browsers say more than the user agent")
    func hints() {
        let tablet = LinkClient(userAgent: SampleAgents.linuxChrome, platformHint: "\"Android\"", mobileHint: "?0")
        #expect(tablet.kind == .androidChrome)
        #expect(LinkClient(userAgent: SampleAgents.macSafari, platformHint: "\"macOS\"").kind == .desktop)
        #expect(LinkClient(userAgent: SampleAgents.linuxChrome, mobileHint: "?1").kind == .androidOther)
    }

    @Test("apps that show pages themselves are told, and what is fetched ahead is no click")
    func rest() {
        #expect(LinkClient(userAgent: SampleAgents.iPhoneInstagram).isInApp)
        #expect(!LinkClient(userAgent: SampleAgents.iPhone).isInApp)
        #expect(LinkClient(userAgent: SampleAgents.iPhone).isClick)
        #expect(!LinkClient(userAgent: "curl/8.5.0").isClick)
        #expect(!LinkClient(userAgent: "").isClick)
        for purpose in ["prefetch", "prefetch;prerender", "Preview"] {
            let client = LinkClient(userAgent: SampleAgents.androidChrome, purpose: purpose)
            #expect(client.isPrefetch && !client.isClick && client.kind == .androidChrome)
        }
    }

    @Test("statistics know four platforms")
    func platforms() {
        let platforms = LinkClient.Kind.allCases.map { LinkClient($0).platform }
        #expect(platforms == [.android, .android, .ios, .ios, .desktop, .desktop, .other, .other])
    }

    @Test("a user agent of any bytes is read")
    func noise() {
        #expect(LinkClient(userAgent: "\0\u{fffd}é\r\n" + String(repeating: "bot", count: 100)).kind == .crawler)
        #expect(LinkClient(userAgent: String(repeating: ";", count: 5_000) + "iPhone").kind == .other)
    }
}
