import Delivery
import Metrics
import PushModel
import Store
import Synchronization
import TestSupport
import Testing

/// `herald_active_messages` follows the commits of the store.
@Suite(.timeLimit(.minutes(5)))
struct ActiveMessagesTests {
    @Test func theGaugeFollowsEachCommit() async throws {
        let gauges = GaugeRecorder()
        let rig = Rig(metrics: gauges, script: { _, _ in nil })
        try await rig.add(1...2)
        try await rig.run { rig in
            await gauges.until(.activeMessages, is: 0)
            _ = try await rig.accept(to: 1)
            await gauges.until(.activeMessages, is: 1)
            let other = try await rig.acceptElsewhere(Sample.submission(to: .registration(Sample.registration(2))))
            await gauges.until(.activeMessages, is: 2)
            _ = try await rig.controller.control(other.id, in: Sample.projectID, .cancel, by: .gateway)
            rig.sender.release(.accepted, isStanding: true)
            await gauges.until(.activeMessages, is: 0)
        }
    }
}

/// Keeps the last value of each gauge.
private final class GaugeRecorder: MetricsFactory {
    private struct State {
        var values: [String: Double] = [:]
        var watchers: [(label: String, value: Double, CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    /// Waits until a gauge shows `value`.
    func until(_ name: MetricName, is value: Double) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.values[name.rawValue] == value { return true }
                state.watchers.append((name.rawValue, value, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    private func record(_ value: Double, as label: String) {
        let ready = state.withLock { state in
            state.values[label] = value
            let ready = state.watchers.filter { $0.label == label && $0.value == value }
            state.watchers.removeAll { $0.label == label && $0.value == value }
            return ready
        }
        for watcher in ready { watcher.2.resume() }
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        Handler { value in self.record(value, as: label) }
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        NOOPMetricsHandler.instance
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { NOOPMetricsHandler.instance }

    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}

    private final class Handler: RecorderHandler {
        private let set: @Sendable (Double) -> Void

        init(set: @escaping @Sendable (Double) -> Void) {
            self.set = set
        }

        func record(_ value: Int64) { set(Double(value)) }
        func record(_ value: Double) { set(value) }
    }
}
