import PushModel
import Store

/// Whether a lane may claim: it has a worker, the store takes results, and no claim failed a moment ago.
struct ClaimPermit {
    /// The answer.
    enum State: Hashable {
        /// In this worker's name.
        case allowed(WorkerID)
        /// Not before that time; `nil`: before a change.
        case denied(until: Timestamp?)
        /// Never again.
        case stopped
    }

    /// Who claims; `nil`: no claim before there is a new worker.
    private var worker: WorkerID?
    /// Whether results can't be recorded: no claims meanwhile.
    private var isHeld = false
    /// No claim before this, because the last one failed.
    private var pausedUntil: Timestamp?
    /// Whether the lane claims no more. Final.
    private(set) var isStopped = false

    /// Whether claims may be made at `now`.
    func state(at now: Timestamp) -> State {
        if isStopped { return .stopped }
        guard let worker, !isHeld else { return .denied(until: nil) }
        if let pausedUntil, pausedUntil > now { return .denied(until: pausedUntil) }
        return .allowed(worker)
    }

    /// Who claims from now on.
    mutating func use(_ worker: WorkerID?) {
        self.worker = worker
    }

    /// A worker was fenced.
    mutating func lose(_ worker: WorkerID) {
        if self.worker == worker { self.worker = nil }
    }

    /// Results can't be recorded, or can again.
    mutating func hold(_ isHeld: Bool) {
        self.isHeld = isHeld
    }

    /// No claims before `time`; `nil`: no such pause.
    mutating func pause(until time: Timestamp?) {
        pausedUntil = time
    }

    /// No claims from now on.
    mutating func stop() {
        isStopped = true
    }
}
