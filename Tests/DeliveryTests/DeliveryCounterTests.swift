import Delivery
import Metrics
import PushModel
import Store
import Synchronization
import TestSupport
import Testing

/// `herald_deliveries_total` counts each delivery that ends, by the settler or by the store itself.
@Suite(.timeLimit(.minutes(5)))
struct DeliveryCounterTests {
    @Test func theCounterAgreesWithTheLedgerWhateverEndedADelivery() async throws {
        let counters = CounterRecorder()
        let rig = Rig(metrics: counters) { push, _ in
            push.deviceToken == Sample.registration(2).deviceToken ? .rejected(.unregistered) : .accepted
        }
        let route = PushRoute(project: Sample.projectID, app: Sample.appID, channel: .apns(.production))
        try await rig.subscribe(5)
        try await rig.run { rig in
            await rig.untilIdle()
            _ = try await rig.accept(to: 1)
            _ = try await rig.accept(to: 2)
            await rig.store.untilEnded(2)
            // What comes now waits: one broadcast is cancelled, another one's time runs out.
            rig.sender.hold([route: HeldRoute(retryAfter: .seconds(3600), limit: 1)])
            let cancelled = try await rig.acceptTopic()
            _ = try await rig.controller.control(cancelled.id, in: Sample.projectID, .cancel, by: .gateway)
            let end = Int(Sample.start.seconds) + 60
            _ = try await rig.acceptTopic(
                #"{"apns":{"headers":{"apns-expiration":"\#(end)"},"payload":{"aps":{"alert":"x"}}}}"#)
            try await rig.advance { store in
                let (count, books) = (await store.ledger.count, await store.books)
                return count == counters.total(.deliveries) && books.allSatisfy { $0.value.isComplete }
            }
            var ledger: [String: Int] = [:]
            for entry in await rig.store.ledger.values { ledger[entry.outcome.rawValue, default: 0] += 1 }
            #expect(counters.sums(of: .deliveries) == ledger)
            #expect(ledger["expired"] == 5 && ledger["cancelled"] == 5)
            #expect(counters.platforms(of: .attempts) == ["apple": 2])
            #expect(counters.platforms(of: .deliveries)["apple"] == 2)
            let recent = rig.runner.recentReasons(of: Sample.projectID)
            #expect(recent.filter { $0.outcome == .expired }.map(\.count) == [5])
            #expect(recent.filter { $0.outcome == .cancelled }.map(\.reason) == ["Cancelled"])
        }
    }
}

/// Sums up counters by name and outcome.
private final class CounterRecorder: MetricsFactory {
    private let values = Mutex<[String: [String: Int]]>([:])
    private let platforms = Mutex<[String: [String: Int]]>([:])

    /// A counter's values by outcome.
    func sums(of name: MetricName) -> [String: Int] {
        values.withLock { $0[name.rawValue] ?? [:] }
    }

    /// A counter's values by platform.
    func platforms(of name: MetricName) -> [String: Int] {
        platforms.withLock { $0[name.rawValue] ?? [:] }
    }

    /// The sum of all its values.
    func total(_ name: MetricName) -> Int {
        sums(of: name).values.reduce(0, +)
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        let outcome = dimensions.first { $0.0 == "outcome" }?.1 ?? ""
        let platform = dimensions.first { $0.0 == "platform" }?.1 ?? ""
        return Handler { count in
            self.platforms.withLock { $0[label, default: [:]][platform, default: 0] += Int(count) }
            self.values.withLock { $0[label, default: [:]][outcome, default: 0] += Int(count) }
        }
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        NOOPMetricsHandler.instance
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { NOOPMetricsHandler.instance }

    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}

    private final class Handler: CounterHandler {
        private let add: @Sendable (Int64) -> Void

        init(add: @escaping @Sendable (Int64) -> Void) {
            self.add = add
        }

        func increment(by count: Int64) { add(count) }
        func reset() {}
    }
}
