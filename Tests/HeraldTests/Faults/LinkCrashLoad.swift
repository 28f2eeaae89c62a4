import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Synchronization
import TestSupport

/// What callers made and opened during a crash run of links, and what they were answered.
///
/// Each link leads to a target of its own, so that an answer shows whose it is.
final class LinkCrashLoad: Sendable {
    /// A link whose creation was answered 200.
    struct Made: Sendable {
        let url: String
        let target: String
    }

    /// The clicks of a link.
    struct Clicks: Sendable {
        /// Requests that were sent.
        var sent = 0
        /// Redirects that were answered by the present gateway.
        var ofLife = 0
        /// Redirects whose counts a gateway had written before it was killed.
        var kept = 0
        /// The most that statistics showed.
        var shown = 0
    }

    private struct State {
        var life = 0
        var links: [String: Made] = [:]
        /// The names of `links`, in the order they were made.
        var names: [String] = []
        var clicks: [String: Clicks] = [:]
        /// Requests without an answer.
        var unanswered = 0
        var problems: [String] = []
    }

    /// Where the gateway is.
    let address = GatewayAddress()
    private let state = Mutex(State())
    private let key: String
    private let browser = LinkBrowser()

    init(key: String) {
        self.key = key
    }

    var links: [String: Made] { state.withLock { $0.links } }
    var clicks: [String: Clicks] { state.withLock { $0.clicks } }
    var problems: [String] { state.withLock { $0.problems } }
    var unanswered: Int { state.withLock { $0.unanswered } }

    /// A gateway serves: its clicks are its own.
    func begin(_ baseURL: String) {
        state.withLock { state in
            state.life += 1
            for name in state.clicks.keys { state.clicks[name]?.ofLife = 0 }
        }
        address.use(baseURL)
    }

    func shutdown() async throws {
        try await browser.shutdown()
    }

    // MARK: Callers

    /// Makes links until the run is over, each until there is an answer.
    func makeLinks(_ series: String, pause: ClosedRange<Int>, random: SeededRandom) async {
        await run(pause, random) { number, _, baseURL in
            let name = "\(series)-\(number)"
            guard let made = try await self.make(name, at: baseURL) else { return false }
            self.note(made, as: name)
            return true
        }
    }

    /// Opens links until the run is over.
    func openLinks(pause: ClosedRange<Int>, random: SeededRandom) async {
        await run(pause, random) { _, random, baseURL in
            guard let name = self.state.withLock({ $0.names.randomElement(using: &random) }) else { return true }
            try await self.open(name, as: LinkBrowser.Agent.allCases.randomElement(using: &random) ?? .desktop, baseURL)
            return true
        }
    }

    /// Reads statistics until the run is over.
    func readStatistics(pause: ClosedRange<Int>, random: SeededRandom) async {
        await run(pause, random) { _, random, baseURL in
            guard let name = self.state.withLock({ $0.names.randomElement(using: &random) }) else { return true }
            _ = try await self.shownClicks(name, at: baseURL)
            return true
        }
    }

    /// Does one thing after the other; `step` gets its number, and says whether the next one may follow.
    private func run(
        _ pause: ClosedRange<Int>, _ random: SeededRandom,
        _ step: (_ number: Int, _ random: inout SeededRandom, _ baseURL: String) async throws -> Bool
    ) async {
        var random = random
        var number = 1
        while let baseURL = await address.next() {
            do {
                if try await step(number, &random, baseURL) { number += 1 }
            } catch {
                state.withLock { $0.unanswered += 1 }
                address.forget(baseURL)
            }
            do {
                // The load of a run: not a wait for anything.
                try await Task.sleep(for: .milliseconds(Int.random(in: pause, using: &random)))
            } catch {
                return
            }
        }
    }

    // MARK: Requests

    /// Makes a link, or finds the one of this name; `nil` after an answer that it must not have had.
    func make(_ name: String, at baseURL: String) async throws -> Made? {
        let target = "https://a.example/\(name)"
        let encoded = "https%3A%2F%2Fa.example%2F\(name)"
        let long = "https://go.example.com/?link=\(encoded)&ibi=com.example.app&ifl=\(encoded)&efr=1"
        let option = name.utf8.last.map { $0 % 3 == 0 } == true ? "SHORT" : "UNGUESSABLE"
        let answer = try await APIClient(baseURL: baseURL, key: key).post(
            "/v1/shortLinks", #"{"longDynamicLink":"\#(long)","suffix":{"option":"\#(option)"}}"#)
        guard answer.status == 200, let url = try answer.json["shortLink"] as? String else {
            problem("making \(name) was answered \(answer.status): \(answer.text)")
            return nil
        }
        return Made(url: url, target: target)
    }

    /// Takes a link into those that are opened.
    func note(_ made: Made, as name: String) {
        state.withLock { state in
            if let known = state.links[name] {
                guard known.url != made.url else { return }
                state.problems.append("\(name) is \(known.url) and \(made.url)")
            } else {
                state.links[name] = made
                state.clicks[name] = Clicks()
                state.names.append(name)
            }
        }
    }

    /// Opens a link.
    func open(_ name: String, as agent: LinkBrowser.Agent = .desktop, _ baseURL: String) async throws {
        let (made, life) = state.withLock { state in
            state.clicks[name]?.sent += 1
            return (state.links[name], state.life)
        }
        guard let made else { return problem("\(name) was never made") }
        let page = try await browser.open(made.url, at: baseURL, as: agent)
        guard page.status == 302, page.location == made.target else {
            return problem("\(name), \(made.url), was answered \(page.status), \(page.location ?? "no location")")
        }
        // An answer of a gateway that was killed may be read when the next one serves.
        state.withLock { if $0.life == life { $0.clicks[name]?.ofLife += 1 } }
    }

    /// The clicks of a link that its statistics show.
    func shownClicks(_ name: String, at baseURL: String) async throws -> Int {
        guard
            let (made, before) = state.withLock({ state in state.links[name].map { ($0, state.clicks[name]?.shown) } })
        else { return 0 }
        let link = made.url.replacing(":", with: "%3A").replacing("/", with: "%2F")
        let answer = try await APIClient(baseURL: baseURL, key: key).get("/v1/\(link)/linkStats?durationDays=7")
        guard answer.status == 200 else {
            problem("the statistics of \(name) were answered \(answer.status): \(answer.text)")
            return 0
        }
        let rows = try answer.json["linkEventStats"] as? [[String: String]] ?? []
        let count = rows.filter { $0["event"] == "CLICK" }.reduce(0) { $0 + (Int($1["count"] ?? "") ?? 0) }
        if count < before ?? 0 { problem("\(name) was shown \(before ?? 0) clicks and then \(count)") }
        state.withLock { state in
            let sent = state.clicks[name]?.sent ?? 0
            if count > sent { state.problems.append("\(name) has \(count) clicks of \(sent)") }
            let shown = state.clicks[name]?.shown ?? 0
            state.clicks[name]?.shown = max(count, shown)
        }
        return count
    }

    private func problem(_ text: String) {
        state.withLock { $0.problems.append(text) }
    }

    // MARK: What is kept

    /// Lets callers open links until the gateway has written counts, then waits until it has written those of all clicks that
    /// it has answered up to then, and takes note of them.
    ///
    /// It has when a click that came after them is shown, and after that one another: a write takes what was counted one
    /// part of the links after the other, so the first may have passed by what came before it.
    ///
    /// - Parameter mark: a link that no caller opens.
    func keepClicks(marking mark: String, at baseURL: String) async throws {
        try await waitForWrite(marking: mark, at: baseURL)
        let answered = state.withLock { $0.clicks.mapValues(\.ofLife) }
        for _ in 0..<2 { try await waitForWrite(marking: mark, at: baseURL) }
        state.withLock { state in
            for (name, count) in answered { state.clicks[name]?.kept += count }
        }
    }

    /// Opens a link and waits until its statistics show that.
    private func waitForWrite(marking mark: String, at baseURL: String) async throws {
        let before = try await shownClicks(mark, at: baseURL)
        try await open(mark, baseURL)
        let deadline = ContinuousClock.now + .seconds(60)
        while try await shownClicks(mark, at: baseURL) <= before {
            guard ContinuousClock.now < deadline else {
                throw ChildProcessError("no clicks were written in a minute")
            }
            // The API has no signal for a write: statistics are asked for, as their readers do.
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Makes the link that ``keepClicks(marking:at:)`` opens; the callers do not know of it.
    func makeMark(_ name: String, at baseURL: String) async throws {
        guard let made = try await make(name, at: baseURL) else { return }
        state.withLock { state in
            state.links[name] = made
            state.clicks[name] = Clicks()
        }
    }
}
