import JSON
import PushModel
import Store
import Testing

/// What a store keeps of the apps of a filter, and what gateways of other versions read of it.
@Suite(.timeLimit(.minutes(1)))
struct StoredSettingsTests {
    private static let one = "com.example.one"
    private static let two = "com.example.two"

    private static func settings(_ apps: [String]) throws -> WebhookSettings {
        var settings = WebhookSettings(url: "https://hooks.example.com/", types: [.messageFinished])
        settings.filter.apps = try apps.map { try #require(NamedApp(text: $0)) }
        return settings
    }

    private static func filter(_ text: String) throws -> JSONValue {
        try #require(try JSONValue(parsing: text.utf8)["filter"])
    }

    private static func texts(_ value: JSONValue?) -> [String]? {
        guard case .array(let elements)? = value else { return nil }
        return elements.compactMap(\.stringValue)
    }

    /// `ids`: what a version that knows no platforms reads.
    @Test(
        arguments: [
            ([], []), ([one], [one]), (["android:\(one)"], [one]), ([two, "android:\(one)"], [two, one]),
            (["android:\(one)", "web:\(one)"], [one]), ([one, "apple:\(one)"], [one]),
            (["apple:\(one)", two, one, "web:\(two)"], [one, two]),
        ] as [([String], [String])])
    func appsComeBackAsTheyWereNamedAndAsIdsForAnEarlierVersion(apps: [String], ids: [String]) throws {
        let settings = try Self.settings(apps)
        let text = settings.storedText
        #expect(try WebhookSettings(storedText: text) == settings)
        let filter = try Self.filter(text)
        let stored = try #require(Self.texts(filter["apps"]))
        #expect(stored == ids && stored.allSatisfy { AppID(rawValue: $0) != nil })
        #expect((filter["appPlatforms"] == nil) == (apps == ids))
    }

    @Test func platformsAmongTheIdsAreRead() throws {
        let apps = ["android:\(Self.one)", Self.two]
        let text = try Self.settings([Self.one, Self.two]).storedText
            .replacing("\"\(Self.one)\"", with: "\"\(apps[0])\"")
        #expect(try Self.texts(Self.filter(text)["apps"]) == apps)
        #expect(try WebhookSettings(storedText: text) == Self.settings(apps))
    }

    /// A filter that keeps one app does not become one of all apps.
    @Test func anAppWhosePlatformIsOfALaterVersionStays() throws {
        let text = try Self.settings(["android:\(Self.one)"]).storedText.replacing("android:", with: "later:")
        #expect(try WebhookSettings(storedText: text) == Self.settings([Self.one]))
    }
}
