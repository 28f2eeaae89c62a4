import HTTPListener
import PushModel
import Store
import Synchronization
import Testing

@testable import Links

struct ClickIndexTests {
    @Test("one click is given to one install, however many ask at once")
    func race() async {
        let index = ClickIndex()
        index.insert(Sample.click(), at: Sample.now)
        let winners = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<200 { group.addTask { index.takeMatch(Sample.opening()) == nil ? 0 : 1 } }
            return await group.reduce(0, +)
        }
        #expect(winners == 1 && index.count == 0)
    }

    @Test("a click is found only by its app, project and address")
    func places() {
        let index = ClickIndex()
        index.insert(Sample.click(), at: Sample.now)
        var opening = Sample.opening(traits: Sample.traits(address: "198.51.100.8"))
        #expect(index.takeMatch(opening) == nil)
        opening = Sample.opening()
        opening.app = AppKey(.android, Sample.app.id)
        #expect(index.takeMatch(opening) == nil)
        opening = Sample.opening()
        opening.project = ProjectID(rawValue: "other")!
        #expect(index.takeMatch(opening) == nil)
        #expect(index.takeMatch(Sample.opening()) != nil)
    }

    @Test("a click whose page said more of the device takes the place of the first")
    func replaced() {
        let index = ClickIndex()
        var click = Sample.click(traits: Sample.traits(width: nil, height: nil, timeZone: nil))
        index.insert(click, at: Sample.now)
        click.traits = Sample.traits()
        index.insert(click, at: Sample.now)
        #expect(index.count == 1)
        #expect(index.takeMatch(Sample.opening())?.confidence == .standard)
    }

    @Test("clicks older than the window go when others come")
    func aging() {
        let index = ClickIndex()
        for ago in [4000, 3700, 100] { index.insert(Sample.click(ago: .seconds(ago)), at: Sample.now + .seconds(-600)) }
        #expect(index.count == 3)
        index.insert(Sample.click(ago: .zero), at: Sample.now)
        #expect(index.count == 2)
    }

    @Test("no more clicks and bytes than the limits, the oldest go first, and a window of a day at most")
    func limits() {
        var limits = ClickIndex.Limits()
        (limits.clicks, limits.window) = (10, .seconds(1_000_000))
        let index = ClickIndex(limits)
        let clicks = (0..<25).map {
            Sample.click("https://go.example.com/\($0)", traits: Sample.traits(address: .init("10.0.0.\($0)")))
        }
        for click in clicks { index.insert(click, at: Sample.now) }
        #expect(index.count == 10 && index.click(clicks[14].id) == nil && index.click(clicks[15].id) != nil)
        #expect(index.window == ClickWindows.longestHeuristic)
        limits.bytes = 100
        let small = ClickIndex(limits)
        for _ in 0..<5 {
            small.insert(
                Sample.click("https://go.example.com/?link=" + String(repeating: "x", count: 20)), at: Sample.now)
        }
        #expect(small.count == 2)
    }

    @Test("of one address no more clicks are compared than the limit")
    func crowd() {
        var limits = ClickIndex.Limits()
        limits.clicksOfAddress = 4
        let index = ClickIndex(limits)
        for _ in 0..<100 { index.insert(Sample.click(), at: Sample.now) }
        #expect(index.count == 4)
    }

    @Test("clicks that were taken leave nothing behind")
    func nothingLeft() {
        let index = ClickIndex()
        for _ in 0..<10_000 {
            let click = Sample.click()
            index.insert(click, at: Sample.now)
            #expect(index.take(click.id) == click)
        }
        #expect(index.count == 0 && index.take(ClickID.random()) == nil)
    }

    @Test("an install that shows the link itself uses up one click of its device on it, the newest")
    func shown() {
        let index = ClickIndex()
        let clicks = ["a", "a", "b"].map { Sample.click("https://go.example.com/\($0)") }
        for click in clicks { index.insert(click, at: Sample.now) }
        let url = "https://go.example.com/a"
        #expect(index.take(of: url, for: Sample.opening(traits: Sample.traits(device: .tablet))) == nil)
        #expect(index.take(of: url, for: Sample.opening()) == clicks[1])
        #expect(index.take(of: url, for: Sample.opening()) == clicks[0])
        #expect(index.takeMatch(Sample.opening())?.click == clicks[2])
    }

    /// A look-up among a hundred thousand clicks of other addresses costs what it costs among a hundred: it compares the same
    /// clicks. Ten times as long would still pass, a walk over all would not.
    @Test("a look-up does not grow with the clicks of others")
    func flat() {
        func time(beside others: Int) -> Duration {
            let index = ClickIndex()
            for number in 0..<others {
                let address = "10.\(number >> 16 & 255).\(number >> 8 & 255).\(number & 255)"
                index.insert(Sample.click(traits: Sample.traits(address: .init(address))), at: Sample.now)
            }
            let clock = ContinuousClock()
            return (0..<5).map { _ in
                clock.measure {
                    for _ in 0..<1000 {
                        index.insert(Sample.click(), at: Sample.now)
                        #expect(index.takeMatch(Sample.opening()) != nil)
                    }
                }
            }.min()!
        }
        #expect(time(beside: 20_000) < time(beside: 20) * 10)
    }
}
