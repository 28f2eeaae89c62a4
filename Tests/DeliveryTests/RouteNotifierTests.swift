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

    @Test func aPauseAndItsEndAreNotedOnceEach() async throws {
        let (store, clock) = (FakeStore(), TestClock())
        let notifier = RouteNotifier(
            store: store, rest: .seconds(1), clock: clock, wallTime: clock.wallTime(startingAt: Sample.start),
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        let route = PushRoute(Sample.registration(1))
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
            #expect(await changes.next() == .events)
            group.cancelAll()
        }
        let notices = await store.log.map { event in
            if case .route(let notice) = event.kind { notice } else { nil as RouteNotice? }
        }
        #expect(notices == [RouteNotice(route, isPaused: true), RouteNotice(route, isPaused: false)])
    }
}
