import Delivery
import HTTPTypes
import JSON
import Links
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Testing

@testable import GatewayAPI

/// Links in messages become short links of the messages, and their clicks stand in the reports.
@Suite(.timeLimit(.minutes(5)))
struct TrackedLinkTests {
    private static let send = "/v1/projects/demo/messages:send"
    private static let target = "https://a.example/p/1?id=7"
    private static let demo = ProjectID(rawValue: "demo")!

    private func gateway(tracks: Bool = true) async throws -> LinkGateway {
        var settings = LinkGateway.settings
        settings.tracksMessages = tracks
        return try await LinkGateway(settings)
    }

    private func message(
        to recipient: String = #""topic":"news""#, _ link: String = target, label: String? = nil, key: String = "link"
    ) -> String {
        let options = label.map { #","fcm_options":{"analytics_label":"\#($0)"}"# } ?? ""
        return #"{"message":{\#(recipient),"notification":{"title":"Hi"},"data":{"\#(key)":"\#(link)"}\#(options)}}"#
    }

    /// What a message that was accepted says.
    private func content(_ name: String, _ gateway: LinkGateway) async throws -> JSONValue {
        let id = try #require(MessageID(rawValue: String(name.split(separator: "/").last ?? "")))
        let message = try #require(try await gateway.gateway.store.message(id, in: Self.demo))
        return try JSONValue(parsing: message.body.bytes)
    }

    private func report(_ name: String, _ gateway: LinkGateway) async throws -> [JSONValue] {
        let id = name.split(separator: "/").last ?? ""
        return try await gateway.call(.get, "/v1/projects/demo/messages/\(id)", as: .sender).list("links") ?? []
    }

    /// The links of the project, the newest first.
    private func links(_ gateway: LinkGateway) async throws -> [Link] {
        try await gateway.gateway.store.links(
            of: Self.demo, LinkFilter(visibilities: Set(LinkVisibility.allCases)), after: nil, limit: 2000
        ).elements
    }

    /// Sends a message and returns its name, and the link that it says.
    private func sent(_ body: String, _ gateway: LinkGateway) async throws -> (name: String, link: String) {
        let answer = try await gateway.call(.post, Self.send, body, as: .sender)
        let name = try #require(try answer.json["name"]?.stringValue, "\(answer.text)")
        return (name, try #require(try await content(name, gateway)["data"]?["link"]?.stringValue))
    }

    @Test("a link in a message becomes a short link, whose clicks and opens stand in the message's report")
    func story() async throws {
        let gateway = try await gateway()
        let token = try await gateway.gateway.register().token
        let (name, link) = try await sent(message(to: #""token":"\#(token)""#, label: "spring"), gateway)
        #expect(link.wholeMatch(of: /https:\/\/go\.example\.com\/[0-9A-Za-z]{17}/) != nil, "\(link)")
        #expect(
            try await gateway.open(link).headers[.location]
                == Self.target + "&utm_source=herald&utm_medium=push&utm_campaign=spring")
        #expect(try await gateway.open(link, .twitterbot).status == 200)
        let reopened = try await gateway.call(
            .post, "/v1/reopenAttribution", #"{"requestedLink":"\#(link)","bundle_id":"com.example.app"}"#, as: .client)
        #expect(try reopened.json["deepLink"] == .string(Self.target), "\(reopened.text)")
        #expect(try reopened.json["utmCampaign"] == .string("spring"))
        await gateway.flush()
        let found = try #require(try await report(name, gateway).first)
        #expect(
            String(decoding: found.bytes, as: UTF8.self)
                == #"{"shortLink":"\#(link)","link":"\#(Self.target)","clicks":2,"redirects":1,"appInstalls":0,"#
                + #""appFirstOpens":0,"appReopens":1}"#)
        let stats = try await gateway.call(
            .get, "/v1/\(link.replacing(":", with: "%3A").replacing("/", with: "%2F"))/linkStats", as: .sender)
        #expect(stats.text.contains(#""event":"APP_RE_OPEN""#))
        // Lists have no links: each costs a read.
        let list = try await gateway.call(.get, "/v1/projects/demo/messages", as: .sender).list("messages")
        #expect(list?.count == 1 && list?.first?["links"] == nil)
    }

    /// The ways of a message into the gateway, and how many messages each makes.
    static let ways: [(path: String, body: String, messages: Int)] = [
        (send, #"{"message":{"token":"TOKEN",DATA}}"#, 1), (send, #"{"message":{"topic":"news",DATA}}"#, 1),
        (send, #"{"message":{"condition":"'a' in topics","data":{"url":"LINK"}}}"#, 1),
        (send, #"{"message":{DATA},"target":{"user":"alice"}}"#, 1),
        (
            "/v1/projects/demo/messages:batchSend",
            #"{"messages":[{"message":{"topic":"a",DATA}},{"message":{"topic":"b",DATA}}]}"#, 2
        ),
        ("/v1/projects/demo/messages:batchSend", #"{"message":{DATA},"tokens":["TOKEN","OTHER"]}"#, 1),
        ("/fcm/send", #"{"to":"TOKEN",DATA}"#, 1), ("/fcm/send", #"{"registration_ids":["TOKEN","OTHER"],DATA}"#, 2),
        ("/fcm/send", #"{"to":"/topics/news",DATA}"#, 1),
        ("/fcm/send", #"{"to":"TOKEN","notification":{"title":"Hi","click_action":"LINK"}}"#, 1),
        ("/batch", #"{"message":{"topic":"news",DATA}}"#, 1),
    ]

    @Test("each message has a short link of its own, whichever way it came", arguments: ways)
    func way(path: String, body: String, messages: Int) async throws {
        let gateway = try await gateway()
        let tokens = [try await register("01", gateway), try await register("02", gateway)]
        let text = body.replacing("DATA", with: #""data":{"link":"LINK"}"#).replacing("LINK", with: Self.target)
            .replacing("TOKEN", with: tokens[0]).replacing("OTHER", with: tokens[1])
        let answer =
            path == "/batch" ? try await batch(text, gateway) : try await gateway.call(.post, path, text, as: .sender)
        #expect(answer.status == 200, "\(answer.text)")
        let links = try await links(gateway)
        #expect(links.count == messages && links.allSatisfy { $0.kind == .tracked && $0.visibility == .neverShown })
        let reports = try await gateway.gateway.store.reports(in: Self.demo, after: nil, limit: 9).elements
        #expect(reports.count == messages)
        var found: Set<String> = []
        for message in reports {
            let name = message.message.id.rawValue
            let shown = try await report(name, gateway)
            let link = try #require(shown.first?["shortLink"]?.stringValue)
            #expect(shown.count == 1 && shown[0]["link"] == .string(Self.target))
            let content = String(decoding: try await content(name, gateway).bytes, as: UTF8.self)
            #expect(content.contains(link) && !content.contains(Self.target), "\(content)")
            found.insert(link)
        }
        #expect(found.count == messages)
    }

    private func register(_ device: String, _ gateway: LinkGateway) async throws -> String {
        let answer = try await gateway.call(
            .post, "/v1/projects/demo/registrations",
            #"{"ios":{"apns_token":"\#(device.deviceToken)","bundle_id":"com.example.app"},"user":"alice"}"#)
        return try #require(try answer.json["token"]?.stringValue, "\(answer.text)")
    }

    private func batch(_ body: String, _ gateway: LinkGateway) async throws -> Answer {
        let part = """
            --part\r\nContent-Type: application/http\r\n\r\nPOST \(Self.send) HTTP/1.1\r\nContent-Length: \
            \(body.utf8.count)\r\nContent-Type: application/json\r\n\r\n\(body)\r\n--part--\r\n
            """
        return try await gateway.call(
            .post, "/batch", part, as: .sender, headers: [.contentType: "multipart/mixed; boundary=part"])
    }

    static let campaigns: [(link: String, label: String?, parameters: String)] = [
        (target, "spring", "link=LINK&utm_campaign=spring&utm_medium=push&utm_source=herald"),
        (target, nil, "link=LINK&utm_medium=push&utm_source=herald"),
        ("https://a.example/?utm_source=mail", "spring", "link=LINK"),
        ("https://a.example/?x=1&utm_id=mail#f", "spring", "link=LINK"),
        (
            "https://a.example/utm_guide?x=utm_source?utm_a", "spring",
            "link=LINK&utm_campaign=spring&utm_medium=push&utm_source=herald"
        ),
        (
            "https://a.example/?xutm_a=1#?utm_source=x", "spring",
            "link=LINK&utm_campaign=spring&utm_medium=push&utm_source=herald"
        ),
        (
            "https://go.example.com/?link=https%3A%2F%2Fa.example%2F&utm_term=t", "spring",
            "link=https%3A%2F%2Fa.example%2F&utm_term=t"
        ),
        (
            "https://links.example.com/promo?link=https%3A%2F%2Fa.example%2F&ibi=com.example.app&imv=2", "spring",
            "ibi=com.example.app&imv=2&link=https%3A%2F%2Fa.example%2F&utm_campaign=spring&utm_medium=push&utm_source=herald"
        ),
    ]

    @Test("a link is tagged with the message's campaign, unless it has one", arguments: campaigns)
    func campaign(link: String, label: String?, parameters: String) async throws {
        let gateway = try await gateway()
        _ = try await sent(message(link, label: label), gateway)
        let made = try #require(try await links(gateway).first)
        var plain = LinkParameters()
        plain[.link] = link
        #expect(made.parameters == parameters.replacing("link=LINK", with: plain.query), "\(made.parameters)")
        #expect(made.key.prefix == (link.contains("promo") ? "links.example.com/promo" : "go.example.com"))
    }

    @Test("a link whose parameters have room for no campaign does without")
    func noRoomForCampaign() async throws {
        let gateway = try await gateway()
        let link = "https://a.example/" + String(repeating: "/", count: 5450)
        let label = String(repeating: "L", count: 50)
        _ = try await sent(message(link, label: label), gateway)
        var plain = LinkParameters()
        plain[.link] = link
        #expect(plain.query.utf8.count <= 16_384 && plain.query.utf8.count + label.utf8.count > 16_384)
        #expect(try await links(gateway).first?.parameters == plain.query)
    }

    @Test("a short link of the project is not wrapped: the message's says what it says, until the same end")
    func ownShortLink() async throws {
        let gateway = try await gateway()
        let body = """
            {"name":"spring","expirationTime":"2027-06-01T00:00:00Z","suffix":{"option":"CUSTOM","customSuffix":"spring"},
            "dynamicLinkInfo":{"domainUriPrefix":"https://links.example.com/promo","link":"https://a.example/spring",
            "iosInfo":{"iosBundleId":"com.example.app"}}}
            """
        #expect(try await gateway.call(.post, "/v1/managedShortLinks:create", body).status == 200)
        let (name, link) = try await sent(message("https://links.example.com/promo/spring", label: "may"), gateway)
        #expect(link.hasPrefix("https://links.example.com/promo/") && !link.hasSuffix("/spring"))
        let (made, original) = (try await links(gateway)[0], try await links(gateway)[1])
        #expect(original.key.suffix == "spring" && made.expiresAt == original.expiresAt && made.name == nil)
        #expect(
            made.parameters == original.parameters + "&utm_campaign=may&utm_medium=push&utm_source=herald",
            "\(made.parameters)")
        #expect(try await gateway.open(link).headers[.location]?.hasPrefix("https://a.example/spring?utm") == true)
        await gateway.flush()
        #expect(try await report(name, gateway).first?["clicks"] == .number("1"))
        #expect(try await gateway.gateway.store.counts(of: original.id, days: 0...100_000).isEmpty)
    }

    @Test("what the project does not allow, and what is no link, stays as it is")
    func untouched() async throws {
        let gateway = try await gateway()
        let blocked = try await gateway.shorten("https://go.example.com/?link=https%3A%2F%2Fa.example%2Fb")
        let path = blocked.replacing(":", with: "%3A").replacing("/", with: "%2F")
        let flagged = #"{"flaggedAttribute":["SPAM"]}"#
        #expect(try await gateway.call(.patch, "/v1/managedShortLinks/\(path)", flagged).status == 200)
        let count = try await links(gateway).count
        for link in [
            "https://evil.example/", "https://a.example@evil.example/", "javascript:alert(1)", "myapp://open?x=1",
            "p/1",
            "https://go.example.com/?link=https%3A%2F%2Fevil.example", "https://go.example.com/i/alice",
            "https://go.example.com/none", "https://preview.example.com/go.example.com/x", blocked,
            "https://go.example.com/?link=https%3A%2F%2Fa.example&d=1",
        ] {
            let (name, kept) = try await sent(message(link), gateway)
            #expect(kept == link)
            #expect(try await report(name, gateway).isEmpty)
        }
        #expect(try await links(gateway).count == count)
    }

    @Test("a message with several links has a short link for each, and one for those that are the same")
    func several() async throws {
        let gateway = try await gateway()
        let body = """
            {"message":{"topic":"news","data":{"url":"https://a.example/1","link":"https://a.example/2"},
            "webpush":{"fcm_options":{"link":"https://a.example/1"}},
            "android":{"notification":{"click_action":"https://evil.example/"}}}}
            """
        let (name, second) = try await sent(body, gateway)
        let content = try await content(name, gateway)
        let shown = try await report(name, gateway)
        #expect(shown.map { $0["link"] } == [.string("https://a.example/1"), .string("https://a.example/2")])
        #expect(content["data"]?["url"] == shown[0]["shortLink"] && shown[1]["shortLink"] == .string(second))
        #expect(content["webpush"]?["fcm_options"]?["link"] == shown[0]["shortLink"])
        #expect(content["android"]?["notification"]?["click_action"] == .string("https://evil.example/"))
    }

    @Test("what is not sent makes no link: a check, a repeat, a refusal, and a project that does not track")
    func nothingMade() async throws {
        let gateway = try await gateway()
        let check = String(message().dropLast()) + #","validate_only":true}"#
        #expect(try await gateway.call(.post, Self.send, check, as: .sender).status == 200)
        let dry = #"{"to":"/topics/news","dry_run":true,"data":{"link":"\#(Self.target)"}}"#
        #expect(try await gateway.call(.post, "/fcm/send", dry, as: .sender).status == 200)
        let unknown = message(to: #""token":"abcdefgh:APA91bunknown""#)
        #expect(try await gateway.call(.post, Self.send, unknown, as: .sender).status == 404)
        let large = message().replacing("Hi", with: String(repeating: "x", count: 4100))
        #expect(try await gateway.call(.post, Self.send, large, as: .sender).status == 400)
        #expect(try await links(gateway).isEmpty)
        var names: Set<String> = []
        for _ in 0..<3 {
            let answer = try await gateway.call(
                .post, Self.send, message(), as: .sender, headers: [.idempotencyKey: "k"])
            names.insert(try #require(try answer.json["name"]?.stringValue))
        }
        #expect(names.count == 1)
        #expect(try await links(gateway).count == 1)
        let plain = try await self.gateway(tracks: false)
        #expect(try await sent(message(), plain).link == Self.target)
        #expect(try await links(plain).isEmpty)
    }

    @Test("a check counts the payload with its short links, as a send does")
    func checkedSize() async throws {
        let gateway = try await gateway()
        let text = message(to: #""topic":"news""#, "https://a.example/" + String(repeating: "p", count: 500))
        let check = try await gateway.call(
            .post, Self.send, String(text.dropLast()) + #","validate_only":true}"#, as: .sender)
        let size = try #require(check.text.firstMatch(of: /"payloadBytes":\{[^}]*?(\d+)/)?.1)
        #expect(try #require(Int(size)) < 200, "\(check.text)")
    }

    @Test("a report has where a link leads now, and the clicks of all its time")
    func changedLink() async throws {
        let gateway = try await gateway()
        let (name, link) = try await sent(message(), gateway)
        _ = try await gateway.open(link)
        let path = link.replacing(":", with: "%3A").replacing("/", with: "%2F")
        let other = "https://go.example.com/?link=https%3A%2F%2Fa.example%2Fnew"
        let changed = try await gateway.call(
            .patch, "/v1/managedShortLinks/\(path)", #"{"longDynamicLink":"\#(other)"}"#)
        #expect(changed.status == 200, "\(changed.text)")
        _ = try await gateway.open(link)
        await gateway.flush()
        let found = try #require(try await report(name, gateway).first)
        #expect(found["link"] == .string("https://a.example/new") && found["clicks"] == .number("2"))
    }

    @Test("of a message whose prefix is gone the report still names its link")
    func formerPrefix() async throws {
        let gateway = try await gateway()
        let (name, link) = try await sent(message(), gateway)
        gateway.gateway.services.request.projects.replace(with: [
            LinkGateway.project(LinkSettings(prefixes: [LinkPrefix(host: "new.example.com")]))
        ])
        #expect(try await report(name, gateway).first?["shortLink"] == .string(link))
    }
}
