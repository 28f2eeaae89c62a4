import HTTPListener
import PushModel
import Store
import Testing

@testable import Links

struct DeviceTraitsTests {
    @Test("a screen is the same whichever way it is held, in points and in native pixels")
    func screens() {
        let page = Sample.traits(width: 390, height: 844)
        #expect(page.likeness(to: Sample.traits(width: 844, height: 390)) == .full)
        #expect(page.likeness(to: Sample.traits(width: 1170, height: 2532)) == .full)
        #expect(page.likeness(to: Sample.traits(width: 390, height: 843)) == .none)
    }

    @Test("0×0 of an iPhone app on an iPad is no screen: the match is never a full one")
    func unknownScreen() {
        #expect(Sample.traits(width: 0, height: 0).screen == nil)
        #expect(Sample.traits().likeness(to: Sample.traits(width: 0, height: 0)) == .partial)
    }

    @Test(
        "languages are compared as far as both name them",
        arguments: [
            ("en", "en-US", DeviceLikeness.full), ("en_US", "en-us", .full),
            ("en-US@calendar=gregorian", "en-US", .full),
            ("en-US", "en-GB", .partial), ("en-US", "de-US", .none), ("zh-Hans-CN", "zh-CN", .full),
            ("zh-Hans", "zh-Hant", .none), ("", "en", .partial),
        ])
    func languages(page: String, app: String, expected: DeviceLikeness) {
        #expect(Sample.traits(languages: [page]).likeness(to: Sample.traits(languages: [app])) == expected)
    }

    @Test("the first language that is one counts: a web view often says none")
    func languageOrder() {
        #expect(Sample.traits(languages: ["", nil, "de_AT", "en"]).language == "de-at")
    }

    @Test(
        "zones of one place are the same by any of their names",
        arguments: [
            ("Asia/Calcutta", "Asia/Kolkata"), ("Europe/Kiev", "Europe/Kyiv"), ("Asia/Saigon", "Asia/Ho_Chi_Minh"),
            ("Etc/UTC", "GMT"), ("America/Buenos_Aires", "America/Argentina/Buenos_Aires"),
            ("US/Pacific", "America/Los_Angeles"),
        ])
    func zones(one: String, other: String) {
        #expect(Sample.traits(timeZone: one).likeness(to: Sample.traits(timeZone: other)) == .full)
        #expect(Sample.traits(timeZone: one).likeness(to: Sample.traits(timeZone: "Pacific/Auckland")) == .none)
    }

    @Test("a zone's name that is none is not known", arguments: ["", "Europe/<b>", String(repeating: "a", count: 65)])
    func brokenZones(name: String) {
        #expect(TimeZoneNames.present(name) == nil)
    }

    @Test("each alias stands for one present name, which is no alias itself")
    func aliases() {
        for name in ["Asia/Kolkata", "Europe/Kyiv", "UTC"] { #expect(TimeZoneNames.present(name) == name) }
    }

    @Test(
        "versions are compared by their first two numbers",
        arguments: [
            ("17_5_1", "17.5", DeviceLikeness.full), ("17.4", "17.5", .none), ("16.5", "17.5", .none),
            // Safari's user agent of iOS 26.
            ("18_6", "26.1", .full), ("18_5", "26.1", .none), ("", "17", .full),
        ])
    func versions(page: String, app: String, expected: DeviceLikeness) {
        #expect(Sample.traits(system: page).likeness(to: Sample.traits(system: app)) == expected)
    }

    @Test(
        "the version of the system is read from user agents that say one",
        arguments: [
            ("Mozilla/5.0 (iPhone; CPU iPhone OS 17_5_1 like Mac OS X) AppleWebKit/605.1.15", SystemVersion("17.5")),
            ("Mozilla/5.0 (iPad; CPU OS 12_2 like Mac OS X)", SystemVersion("12.2")),
            ("Mozilla/5.0 (Linux; Android 14; Pixel 8) Chrome/124", SystemVersion("14")),
            ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)", nil), ("", nil), ("Android ", nil),
        ])
    func userAgents(text: String, version: SystemVersion?) {
        #expect(SystemVersion(userAgent: text) == version)
    }

    @Test("a phone is no tablet, and a simulator's model says nothing")
    func devices() {
        #expect(DeviceClass(model: "iPhone14,5") == .phone && DeviceClass(model: "iPad13,1") == .tablet)
        #expect(DeviceClass(model: "x86_64") == nil && DeviceClass(model: "arm64") == nil)
        #expect(Sample.traits(device: .phone).likeness(to: Sample.traits(device: .tablet)) == .none)
        #expect(Sample.traits(device: .phone).likeness(to: Sample.traits(device: nil)) == .full)
    }

    @Test("one trait in common is too little, two are enough for a weak match")
    func little() {
        let bare = DeviceTraits(address: nil, device: .phone)
        #expect(bare.likeness(to: Sample.traits()) == .none)
        #expect(DeviceTraits(address: nil, system: "17.5.1", device: .phone).likeness(to: Sample.traits()) == .partial)
    }

    @Test("addresses are kept as digests: IPv4 whole, IPv6 by its network, by a key of the store's own")
    func addresses() {
        let key = Sample.key
        #expect(key.address("198.51.100.7") != key.address("198.51.100.8"))
        #expect(key.address("2001:db8:1:2::a") == key.address("2001:db8:1:2:ffff::b"))
        #expect(key.address("2001:db8:1:2::a") != key.address("2001:db8:1:3::a"))
        #expect(key.address("198.51.100.7") != DigestKey(Array(1..<33)).address("198.51.100.7"))
        #expect(key.install("198.51.100.7") != key.address("198.51.100.7"))
    }
}
