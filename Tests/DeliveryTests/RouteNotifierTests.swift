import Logging
import PushModel
import Store
import TestSupport
import Testing

@testable import Delivery

/// Pauses of routes are events, once each.
@Suite(.timeLimit(.minutes(1)))
struct RouteNotifierTests {
    private static let pause = HeldRoute(retryAfter: .seconds(30), limit: 1)

    private let store = ObservedStore()
    private let clock = TestClock()
    private let route = PushRoute(Sample.registration(1))
    private let lease: WorkerLease
    private let notifier: RouteNotifier

    init() {
        lease = WorkerLease(on: clock)
        notifier = RouteNotifier(
            store: store, lease: lease, rest: .seconds(1), clock: clock,
            wallTime: clock.wallTime(startingAt: Sample.start),
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    }

    private func enroll() async throws {
        lease.begin(try await store.enroll("test", for: .seconds(3600)), asked: .zero)
        notifier.enrolled()
    }

    private func notices() async -> [RouteNotice?] {
        await store.events.map { event in if case .route(let notice) = event.kind { notice } else { nil } }
    }

    @Test func aPauseAndItsEndAreNotedOnceEach() async throws {
        try await enroll()
        var changes = store.changes.makeAsyncIterator()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await notifier.run() }
            // Neither a dial nor a slow upstream is a pause.
            notifier.hold([route: HeldRoute(retryAfter: .zero, limit: 8)])
            notifier.hold([route: HeldRoute(retryAfter: .zero, limit: 1, isBulkOnly: true)])
            notifier.hold([route: Self.pause])
            #expect(await changes.next() == .events)
            notifier.hold([route: HeldRoute(retryAfter: .seconds(10), limit: 1)])
            await clock.sleepers(1, within: .seconds(1))
            notifier.hold([:])
            clock.advance(by: .seconds(1))
            await store.until { $0.events.count == 2 }
            group.cancelAll()
        }
        #expect(await notices() == [RouteNotice(route, isPaused: true), RouteNotice(route, isPaused: false)])
    }

    /// The takeover ended the pauses of the former worker, those that still hold as well.
    @Test func aNewWorkerNotesWhatIsPausedAndAPauseWaitsForOne() async throws {
        var changes = store.changes.makeAsyncIterator()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await notifier.run() }
            notifier.hold([route: Self.pause])
            try await enroll()
            #expect(await changes.next() == .events)
            let first = try #require(lease.worker)
            try await store.fence(at: Sample.start)
            lease.lose(first)
            try await enroll()
            clock.advance(by: .seconds(1))
            await clock.sleepers(1, within: .seconds(1))
            clock.advance(by: .seconds(1))
            await store.until { $0.events.count == 3 }
            group.cancelAll()
        }
        #expect(await notices() == [true, false, true].map { RouteNotice(route, isPaused: $0) })
    }
}
