import PushModel
import Synchronization

/// One push that goes to its push service past the store, while its sender waits for the answer.
///
/// What the service provably did not process is sent again, and so is what waits for the probe of a pause, until the time is
/// over. Everything else is the answer.
struct AwaitedPush: Sendable {
    /// Where the report of one hand-over arrives.
    private final class ReportSlot: Sendable {
        let report = Mutex<PushReport?>(nil)
        let came = AutoResetEvent()
    }

    /// Before the push is sent again.
    private static let pause: Duration = .milliseconds(100)

    let push: Push
    let sender: any PushSender
    let clock: any Clock<Duration>
    let wallTime: WallTime

    /// Sends it.
    ///
    /// - Returns: the answer; `nil`: none came in time. The push may arrive all the same.
    func answer(within limit: Duration) async -> PushReport? {
        let deadline = wallTime() + limit
        var hasChangedConnection = false
        while true {
            guard let report = await handOver(until: deadline) else { return nil }
            switch report.outcome {
            case .notSent(.noRoute), .notSent(.shutdown), .accepted, .rejected, .unknown: return report
            case .notSent: break
            case .throttled where !report.isAttempt && report.isBeingProbed: break
            case .throttled(let refusal, _):
                // An access token that is not taken is asked for anew, once.
                guard case .connection = refusal.scope, !hasChangedConnection else { return report }
                hasChangedConnection = true
            }
            guard deadline - wallTime() > Self.pause, !Task.isCancelled else { return report }
            await clock.pause(Self.pause)
        }
    }

    private func handOver(until deadline: Timestamp) async -> PushReport? {
        let slot = ReportSlot()
        // No child of this task: nothing but the sender ends a hand-over, and the caller is answered in time.
        Task { [push, sender] in
            await sender.send([push]) { reports in
                slot.report.withLock { $0 = $0 ?? reports.first }
                slot.came.raise()
            }
        }
        await slot.came.wait(atMost: max(.zero, deadline - wallTime()), on: clock)
        return slot.report.withLock { $0 }
    }
}
