import Foundation
import TestSupport
import Testing

/// The promise of a link: once its creation was answered 200 it opens, whatever kills the gateway, and however often. Of its
/// clicks those of the last second are lost at most.
///
/// `HERALD_CRASH_SEED` repeats a run, `HERALD_CRASH_KILLS` makes it longer.
@Suite(.serialized, .heavy, .timeLimit(.minutes(30)))
struct LinkCrashTests {
    private static let mark = "mark"

    @Test("no link is lost by kills under a load of creations and clicks, and no click that was written")
    func kills() async throws {
        let seed = testSetting("HERALD_CRASH_SEED", .random(in: 1...999_999))
        let kills = Int(testSetting("HERALD_CRASH_KILLS", 6))
        try await GatewayUnderTest.with { test in
            try test.addLinks()
            let load = LinkCrashLoad(key: test.keys.sender)
            try await Self.run(test, load, kills: kills, random: SeededRandom(seed: seed))
            let process = try await test.start()
            let lost = try await Self.compare(load, process)
            let clicks = load.clicks.values
            let kept = clicks.reduce(0) { $0 + $1.kept }
            print(
                "link crash: seed \(seed), \(kills) kills, \(load.links.count) links, \(clicks.reduce(0) { $0 + $1.sent })"
                    + " clicks, \(kept) of them written before a kill, \(lost) not counted, \(load.unanswered) requests"
                    + " without an answer")
            #expect(load.problems.isEmpty, "seed \(seed): \(load.problems.prefix(20))")
            // A run in which nothing happened proves nothing.
            #expect(load.links.count >= kills * 5 && kept >= kills * 5)
            try await load.shutdown()
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    /// Kills gateways while callers make and open links: the odd ones at any instant of their first half second, the even
    /// ones after they have written what was clicked.
    private static func run(
        _ test: GatewayUnderTest, _ load: LinkCrashLoad, kills: Int, random: SeededRandom
    ) async throws {
        var random = random
        let calls = random.part(0)
        var process = try await test.start()
        try await load.makeMark(mark, at: process.baseURL)
        load.begin(process.baseURL)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            // Also when a step fails: callers that wait for a gateway would wait for ever.
            defer { load.address.finish() }
            for caller in 0..<4 {
                // Two make each link, so that the same creation comes twice at a time.
                tasks.addTask {
                    await load.makeLinks("c\(caller / 2)", pause: 0...12, random: calls.part(UInt64(caller)))
                }
                tasks.addTask { await load.openLinks(pause: 0...6, random: calls.part(UInt64(10 + caller))) }
            }
            tasks.addTask { await load.readStatistics(pause: 5...30, random: calls.part(20)) }
            var kill = 0
            // On a slow machine little is made between two kills: then there are more of them.
            while kill < kills || load.links.count < kills * 5 {
                if kill % 2 == 1 { try await load.keepClicks(marking: mark, at: process.baseURL) }
                // The instant of the kill: chance, not a wait.
                try await Task.sleep(for: .milliseconds(Int.random(in: 20...450, using: &random)))
                load.address.use(nil)
                await process.end(with: SIGKILL)
                process = try await test.start()
                load.begin(process.baseURL)
                kill += 1
            }
            load.address.finish()
            try await tasks.waitForAll()
        }
        await process.end(with: SIGKILL)
    }

    /// Reads what is left: each link is the same, opens, and has the clicks that were written.
    ///
    /// - Returns: how many clicks are not counted.
    private static func compare(_ load: LinkCrashLoad, _ process: GatewayProcess) async throws -> Int {
        var lost = 0
        for (name, made) in load.links {
            let counted = try await load.shownClicks(name, at: process.baseURL)
            let clicks = try #require(load.clicks[name])
            #expect(clicks.kept <= counted && counted <= clicks.sent, "\(name): \(clicks), \(counted) are counted")
            lost += clicks.sent - counted
            #expect(try await load.make(name, at: process.baseURL)?.url == made.url, "\(name)")
            try await load.open(name, process.baseURL)
        }
        return lost
    }
}
