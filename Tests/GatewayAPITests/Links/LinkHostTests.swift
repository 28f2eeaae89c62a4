import HTTPListener
import HTTPTypes
import JSON
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Synchronization
import Testing

@testable import GatewayAPI
@testable import Links

/// What link and preview hosts answer.
@Suite(.timeLimit(.minutes(5)))
struct LinkHostTests {
    private static let link = "https://go.example.com/?link=https%3A%2F%2Fa.example%2Fx%3Fa%3D1%3Bb"
    private static let android = link + "&apn=com.example.app"
    private static let apple = link + "&ibi=com.example.app&isi=1234567890"

    private static let fields: [String: String] = [
        "cache-control": "private, no-store", "vary": "User-Agent", "referrer-policy": "no-referrer",
        "x-robots-tag": "noindex", "x-content-type-options": "nosniff",
    ]

    private func expectFields(of answer: Answer) {
        for (name, value) in Self.fields {
            #expect(answer.headers.first { $0.name.canonicalName == name }?.value == value, "\(name)")
        }
    }

    private func events(_ gateway: LinkGateway) -> [LinkEvent] { gateway.traffic.events.map(\.event) }

    @Test("a Host in another spelling, or with a port, is in no answer, and no answer may be kept")
    func spelledHost() async throws {
        let gateway = try await LinkGateway()
        let short = try await gateway.shorten(Self.android + "&ibi=com.example.app")
        for host in ["GO.example.com:8443", "go.example.com.", "go.example.com:1"] {
            let url = short.replacing("go.example.com", with: host)
            for agent in [LinkGateway.Agent.chrome, .iPhone, .mac, .twitterbot] {
                let answer = try await gateway.open(url, agent)
                #expect(!answer.text.contains(host) && answer.headers[.location]?.contains(host) != true, "\(answer)")
                expectFields(of: answer)
            }
            let debug = try await gateway.open(url + "?d=1")
            #expect(debug.status == 200 && !debug.text.contains(host))
        }
    }

    @Test("Chrome on Android gets an intent URL whose values are encoded")
    func intent() async throws {
        let gateway = try await LinkGateway()
        let short = try await gateway.shorten(Self.android)
        let answer = try await gateway.open(short, .chrome)
        let location = try #require(answer.headers[.location])
        #expect(answer.status == 302 && answer.text.isEmpty)
        expectFields(of: answer)
        #expect(location.hasPrefix("intent://go.example.com/") && location.contains(";package=com.example.app;"))
        let block = try #require(location.split(separator: "#Intent;").last)
        #expect(block.split(separator: ";").count == 6 && location.hasSuffix(";end"))
        let click = try #require(gateway.traffic.clicks.first)
        #expect(
            location.contains("gl_click%25253D\(click)") || location.contains("gl_click%253D\(click)"), "\(location)")
        let opening = try #require(gateway.traffic.openings.first)
        #expect(opening.url == short && opening.app.platform == .android && opening.link != nil)
        #expect(events(gateway) == [.click, .redirect])
        #expect(gateway.traffic.events.allSatisfy { $0.platform == .android })
    }

    @Test("another browser on Android gets the Play Store with a referrer, or the fallback")
    func play() async throws {
        let gateway = try await LinkGateway()
        let answer = try await gateway.open(try await gateway.shorten(Self.android + "&utm_source=s"), .firefox)
        let location = try #require(answer.headers[.location])
        #expect(
            location.hasPrefix("https://play.google.com/store/apps/details?id=com.example.app&referrer=gl_click%3D"))
        #expect(location.contains("utm_source%3Ds"))
        let fallback = try await gateway.shorten(Self.android + "&afl=https%3A%2F%2Fx.b.example%2F")
        #expect(try await gateway.open(fallback, .firefox).headers[.location] == "https://x.b.example/")
    }

    @Test("iOS with efr=1 goes straight to the App Store")
    func appStore() async throws {
        let gateway = try await LinkGateway()
        let answer = try await gateway.open(try await gateway.shorten(Self.apple + "&efr=1"), .iPhone)
        #expect(answer.status == 302)
        #expect(answer.headers[.location] == "https://apps.apple.com/app/id1234567890")
        #expect(gateway.traffic.openings.map(\.app.platform) == [.apple] && events(gateway) == [.click, .redirect])
    }

    @Test("iOS without efr sees the preview page on another host, and goes on by its button")
    func preview() async throws {
        let gateway = try await LinkGateway()
        let short = try await gateway.shorten(Self.apple + "&st=%3Cscript%3Ealert(1)%3C%2Fscript%3E")
        let first = try await gateway.open(short, .iPhone)
        let location = try #require(first.headers[.location])
        #expect(location == "https://preview.example.com/" + short.dropFirst("https://".count))
        #expect(gateway.traffic.openings.isEmpty && events(gateway) == [.click])
        let page = try await gateway.open(location, .iPhone)
        #expect(page.status == 200)
        expectFields(of: page)
        #expect(page.text.contains("&lt;script&gt;alert(1)") && !page.text.contains("<script>alert(1)"))
        #expect(page.headers.contains { $0.name.canonicalName == "content-security-policy" })
        let opening = try #require(gateway.traffic.openings.first)
        let click = try #require(gateway.traffic.clicks.first)
        #expect(opening.url == short && opening.app.platform == .apple)
        #expect(page.text.contains("/_/clicks/\(click)") && page.text.contains("?cid=\(click)&amp;_icp=1"))
        // The button leads to the long form, which opens the app or comes back here.
        let button = try #require(page.text.firstMatch(of: /href="(https:\/\/go\.example\.com\/[^"]+)"/))
        let url = String(button.1).replacing("&amp;", with: "&")
        #expect(url.contains("efr=1") && url.contains("_osl="))
        #expect(try await gateway.open(url, .iPhone).headers[.location] == "https://apps.apple.com/app/id1234567890")
        #expect(events(gateway) == [.click, .redirect] && gateway.traffic.openings.count == 1)
        // What the page knows of the device.
        let report = try await gateway.open(
            "https://preview.example.com/_/clicks/\(click)", .iPhone, method: .post,
            body: "width=390&height=844&language=en-GB&timeZone=Europe%2FBerlin&saved=1")
        #expect(report.status == 204)
        #expect(
            gateway.traffic.reports == [
                DeviceReport(
                    PageTraits(width: 390, height: 844, language: "en-GB", timeZone: "Europe/Berlin"), isSaved: true)
            ])
        // A computer that was given the page's address starts again at the link.
        #expect(try await gateway.open(location, .desktop).headers[.location] == short)
    }

    /// The URL of the button of a link's preview page; `nil`: the link is refused at once.
    private func button(of url: String, _ gateway: LinkGateway) async throws -> String? {
        let first = try await gateway.open(url, .iPhone)
        guard first.status == 302 else {
            #expect(first.status == 400 && first.text.contains("too long"), "\(first.text)")
            return nil
        }
        let page = try await gateway.open(try #require(first.headers[.location]), .iPhone)
        #expect(page.status == 200, "\(page.text)")
        let button = try #require(page.text.firstMatch(of: /href="(https:\/\/go\.example\.com\/[^"]+)"/))
        return String(button.1).replacing("&amp;", with: "&")
    }

    @Test(
        "whatever opens goes on from the preview page: a short link of any length, a long one up to the limit",
        arguments: [10, 7900, 7980, 8000, 8020, 8040, 8060, 8080, 8100, 8120, 8150, 8192, 8300, 12_000, 16_000])
    func longest(bytes: Int) async throws {
        let gateway = try await LinkGateway()
        let long = Self.apple + "&sd=" + String(repeating: "x", count: bytes)
        let store = "https://apps.apple.com/app/id1234567890"
        let body = #"{"longDynamicLink":"\#(long)"}"#
        let made = try await gateway.call(.post, "/v1/shortLinks", body, as: .client)
        let short = try #require(try made.json["shortLink"]?.stringValue, "\(made.text)")
        let button = try #require(try await button(of: short, gateway))
        // An app reads the long form without asking.
        #expect(button.contains("&link=https") == (bytes < 8000) || (8000..<8120).contains(bytes))
        #expect(try await gateway.open(button, .iPhone).headers[.location] == store)
        #expect(events(gateway) == [.click, .redirect])
        let ofLong = try await self.button(of: long, gateway)
        #expect(ofLong == nil ? bytes > 7980 : bytes < 8192)
        if let ofLong { #expect(try await gateway.open(ofLong, .iPhone).headers[.location] == store) }
    }

    @Test("the mark of a preview page counts for its own link and no other")
    func previewMark() async throws {
        let gateway = try await LinkGateway()
        let short = try await gateway.shorten(Self.apple)
        let other = try await gateway.shorten(Self.apple + "&st=Other")
        let button = try #require(try await button(of: short, gateway))
        let (mark, foreign) = (PercentEncoding.encode(short), PercentEncoding.encode(other))
        #expect(events(gateway) == [.click] && button.contains("_osl=\(mark)"))
        for url in [
            button.replacing(mark, with: foreign), button.replacing("?", with: "?st=Mine&"),
            button.replacing("go.example.com/?", with: "links.example.com/promo/?"),
        ] {
            #expect(url != button)
            #expect(try await gateway.open(url, .iPhone).status == 302)
        }
        #expect(events(gateway) == [.click])
        #expect(try await gateway.open(button, .iPhone).status == 302)
        #expect(events(gateway) == [.click, .redirect])
    }

    @Test("computers go to ofl, or to the link")
    func desktop() async throws {
        let gateway = try await LinkGateway()
        let plain = try await gateway.shorten(Self.apple)
        #expect(try await gateway.open(plain).headers[.location] == "https://a.example/x?a=1;b")
        let other = try await gateway.shorten(Self.apple + "&ofl=https%3A%2F%2Fx.b.example%2Fdesk")
        #expect(try await gateway.open(other).headers[.location] == "https://x.b.example/desk")
        #expect(gateway.traffic.events.allSatisfy { $0.platform == .desktop } && gateway.traffic.openings.isEmpty)
    }

    @Test("Safari on a Mac may be an iPad: a page finds out, and each is counted as what it is")
    func iPad() async throws {
        let gateway = try await LinkGateway()
        let short = try await gateway.shorten(Self.apple)
        let page = try await gateway.open(short, .mac)
        #expect(page.status == 200 && page.text.contains("maxTouchPoints") && events(gateway).isEmpty)
        let pad = try await gateway.open(short + "?_ipad=1", .mac)
        #expect(pad.headers[.location]?.hasPrefix("https://preview.example.com/go.example.com/") == true)
        #expect(pad.headers[.location]?.hasSuffix("?_ipad=1") == true)
        let desk = try await gateway.open(short + "?_ipad=0", .mac)
        #expect(desk.headers[.location] == "https://a.example/x?a=1;b")
        #expect(gateway.traffic.events.map(\.platform) == [.ios, .desktop, .desktop])
    }

    @Test("crawlers, HEAD, looks ahead and the debug page count nothing")
    func uncounted() async throws {
        let gateway = try await LinkGateway()
        let short = try await gateway.shorten(Self.android + "&st=A%20title&sd=Text")
        let social = try await gateway.open(short, .twitterbot)
        #expect(social.status == 200 && social.text.contains("og:title") && social.text.contains("A title"))
        let head = try await gateway.open(short, .chrome, method: .head)
        #expect(head.status == 302 && head.headers[.location]?.hasPrefix("intent://") == true && head.text.isEmpty)
        let purpose = try #require(HTTPField.Name("Sec-Purpose"))
        #expect(try await gateway.open(short, .chrome, headers: [purpose: "prefetch;prerender"]).status == 302)
        let debug = try await gateway.open(short + "?d=1", .chrome)
        #expect(debug.status == 200 && debug.text.contains("com.example.app") && debug.headers[.location] == nil)
        expectFields(of: debug)
        #expect(events(gateway).isEmpty && gateway.traffic.openings.isEmpty)
    }

    @Test("a long link is answered without being stored, under a path too")
    func longLink() async throws {
        let gateway = try await LinkGateway()
        for url in [
            "https://go.example.com/?link=https%3A%2F%2Fa.example%2F", "https://go.example.com?link=https://a.example/",
            "https://links.example.com/promo?link=https%3A%2F%2Fa.example%2F",
            "https://links.example.com/promo/?zzz=1&link=https%3A%2F%2Fa.example%2F",
            "http://GO.example.com:8443/?link=https%3A%2F%2Fa.example%2F",
        ] {
            let answer = try await gateway.open(url)
            #expect(answer.status == 302 && answer.headers[.location] == "https://a.example/", "\(url)")
        }
        #expect(try await gateway.open("https://go.example.com/?st=x").status == 400)
        #expect(try await gateway.open("https://go.example.com/?link=https%3A%2F%2Fc.example%2F").status == 400)
        #expect(try await gateway.open("https://go.example.com/").status == 404)
        #expect(try await gateway.open("https://links.example.com/other").status == 404)
        let long = "https://go.example.com/?link=https%3A%2F%2Fa.example%2F" + String(repeating: "a", count: 8200)
        #expect(try await gateway.open(long).status == 400)
        #expect(
            try await gateway.open("https://go.example.com/i/alice").headers[.location] == "https://a.example/invited")
        #expect(try await gateway.open("https://go.example.com/i/bob").status == 404)
    }

    @Test("a policy that was tightened holds for links that were made before")
    func tightened() async throws {
        let gateway = try await LinkGateway()
        let short = try await gateway.shorten(Self.link)
        var settings = LinkGateway.settings
        settings.targets = ["*.b.example"]
        try gateway.hosts.replace(with: [LinkGateway.project(settings)])
        let answer = try await gateway.open(short)
        #expect(answer.status == 400 && answer.headers[.location] == nil && answer.text.contains("can’t be opened"))
        #expect(try await gateway.open(short, .chrome).status == 400)
    }

    @Test("a link that was never made, is blocked or is deleted gives one and the same answer; one that ended is gone")
    func absent() async throws {
        let gateway = try await LinkGateway()
        func managed(_ more: String = "") async throws -> String {
            let answer = try await gateway.call(
                .post, "/v1/managedShortLinks:create", #"{"name":"x","longDynamicLink":"\#(Self.link)"\#(more)}"#)
            return try #require(
                try answer.json["managedShortLink"]?["link"]?.stringValue, "\(answer.text)")
        }
        let (blocked, deleted) = (try await managed(), try await managed())
        let ending = try await managed(#","expirationTime":"2026-01-02T04:04:05Z""#)
        let path = { (url: String) in
            "/v1/managedShortLinks/" + url.replacing(":", with: "%3A").replacing("/", with: "%2F")
        }
        #expect(try await gateway.call(.patch, path(blocked), #"{"flaggedAttribute":["SPAM"]}"#).status == 200)
        #expect(try await gateway.call(.delete, path(deleted)).status == 200)
        var pages: Set<String> = []
        for url in [blocked, deleted, "https://go.example.com/none"] {
            let answer = try await gateway.open(url)
            #expect(answer.status == 404)
            pages.insert(answer.text.replacing(/nonce="[^"]*"/, with: ""))
        }
        #expect(pages.count == 1)
        #expect(try await gateway.open(ending).status == 302)
        gateway.gateway.clock.advance(by: .seconds(3600))
        #expect(try await gateway.open(ending).status == 410)
        #expect(try await gateway.call(.patch, path(blocked), #"{"flaggedAttribute":[]}"#).status == 200)
        #expect(try await gateway.open(blocked).status == 302)
    }

    @Test("suffixes are compared byte for byte")
    func suffixCase() async throws {
        let gateway = try await LinkGateway()
        let project = try #require(ProjectID(rawValue: "demo"))
        let link = NewLink(
            project: project, prefix: "go.example.com", suffixes: ["aB-_9"], kind: .imported,
            parameters: "link=https%3A%2F%2Fa.example%2F", createdAt: TestGateway.startTime)
        #expect(try await gateway.gateway.store.importLinks([link]) == [.created])
        #expect(try await gateway.open("https://go.example.com/aB-_9").status == 302)
        #expect(try await gateway.open("https://go.example.com/aB-%5F9/").status == 302)
        #expect(try await gateway.open("https://go.example.com/ab-_9").status == 404)
        #expect(try await gateway.open("https://links.example.com/aB-_9").status == 404)
        #expect(try await gateway.open("https://links.example.com/promo/aB-_9").status == 404)
    }

    @Test("association files stand on each host, without a redirect and in JSON")
    func association() async throws {
        let gateway = try await LinkGateway()
        for path in ["/.well-known/apple-app-site-association", "/apple-app-site-association"] {
            let answer = try await gateway.open("https://go.example.com" + path)
            #expect(answer.status == 200 && answer.headers[.contentType] == "application/json")
            let details = try #require(try answer.json["applinks"]?["details"])
            guard case .array(let list) = details else {
                Issue.record("\(details)")
                return
            }
            #expect(list.first?["appID"] == .string("TEAM123456.com.example.app"))
        }
        let answer = try await gateway.open("https://links.example.com/.well-known/assetlinks.json")
        #expect(answer.status == 200 && answer.headers[.contentType] == "application/json")
        #expect(answer.text.contains(#""package_name":"com.example.app""#))
        #expect(try await gateway.open("https://go.example.com/robots.txt").text == "User-agent: *\nAllow: /\n")
    }

    @Test("hosts of links have links only, and every other host the API")
    func hosts() async throws {
        let gateway = try await LinkGateway()
        #expect(try await gateway.open("https://go.example.com/healthz").status == 404)
        #expect(try await gateway.open("https://preview.example.com/healthz").status == 404)
        #expect(try await gateway.open("https://push.example.com/healthz").text == #"{"status":"ok"}"#)
        #expect(try await gateway.open("https://go.example.com.evil.example/healthz").status == 200)
        #expect(try await gateway.open("https://xgo.example.com/none").text.contains(#""code":404"#))
        let post = try await gateway.open("https://go.example.com/v1/shortLinks", method: .post, body: "{}")
        #expect(post.status == 405 && post.headers[.allow] == "GET, HEAD")
        expectFields(of: post)
        #expect(try await gateway.open("https://GO.EXAMPLE.COM./none").status == 404)
        try gateway.hosts.replace(with: [])
        #expect(try await gateway.open("https://go.example.com/healthz").status == 200)
    }

    @Test("who asks for many links that are not there is refused before a look, also for one that is")
    func budget() async throws {
        let gateway = try await LinkGateway(misses: 1, proxies: 1)
        let short = try await gateway.shorten(Self.link)
        let scanner: HTTPFields = [.forwardedFor: "192.0.2.7, 203.0.113.9"]
        for number in 0..<60 {
            #expect(try await gateway.open("https://go.example.com/none\(number)", headers: scanner).status == 404)
        }
        for url in [short, "https://go.example.com/none", short + "/qr"] {
            let answer = try await gateway.open(url, headers: scanner)
            #expect(answer.status == 429 && answer.headers[.retryAfter] != nil, "\(url)")
        }
        #expect(try await gateway.open(short, headers: [.forwardedFor: "203.0.113.8"]).status == 302)
        // Of a long link nothing is looked up.
        #expect(try await gateway.open(Self.link, headers: scanner).status == 302)
    }

    @Test("a short link has a QR code as SVG and PNG, and what has no link has none")
    func pictures() async throws {
        let gateway = try await LinkGateway()
        let short = try await gateway.shorten(Self.link)
        let svg = try await gateway.open(short + "/qr?size=300&ecc=H")
        #expect(svg.status == 200 && svg.headers[.contentType] == "image/svg+xml")
        #expect(svg.text.contains(#"width="300""#))
        let png = try await gateway.open(short + "/qr?format=png&size=256")
        #expect(png.status == 200 && png.headers[.contentType] == "image/png")
        for query in ["size=9", "size=9999", "ecc=X", "format=gif"] {
            #expect(try await gateway.open(short + "/qr?" + query).status == 400, "\(query)")
        }
        #expect(try await gateway.open("https://go.example.com/none/qr").status == 404)
        #expect(events(gateway).isEmpty)
    }

    @Test("addresses are kept apart, and a bucket fills again")
    func buckets() {
        let time = Mutex(ContinuousClock.now)
        let budget = MissBudget(rate: 1, now: { time.withLock { $0 } })
        #expect(budget.isUntouched)
        for _ in 0..<60 { budget.count("192.0.2.1") }
        #expect(budget.wait(of: "192.0.2.1") == 1 && budget.wait(of: "192.0.2.2") == nil)
        time.withLock { $0 += .seconds(1) }
        #expect(budget.wait(of: "192.0.2.1") == nil)
        let shared = MissBudget(rate: 1, nodes: { 3 }, now: { time.withLock { $0 } })
        for _ in 0..<19 { shared.count("192.0.2.1") }
        #expect(shared.wait(of: "192.0.2.1") == nil)
        shared.count("192.0.2.1")
        #expect(shared.wait(of: "192.0.2.1") == 3)
        let unlimited = MissBudget(rate: 0)
        unlimited.count("192.0.2.1")
        #expect(unlimited.isUntouched)
    }
}
