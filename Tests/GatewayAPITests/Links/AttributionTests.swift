import Foundation
import HTTPListener
import HTTPTypes
import JSON
import Links
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import TestSupport
import Testing

@testable import GatewayAPI

/// `installAttribution` and `reopenAttribution` as the iOS SDK asks.
@Suite(.timeLimit(.minutes(2)))
struct AttributionTests {
    private static let url = "https://go.example.com/abc"

    private func reopen(_ url: String, _ links: AttributionGateway, key: Bool = false) async throws -> Answer {
        try await links.post(
            "/v1/reopenAttribution",
            #"{"requestedLink":"\#(url)","bundle_id":"com.example.app","sdk_version":"10.29.0"}"#, key: key)
    }

    @Test("V11: an installed app gets what a short link holds, with the key in the query")
    func shortLink() async throws {
        let links = try await AttributionGateway()
        _ = try await links.link("abc")
        let answer = try await reopen(Self.url, links, key: true)
        #expect(answer.status == 200, "\(answer.text)")
        let json = try answer.json
        #expect(json["deepLink"] == .string("https://a.example/x") && json["utmSource"] == .string("mail"))
        #expect(json["iosMinAppVersion"] == .string("2.0") && json["invitationId"] == nil)
        #expect(links.counted.events == [.click, .appReopen])
    }

    @Test("V12: a long link under a path prefix and one at the root are answered")
    func longLink() async throws {
        let links = try await AttributionGateway()
        for prefix in ["links.example.com/promo", "links.example.com/promo/", "go.example.com", "go.example.com/"] {
            let answer = try await reopen("https://\(prefix)?link=https%3A%2F%2Fa.example%2Fy&zzz=1", links)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(try answer.json["deepLink"] == .string("https://a.example/y"))
        }
    }

    @Test("an app is not told of targets that are none", arguments: ["u%40evil.example%2F", "evil.example%5Cx"])
    func badTargets(target: String) async throws {
        let links = try await AttributionGateway()
        let url =
            "https://go.example.com/?link=https%3A%2F%2Fa.example%2Fy&apn=com.example.app"
            + "&al=https%3A%2F%2F\(target)&ifl=javascript%3Aalert(1)"
        let reopened = try await links.post(
            "/v1/reopenAttribution",
            #"{"requestedLink":"\#(url)","bundle_id":"com.example.app","android_version":"14"}"#)
        #expect(try reopened.json["deepLink"] == .string("https://a.example/y"), "\(reopened.text)")
        let installed = try await links.post(
            "/v1/installAttribution", #"{"bundleId":"com.example.app","uniqueMatchLinkToCheck":"\#(url)"}"#)
        #expect(try installed.json["fallbackLink"] == nil, "\(installed.text)")
        #expect(try installed.json["deepLink"] == .string("https://a.example/y"))
    }

    @Test("who tries suffixes has to wait as on link hosts, found or not")
    func misses() async throws {
        let links = try await AttributionGateway()
        _ = try await links.link("abc")
        for _ in 0..<60 { #expect(try await reopen("https://go.example.com/none", links).status == 404) }
        #expect(try await reopen("https://go.example.com/none", links).status == 429)
        #expect(try await reopen(Self.url, links).status == 429)
    }

    @Test("a link whose click a page saw is not counted as clicked again")
    func clickOnce() async throws {
        let links = try await AttributionGateway()
        _ = try await links.link("abc")
        let id = try links.tap(Self.url)
        #expect(try await reopen("\(Self.url)?cid=\(id)", links).status == 200)
        #expect(links.counted.events == [.appReopen] && links.clicks.index.count == 0)
    }

    @Test(
        "what is no link of the project has an error object",
        arguments: [
            ("https://go.example.com/none", 404), ("https://evil.example/abc", 400), ("no url", 400),
            ("https://go.example.com/?link=https%3A%2F%2Fevil.example%2F", 400),
            ("https://go.example.com/?link=javascript%3Aalert(1)", 400), ("https://go.example.com/i/none", 404),
        ])
    func refused(url: String, status: Int) async throws {
        let answer = try await reopen(url, try await AttributionGateway())
        #expect(answer.status == status, "\(answer.text)")
        #expect(try answer.json["error"]?["message"] != nil)
    }

    @Test("a blocked link is answered as one that was never made, and an expired one too")
    func gone() async throws {
        let links = try await AttributionGateway()
        let link = try await links.link("abc")
        var change = LinkChange()
        change.state = .blocked
        _ = try await links.gateway.store.change(link.key, of: link.project, change, audit: nil)
        let (blocked, unknown) = (try await reopen(Self.url, links), try await reopen(Self.url + "d", links))
        #expect(blocked.status == 404 && blocked.text == unknown.text)
        change.state = .active
        change.expiresAt = .some(links.gateway.clock.now)
        _ = try await links.gateway.store.change(link.key, of: link.project, change, audit: nil)
        #expect(try await reopen(Self.url, links).text == unknown.text)
    }

    @Test("V13: an install without a click gets a message and the address' version, nothing else")
    func noClick() async throws {
        let json = try await AttributionGateway().install()
        guard case .object(let members) = json else {
            Issue.record("\(json)")
            return
        }
        #expect(members.map(\.name).sorted() == ["matchMessage", "requestIpVersion"])
    }

    @Test("V14: a link from the clipboard is UNIQUE, short and long")
    func clipboard() async throws {
        let links = try await AttributionGateway(heuristic: false)
        _ = try await links.link("abc")
        for shown in [Self.url, "https://go.example.com/?link=https%3A%2F%2Fa.example%2Fx&utm_source=mail&imv=2.0"] {
            let json = try await links.install(#","uniqueMatchLinkToCheck":"\#(shown)""#)
            #expect(json["attributionConfidence"] == .string("UNIQUE"), "\(json)")
            #expect(json["deepLink"] == .string("https://a.example/x") && json["appMinimumVersion"] == .string("2.0"))
            #expect(json["utmSource"] == .string("mail"))
        }
        #expect(links.counted.events == [.appFirstOpen])
        let none = try await links.install(#","uniqueMatchLinkToCheck":"https://go.example.com/none""#)
        #expect(none["deepLink"] == nil)
    }

    @Test("V15 and V17: a click of the same device is DEFAULT, for one install")
    func heuristic() async throws {
        let links = try await AttributionGateway()
        _ = try await links.link("abc")
        _ = try links.tap(Self.url)
        let json = try await links.install()
        #expect(json["attributionConfidence"] == .string("DEFAULT"), "\(json)")
        #expect(json["deepLink"] == .string("https://a.example/x") && json["requestedLink"] == .string(Self.url))
        #expect(try await links.install()["deepLink"] == nil)
        #expect(links.counted.events == [.appFirstOpen])
    }

    @Test("V16: two clicks that are alike on different links are no match")
    func ambiguous() async throws {
        let links = try await AttributionGateway()
        for suffix in ["abc", "abd"] {
            _ = try await links.link(suffix)
            _ = try links.tap("https://go.example.com/\(suffix)")
        }
        #expect(try await links.install()["deepLink"] == nil)
    }

    @Test("an app that did not opt in is matched by proof alone, and clicks older than the window by none")
    func off() async throws {
        let links = try await AttributionGateway(heuristic: false)
        _ = try await links.link("abc")
        let id = try links.tap(Self.url)
        #expect(try await links.install()["deepLink"] == nil)
        let json = try await links.install(#","uniqueMatchLinkToCheck":"\#(Self.url)?cid=\#(id)""#)
        #expect(json["attributionConfidence"] == .string("UNIQUE"))
        let late = try await AttributionGateway()
        _ = try await late.link("abc")
        _ = try late.tap(Self.url)
        late.gateway.clock.advance(by: .seconds(3601))
        #expect(try await late.install()["deepLink"] == nil)
    }

    @Test("a link from the clipboard with its click goes to one install")
    func clipboardClick() async throws {
        let links = try await AttributionGateway()
        _ = try await links.link("abc")
        let shown = #","uniqueMatchLinkToCheck":"\#(Self.url)?cid=\#(try links.tap(Self.url))""#
        #expect(try await links.install(shown)["attributionConfidence"] == .string("UNIQUE"))
        #expect(try await links.install(shown)["deepLink"] == nil)
        // A click that is not known goes to one install too.
        let made = #","uniqueMatchLinkToCheck":"\#(Self.url)?cid=\#(ClickID.random())""#
        #expect(try await links.install(made)["attributionConfidence"] == .string("UNIQUE"))
        #expect(try await links.install(made)["deepLink"] == nil)
    }

    @Test("an Android app shows the install referrer, plain or encoded, once")
    func referrer() async throws {
        let links = try await AttributionGateway()
        _ = try await links.link("abc", "link=https%3A%2F%2Fa.example%2Fx&al=https%3A%2F%2Fa.example%2Fdroid&amv=12")
        for form in ["gl_click=%@&utm_source=mail", "gl_click%3D%@%26utm_source%3Dmail"] {
            let id = try links.tap(Self.url, app: AttributionGateway.android, page: nil)
            let referrer = #","installReferrer":"\#(form.replacing("%@", with: "\(id)"))""#
            let json = try await links.install(referrer, bundle: "com.example.droid")
            #expect(json["attributionConfidence"] == .string("UNIQUE"), "\(json)")
            #expect(
                json["deepLink"] == .string("https://a.example/droid") && json["appMinimumVersion"] == .string("12"))
            #expect(try await links.install(referrer, bundle: "com.example.droid")["deepLink"] == nil)
        }
        #expect(links.counted.events == [.appInstall, .appFirstOpen, .appInstall, .appFirstOpen])
        let other = try links.tap(Self.url, app: AttributionGateway.app)
        let stolen = #","installReferrer":"gl_click=\#(other)""#
        #expect(try await links.install(stolen, bundle: "com.example.droid")["deepLink"] == nil, "another app's click")
    }

    @Test("an install that says its id gets one link: after a reinstall none of before")
    func reinstall() async throws {
        let links = try await AttributionGateway()
        _ = try await links.link("abc")
        let body = #","uniqueMatchLinkToCheck":"\#(Self.url)","installId":"keychain-1""#
        #expect(try await links.install(body)["deepLink"] != nil)
        #expect(try await links.install(body)["deepLink"] == nil)
        #expect(try await links.install(body.replacing("keychain-1", with: "keychain-2"))["deepLink"] != nil)
    }

    @Test("numbers as texts, names in snake_case and unknown fields are taken")
    func forms() async throws {
        let links = try await AttributionGateway()
        _ = try await links.link("abc")
        _ = try links.tap(Self.url)
        let body = """
            {"bundle_id":"com.example.app","app_installation_time":"1767323044","device":{"device_model_name":"iPhone14,5",
            "language_code_from_webview":"","language_code":"en-US","screen_resolution_width":"390",
            "screen_resolution_height":844.0,"timezone":"Asia/Kolkata","fontScale":{"x":[1]}},"ios_version":"17.5.1",
            "visual_style":"DEFAULT_STYLE","extra":{"a":null}}
            """
        let answer = try await links.post("/v1/installAttribution", body)
        #expect(try answer.json["attributionConfidence"] == .string("DEFAULT"), "\(answer.text)")
    }

    @Test("many installs that ask at once share one click as one")
    func concurrency() async throws {
        let links = try await AttributionGateway()
        _ = try await links.link("abc")
        _ = try links.tap(Self.url)
        let winners = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<20 { group.addTask { try await links.install()["deepLink"] == nil ? 0 : 1 } }
            return try await group.reduce(0, +)
        }
        #expect(winners == 1)
    }

    @Test("clicks are there again after a restart, and one that was used up is not")
    func restart() async throws {
        let links = try await AttributionGateway()
        _ = try await links.link("abc")
        _ = try await links.link("abd")
        _ = try links.tap(Self.url)
        await links.clicks.write()
        #expect(try await links.install()["deepLink"] != nil)
        _ = try links.tap("https://go.example.com/abd")
        await links.clicks.write()
        let clock = links.gateway.clock
        let again = ClickRecorder(
            store: links.gateway.store, key: DigestKey(try await links.gateway.store.digestKey()),
            wallTime: { clock.now }, logger: links.gateway.services.logger)
        await again.load()
        #expect(again.index.count == 1)
        let key = DigestKey(try await links.gateway.store.digestKey())
        var services = links.services
        services.request.attribution = LinkAttribution(
            store: links.gateway.store, clicks: again, key: key, count: { _ in })
        let answer = try await links.gateway.request(
            .post, "/v1/installAttribution", AttributionGateway.install(), as: .client,
            headers: [.forwardedFor: "198.51.100.7"], over: services)
        #expect(try answer.json["requestedLink"] == .string("https://go.example.com/abd"), "\(answer.text)")
    }

    @Test("a gateway that can't answer the first start says so in text: SDKs keep the clipboard then")
    func overload() async throws {
        let links = try await AttributionGateway(isBroken: true)
        for path in ["/v1/installAttribution", "/v1/reopenAttribution"] {
            let answer = try await links.post(path, AttributionGateway.install())
            #expect(answer.status == 503)
            let isText = answer.headers[.contentType]?.hasPrefix("text/plain") == true
            #expect(isText == (path == "/v1/installAttribution"), "\(answer.text)")
        }
    }

    @Test("no address, user agent or install id is kept")
    func privacy() async throws {
        let links = try await AttributionGateway()
        _ = try await links.link("abc")
        _ = try links.tap(Self.url)
        await links.clicks.write()
        _ = try await links.install(#","installId":"keychain-1""#)
        try links.gateway.store.close()
        let data = links.gateway.directory.file("data")
        let names = try FileManager.default.contentsOfDirectory(atPath: data)
        var hasClick = false
        for name in names {
            let bytes = try Data(contentsOf: URL(filePath: "\(data)/\(name)"))
            hasClick = hasClick || bytes.range(of: Data(Self.url.utf8)) != nil
            for text in ["198.51.100.7", "keychain-1", "iPhone14,5"] {
                #expect(bytes.range(of: Data(text.utf8)) == nil, "\(text) in \(name)")
            }
        }
        #expect(hasClick)
    }

    @Test("keys without a project's links, unknown apps and missing fields are refused")
    func refusals() async throws {
        let links = try await AttributionGateway()
        let unknown = try await links.post(
            "/v1/installAttribution", AttributionGateway.install(bundle: "com.example.none"))
        #expect(unknown.status == 400)
        #expect(try await links.post("/v1/reopenAttribution", #"{"bundle_id":"com.example.app"}"#).status == 400)
        #expect(try await links.post("/v1/installAttribution", AttributionGateway.install(), as: nil).status == 401)
        let plain = try await links.gateway.request(
            .post, "/v1/installAttribution", AttributionGateway.install(), as: .client)
        #expect(plain.status == 404, "\(plain.text)")
        let project = try await links.post("/v1/projects/demo/receipts", "{}", key: true)
        #expect(project.status == 401, "a key in the query is none elsewhere")
    }
}
