import Foundation
import HeraldLinks
import Testing

@Suite(.timeLimit(.minutes(1)))
struct PendingLinkTests {
    private static let copied = "https://go.example.com/WXYZ?_icp=1"
    private static let nothing = #"{"matchMessage": "No pre-install link matched.", "requestIpVersion": "IP_V4"}"#

    private let device = DynamicLinkDevice(
        modelName: "iPhone14,5", screenWidth: 390, screenHeight: 844, browserLanguage: "en-US",
        language: "en_US@calendar=gregorian", timeZone: "Europe/Lisbon", systemVersion: "17.5.1",
        installationTime: Date(timeIntervalSince1970: 1_795_000_000.9))

    @Test("installAttribution gets the fields of Firebase's SDK, and the clipboard's link without its mark")
    func request() async throws {
        let stub = LinkStub(Self.nothing)
        _ = try await DynamicLinks.sample(stub).retrievePendingLink(clipboard: Self.copied, device: device)
        let request = try #require(stub.requests.first)
        #expect(request.url == "https://push.example.com/v1/installAttribution")
        let expected = """
            {"appInstallationTime":1795000000,"bundleId":"com.example.app","device":{"deviceModelName":"iPhone14,5",\
            "languageCode":"en-US@calendar=gregorian","languageCodeFromWebview":"en-US",\
            "languageCodeRaw":"en_US@calendar=gregorian","screenResolutionHeight":844,"screenResolutionWidth":390,\
            "timezone":"Europe/Lisbon"},"iosVersion":"17.5.1","retrievalMethod":1,"sdkVersion":"HeraldLinks 1",\
            "uniqueMatchLinkToCheck":"https://go.example.com/WXYZ","visualStyle":0}
            """
        #expect(request.body == expected)

        var unknown = device
        unknown.installationTime = nil
        _ = try await DynamicLinks.sample(stub).retrievePendingLink(clipboard: nil, device: unknown)
        let body = try #require(stub.requests.last?.body)
        #expect(!body.contains("uniqueMatchLinkToCheck") && !body.contains("appInstallationTime"))
    }

    @Test(
        "of the clipboard only a link of the app's counts that the preview page marked",
        arguments: [
            ("https://go.example.com/WXYZ?_icp=1", "https://go.example.com/WXYZ"),
            ("https://go.example.com/WXYZ?d=0&_icp=1", "https://go.example.com/WXYZ?d=0"),
            ("https://go.example.com/?link=https%3A%2F%2Fa&_icp=1", "https://go.example.com/?link=https%3A%2F%2Fa"),
            (
                "https://www.example.com/link?link=https%3A%2F%2Fa&_icp=1",
                "https://www.example.com/link?link=https%3A%2F%2Fa"
            ),
            ("https://go.example.com/i/abc?_icp=1", "https://go.example.com/i/abc"),
            ("https://go.example.com/WXYZ", nil), ("https://go.example.com/WXYZ?_icp=1 ", nil),
            ("https://go.example.com/WXYZ?_icp=10", nil), ("https://other.example/WXYZ?_icp=1", nil),
            ("https://go.example.com/a b?_icp=1", nil), ("x_icp=1", nil), ("_icp=1", nil), ("", nil), (nil, nil),
        ] as [(String?, String?)])
    func clipboard(text: String?, expected: String?) {
        let domains = DynamicLinksCustomDomains(["https://go.example.com", "https://www.example.com/link"])
        #expect(domains.uniqueMatchLink(inClipboard: text)?.absoluteString == expected)
    }

    @Test(
        "a match has the confidence that the gateway gives it",
        arguments: [("UNIQUE", DLMatchType.unique), ("DEFAULT", .default), ("WEAK", .weak), ("OTHER", .none)])
    func match(confidence: String, type: DLMatchType) async throws {
        let stub = LinkStub(
            """
            {"deepLink": "https://a.example/x", "attributionConfidence": "\(confidence)", "appMinimumVersion": "2.0",
             "utmSource": "mail", "invitationId": "i1", "requestIpVersion": "IP_V6", "matchMessage": "m"}
            """)
        let pending = try await DynamicLinks.sample(stub).retrievePendingLink(clipboard: Self.copied, device: device)
        let link = try #require(pending.dynamicLink)
        #expect(link.url?.absoluteString == "https://a.example/x")
        #expect(link.matchType == type)
        #expect(link.minimumAppVersion == "2.0")
        #expect(link.invitationID == "i1")
        #expect(link.utmParametersDictionary["utm_source"] as? String == "mail")
        #expect(pending.shouldClearClipboard)

        let opened = try #require(pending.customSchemeURL)
        let handed = try #require(try DynamicLinks.sample(stub).dynamicLink(fromCustomSchemeURL: opened))
        #expect(handed.url == link.url && handed.matchType == link.matchType && handed.invitationID == "i1")
    }

    @Test("no match: a link without a URL that says why, the clipboard used up")
    func noMatch() async throws {
        let pending = try await DynamicLinks.sample(LinkStub(Self.nothing))
            .retrievePendingLink(clipboard: Self.copied, device: device)
        guard case .unmatched(let link) = pending.outcome else {
            Issue.record("\(pending.outcome)")
            return
        }
        #expect(link.url == nil && link.matchType == DLMatchType.none)
        #expect(link.matchMessage == "No pre-install link matched.")
        #expect(pending.dynamicLink == nil && pending.isFinal && pending.shouldClearClipboard)
        #expect(
            pending.customSchemeURL?.absoluteString
                == "example://google/link/?request_ip_version=IP%5FV4&match_message=No%20pre%2Dinstall%20link%20matched%2E"
        )
    }

    @Test(
        "JSON without known members, an error too, ends it: dismissed, the clipboard used up",
        arguments: [(200, "{}"), (200, "[]"), (200, "null"), (503, #"{"error": {"code": 503, "message": "busy"}}"#)])
    func dismissal(status: Int, body: String) async throws {
        let links = try DynamicLinks.sample(LinkStub(status, body))
        let pending = await links.retrievePendingLink(clipboard: Self.copied, device: device)
        guard case .dismissed = pending.outcome else {
            Issue.record("\(pending.outcome)")
            return
        }
        #expect(pending.isFinal && pending.shouldClearClipboard)
        #expect(pending.customSchemeURL?.absoluteString == "example://google/link/?dismiss=1&is_weak_match=1")
        let without = await links.retrievePendingLink(clipboard: "text of the user's", device: device)
        #expect(!without.shouldClearClipboard)
    }

    @Test(
        "no answer and one that is no JSON leave the clipboard alone",
        arguments: [LinkStub(503, "busy"), LinkStub(200, ""), .unreachable()])
    func unanswered(stub: LinkStub) async throws {
        let pending = try await DynamicLinks.sample(stub).retrievePendingLink(clipboard: Self.copied, device: device)
        guard case .unanswered = pending.outcome else {
            Issue.record("\(pending.outcome)")
            return
        }
        #expect(!pending.isFinal && !pending.shouldClearClipboard)
        #expect(pending.customSchemeURL?.absoluteString == "example://google/link/?dismiss=1&is_weak_match=1")
    }

    @Test("an install asks until it is answered, and never again")
    func onceInTheLifeOfAnInstall() async throws {
        let record = RecordStub()
        let busy = try DynamicLinks.sample(LinkStub(503, "busy"), record: record)
        #expect(await busy.checkForPendingDynamicLink(device: device) != nil)
        #expect(!record.isRetrieved)
        #expect(await busy.checkForPendingDynamicLink(device: device) != nil)

        let stub = LinkStub(Self.nothing)
        let links = try DynamicLinks.sample(stub, record: record)
        #expect(await links.checkForPendingDynamicLink(device: device) != nil)
        #expect(record.isRetrieved)
        #expect(await links.checkForPendingDynamicLink(device: device) == nil)
        #expect(stub.requests.count == 1)
    }

    @Test("user defaults keep it under Firebase's keys")
    func userDefaults() throws {
        let suite = "herald-links-\(UUID())"
        let record = UserDefaultsRecord(suiteName: suite)
        let defaults = try #require(UserDefaults(suiteName: suite))
        defer { defaults.removePersistentDomain(forName: suite) }
        #expect(!record.isRetrieved)
        record.markRetrieved()
        #expect(record.isRetrieved)
        #expect(defaults.bool(forKey: "com.google.appinvite.openURL"))
        defaults.set(false, forKey: "com.google.appinvite.openURL")
        defaults.set(true, forKey: "com.google.appinvite.readDeeplinkAfterInstall")
        #expect(record.isRetrieved)
    }

    @Test("this process describes itself without a screen and a model")
    func ownDevice() {
        let device = DynamicLinkDevice()
        #expect(device.timeZone == TimeZone.current.identifier)
        #expect(device.systemVersion.split(separator: ".").count >= 2)
        #expect(device.screenWidth == 0 && device.modelName.isEmpty)
    }
}
