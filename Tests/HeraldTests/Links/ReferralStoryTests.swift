import Foundation
import Simulators
import TestSupport
import Testing

/// The story of an invitation over sockets: link host, preview page, app, backend, and the push to the inviter.
@Suite(.timeLimit(.minutes(5)))
struct ReferralStoryTests {
    private static let longLink =
        "https://go.example.com/?link=https%3A%2F%2Fa.example%2Fwelcome&ibi=com.example.app&isi=1234567890"

    /// A gateway, and what its callers know.
    private struct Scene {
        let test: GatewayUnderTest
        let browser: LinkBrowser
        var process: GatewayProcess

        var backend: APIClient { APIClient(baseURL: process.baseURL, key: test.keys.sender) }
        var app: APIClient { APIClient(baseURL: process.baseURL, key: test.keys.client) }
        var operations: APIClient { APIClient(baseURL: process.baseURL, key: test.keys.admin) }

        func open(_ url: String, posting form: String? = nil) async throws -> LinkBrowser.Page {
            try await browser.open(url, at: process.baseURL, as: .iPhone, posting: form)
        }
    }

    @Test(
        "Alice invites, Bob clicks without the app, installs, opens, is attributed, converts, and Alice is told by a push"
    )
    func story() async throws {
        try await GatewayUnderTest.with { test in
            try test.addLinks()
            var scene = Scene(test: test, browser: LinkBrowser(), process: try await test.start())
            let device = "a11ce".deviceToken
            try await Self.register("alice", on: device, scene)
            let invitation = try await Self.invite(scene)
            let copied = try await Self.click(invitation.url, scene)

            // Days may pass until he installs the app: the gateway is started anew meanwhile.
            #expect(await scene.process.end(with: SIGTERM) == 0)
            scene.process = try await test.start()
            let opened = try await Self.openApp(copied, scene)
            #expect(opened["attributionConfidence"] as? String == "UNIQUE", "\(opened)")
            #expect(opened["deepLink"] as? String == "https://a.example/welcome")
            #expect(opened["invitationId"] as? String == invitation.id)
            // The link in the clipboard goes to one install.
            #expect(try await Self.openApp(copied, scene)["attributionConfidence"] as? String != "UNIQUE")

            let referral = try #require(opened["referralId"] as? String)
            let notice = try await Self.convert(referral, scene)
            await test.simulator.recording.wait(untilCount: 1)
            #expect(try await Self.convert(referral, scene) == notice, "the same message: Alice is told once")
            let report = try await WholeGatewayTests.completeReport(notice, scene.process, test.keys)
            #expect(try WholeGatewayTests.ledger(report)["accepted"] == 1)
            try Self.expectPush(to: device, referral, test)
            try await Self.expectHistory(scene)
            try await scene.browser.shutdown()
            #expect(await scene.process.end(with: SIGTERM) == 0)
        }
    }

    // MARK: Steps

    private static func register(_ user: String, on device: String, _ scene: Scene) async throws {
        let answer = try await scene.operations.post(
            "/v1/projects/demo/registrations",
            #"{"ios":{"apns_token":"\#(device)","bundle_id":"com.example.app","apns_environment":"PROD"},"user":"\#(user)"}"#
        )
        #expect(answer.status == 200, "\(answer.text)")
    }

    /// Alice's backend makes her link.
    private static func invite(_ scene: Scene) async throws -> (id: String, url: String) {
        let answer = try await scene.backend.post(
            "/v1/projects/demo/referral/invitations",
            #"{"inviter":"alice","campaign":"spring","longDynamicLink":"\#(longLink)","#
                + #""notice":{"title":"Bob is in","body":"Your month is free"}}"#)
        let id = try #require(try answer.json["invitationId"] as? String, "\(answer.text)")
        let url = try #require(try answer.json["shortLink"] as? String)
        #expect(url == "https://go.example.com/i/\(id)")
        return (id, url)
    }

    /// Bob taps the link on a phone without the app: the preview page copies it and leads to the store.
    ///
    /// - Returns: what is in his clipboard.
    private static func click(_ url: String, _ scene: Scene) async throws -> String {
        let redirect = try await scene.open(url)
        let preview = try #require(redirect.location, "\(redirect)")
        #expect(redirect.status == 302 && preview.hasPrefix("https://preview.example.com/go.example.com/i/"))
        let page = try await scene.open(preview)
        #expect(page.status == 200)
        let report = try #require(page.attribute("data-report"), "\(page.text)")
        let form = "width=390&height=844&language=en-GB&timeZone=Europe%2FBerlin&saved=1"
        #expect(try await scene.open("https://preview.example.com" + report, posting: form).status == 204)
        let button = try #require(page.attribute("href"))
        let store = try await scene.open(button)
        #expect(store.status == 302 && store.location?.hasPrefix("https://apps.apple.com/app/id1234567890") == true)
        return try #require(page.attribute("data-copied"))
    }

    /// The app's first start, as the SDK reports it: without the mark of the clipboard.
    private static func openApp(_ copied: String, _ scene: Scene) async throws -> [String: Any] {
        #expect(copied.hasSuffix("_icp=1"))
        let link = copied.dropLast("&_icp=1".count)
        let answer = try await scene.app.post(
            "/v1/installAttribution",
            #"{"bundleId":"com.example.app","uniqueMatchLinkToCheck":"\#(link)","device":{"deviceModelName":"iPhone15,2","#
                + #""languageCodeFromWebview":"en-GB","screenResolutionWidth":390,"screenResolutionHeight":844,"#
                + #""timezone":"Europe/Berlin"},"iosVersion":"17.5.1","visualStyle":0,"retrievalMethod":1}"#)
        #expect(answer.status == 200, "\(answer.text)")
        return try answer.json
    }

    /// Bob does what the campaign is for.
    ///
    /// - Returns: the name of the message to Alice.
    private static func convert(_ referral: String, _ scene: Scene) async throws -> String {
        let answer = try await scene.backend.post(
            "/v1/projects/demo/referral/conversions", #"{"referralId":"\#(referral)","invitee":"bob"}"#)
        #expect(try answer.json["state"] as? String == "REWARDED", "\(answer.text)")
        return try #require(try answer.json["inviterNotice"] as? String, "\(answer.text)")
    }

    private static func expectPush(to device: String, _ referral: String, _ test: GatewayUnderTest) throws {
        let pushes = test.simulator.recording.pushes
        #expect(pushes.map(\.deviceToken) == [device])
        let payload = try #require(
            try JSONSerialization.jsonObject(with: Data((pushes.first?.payload ?? "").utf8)) as? [String: Any])
        let alert = (payload["aps"] as? [String: Any])?["alert"] as? [String: String]
        #expect(alert == ["title": "Bob is in", "body": "Your month is free"])
        #expect(payload["referralId"] as? String == referral && payload["state"] as? String == "REWARDED")
    }

    /// Each step is an event, and is counted.
    private static func expectHistory(_ scene: Scene) async throws {
        let events = try await scene.operations.get("/v1/projects/demo/events")
        let types = try #require(try events.json["events"] as? [[String: Any]]).compactMap { $0["type"] as? String }
        #expect(
            types.filter { $0.hasPrefix("referral.") }
                == ["invited", "clicked", "installed", "firstOpen", "converted", "rewarded"].map { "referral.\($0)" })
        let stats = try await scene.backend.get("/v1/projects/demo/referral/stats?inviter=alice")
        let row = try #require((try stats.json["referralStats"] as? [[String: String]])?.first, "\(stats.text)")
        for name in ["clicked", "installed", "firstOpened", "converted", "rewarded"] {
            #expect(row[name] == "1", "\(row)")
        }
        #expect(row["pending"] == "0")
    }
}
