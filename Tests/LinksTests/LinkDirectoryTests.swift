import PushModel
import SQLiteStorage
import Store
import Synchronization
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
