import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Synchronization
import TestSupport
import Testing

@testable import Links

/// Links are found without the store for a moment, and never longer than they are what they were.
@Suite(.timeLimit(.minutes(2)))
struct LinkDirectoryTests {
    private final class Dial: Sendable {
        private let time = Mutex(ContinuousClock.now)

        var now: ContinuousClock.Instant { time.withLock { $0 } }

        func advance(by duration: Duration) { time.withLock { $0 += duration } }
    }

    private let dial = Dial()
    private let sample: CountingLinkStore
    private let directory: LinkDirectory

    init() throws {
        sample = try CountingLinkStore()
        directory = LinkDirectory(store: sample, limit: 64, now: { [dial] in dial.now })
    }

    private func key(_ suffix: String) -> LinkKey { LinkKey(prefix: "go.example.com", suffix: suffix) }

    @Test func aLinkIsReadOnceUntilItsTimeIsOver() async throws {
        _ = try await sample.create(CountingLinkStore.newLink("aB"), audit: nil)
        let first = try #require(try await directory.link(key("aB")))
        #expect(first.parameters[.link] == "https://a.example/")
        #expect(try await directory.link(key("aB")) === first)
        #expect(sample.lookUps == 1)
        #expect(try await directory.link(key("ab")) == nil)
        dial.advance(by: LinkDirectory.lifetime)
        // One that did not change keeps what was read of it.
        #expect(try await directory.link(key("aB")) === first)
        #expect(sample.lookUps == 3)
    }

    @Test func aSuffixWithoutALinkIsAskedForOnceUntilALinkIsMade() async throws {
        for _ in 0..<5 { #expect(try await directory.link(key("x")) == nil) }
        #expect(sample.lookUps == 1)
        _ = try await sample.create(CountingLinkStore.newLink("x"), audit: nil)
        #expect(try await directory.link(key("x")) != nil)
        #expect(sample.lookUps == 2)
    }

    @Test func aChangeShowsAtOnce() async throws {
        _ = try await sample.create(CountingLinkStore.newLink("a"), audit: nil)
        #expect(try await directory.link(key("a"))?.link.state == .active)
        var change = LinkChange()
        change.state = .blocked
        _ = try await sample.change(key("a"), of: CountingLinkStore.project.id, change, audit: nil)
        #expect(try await directory.link(key("a"))?.link.state == .blocked)
    }

    @Test func aNewLinkTakesNoOtherLinkOut() async throws {
        _ = try await sample.create(CountingLinkStore.newLink("a"), audit: nil)
        _ = try await directory.link(key("a"))
        _ = try await sample.create(CountingLinkStore.newLink("b"), audit: nil)
        _ = try await directory.link(key("a"))
        #expect(sample.lookUps == 1)
    }

    @Test func whatAnotherProcessDoesShowsWithinTheLifetime() async throws {
        _ = try await sample.create(CountingLinkStore.newLink("a"), audit: nil)
        #expect(try await directory.link(key("a"))?.link.state == .active)
        #expect(try await directory.link(key("b")) == nil)
        let command = try sample.command()
        var change = LinkChange()
        change.state = .deleted
        _ = try await command.change(key("a"), of: CountingLinkStore.project.id, change, audit: nil)
        _ = try await command.create(CountingLinkStore.newLink("b"), audit: nil)
        try command.close()
        dial.advance(by: LinkDirectory.lifetime)
        #expect(LinkDirectory.lifetime < .seconds(1))
        #expect(try await directory.link(key("a"))?.link.state == .deleted)
        #expect(try await directory.link(key("b")) != nil)
    }

    @Test func entriesStayGoodWhileNoOtherProcessCommits() async throws {
        _ = try await sample.create(CountingLinkStore.newLink("a"), audit: nil)
        _ = try await directory.link(key("a"))
        await directory.hearOfOthers()
        let first = try await directory.link(key("a"))
        dial.advance(by: LinkDirectory.lifetime)
        // What was read before the store was asked the first time may have been changed since.
        #expect(try await directory.link(key("a")) === first)
        #expect(try await directory.link(key("b")) == nil)
        #expect(sample.lookUps == 3)
        for _ in 0..<5 {
            await directory.hearOfOthers()
            dial.advance(by: LinkDirectory.lifetime - .milliseconds(1))
            #expect(try await directory.link(key("a")) === first)
            #expect(try await directory.link(key("b")) == nil)
        }
        #expect(sample.lookUps == 3)
        // Clicks are this process' own commits.
        try await sample.add([
            LinkCount(link: try #require(first).link.id, day: 1, platform: .ios, event: .click, count: 1)
        ])
        await directory.hearOfOthers()
        _ = try await directory.link(key("a"))
        #expect(sample.lookUps == 3)
        dial.advance(by: LinkDirectory.lifetime)
        _ = try await directory.link(key("a"))
        #expect(sample.lookUps == 4, "the store was not heard of for too long")
    }

    @Test func aCommitOfAnotherProcessIsHeardOf() async throws {
        _ = try await sample.create(CountingLinkStore.newLink("a"), audit: nil)
        _ = try await directory.link(key("a"))
        await directory.hearOfOthers()
        #expect(try await directory.link(key("a"))?.link.state == .active)
        #expect(try await directory.link(key("b")) == nil)
        let command = try sample.command()
        var change = LinkChange()
        change.state = .blocked
        _ = try await command.change(key("a"), of: CountingLinkStore.project.id, change, audit: nil)
        _ = try await command.create(CountingLinkStore.newLink("b"), audit: nil)
        try command.close()
        dial.advance(by: LinkDirectory.lifetime)
        await directory.hearOfOthers()
        #expect(try await directory.link(key("a"))?.link.state == .blocked)
        #expect(try await directory.link(key("b")) != nil)
    }

    @Test func aStoreThatDoesNotSayWhatOthersCommitIsAskedForEachLink() async throws {
        _ = try await sample.create(CountingLinkStore.newLink("a"), audit: nil)
        _ = try await directory.link(key("a"))
        await directory.hearOfOthers()
        _ = try await directory.link(key("a"))
        sample.failure.withLock { $0 = StoreError(.failed, "the disk is gone") }
        dial.advance(by: LinkDirectory.lifetime)
        await directory.hearOfOthers()
        let lookUps = sample.lookUps
        _ = try await directory.link(key("a"))
        #expect(sample.lookUps == lookUps + 1)
    }

    @Test func itGoesOnHearingOfOthersWhileItRuns() async throws {
        let clock = TestClock()
        let directory = LinkDirectory(store: sample, clock: clock, now: { [dial] in dial.now })
        _ = try await sample.create(CountingLinkStore.newLink("a"), audit: nil)
        let task = Task { await directory.run() }
        for _ in 0..<8 {
            _ = try await directory.link(key("a"))
            await clock.sleepers(within: .milliseconds(250))
            clock.advance(by: .milliseconds(250))
            await clock.sleepers(within: .milliseconds(250))
            dial.advance(by: .milliseconds(250))
        }
        // The first time, and once since the store was asked the first time.
        #expect(sample.lookUps == 2)
        task.cancel()
        await task.value
    }

    @Test func whatManyTasksLookUpIsNeverOlderThanTheLastChange() async throws {
        let names = (0..<8).map { "n\($0)" }
        for name in names { _ = try await sample.create(CountingLinkStore.newLink(name), audit: nil) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for name in names {
                // One that changes a link, and sees each change at once.
                group.addTask { [sample, directory] in
                    for end in 1...20 {
                        var change = LinkChange()
                        change.expiresAt = .some(Timestamp(seconds: Int64(end)))
                        let key = LinkKey(prefix: "go.example.com", suffix: name)
                        _ = try await sample.change(key, of: CountingLinkStore.project.id, change, audit: nil)
                        #expect(try await directory.link(key)?.link.expiresAt == Timestamp(seconds: Int64(end)))
                    }
                }
                // One that looks all up, in its own order, and keeps what follows from them.
                group.addTask { [directory, dial] in
                    for number in 0..<200 {
                        let other = names[(number * 7 + name.count) % names.count]
                        let key = LinkKey(prefix: "go.example.com", suffix: other)
                        let link = try #require(try await directory.link(key))
                        let version = LinkTenant.Version()
                        link.keep(computerURL: other, under: version)
                        #expect(link.computerURL(under: LinkTenant.Version()) == nil)
                        dial.advance(by: .milliseconds(5))
                    }
                }
            }
            group.addTask { [directory] in for _ in 0..<100 { await directory.hearOfOthers() } }
            try await group.waitForAll()
        }
    }

    @Test func theMemoryIsBoundedAndWhatIsUsedStays() async throws {
        _ = try await sample.create(CountingLinkStore.newLink("hot"), audit: nil)
        for number in 0..<400 {
            _ = try await directory.link(key("n\(number)"))
            #expect(try await directory.link(key("hot")) != nil)
        }
        #expect(directory.count <= 64)
        #expect(sample.lookUps <= 401)
    }
}
