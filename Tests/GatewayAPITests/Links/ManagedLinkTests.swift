import HTTPTypes
import JSON
import Links
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Testing

@testable import GatewayAPI

/// `managedShortLinks`, and `linkStats`.
@Suite(.timeLimit(.minutes(5)))
struct ManagedLinkTests {
    private static func path(_ url: String) -> String {
        url.replacing("%", with: "%25").replacing(":", with: "%3A").replacing("/", with: "%2F")
    }

    private static func body(_ more: String = "", name: String = "Spring") -> String {
        #"""
        {"name":"\#(name)","dynamicLinkInfo":{"domainUriPrefix":"https://go.example.com","link":"https://a.example/x",
        "iosInfo":{"iosBundleId":"com.example.app"},"navigationInfo":{"enableForcedRedirect":true}}\#(more)}
        """#
    }

    private static func make(_ gateway: LinkGateway, _ body: String) async throws -> String {
        let answer = try await gateway.call(.post, "/v1/managedShortLinks:create", body, as: .sender)
        return try #require(try answer.json["managedShortLink"]?["link"]?.stringValue, "\(answer.text)")
    }

    @Test("a managed link has a name, a suffix that may be chosen, and is shown as it was made")
    func creation() async throws {
        let gateway = try await LinkGateway()
        let answer = try await gateway.call(
            .post, "/v1/managedShortLinks:create",
            Self.body(
                #","suffix":{"option":"CUSTOM","customSuffix":"spring-26"},"expirationTime":"2026-02-01T00:00:00Z""#))
        let link = try #require(try answer.json["managedShortLink"], "\(answer.text)")
        #expect(link["link"] == .string("https://go.example.com/spring-26"))
        #expect(link["linkName"] == .string("Spring") && link["visibility"] == .string("UNARCHIVED"))
        #expect(link["creationTime"] == .string(TestGateway.startText))
        #expect(link["expirationTime"] == .string("2026-02-01T00:00:00.000Z"))
        #expect(link["info"]?["domainUriPrefix"] == .string("https://go.example.com"))
        #expect(link["info"]?["iosInfo"]?["iosBundleId"] == .string("com.example.app"))
        #expect(link["info"]?["navigationInfo"]?["enableForcedRedirect"] == .bool(true))
        #expect(try answer.json["previewLink"] == .string("https://go.example.com/spring-26?d=1"))
        let again = try await gateway.call(
            .post, "/v1/managedShortLinks:create", Self.body(#","suffix":{"option":3,"customSuffix":"spring-26"}"#))
        #expect(again.status == 409)
        #expect(try again.errorStatus == "ALREADY_EXISTS")
        let audit = "/v1/projects/demo/audit?filter=action%3Dlink.create"
        let entries = try await gateway.call(.get, audit).list("entries")
        #expect(entries?.map { $0["subject"] } == [.string("go.example.com/spring-26")])
    }

    @Test(
        "what a managed link can't have is refused",
        arguments: [
            (#","suffix":{"option":"CUSTOM","customSuffix":"robots"}"#, "suffix.customSuffix"),
            (#","suffix":{"option":"CUSTOM","customSuffix":"a b"}"#, "suffix.customSuffix"),
            (#","suffix":{"option":"CUSTOM"}"#, "suffix.customSuffix"),
            (#","suffix":{"option":"4"}"#, "suffix.option"), (#","suffix":{"option":"03"}"#, "suffix.option"),
            (#","suffix":{"option":"SHORT","customSuffix":"x"}"#, "suffix.customSuffix"),
            (#","linkName":"Another""#, "linkName"), (#","name":"a\u0000b""#, "name"),
            (#","expirationTime":"2020-01-01T00:00:00Z""#, "expirationTime"),
            (#","name":"""#, "name"),
        ])
    func refusal(more: String, field: String) async throws {
        let gateway = try await LinkGateway()
        let answer = try await gateway.call(.post, "/v1/managedShortLinks:create", Self.body(more))
        #expect(answer.status == 400)
        #expect(try answer.badFields == [field], "\(answer.text)")
    }

    @Test(
        "a suffix whose path belongs to another prefix of the host would never open, and is refused",
        arguments: [
            ("promo", "https://go.example.com/promo"), ("code", "https://go.example.com/code/qr"),
            ("vip", "in use on go.example.com"), ("promotion", nil), ("vip2", nil),
        ])
    func takenPath(suffix: String, problem: String?) async throws {
        let gateway = try await LinkGateway()
        func settings(_ prefixes: String...) -> LinkSettings {
            LinkSettings(prefixes: prefixes.compactMap { LinkPrefix(rawValue: $0) }, targets: ["a.example"])
        }
        let own = settings("https://go.example.com", "https://go.example.com/promo", "https://go.example.com/code/qr")
        try gateway.hosts.replace(with: [
            LinkGateway.project(own), LinkGateway.project(settings("https://go.example.com/vip/qr"), id: "other"),
        ])
        let answer = try await gateway.call(
            .post, "/v1/managedShortLinks:create",
            Self.body(#","suffix":{"option":"CUSTOM","customSuffix":"\#(suffix)"}"#))
        guard let problem else {
            #expect(answer.status == 200, "\(answer.text)")
            #expect(try await gateway.open("https://go.example.com/\(suffix)", method: .head).status == 302)
            return
        }
        #expect(answer.status == 400)
        #expect(try answer.badFields == ["suffix.customSuffix"])
        #expect(try answer.errorMessage?.contains(problem) == true, "\(answer.text)")
        // Whose path it is, is no caller's business.
        #expect(!answer.text.contains("vip/qr") && !answer.text.contains("other"))
    }

    @Test("two managed links from the same are two, and plain ones are not in the list")
    func list() async throws {
        let gateway = try await LinkGateway()
        let first = try await Self.make(gateway, Self.body())
        let second = try await Self.make(gateway, Self.body(name: "Summer"))
        let plain = try await gateway.shorten("https://go.example.com/?link=https%3A%2F%2Fa.example%2Fx")
        #expect(Set([first, second, plain]).count == 3)
        func links(_ query: String = "") async throws -> [String] {
            try (await gateway.call(.get, "/v1/managedShortLinks" + query).list("managedShortLinks") ?? [])
                .compactMap { $0["link"]?.stringValue }
        }
        #expect(try await links() == [second, first])
        #expect(try await links("?visibility=NEVER_SHOWN") == [plain])
        #expect(try await links("?domainUriPrefix=https%3A%2F%2Flinks.example.com%2Fpromo") == [])
        #expect(try await gateway.call(.get, "/v1/managedShortLinks?visibility=ALL").status == 400)
        let page = try await gateway.call(.get, "/v1/managedShortLinks?pageSize=1")
        let token = try #require(try page.json["nextPageToken"]?.stringValue)
        #expect(try await links("?pageSize=1&pageToken=\(token)") == [first])
        let archived = try await gateway.call(
            .patch, "/v1/managedShortLinks/" + Self.path(first), #"{"visibility":"ARCHIVED"}"#)
        #expect(try archived.json["managedShortLink"]?["visibility"] == .string("ARCHIVED"))
        #expect(try await links() == [second])
        #expect(try await links("?visibility=ARCHIVED") == [first])
        #expect(try await gateway.open(first).status == 302)
    }

    @Test("a change takes what the body has, at once")
    func change() async throws {
        let gateway = try await LinkGateway()
        let url = try await Self.make(gateway, Self.body())
        let path = "/v1/managedShortLinks/" + Self.path(url)
        let answer = try await gateway.call(
            .patch, path,
            #"{"linkName":"Autumn","longDynamicLink":"https://go.example.com/?link=https%3A%2F%2Fx.b.example%2F&zzz=1","expirationTime":"2026-03-01T00:00:00Z"}"#
        )
        #expect(try answer.json["managedShortLink"]?["linkName"] == .string("Autumn"), "\(answer.text)")
        #expect(try answer.list("warning")?.count == 1)
        #expect(try await gateway.open(url).headers[.location] == "https://x.b.example/")
        let shown = try await gateway.call(.patch, path, #"{"expirationTime":""}"#)
        #expect(try shown.json["managedShortLink"]?["expirationTime"] == nil)
        let other = #"{"longDynamicLink":"https://links.example.com/promo/?link=https%3A%2F%2Fa.example%2F"}"#
        #expect(try await gateway.call(.patch, path, other).status == 400)
        #expect(try await gateway.call(.patch, path, #"{"visibility":"GONE"}"#).status == 400)
        #expect(try await gateway.call(.get, path).json["info"]?["link"] == .string("https://x.b.example/"))
        #expect(try await gateway.call(.delete, path).text == "{}")
        #expect(try await gateway.call(.get, path).status == 404)
        #expect(try await gateway.call(.delete, path).status == 404)
        let audit = try await gateway.call(.get, "/v1/projects/demo/audit").list("entries") ?? []
        let actions = audit.compactMap { $0["action"]?.stringValue }
        #expect(actions.contains("link.delete"))
    }

    @Test(
        "enums are taken by name and number, in a text too, and an empty end is none",
        arguments: [#""CUSTOM""#, "3", #""3""#, "3.0"])
    func protoJSON(option: String) async throws {
        let gateway = try await LinkGateway()
        let more = #","suffix":{"option":\#(option),"customSuffix":"own"},"expirationTime":"""#
        #expect(try await Self.make(gateway, Self.body(more)) == "https://go.example.com/own")
        let shown = try await gateway.call(.get, "/v1/managedShortLinks/" + Self.path("https://go.example.com/own"))
        #expect(try shown.json["expirationTime"] == nil, "\(shown.text)")
    }

    @Test("a custom suffix is an option by itself, and a name may be given as the resource has it")
    func implied() async throws {
        let gateway = try await LinkGateway()
        let body = Self.body(#","suffix":{"customSuffix":"own"}"#).replacing(#""name""#, with: #""linkName""#)
        #expect(try await Self.make(gateway, body) == "https://go.example.com/own")
    }

    @Test("a change takes a resource as it was read, names of both kinds, and enums by number")
    func spellings() async throws {
        let gateway = try await LinkGateway()
        let url = try await Self.make(gateway, Self.body(#","expirationTime":"2026-01-02T04:04:05Z""#))
        let path = "/v1/managedShortLinks/" + Self.path(url)
        func change(_ body: String) async throws -> JSONValue? {
            let answer = try await gateway.call(.patch, path, body)
            #expect(answer.status == 200, "\(answer.text)")
            return try answer.json["managedShortLink"]
        }
        #expect(try await change(#"{"name":"A"}"#)?["linkName"] == .string("A"))
        #expect(try await change(#"{"link_name":"B","name":"B"}"#)?["linkName"] == .string("B"))
        #expect(try await change(#"{"visibility":2}"#)?["visibility"] == .string("ARCHIVED"))
        #expect(try await change(#"{"visibility":0}"#)?["visibility"] == .string("ARCHIVED"))
        #expect(try await change(#"{"visibility":"1"}"#)?["visibility"] == .string("UNARCHIVED"))
        #expect(try await change(#"{"visibility":2.0}"#)?["visibility"] == .string("ARCHIVED"))
        #expect(
            try await gateway.call(.get, "/v1/managedShortLinks?visibility=2").list("managedShortLinks")?.count == 1)
        #expect(try await change(#"{"flaggedAttribute":["1"]}"#)?["flaggedAttribute"] == .array([.string("SPAM")]))
        #expect(try await change(#"{"flaggedAttribute":[]}"#)?["flaggedAttribute"] == nil)
        let info = #"{"info":{"domainUriPrefix":"https://go.example.com","link":"https://a.example/new"}}"#
        #expect(try await change(info)?["info"]?["link"] == .string("https://a.example/new"))
        // Both names, when they say the same.
        let both = info.dropLast() + info.replacing("info", with: "dynamicLinkInfo").replacing("{\"dyn", with: ",\"dyn")
        #expect(try await change(String(both))?["info"]?["link"] == .string("https://a.example/new"))
        gateway.gateway.clock.advance(by: .seconds(7200))
        let resource = try await gateway.call(.get, path).text
        #expect(try await change(resource) == JSONValue(parsing: Array(resource.utf8)))
    }

    @Test(
        "what can't be changed, or not to this, is refused by its field",
        arguments: [
            (#"{"expirationTime":"2020-01-01T00:00:00Z"}"#, "expirationTime"),
            (#"{"visibility":4}"#, "visibility"), (#"{"visibility":"GONE"}"#, "visibility"),
            (#"{"name":"A","linkName":"B"}"#, "linkName"), (#"{"flaggedAttribute":[2]}"#, "flaggedAttribute"),
            (#"{"suffix":{"option":"CUSTOM","customSuffix":"other"}}"#, "suffix.customSuffix"),
            (#"{"visibility":true}"#, "visibility"), (#"{"visibility":"02"}"#, "visibility"),
            (
                #"{"info":{"domainUriPrefix":"https://go.example.com","link":"https://a.example/1"},"#
                    + #""dynamicLinkInfo":{"domainUriPrefix":"https://go.example.com","link":"https://a.example/2"}}"#,
                "dynamicLinkInfo"
            ),
            (
                #"{"longDynamicLink":"https://go.example.com/?link=https%3A%2F%2Fa.example&st=%00"}"#,
                "dynamicLinkInfo.socialMetaTagInfo.socialTitle"
            ),
        ])
    func badChange(body: String, field: String) async throws {
        let gateway = try await LinkGateway()
        let path = "/v1/managedShortLinks/" + Self.path(try await Self.make(gateway, Self.body()))
        let before = try await gateway.call(.get, path).text
        let answer = try await gateway.call(.patch, path, body)
        #expect(answer.status == 400)
        #expect(try answer.badFields == [field], "\(answer.text)")
        #expect(try await gateway.call(.get, path).text == before)
    }

    @Test("a caller who means another project than the key's is refused", arguments: ["demo", "123456789012", "other"])
    func meantProject(name: String) async throws {
        let gateway = try await LinkGateway()
        let field = try #require(HTTPField.Name("X-Herald-Project"))
        let answer = try await gateway.gateway.request(
            .get, "/v1/managedShortLinks", headers: [field: name], over: gateway.services)
        #expect(answer.status == (name == "other" ? 403 : 200), "\(answer.text)")
    }

    @Test("client keys neither manage links nor read statistics, and another project sees nothing")
    func access() async throws {
        let gateway = try await LinkGateway()
        let url = try await Self.make(gateway, Self.body())
        let one = "/v1/managedShortLinks/" + Self.path(url)
        for (method, path) in [
            (HTTPRequest.Method.get, "/v1/managedShortLinks"), (.get, one), (.delete, one),
            (.get, "/v1/\(Self.path(url))/linkStats"),
        ] {
            #expect(try await gateway.call(method, path, as: .client).status == 403, "\(path)")
        }
        for path in ["/v1/managedShortLinks/x", "/v1/managedShortLinks/" + Self.path("https://go.example.com")] {
            #expect(try await gateway.call(.get, path).status == 400, "\(path)")
        }
    }

    @Test("statistics are counts as text, by platform and event, of the days that were asked for")
    func stats() async throws {
        let gateway = try await LinkGateway()
        let url = try await Self.make(gateway, Self.body())
        let path = "/v1/\(Self.path(url))/linkStats"
        #expect(try await gateway.call(.get, path + "?durationDays=7").text == "{}")
        let found = try #require(
            try await gateway.gateway.store.link(
                LinkKey(prefix: "go.example.com", suffix: String(url.split(separator: "/").last ?? ""))))
        let today = Int(TestGateway.startTime.seconds / 86_400)
        try await gateway.gateway.store.add([
            LinkCount(link: found.id, day: today, platform: .ios, event: .click, count: 5),
            LinkCount(link: found.id, day: today - 6, platform: .ios, event: .click, count: 7),
            LinkCount(link: found.id, day: today - 7, platform: .ios, event: .click, count: 100),
            LinkCount(link: found.id, day: today, platform: .android, event: .appFirstOpen, count: 1),
        ])
        let answer = try await gateway.call(.get, path + "?durationDays=7&sdkVersion=1.0.0", as: .sender)
        #expect(
            answer.text
                == #"{"linkEventStats":[{"platform":"ANDROID","count":"1","event":"APP_FIRST_OPEN"},{"platform":"IOS","count":"12","event":"CLICK"}]}"#
        )
        #expect(try await gateway.call(.get, path + "?durationDays=1").text.contains(#""count":"5""#))
        for days in ["0", "x", "99999"] {
            #expect(try await gateway.call(.get, path + "?durationDays=" + days).status == 400)
        }
        let none = "/v1/\(Self.path("https://go.example.com/none"))/linkStats?durationDays=7"
        #expect(try await gateway.call(.get, none).status == 404)
    }
}
