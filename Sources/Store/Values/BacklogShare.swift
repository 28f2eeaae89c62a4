package import PushModel

/// What waits in one lane for one app.
package struct BacklogShare: Hashable, Sendable {
    /// The lane.
    package var lane: Lane
    /// The app; `nil`: recipients of broadcasts, whose apps are known when they have been claimed and settled.
    package var app: AppKey?
    /// Deliveries that wait for an attempt, and recipients that running fan-outs have still to claim, by the estimate of
    /// accept.
    package var waiting = 0
    /// Deliveries that a worker has claimed.
    package var inFlight = 0
    /// The same as ``waiting`` of messages that are paused.
    package var paused = 0

    /// An empty share.
    package init(lane: Lane, app: AppKey?) {
        self.lane = lane
        self.app = app
    }
}
