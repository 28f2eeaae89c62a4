import NIOCore
import Synchronization

/// What a sink saw, of all its connections. Times are of the system's monotonic clock, in nanoseconds, which is the same
/// in all processes.
final class SinkRecord: Sendable {
    /// What one read of a connection brought.
    struct Batch {
        var pushes = 0
        var dataBytes = 0
        var probes: [Int] = []
    }

    private let state = Mutex(SinkReport())

    /// Counts a batch, once for each read of a connection.
    func note(_ batch: Batch, answeredAfter delay: TimeAmount) {
        guard batch.pushes > 0 else { return }
        let now = NIODeadline.now().uptimeNanoseconds
        state.withLock { report in
            report.pushes += batch.pushes
            report.dataBytes += batch.dataBytes
            if report.firstTime == 0 { report.firstTime = now }
            report.lastTime = now
            for probe in batch.probes {
                report.probes[probe] = now + UInt64(delay.nanoseconds)
            }
        }
    }

    /// What there was since the last call.
    func take() -> SinkReport {
        state.withLock { report in
            defer { report = SinkReport() }
            return report
        }
    }
}

/// What a sink saw since it was asked last.
struct SinkReport: Codable {
    /// Requests that came to their end.
    var pushes = 0
    /// Bytes of their bodies.
    var dataBytes = 0
    /// When the first came; 0 when there was none.
    var firstTime: UInt64 = 0
    /// When the last came.
    var lastTime: UInt64 = 0
    /// When which ``ProbeMessage`` was answered.
    var probes: [Int: UInt64] = [:]
}
