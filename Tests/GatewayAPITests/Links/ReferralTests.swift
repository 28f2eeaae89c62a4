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

/// Invitations over the API.
@Suite(.timeLimit(.minutes(2)))
struct ReferralTests {
    private static let longLink =
        "https://go.example.com/?link=https%3A%2F%2Fa.example%2Fwelcome&ibi=com.example.app&apn=com.example.droid"

    private func invite(
        _ links: AttributionGateway, _ inviter: String = "alice", campaign: String = "spring", as role: Role = .sender
    ) async throws -> Answer {
        try await links.post(
            "/v1/projects/demo/referral/invitations",
            """
            {"inviter":"\(inviter)","campaign":"\(campaign)","longDynamicLink":"\(Self.longLink)",
            "notice":{"title":"Bob is in","body":"Your month is free"}}
            """, as: role)
    }

    private func convert(_ links: AttributionGateway, _ body: String, as role: Role = .sender) async throws -> Answer {
        try await links.post("/v1/projects/demo/referral/conversions", body, as: role)
    }

    private func registered(_ links: AttributionGateway, _ user: String) async throws -> Registration {
        try await links.gateway.store.register(
            RegistrationRequest(
                project: #require(ProjectID(rawValue: "demo")), app: AttributionGateway.app.id,
                address: .apple(#require(DeviceToken(hex: "a1".deviceToken)), .production), appVersion: nil,
                owner: .user(#require(UserID(rawValue: user)))), at: TestGateway.startTime
        ).registration
    }

    @Test("Alice invites, Bob clicks without the app, installs, opens, is attributed, converts, and Alice is told once")
    func story() async throws {
        let links = try await AttributionGateway()
        let alice = try await registered(links, "alice")
        // Alice's backend makes her link.
        let invitation = try await invite(links).json
        let id = try #require(invitation["invitationId"]?.stringValue)
        let url = try #require(invitation["shortLink"]?.stringValue)
        #expect(url == "https://go.example.com/i/\(id)" && !url.contains("alice"))
        // Bob taps it; the page puts it with its click into the clipboard.
        let click = try links.tap(url, invitation: InvitationID(rawValue: id))
        await links.clicks.write()
        // He installs the app and opens it.
        let opened = try await links.install(#","uniqueMatchLinkToCheck":"\#(url)?cid=\#(click)""#)
        #expect(opened["attributionConfidence"] == .string("UNIQUE"), "\(opened)")
        #expect(opened["invitationId"] == .string(id) && opened["deepLink"] == .string("https://a.example/welcome"))
        let referral = try #require(opened["referralId"]?.stringValue)
        // He does what the campaign is for.
        let body = #"{"referralId":"\#(referral)","invitee":"bob"}"#
        let converted = try await convert(links, body)
        #expect(try converted.json["state"] == .string("REWARDED"), "\(converted.text)")
        let notice = try #require(try converted.json["inviterNotice"])
        // Alice is told, once.
        #expect(try await convert(links, body).json["inviterNotice"] == notice)
        let claimed = try await links.gateway.claim(.interactive)
        #expect(claimed.map(\.registration.key) == [alice.key])
        let events = try await links.gateway.request(.get, "/v1/projects/demo/events", over: links.services)
        let types = try #require(try events.list("events")).compactMap { $0["type"]?.stringValue }
        #expect(
            types.filter { $0.hasPrefix("referral.") }
                == ["invited", "clicked", "installed", "firstOpen", "converted", "rewarded"].map { "referral.\($0)" })
        let stats = try await links.gateway.request(
            .get, "/v1/projects/demo/referral/stats?inviter=alice", as: .sender, over: links.services)
        let row = try #require(try stats.list("referralStats")?.first)
        #expect(row["clicked"] == .string("1") && row["rewarded"] == .string("1") && row["pending"] == .string("0"))
    }

    @Test("an invitation is one for each inviter and campaign, and made and converted by backends only")
    func roles() async throws {
        let links = try await AttributionGateway()
        let first = try await invite(links)
        let again = try await invite(links)
        #expect(first.status == 200 && again.text == first.text, "\(first.text)")
        let second = try await invite(links, campaign: "summer").json
        #expect(try second["invitationId"] != first.json["invitationId"] && second["code"] == first.json["code"])
        #expect(try await invite(links, as: .client).status == 403)
        #expect(try await convert(links, #"{"referralId":"x"}"#, as: .client).status == 403)
        let legacy = try await links.post(
            "/v1/convertInvitation", #"{"invitationId":{"id":"x"},"containerClientId":{"type":"IOS"}}"#, key: true)
        #expect(legacy.status == 403)
    }

    @Test("an invitation is resolved under every prefix of the project, as it opens there")
    func everyPrefix() async throws {
        let links = try await AttributionGateway()
        let invitation = try await invite(links).json
        let id = try #require(invitation["invitationId"]?.stringValue)
        let url = "https://links.example.com/promo/i/\(id)"
        let reopened = try await links.post(
            "/v1/reopenAttribution", #"{"requestedLink":"\#(url)","bundle_id":"com.example.app"}"#)
        #expect(reopened.status == 200, "\(reopened.text)")
        #expect(try reopened.json["invitationId"] == .string(id))
        let click = try links.tap(url, invitation: InvitationID(rawValue: id))
        let installed = try await links.install(#","uniqueMatchLinkToCheck":"\#(url)?cid=\#(click)""#)
        #expect(installed["invitationId"] == .string(id) && installed["referralId"] != nil, "\(installed)")
    }

    @Test("an installed app gets the invitation's id too")
    func reopen() async throws {
        let links = try await AttributionGateway()
        let invitation = try await invite(links).json
        let url = try #require(invitation["shortLink"]?.stringValue)
        let answer = try await links.post(
            "/v1/reopenAttribution", #"{"requestedLink":"\#(url)","bundle_id":"com.example.app","sdk_version":"1"}"#)
        #expect(try answer.json["invitationId"] == invitation["invitationId"], "\(answer.text)")
    }

    @Test("the body of App Invites converts the one install that waits, and of several none")
    func legacy() async throws {
        let links = try await AttributionGateway()
        let invitation = try await invite(links).json
        let id = try #require(invitation["invitationId"]?.stringValue)
        let url = try #require(invitation["shortLink"]?.stringValue)
        let body = #"{"invitationId":{"id":"\#(id)"},"containerClientId":{"type":"IOS"}}"#
        #expect(try await links.post("/v1/convertInvitation", body, as: .sender).status == 400, "none waits")
        _ = try await links.install(#","uniqueMatchLinkToCheck":"\#(url)","installId":"a""#)
        let answer = try await links.post("/v1/convertInvitation", body, as: .sender)
        // The link alone proves no device: a person decides on the reward.
        #expect(try answer.json["state"] == .string("CONVERTED"), "\(answer.text)")
        for install in ["b", "c"] {
            _ = try await links.install(#","uniqueMatchLinkToCheck":"\#(url)","installId":"\#(install)""#)
        }
        let several = try await links.post("/v1/convertInvitation", body, as: .sender)
        #expect(try several.errorMessage?.contains("referralId") == true, "\(several.text)")
    }

    @Test("a reward that waits is decided on by an admin")
    func decision() async throws {
        let links = try await AttributionGateway()
        let url = try #require(try await invite(links).json["shortLink"]?.stringValue)
        let opened = try await links.install(#","uniqueMatchLinkToCheck":"\#(url)""#)
        let id = try #require(opened["referralId"]?.stringValue)
        #expect(try await convert(links, #"{"referralId":"\#(id)"}"#).json["state"] == .string("CONVERTED"))
        let path = "/v1/projects/demo/referral/referrals/\(id)/decision"
        #expect(try await links.post(path, #"{"decision":"GRANT"}"#, as: .sender).status == 403)
        #expect(try await links.post(path, #"{"decision":"MAYBE"}"#, as: .admin).status == 400)
        #expect(try await links.post(path, #"{"decision":"GRANT"}"#, as: .admin).json["state"] == .string("REWARDED"))
        let other = "/v1/projects/demo/referral/referrals/\(ReferralID.random())/decision"
        #expect(try await links.post(other, #"{"decision":"GRANT"}"#, as: .admin).status == 404)
    }

    @Test("a user is forgotten with their invitations")
    func erase() async throws {
        let links = try await AttributionGateway()
        let url = try #require(try await invite(links).json["shortLink"]?.stringValue)
        let answer = try await links.gateway.request(
            .delete, "/v1/projects/demo/referral/users/alice", over: links.services)
        #expect(try answer.json["erased"] == .integer(1), "\(answer.text)")
        #expect(try await links.install(#","uniqueMatchLinkToCheck":"\#(url)""#)["deepLink"] == nil)
    }

    @Test(
        "what is wrong with an invitation is named",
        arguments: [
            (#"{"campaign":"c","longDynamicLink":"\#(longLink)"}"#, "inviter"),
            (#"{"inviter":"a","campaign":"a b","longDynamicLink":"\#(longLink)"}"#, "campaign"),
            (#"{"inviter":"a","campaign":"c","longDynamicLink":"https://go.example.com/abc"}"#, "longDynamicLink"),
            (
                #"{"inviter":"a","campaign":"c","longDynamicLink":"https://go.example.com/?link=https%3A%2F%2Fevil.example"}"#,
                "longDynamicLink"
            ), (#"{"inviter":"a","campaign":"c","longDynamicLink":"\#(longLink)","notice":{"title":"x"}}"#, "notice"),
        ])
    func broken(body: String, field: String) async throws {
        let links = try await AttributionGateway()
        let answer = try await links.post("/v1/projects/demo/referral/invitations", body, as: .sender)
        #expect(answer.status == 400)
        #expect(try answer.badFields == [field], "\(answer.text)")
    }
}
