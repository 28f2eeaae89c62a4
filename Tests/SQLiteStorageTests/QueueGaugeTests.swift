import CoreMetrics
import Dispatch
import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Synchronization
import TestSupport
import Testing

@testable import SQLStorage
@testable import SQLiteStorage

/// An operator sees how many writes wait, and how many may.
@Suite(.timeLimit(.minutes(5)))
struct QueueGaugeTests {
    @Test func theQueueOfWritesAndItsLimitAreMeasured() async throws {
        let directory = try TestDirectory()
        let gauges = GaugeRecorder()
        let store = try SQLiteStore(
            directory: directory.path, role: .gateway, metrics: gauges, logger: Logger(label: "test"))
        let gate = DispatchSemaphore(value: 0)
        for kind in WriteKind.allCases {
            #expect(gauges[.storeQueueLimit, kind.rawValue] == Double(kind.limit))
        }
        #expect(gauges[.storeQueueLimit, "look_up"] == Double(ReadBatcher.queueLimit))
        try await withThrowingTaskGroup(of: Void.self) { group in
            let (running, isRunning) = AsyncStream.makeStream(of: Never.self)
            group.addTask {
                try await store.write { _ in
                    isRunning.finish()
                    gate.wait()
                }
            }
            for await _ in running {}
            await gauges.until(.storeQueue, "accept", is: 0)
            for count in 1...3 {
                group.addTask { try await store.write(.accept) { _ in } }
                await gauges.until(.storeQueue, "accept", is: Double(count))
            }
            gate.signal()
            try await group.waitForAll()
        }
        await gauges.until(.storeQueue, "accept", is: 0)
        #expect(gauges[.storeQueue, "claim"] == 0)
    }
}

/// Keeps the last value of each gauge.
private final class GaugeRecorder: MetricsFactory {
    private struct State {
        var values: [String: Double] = [:]
        var watchers: [(label: String, value: Double, CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    subscript(name: MetricName, kind: String) -> Double? {
        state.withLock { $0.values[Self.label(name.rawValue, kind)] }
    }

    private static func label(_ name: String, _ kind: String) -> String { "\(name) \(kind)" }

    /// Waits until a gauge has a value.
    func until(_ name: MetricName, _ kind: String, is value: Double) async {
        let label = Self.label(name.rawValue, kind)
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.values[label] == value { return true }
                state.watchers.append((label, value, continuation))
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
        Handler(label: Self.label(label, dimensions.first?.1 ?? ""), recorder: self)
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
