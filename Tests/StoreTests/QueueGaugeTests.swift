import CoreMetrics
import Dispatch
import Logging
import PushModel
import Synchronization
import TestSupport
import Testing

@testable import Store

/// An operator sees how many writes wait, and how many may.
@Suite(.timeLimit(.minutes(5)))
struct QueueGaugeTests {
    @Test func theQueueOfWritesAndItsLimitAreMeasured() async throws {
        let directory = try TestDirectory()
        let gauges = GaugeRecorder()
        let store = try SQLiteStore(
            directory: directory.path, role: .gateway, metrics: gauges, logger: Logger(label: "test"))
        let gate = DispatchSemaphore(value: 0)
        #expect(gauges[.storeQueueLimit] == Double(GroupCommitter.queueLimit))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await store.write { _ in gate.wait() } }
            await gauges.until(.storeQueue, is: 0)
            for count in 1...3 {
                group.addTask { try await store.write { _ in } }
                await gauges.until(.storeQueue, is: Double(count))
            }
            gate.signal()
            try await group.waitForAll()
        }
        await gauges.until(.storeQueue, is: 0)
    }
}

/// Keeps the last value of each gauge.
private final class GaugeRecorder: MetricsFactory {
    private struct State {
        var values: [String: Double] = [:]
        var watchers: [(label: String, value: Double, CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    subscript(name: MetricName) -> Double? { state.withLock { $0.values[name.rawValue] } }

    /// Waits until a gauge has a value.
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

    fileprivate func record(_ value: Double, _ label: String) {
        let ready = state.withLock { state in
            state.values[label] = value
            let ready = state.watchers.filter { $0.label == label && $0.value == value }
            state.watchers.removeAll { $0.label == label && $0.value == value }
            return ready
        }
        for watcher in ready { watcher.2.resume() }
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        Handler(label: label, recorder: self)
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        NOOPMetricsHandler.instance
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        NOOPMetricsHandler.instance
    }

    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}

    private final class Handler: RecorderHandler {
        let label: String
        let recorder: GaugeRecorder

        init(label: String, recorder: GaugeRecorder) {
            self.label = label
            self.recorder = recorder
        }

        func record(_ value: Int64) { recorder.record(Double(value), label) }
        func record(_ value: Double) { recorder.record(value, label) }
    }
}
