import PushModel
import Testing

@testable import Delivery

/// Retries of held routes whose senders wait.
struct AwaitedRetriesTests {
    private let now = Sample.start
    private let route = LaneScheduleTests.route("a")

    private func retry(_ name: String, after seconds: Int) -> AwaitedRetry {
        AwaitedRetry(message: MessageID(rawValue: name)!, due: now + .seconds(seconds))
    }

    @Test func dueOnesComeInTheOrderOfTime() {
        var retries = AwaitedRetries()
        for (name, seconds) in [("c", 3), ("a", 1), ("b", 2), ("d", 9)] {
            retries.insert(retry(name, after: seconds), of: route)
        }
        #expect(retries.due(of: route, limit: 9, at: now + .seconds(3)).map(\.message.rawValue) == ["a", "b", "c"])
        #expect(retries.due(of: route, limit: 2, at: now + .seconds(3)).map(\.message.rawValue) == ["a", "b"])
        retries.removeFirst(2, of: route)
        #expect(retries.due(of: route, limit: 9, at: now + .seconds(9)).map(\.message.rawValue) == ["c", "d"])
    }

    @Test func aMessageHasOneRetryAndOldOnesAreForgotten() {
        var retries = AwaitedRetries()
        retries.insert(retry("a", after: 1), of: route)
        retries.insert(retry("a", after: 5), of: route)
        #expect(retries.due(of: route, limit: 9, at: now + .seconds(5)) == [retry("a", after: 5)])
        retries.insert(retry("b", after: 66), of: route)
        #expect(retries.due(of: route, limit: 9, at: now + .seconds(66)) == [retry("b", after: 66)])
    }

    @Test func noRetryWaitsForATimeThatTheClockWentBackFrom() {
        var retries = AwaitedRetries()
        retries.insert(retry("a", after: 3600), of: route)
        retries.clamp(to: now)
        #expect(retries.due(of: route, limit: 9, at: now).count == 1)
    }
}
