import HTTPTypes
import JSON
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Testing

@testable import Console

/// The pages: who may see and do what, what they say, how large they are.
struct PageTests {
    private static let hostile = #"<script>alert(1)</script>"'&"#

    /// Pages of a project with something on each.
    private static func fill(_ scene: ConsoleScene) async throws -> (message: String, device: Registration) {
        let device = try await scene.register(user: "user<b>")
        let topic = try #require(Topic(rawValue: "news"))
        _ = try await scene.store.subscribe([device.key], to: topic, at: scene.clock.now)
        var browser = try await scene.signIn("sender")
        _ = try await browser.get("/console/p/demo/compose")
        let sent = try await browser.post(
            "/console/p/demo/compose",
            [
                "act": "send", "kind": "topic", "target": "news", "title": hostile, "body": hostile,
                "data": "k=\(hostile)",
                "label": "spring", "draft": "draft-000001",
            ])
        let place = try #require(sent.location, "\(sent.text)")
        return (String(try #require(place.split(separator: "/").last)), device)
    }

    private static func paths(_ message: String, _ device: Registration) -> [String] {
        [
            "", "?span=day", "?span=week", "/messages", "/messages?state=COMPLETE&target=x", "/messages/\(message)",
            "/messages/\(message)/deliveries", "/messages/\(message)/export.csv", "/messages/\(message)/export.ndjson",
            "/device", "/device/\(device.id)", "/device/\(device.id)?message=\(message)", "/users",
            "/users?user=user%3Cb%3E",
            "/topics", "/topics/news", "/apps", "/webhooks", "/links", "/links/referral", "/access", "/settings",
        ]
    }

    @Test func everyPageIsSmallEscapedAndLoadsNothingFromElsewhere() async throws {
        let scene = try await ConsoleScene()
        let (message, device) = try await Self.fill(scene)
        var browser = try await scene.signIn("admin")
        let more = ["/compose", "/compose?from=\(message)", "/links/new", "/audit"]
        for path in Self.paths(message, device) + more {
            let answer = try await browser.get("/console/p/demo" + path)
            #expect(answer.status == 200, "\(path): \(answer.text.prefix(2000))")
            #expect(answer.text.utf8.count < 100_000, "\(path)")
            #expect(!answer.text.contains("<script>alert"), "\(path)")
            #expect(answer.headers[.cacheControl] == "no-store")
            #expect(answer.headers[.contentSecurityPolicy]?.hasPrefix("default-src 'none'") == true)
            #expect(!answer.text.contains(#/(src|href)="(https?:)?//(?!go\.)/#), "\(path)")
            #expect(!answer.text.contains(#/ (style|on[a-z]+)="/#), "\(path)")
            #expect(!answer.text.contains("{{"), "\(path)")
        }
        for asset in [ConsoleAssets.styleName, ConsoleAssets.scriptName, "icon.svg"] {
            #expect(try await browser.get("/console/assets/\(asset)").status == 200)
        }
        #expect(ConsoleScript.text.utf8.count < 10_000 && StyleSheet.text.utf8.count < 30_000)
    }

    @Test func anotherProjectIsNotThere() async throws {
        let scene = try await ConsoleScene()
        let (message, device) = try await Self.fill(scene)
        var browser = try await scene.signIn("admin")
        for path in Self.paths(message, device) + ["/nothing"] {
            #expect(try await browser.get("/console/p/other" + path).status == 404)
            #expect(try await browser.get("/console/p/unknown" + path).status == 404)
        }
        _ = try await scene.grant(.admin, in: scene.other, to: "admin")
        #expect(try await browser.get("/console/p/other/messages/\(message)").status == 404)
        #expect(try await browser.get("/console/p/other/device/\(device.id)").status == 404)
        // With the form token of the session, so that it is the message that is not there.
        _ = try await browser.get("/console/account")
        #expect(try await browser.post("/console/p/other/messages/\(message)/cancel").status == 404)
    }

    /// The least role of each page and act, as a table of its own.
    @Test func rolesAreEnforcedInTheRoutes() async throws {
        let scene = try await ConsoleScene()
        let (message, device) = try await Self.fill(scene)
        let table: [(HTTPRequest.Method, String, OperatorRole)] =
            Self.paths(message, device).map { (.get, $0, .viewer) } + [
                (.get, "/compose", .sender), (.get, "/links/new", .sender), (.get, "/audit", .admin),
                (.post, "/compose", .sender), (.post, "/compose/check", .sender), (.post, "/compose/send", .sender),
                (.post, "/links", .sender), (.post, "/messages/\(message)/pause", .operator),
                (.post, "/messages/\(message)/resume", .operator), (.post, "/device/\(device.id)/lift", .operator),
                (.post, "/links/show", .operator), (.post, "/users/erase", .admin), (.post, "/access/operator", .admin),
                (.post, "/webhooks", .admin), (.post, "/webhooks/x/rotate", .admin), (.post, "/device", .viewer),
                (.post, "/access/link", .admin), (.post, "/access/revoke", .admin), (.post, "/access/key", .admin),
                (.post, "/access/revoke-key", .admin), (.post, "/access/account", .admin),
            ]
        for role in OperatorRole.allCases {
            var browser = try await scene.signIn(role.rawValue)
            _ = try await browser.get("/console/account")
            for (method, path, least) in table {
                let answer =
                    method == .get
                    ? try await browser.get("/console/p/demo" + path)
                    : try await browser.post("/console/p/demo" + path)
                #expect((answer.status == 403) == (role < least), "\(role) \(method) \(path): \(answer.status)")
            }
        }
    }

    @Test func theComposerSendsByTheAPIAndItsActsAreAudited() async throws {
        let scene = try await ConsoleScene()
        let (message, _) = try await Self.fill(scene)
        let id = try #require(MessageID(rawValue: message))
        let report = try #require(try await scene.store.report(id, in: scene.demo))
        #expect(
            report.message.facts.credential?.id == "operator:sender" && report.message.facts.label?.rawValue == "spring"
        )
        let entries = try await scene.store.auditEntries(
            AuditFilter(project: scene.demo, action: .messageSent), after: nil, limit: 10)
        #expect(entries.elements.map(\.subject) == [message] && entries.elements[0].credential.id == "operator:sender")
        var browser = try await scene.signIn("operator")
        _ = try await browser.get("/console/p/demo/messages/\(message)")
        #expect(try await browser.post("/console/p/demo/messages/\(message)/pause").status == 303)
        #expect(try await scene.store.report(id, in: scene.demo)?.state == .paused)
        let paused = try await scene.store.auditEntries(
            AuditFilter(project: scene.demo, action: .messagePaused), after: nil, limit: 10)
        #expect(paused.elements.map(\.credential.id) == ["operator:operator"])
    }

    @Test func theComposerSaysWhatIsWrongAndKeepsTheDraft() async throws {
        let scene = try await ConsoleScene()
        var browser = try await scene.signIn("sender")
        _ = try await browser.get("/console/p/demo/compose")
        let form = [
            "kind": "condition", "target": "'a' in topics &&", "title": "Hello", "badge": "many",
            "draft": "draft-000003",
        ]
        let check = try await browser.post("/console/p/demo/compose/check", form)
        #expect(check.text.contains("<strong>Badge</strong>") && !check.text.contains("<html"))
        var fixed = form
        fixed["badge"] = "3"
        #expect(
            try await browser.post("/console/p/demo/compose/check", fixed).text.contains("<strong>Send to</strong>"))
        fixed["target"] = "'a' in topics && !('b' in topics)"
        let good = try await browser.post("/console/p/demo/compose/check", fixed).text
        #expect(
            good.contains("of 4,096 bytes")
                && good.contains("curl http://127.0.0.1:8080/v1/projects/demo/messages:send"))
        #expect(good.contains("No device would get it"))
        let page = try await browser.get("/console/p/demo/compose").text
        #expect(page.contains(#"name="title" value="Hello""#) && page.contains("draft-000003"))
        for label in [
            "Send to", "Title", "Body", "Image", "Data", "Badge", "Sound", "Category", "Link", "Label", "Expiry",
            "Pace",
        ] {
            #expect(page.contains("<label>\(label)<"), "\(label)")
        }
    }

    @Test func aFilterLooksAtPagesOfMessagesAndGoesOn() async throws {
        let scene = try await ConsoleScene()
        let device = try await scene.register()
        _ = try await scene.store.subscribe(
            [device.key], to: #require(Topic(rawValue: "news")), at: scene.clock.now)
        var sender = try await scene.signIn("sender")
        _ = try await sender.get("/console/p/demo/compose")
        for number in 0..<40 {
            let sent = try await sender.post(
                "/console/p/demo/compose",
                [
                    "act": "send", "kind": "topic", "target": number.isMultiple(of: 4) ? "news" : "other",
                    "title": "No \(number)",
                ])
            #expect(sent.status == 303)
        }
        let all = try await sender.get("/console/p/demo/messages?target=news").text
        #expect((0..<40).filter { all.contains(">No \($0)<") } == (0..<40).filter { $0.isMultiple(of: 4) })
        let first = try await sender.get("/console/p/demo/messages").text
        #expect((0..<40).filter { first.contains(">No \($0)<") } == Array(10..<40))
        let next = try #require(first.firstMatch(of: /href="([^"]+after=[^"]+)"/)).output.1
        let second = try await sender.get(String(next).replacing("&amp;", with: "&")).text
        #expect((0..<40).filter { second.contains(">No \($0)<") } == Array(0..<10))
    }

    /// The chart is of all members, not of those that the page shows.
    @Test func aTopicShowsWhoJoinedAndLeftByDay() async throws {
        let scene = try await ConsoleScene()
        let topic = try #require(Topic(rawValue: "news"))
        var keys: [RegistrationKey] = []
        for number in 1...60 { keys.append(try await scene.register(String(0xaa_0000 + number, radix: 16)).key) }
        func daysAgo(_ days: Int64) -> Timestamp { scene.clock.now + .seconds(-days * 86_400) }
        _ = try await scene.store.subscribe(Array(keys.prefix(5)), to: topic, at: daysAgo(30))
        _ = try await scene.store.subscribe(keys, to: topic, at: daysAgo(29))
        _ = try await scene.store.unsubscribe(Array(keys.prefix(3)), from: topic, at: daysAgo(5))
        _ = try await scene.store.subscribe(Array(keys.prefix(2)), to: topic, at: daysAgo(0))
        var browser = try await scene.signIn("viewer")
        let page = try await browser.get("/console/p/demo/topics/news").text
        #expect(page.contains("Members that joined and left, by day: 57 joined, 3 left."))
        #expect(page.contains("<p class=\"figure\">59</p>"))
    }

    @Test func manyOperatorsAreCutAndCounted() async throws {
        let scene = try await ConsoleScene()
        for number in 0..<100 { _ = try await scene.grant(.viewer, in: scene.demo, to: "many\(number)") }
        var browser = try await scene.signIn("viewer")
        let page = try await browser.get("/console/p/demo/access").text
        #expect(page.contains("And 4 other operators") && page.utf8.count < 100_000)
    }

    @Test func anAdminCannotInviteANameOfAnotherProject() async throws {
        let scene = try await ConsoleScene()
        _ = try await scene.grant(.viewer, in: scene.other, to: "alice")
        var browser = try await scene.signIn("admin")
        _ = try await browser.get("/console/p/demo/access")
        let path = "/console/p/demo/access/operator"
        let refused = try await browser.post(path, ["name": "alice", "role": "admin"])
        #expect(refused.status == 409 && refused.text.contains("herald operator create alice"))
        let alice = try #require(OperatorName(rawValue: "alice"))
        #expect(try await scene.store.console(operator: alice)?.roles == [scene.other: .viewer])
        _ = try await browser.get("/console/p/demo/access")
        #expect(try await browser.post(path, ["name": "bob", "role": "viewer"]).text.contains("/console/link/"))
        _ = try await browser.get("/console/p/demo/access")
        #expect(try await browser.post(path, ["name": "bob", "role": "sender"]).status == 303)
    }

    @Test func sendersMakeLinksAndOperatorsBlockThem() async throws {
        let scene = try await ConsoleScene()
        let fields = [
            "prefix": "https://go.demo.example", "link": "https://www.example.com/tea", "name": "Tea", "suffix": "tea",
        ]
        var viewer = try await scene.signIn("viewer")
        _ = try await viewer.get("/console/account")
        #expect(try await viewer.post("/console/p/demo/links", fields).status == 403)
        var sender = try await scene.signIn("sender")
        _ = try await sender.get("/console/p/demo/links/new")
        let made = try await sender.post("/console/p/demo/links", fields)
        #expect(made.status == 303, "\(made.text)")
        let place = try #require(made.location)
        #expect(try await sender.get(place).text.contains("https://go.demo.example/tea"))
        #expect(try await sender.get(place).text.contains("<dt>Desktop</dt>"))
        let block = ["short": "https://go.demo.example/tea", "act": "block"]
        #expect(try await sender.post("/console/p/demo/links/show", block).status == 403)
        var other = try await scene.signIn("operator")
        _ = try await other.get("/console/account")
        #expect(try await other.post("/console/p/demo/links/show", block).status == 303)
    }

    @Test func aPreviewSaysWhereALinkWouldOpenAndMakesNone() async throws {
        let scene = try await ConsoleScene()
        var sender = try await scene.signIn("sender")
        _ = try await sender.get("/console/p/demo/links/new")
        var fields = [
            "prefix": "https://go.demo.example", "link": "https://www.example.com/tea", "name": "Tea",
            "ios": "com.example.app", "store": "123456789", "desktop": "https://www.example.com/big",
        ]
        let page = try await sender.post("/console/p/demo/links/preview", fields)
        #expect(page.status == 200, "\(page.text)")
        let apple = try #require(page.text.firstMatch(of: /(?s)<dt>iPhone<\/dt>(.*?)<\/dd>/)).output.1
        #expect(apple.contains("com.example.app") && apple.contains("id123456789"))
        let android = try #require(page.text.firstMatch(of: /(?s)<dt>Android<\/dt>(.*?)<\/dd>/)).output.1
        #expect(android.contains("https://www.example.com/tea") && !android.contains("the app"))
        #expect(page.text.contains("<code>https://www.example.com/big</code>"))
        fields["link"] = "https://evil.example/tea"
        let refused = try await sender.post("/console/p/demo/links/preview", fields)
        #expect(refused.status == 400 && !refused.text.contains("<dt>iPhone</dt>"))
        let links = try await scene.store.links(of: scene.demo, LinkFilter(), after: nil, limit: 10)
        #expect(links.elements.isEmpty)
        var viewer = try await scene.signIn("viewer")
        _ = try await viewer.get("/console/account")
        #expect(try await viewer.post("/console/p/demo/links/preview", fields).status == 403)
    }

    @Test func referralsAreShownByCampaignAndInvitation() async throws {
        let scene = try await ConsoleScene()
        let invitation = Invitation(
            id: .random(), project: scene.demo,
            inviter: try #require(UserID(rawValue: "ada & bob")), code: "AAAAAAAAAA", campaign: "<spring>",
            prefix: "go.demo.example", parameters: "", createdAt: scene.clock.now)
        _ = try await scene.store.invite(invitation)
        var viewer = try await scene.signIn("viewer")
        let page = try await viewer.get("/console/p/demo/links/referral")
        #expect(page.text.contains("Campaign &lt;spring&gt;") && page.text.contains("users?user=ada%20%26%20bob"))
        let other = try await viewer.get("/console/p/demo/links/referral?campaign=autumn")
        #expect(other.status == 200 && other.text.contains("No invitation found"))
    }

    @Test func appsSayHowTheirPushesWent() async throws {
        let scene = try await ConsoleScene()
        var viewer = try await scene.signIn("viewer")
        #expect(try await viewer.get("/console/p/demo/apps").text.contains("<dt>Last 7 days</dt><dd>no push</dd>"))
    }

    @Test func aCredentialHasAnAgeAndItsLastError() async throws {
        let scene = try await ConsoleScene()
        var viewer = try await scene.signIn("viewer")
        let page = try await viewer.get("/console/p/demo/apps").text
        #expect(page.contains("<code>TEAM123456/ABC1234567</code>") && page.contains("keys/&lt;p8&gt;"))
        #expect(page.contains((ConsoleScene.startTime + .seconds(-86_400)).rfc3339))
        #expect(page.contains("<strong>InvalidProviderToken</strong>") && page.contains("has no end"))
        #expect(page.contains(">not yet<"))
    }

    @Test func keysAreShownOnceAndNeedAProof() async throws {
        let scene = try await ConsoleScene()
        var browser = try await scene.signIn("admin")
        _ = try await browser.get("/console/p/demo/access")
        let made = try await browser.post("/console/p/demo/access/key", ["role": "sender", "name": "news"])
        let text = try #require(made.text.firstMatch(of: /hk_[0-9a-f]+_[A-Za-z0-9_-]+/)?.output)
        let key = try #require(try await scene.store.apiKeys(of: scene.demo).first)
        #expect(text.contains(key.id) && key.name == "news" && key.role == .sender)
        #expect(!(try await browser.get("/console/p/demo/access").text.contains(String(text))))
        scene.clock.advance(by: SessionKeeper.proofLimit)
        let asked = try await browser.post("/console/p/demo/access/revoke-key", ["id": key.id])
        #expect(asked.text.contains("Confirm that it is you"))
        #expect(try await scene.store.apiKey(key.id)?.revokedAt == nil)
    }

    @Test func aDeviceIsFoundByWhateverOneHas() async throws {
        let scene = try await ConsoleScene()
        let device = try await scene.register("00aa11", user: "alice")
        var browser = try await scene.signIn("viewer")
        let hex = String(repeating: "0", count: 58) + "00aa11"
        for text in [device.id.rawValue, device.token.rawValue, "alice", hex] {
            let answer = try await browser.get("/console/p/demo/device?q=\(text.urlEncoded)")
            #expect(answer.location == "/console/p/demo/device/\(device.id)", "\(text)")
        }
        #expect(try await browser.get("/console/p/demo/device?q=nothing").status == 404)
        // The form posts: a token is in no address.
        let form = try await browser.get("/console/p/demo/device").text
        #expect(form.contains(#"<form method="post" action="/console/p/demo/device""#))
        for text in [device.token.rawValue, hex] {
            let answer = try await browser.post("/console/p/demo/device", ["q": text])
            #expect(answer.location == "/console/p/demo/device/\(device.id)", "\(text)")
        }
        let page = try await browser.get("/console/p/demo/device/\(device.id)").text
        #expect(page.contains("Why did it not get it?") && !page.contains(device.token.rawValue))
    }
}
