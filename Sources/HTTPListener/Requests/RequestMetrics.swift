import Metrics
import PushModel
import Synchronization

/// The counters and timers of requests. Their handles are kept: finding one by its labels costs more than counting.
///
/// Bounded by the route table times the statuses that there are.
package final class RequestMetrics: Sendable {
    private struct Key: Hashable {
        let route: String
        let status: Int
    }

    private struct Handles {
        let requests: Counter
        let duration: Timer
    }

    private let handles = Mutex<[Key: Handles]>([:])

    /// No series yet.
    package init() {}

    /// Counts a request.
    ///
    /// - Parameter route: of a small set, never what callers make up.
    package func record(route: String, status: Int, duration: Duration) {
        let key = Key(route: route, status: status)
        let known = handles.withLock { $0[key] }
        let handles = known ?? make(key)
        handles.requests.increment()
        handles.duration.record(duration: duration)
    }

    /// Made outside of the lock: the backend has its own. Two that are made at once count into the same series.
    private func make(_ key: Key) -> Handles {
        let made = Handles(
            requests: Counter(
                label: MetricName.httpRequests.rawValue,
                dimensions: [("route", key.route), ("status", String(key.status))]),
            duration: Timer(label: MetricName.httpDuration.rawValue, dimensions: [("route", key.route)]))
        handles.withLock { $0[key] = made }
        return made
    }
}
