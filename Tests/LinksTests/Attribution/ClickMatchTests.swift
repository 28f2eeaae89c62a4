import PushModel
import Store
import Testing

@testable import Links

/// Which click a first opening comes from.
struct ClickMatchTests {
    private static let hour: Duration = .seconds(3600)

    private func match(
        _ clicks: [LinkClick], _ opening: FirstOpening = Sample.opening(), window: Duration = hour
    ) -> ClickMatch? {
        ClickMatch(of: opening, among: clicks, window: window)
    }

    @Test("one click that is alike in all is a DEFAULT match, with the screen turned too")
    func one() {
        let click = Sample.click()
        let turned = Sample.opening(traits: Sample.traits(width: 844, height: 390))
        #expect(match([click], turned) == ClickMatch(click: click, confidence: .standard))
    }

    @Test("one click of which little is known is a WEAK match")
    func bare() {
        let click = Sample.click(traits: Sample.traits(width: nil, height: nil, timeZone: nil))
        #expect(match([click])?.confidence == .weak)
    }

    @Test("two equal clicks on different links are no match")
    func two() {
        #expect(match([Sample.click("https://go.example.com/a"), Sample.click("https://go.example.com/b")]) == nil)
    }

    @Test("two equal clicks on one link are a WEAK match, with the newest")
    func twice() {
        let (first, second) = (Sample.click(ago: .seconds(9)), Sample.click(ago: .seconds(3)))
        #expect(match([first, second]) == ClickMatch(click: second, confidence: .weak))
    }

    @Test("a click that is alike in all comes before one of which less is known, and is WEAK beside it")
    func mixed() {
        let full = Sample.click("https://go.example.com/a")
        let partial = Sample.click("https://go.example.com/b", traits: Sample.traits(width: nil, height: nil))
        #expect(match([full, partial]) == ClickMatch(click: full, confidence: .weak))
    }

    @Test("another device behind the same address does not stand in the way")
    func other() {
        let click = Sample.click("https://go.example.com/a")
        let other = Sample.click(
            "https://go.example.com/b", traits: Sample.traits(width: 768, height: 1024, device: .tablet))
        #expect(match([click, other]) == ClickMatch(click: click, confidence: .standard))
    }

    @Test("a click outside of the window is none", arguments: [(3599, true), (3600, true), (3601, false)])
    func window(seconds: Int64, matches: Bool) {
        #expect((match([Sample.click(ago: .seconds(seconds))]) != nil) == matches)
    }

    @Test(
        "a click after the install is none, five minutes of clock error aside", arguments: [(300, true), (301, false)])
    func install(seconds: Int64, matches: Bool) {
        let opening = Sample.opening(installedAgo: .seconds(seconds + 60))
        #expect((match([Sample.click(ago: .seconds(60))], opening) != nil) == matches)
    }
}
