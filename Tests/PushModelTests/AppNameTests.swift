import Testing

@testable import PushModel

/// An Apple app and an Android app may have one id.
struct AppNameTests {
    private static let shared = AppID(rawValue: "com.example.app")!
    private static let alone = AppID(rawValue: "www.example.com")!
    private static let project = Project(
        id: ProjectID(rawValue: "demo")!, number: 1,
        apps: [
            App(id: shared, environment: .production, firebaseKeys: .none),
            App(id: shared, service: .android(isReached: true)), App(web: alone),
        ])

    @Test func aNameHasThePlatformOnlyWhereTheIDRepeats() {
        let keys = Self.project.apps.keys
        #expect(AppKey(.apple, Self.shared).name(among: keys) == "apple:com.example.app")
        #expect(AppKey(.android, Self.shared).name(among: keys) == "android:com.example.app")
        #expect(AppKey(.web, Self.alone).name(among: keys) == "www.example.com")
        // One that the project does not have any more, beside one that it has.
        #expect(AppKey(.apple, Self.alone).name(among: keys) == "apple:www.example.com")
        #expect(AppKey(.apple, Self.shared).name(among: [AppKey(.apple, Self.shared)]) == "com.example.app")
    }

    @Test func aNameIsReadAsItIsWritten() {
        for app in Self.project.apps.values {
            #expect(Self.project.apps(named: app.key.name(among: Self.project.apps.keys)) == [app])
        }
        #expect(Self.project.apps(named: "com.example.app").map(\.platform) == [.android, .apple])
        #expect(Self.project.apps(named: "web:www.example.com").map(\.key) == [AppKey(.web, Self.alone)])
    }

    @Test(arguments: [
        "", ":", "android:", ":com.example.app", "web:com.example.app", "ios:com.example.app",
        "Android:com.example.app", "android:com.example.app:", "com.example.ap", "com.example.app ",
    ])
    func anotherTextNamesNone(text: String) {
        #expect(Self.project.apps(named: text).isEmpty)
    }
}
