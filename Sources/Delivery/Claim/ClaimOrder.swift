import PushModel
import Store

/// The size of a lane.
struct LaneSize {
    /// The most that may be in flight.
    let inFlight: Int
    /// The most that one claim takes.
    let claim: Int
    /// The room that a claim waits for: pages of one row each, as answers trickle in, would waste the store's time.
    let leastRoom: Int
    /// Claims under way at the same time.
    let claims: Int
    /// The most that may be in flight where deliveries are claimed with their accept.
    let direct: Int

    /// Puts a size together; each figure becomes at least 1 and none is larger than `inFlight` allows.
    ///
    /// - Parameter direct: `nil`: as many as may be in flight.
    init(inFlight: Int, claim: Int, leastRoom: Int, claims: Int, direct: Int? = nil) {
        let inFlight = max(1, inFlight)
        self.inFlight = inFlight
        self.claim = max(1, min(claim, inFlight))
        self.leastRoom = max(1, min(leastRoom, inFlight))
        self.claims = max(1, claims)
        self.direct = min(direct ?? inFlight, inFlight)
    }
}

/// A claim to be made.
struct ClaimOrder: Sendable {
    /// Where from.
    enum Source: Sendable {
        /// A page of a fan-out.
        case page(OpenFanOut)
        /// Single deliveries and retries of a route.
        case due(PushRoute)
        /// Retries of a held route whose senders wait, and no others.
        case awaited(PushRoute, [AwaitedRetry])
    }

    let source: Source
    let project: ProjectID
    let limit: Int
    /// Routes that nothing is to be taken for.
    let held: Set<PushRoute>
    /// The held route that is tried with it; `nil`: none.
    let tried: PushRoute?
    let worker: WorkerID
    /// How many times the store's offers had been read.
    let reading: Int
}
