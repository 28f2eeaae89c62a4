import Logging
import PushModel
import ServiceLifecycle
import Store
import Synchronization
import TestSupport
import Testing

@testable import Links

/// What happens with links is in the store a second later, and at the end.
@Suite(.timeLimit(.minutes(2)))
struct LinkCounterTests {
    /// Keeps what is written, unless it is told to fail.
    private final class Sink: Sendable {
        let rows = Mutex<[LinkCount]>([])
        let fails = Mutex(false)

        func write(_ counts: [LinkCount]) throws(StoreError) {
            if fails.withLock({ $0 }) { throw StoreError(.failed, "the disk is full") }
            rows.withLock { $0 += counts }
        }

        var sums: [Int64: Int] {
            rows.withLock { $0.reduce(into: [:]) { $0[$1.link.rawValue, default: 0] += $1.count } }
        }
    }

    private let clock = TestClock()
    private let sink = Sink()
    private let start = Timestamp(milliseconds: 86_400_000 - 500)

    private func counter(limit: Int = 1000) -> LinkCounter {
        LinkCounter(
            limit: limit, clock: clock, wallTime: clock.wallTime(startingAt: start),
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
            write: { [sink] counts async throws(StoreError) in try sink.write(counts) })
    }

    private func link(_ number: Int64) -> LinkID { LinkID(rawValue: number) }

    @Test func eventsAreAddedUpAndWrittenOnceASecond() async throws {
        let counter = counter()
        let task = Task { await counter.run() }
        await clock.sleepers(within: .seconds(1))
        for _ in 0..<3 { counter.count(.click, of: link(1), on: .ios) }
        counter.count(.redirect, of: link(1), on: .ios)
        counter.count(.click, of: link(17), on: .android)
        #expect(sink.rows.withLock { $0 }.isEmpty)
        clock.advance(by: .seconds(1))
        await clock.sleepers(within: .seconds(1))
        let expected = [
            LinkCount(link: link(1), day: 0, platform: .ios, event: .click, count: 3),
            LinkCount(link: link(1), day: 0, platform: .ios, event: .redirect, count: 1),
            LinkCount(link: link(17), day: 0, platform: .android, event: .click, count: 1),
        ]
        #expect(Set(sink.rows.withLock { $0 }) == Set(expected))
        // The second half of the second was another day.
        counter.count(.click, of: link(1), on: .ios)
        task.cancel()
        await task.value
        #expect(
            sink.rows.withLock { $0.last } == LinkCount(link: link(1), day: 1, platform: .ios, event: .click, count: 1))
    }

    @Test func whatIsLeftIsWrittenAtTheEnd() async throws {
        let counter = counter()
        let group = ServiceGroup(
            services: [counter], logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        let task = Task { try await group.run() }
        await clock.sleepers(within: .seconds(1))
        counter.count(.click, of: link(1), on: .ios)
        await group.triggerGracefulShutdown()
        try await task.value
        #expect(sink.sums == [1: 1])
    }

    @Test func whatTheStoreDoesNotTakeIsKept() async throws {
        let counter = counter()
        for number in 0..<100 { counter.count(.click, of: link(Int64(number)), on: .other) }
        sink.fails.withLock { $0 = true }
        await counter.flush()
        for number in 0..<100 { counter.count(.click, of: link(Int64(number)), on: .other) }
        await counter.flush()
        sink.fails.withLock { $0 = false }
        await counter.flush()
        await counter.flush()
        #expect(sink.sums == Dictionary(uniqueKeysWithValues: (0..<100).map { ($0, 2) }))
    }

    @Test func theMemoryIsBoundedAndWhatIsThereCountsOn() async throws {
        let counter = counter(limit: 160)
        for number in 0..<1000 { counter.count(.click, of: link(Int64(number)), on: .other) }
        for number in 0..<160 { counter.count(.click, of: link(Int64(number)), on: .other) }
        await counter.flush()
        #expect(sink.sums == Dictionary(uniqueKeysWithValues: (0..<160).map { ($0, 2) }))
    }

    @Test func countsOfManyThreadsAddUp() async throws {
        let counter = counter()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for number in 0..<500 { counter.count(.click, of: LinkID(rawValue: Int64(number % 50)), on: .ios) }
                    await counter.flush()
                }
            }
        }
        await counter.flush()
        #expect(sink.sums == Dictionary(uniqueKeysWithValues: (0..<50).map { ($0, 80) }))
    }
}
