import JSON
import Links
import PushModel
import Store
import TestSupport
import Testing

@testable import GatewayAPI

/// How long clicks wait for apps, and what referrals have to keep to, as a project says.
@Suite(.timeLimit(.minutes(2)))
struct LinkLimitTests {
    private static let url = "https://go.example.com/abc"

    @Test(
        "a click is matched without proof within the project's window",
        arguments: [(60, 59, true), (60, 61, false), (120, 119, true), (120, 121, false), (5, 6, false)])
    func heuristic(window: Int, age: Int, isFound: Bool) async throws {
        let links = try await AttributionGateway { $0.windows.heuristic = .seconds(60 * window) }
        _ = try await links.link("abc")
        _ = try links.tap(Self.url)
        links.gateway.clock.advance(by: .seconds(60 * age))
        #expect((try await links.install()["deepLink"] != nil) == isFound)
    }

    @Test("a window that is shorter than another project's is its own")
    func others() async throws {
        let links = try await AttributionGateway()
        var long = LinkSettings(prefixes: [LinkPrefix(host: "other.example.com")])
        long.windows.heuristic = .seconds(6 * 3600)
        links.clicks.index.keepWindows(of: [LinkGateway.project(long, id: "other")])
        #expect(links.clicks.index.window == .seconds(6 * 3600))
        _ = try await links.link("abc")
        _ = try links.tap(Self.url)
        links.gateway.clock.advance(by: .seconds(3601))
        #expect(try await links.install()["deepLink"] == nil && links.clicks.index.count == 1)
    }

    @Test(
        "a click is known by its install referrer for as many days, in memory and after a restart",
        arguments: [(1, 23, true), (1, 25, false), (60, 59 * 24, true), (60, 61 * 24, false)], [true, false])
    func referrer(_ sample: (days: Int, hours: Int, isFound: Bool), isInMemory: Bool) async throws {
        let links = try await AttributionGateway { $0.windows.referrer = .seconds(86_400 * sample.days) }
        _ = try await links.link("abc")
        let id = try links.tap(Self.url, app: AttributionGateway.android)
        await links.clicks.write()
        if !isInMemory { _ = links.clicks.index.take(id) }
        links.gateway.clock.advance(by: .seconds(3600 * sample.hours))
        let found = try await links.install(#","installReferrer":"gl_click=\#(id)""#, bundle: "com.example.droid")
        #expect((found["deepLink"] != nil) == sample.isFound, "\(found)")
    }

    @Test("a click in the clipboard proves a device for as many hours", arguments: [(2, true), (4, false)])
    func clipboard(hours: Int, isProven: Bool) async throws {
        let links = try await AttributionGateway {
            $0.windows.clipboard = .seconds(3 * 3600)
            $0.windows.heuristic = .seconds(60)
        }
        let (url, invitation) = try await invite(links)
        let id = try links.tap(url, invitation: invitation)
        await links.clicks.write()
        links.gateway.clock.advance(by: .seconds(3600 * hours))
        let opened = try await links.install(#","uniqueMatchLinkToCheck":"\#(url)?cid=\#(id)""#)
        // Without the click the link alone is known, which may have been copied.
        #expect(try await converted(opened, links) == (isProven ? "REWARDED" : "CONVERTED"))
    }

    @Test("the third reward of an inviter in a day is one too many where two are allowed")
    func rewards() async throws {
        let links = try await AttributionGateway { $0.referralRules.rewardsPerDay = 2 }
        let (url, invitation) = try await invite(links)
        var states: [String] = []
        for number in 0..<3 {
            let opened = try await open(url, invitation, number, links)
            states.append(try #require(try await converted(opened, links)))
        }
        #expect(states == ["REWARDED", "REWARDED", "REJECTED"])
    }

    @Test(
        "installs by one inviter's invitations are rejected beyond the project's limits",
        arguments: ["address", "hour"])
    func openings(by limit: String) async throws {
        let links = try await AttributionGateway { settings in
            if limit == "address" { settings.referralRules.openingsPerAddress = 1 }
            if limit == "hour" { settings.referralRules.openingsPerHour = 1 }
        }
        let (url, invitation) = try await invite(links)
        var states: [String] = []
        for number in 0..<2 {
            let opened = try await open(url, invitation, number, links)
            states.append(try #require(try await converted(opened, links)))
        }
        #expect(states == ["REWARDED", "REJECTED"])
    }

    /// Alice's link.
    private func invite(_ links: AttributionGateway) async throws -> (url: String, id: InvitationID?) {
        let body = """
            {"inviter":"alice","campaign":"spring",
            "longDynamicLink":"https://go.example.com/?link=https%3A%2F%2Fa.example%2F&ibi=com.example.app"}
            """
        let made = try await links.post("/v1/projects/demo/referral/invitations", body, as: .sender).json
        let id = try #require(made["invitationId"]?.stringValue)
        return (try #require(made["shortLink"]?.stringValue), InvitationID(rawValue: id))
    }

    /// An install that went on a click on it.
    private func open(
        _ url: String, _ invitation: InvitationID?, _ number: Int, _ links: AttributionGateway
    ) async throws -> JSONValue {
        let click = try links.tap(url, invitation: invitation)
        await links.clicks.write()
        return try await links.install(
            #","uniqueMatchLinkToCheck":"\#(url)?cid=\#(click)","installId":"\#(number)""#)
    }

    /// The state of a referral after its conversion.
    private func converted(_ opened: JSONValue, _ links: AttributionGateway) async throws -> String? {
        let id = try #require(opened["referralId"]?.stringValue, "\(opened)")
        let answer = try await links.post(
            "/v1/projects/demo/referral/conversions", #"{"referralId":"\#(id)"}"#, as: .sender)
        return try answer.json["state"]?.stringValue
    }
}
