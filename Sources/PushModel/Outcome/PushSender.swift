/// A push ready to go: one delivery's next attempt.
package struct Push: Sendable {
    /// Which upstream it takes: the app decides credential and endpoint.
    package let route: PushRoute
    /// The queue it waits in.
    package let lane: Lane
    /// Where the push service finds the device, on the channel of ``route``.
    package let address: Address
    /// Whether the service has accepted ``address`` before. Otherwise it is a suspect: its push travels apart, because a
    /// refused token makes APNs narrow the whole connection.
    package let isProven: Bool
    /// Whether somebody waits for what becomes of it: during a pause such a push is the next probe.
    package let isAwaited: Bool
    /// Body and headers, shared by the pushes of a broadcast.
    package let content: any ComposedPush
    /// The body for this device: `content.payload`, or with its FID spliced in.
    package let payload: [UInt8]
    /// `apns-id`.
    package let id: PushID
    /// Whether it may still be sent by this gateway; `nil`: it may. Asked from any thread, must not block.
    package let mayLeave: (@Sendable () -> Bool)?

    /// Puts a push together. An address of which nothing is known is a suspect.
    package init(
        route: PushRoute, lane: Lane, address: Address, isProven: Bool = false, isAwaited: Bool = false,
        content: any ComposedPush, payload: [UInt8], id: PushID, mayLeave: (@Sendable () -> Bool)? = nil
    ) {
        self.route = route
        self.lane = lane
        self.address = address
        self.isProven = isProven
        self.isAwaited = isAwaited
        self.content = content
        self.payload = payload
        self.id = id
        self.mayLeave = mayLeave
    }
}

/// What decides the way of a push upstream.
package struct PushRoute: Hashable, Sendable {
    /// The project.
    package let project: ProjectID
    /// The app.
    package let app: AppID
    /// The channel of the address.
    package let channel: Channel

    /// Names a route.
    package init(project: ProjectID, app: AppID, channel: Channel) {
        self.project = project
        self.app = app
        self.channel = channel
    }
}

/// The answer to one push of a batch.
package struct PushReport: Sendable {
    /// The push's place in the batch that was sent.
    package let index: Int
    /// What became of it.
    package let outcome: Outcome
    /// From the hand-over to the answer.
    package let latency: Duration
    /// Whether it was an attempt. `false`: the gateway itself held the push back, as `throttled`, because its upstream,
    /// topic or device is not to get any for a while; APNs saw nothing of it.
    package let isAttempt: Bool
    /// Whether another push is on its way to see if what holds this one back has passed. Only of what is no attempt.
    package let isBeingProbed: Bool
    /// What the service said of a push that it accepted, as ``Acceptance/text``.
    package let upstreamID: String?

    /// Describes an answer.
    package init(
        index: Int, outcome: Outcome, latency: Duration, isAttempt: Bool = true, isBeingProbed: Bool = false,
        upstreamID: String? = nil
    ) {
        self.upstreamID = upstreamID
        self.index = index
        self.outcome = outcome
        self.latency = latency
        self.isAttempt = isAttempt
        self.isBeingProbed = isBeingProbed
    }

    /// The same answer to the push at another place: for who sends a part of a batch on.
    package func moved(to index: Int) -> PushReport {
        PushReport(
            index: index, outcome: outcome, latency: latency, isAttempt: isAttempt, isBeingProbed: isBeingProbed,
            upstreamID: upstreamID)
    }
}

/// The way upstream: takes batches, answers in batches. Every push gets exactly one report, whatever happens.
package protocol PushSender: Sendable {
    /// Hands a batch over; suspends while the upstream's queue is full. Each lane has a queue of its own: bulk pushes that
    /// wait for room never keep interactive ones waiting. `report` is called from any thread, possibly before this
    /// returns, with each index of `batch` exactly once over all calls. It must not block.
    func send(_ batch: [Push], report: @escaping @Sendable ([PushReport]) -> Void) async

    /// The gateway is about to stop: what waits for a connection that is not there ends at once, as `notSent(shutdown)`,
    /// also what comes later; what can be sent is. ``shutdown(within:)`` follows. Must not block.
    func windDown()

    /// Takes no more pushes, lets those in flight finish within `limit`, and ends the others as `notSent` or `unknown`:
    /// when this returns, every push has its report. Idempotent; a hand-over that waits for room returns.
    func shutdown(within limit: Duration) async

    /// What operators want to see of each upstream.
    var upstreams: [UpstreamStatus] { get }

    /// The routes for which nothing, or only a few pushes, should be taken from the store; a route that is not named is
    /// free. A snapshot, made when it changes: cheap enough to be asked before each claim.
    ///
    /// Advice, not a promise: what is handed over all the same is reported as held back (`throttled`, not an attempt) or
    /// as `notSent`, and a route that is not named may be held a moment later.
    var heldRoutes: [PushRoute: HeldRoute] { get }

    /// Sets what is called after ``heldRoutes`` changed: a route was added or went away, or its ``HeldRoute`` changed by
    /// anything but the passing of time. `body` is called from any thread, without a lock held, and must not block. It
    /// is not called when a ``HeldRoute/retryAfter`` has passed: a caller that waits for that sleeps so long, or until the next
    /// call. To be set once, before the first push.
    func onHeldRoutesChange(_ body: @escaping @Sendable () -> Void)
}

extension PushSender {
    /// None: nothing is ever held.
    package var heldRoutes: [PushRoute: HeldRoute] { [:] }

    /// Does nothing: nothing waits for a connection.
    package func windDown() {}

    /// Does nothing, because nothing ever changes.
    package func onHeldRoutesChange(_ body: @escaping @Sendable () -> Void) {}
}

/// A route whose pushes would be given back: its upstream can't be reached or its pushes are refused.
///
/// | `retryAfter` | what to take |
/// |---|---|
/// | more than zero | nothing until then, or until the next change |
/// | zero | up to `limit` pushes, to try; once they are handed over the route shows another `retryAfter`, or is free |
package struct HeldRoute: Hashable, Sendable {
    /// From now until something may be tried, at least zero. While a try is under way: how long to wait for its end,
    /// which is reported as a change.
    package var retryAfter: Duration
    /// How many pushes are wanted then, at least 1: one for a pause, a few for an upstream that is to be dialed.
    package var limit: Int
    /// Whether interactive pushes go on all the same: the upstream is slow, and takes these first.
    package var isBulkOnly: Bool
    /// Whether it is held because its credential is refused.
    package var isOfCredential: Bool

    /// Describes a held route.
    package init(retryAfter: Duration, limit: Int, isBulkOnly: Bool = false, isOfCredential: Bool = false) {
        self.retryAfter = retryAfter
        self.limit = limit
        self.isBulkOnly = isBulkOnly
        self.isOfCredential = isOfCredential
    }
}

/// How one upstream (endpoint and credential) is doing.
package struct UpstreamStatus: Hashable, Sendable {
    /// `host:port team/key`, no secret in it.
    package var name: String
    /// Whether at least one connection is usable, or none is needed yet.
    package var isReachable: Bool
    /// The last failure to connect, in words; `nil` after a success.
    package var lastFailure: String?
    /// Open connections.
    package var connections: Int
    /// Streams in use over all connections.
    package var streamsInUse: Int
    /// Streams that the peer allows over all connections.
    package var streamLimit: Int
    /// Pushes waiting for a stream.
    package var queued: Int
    /// The most that may wait.
    package var queueLimit: Int
    /// Whether pushes wait for a connection, or are given back at once.
    package var circuit: UpstreamCircuit
    /// Attempts to connect that failed since the start.
    package var failedDials: Int
    /// The last answer that shows that endpoint and credential work, since the upstream was opened; `nil`: none.
    package var lastWorked: Timestamp?
    /// What went wrong last with the upstream, its credential or a topic, since it was opened; `nil`: nothing.
    package var lastTrouble: UpstreamTrouble?
    /// GOAWAY frames since the start, by APNs' reason or the error code's name; a bounded set.
    package var goAways: [String: Int]
    /// The projects whose apps push through it.
    package var projects: Set<ProjectID> = []
    /// The apps in their environments whose pushes go to it.
    package var routes: Set<PushRoute> = []
    /// What gets no pushes for now because APNs refused it: the whole upstream, or topics and apps of it.
    package var pauses: [UpstreamPause] = []
    /// How far the gateway's clock is ahead of APNs' (negative: behind), to the second; `nil`: not known yet.
    package var clockSkew: Duration?
    /// The most pushes that may be in flight while APNs is overloaded; `nil`: no such limit.
    package var paceLimit: Int?

    /// Describes an upstream.
    package init(
        name: String, isReachable: Bool, lastFailure: String?, connections: Int, streamsInUse: Int, streamLimit: Int,
        queued: Int, queueLimit: Int, circuit: UpstreamCircuit = .closed, failedDials: Int = 0,
        goAways: [String: Int] = [:]
    ) {
        self.name = name
        self.isReachable = isReachable
        self.lastFailure = lastFailure
        self.connections = connections
        self.streamsInUse = streamsInUse
        self.streamLimit = streamLimit
        self.queued = queued
        self.queueLimit = queueLimit
        self.circuit = circuit
        self.failedDials = failedDials
        self.goAways = goAways
    }
}

/// Something that went wrong with an upstream.
package struct UpstreamTrouble: Hashable, Sendable {
    /// The service's reason or the transport's cause.
    package var reason: String
    /// When.
    package var time: Timestamp

    /// Describes it.
    package init(reason: String, time: Timestamp) {
        self.reason = reason
        self.time = time
    }
}

/// Whether an upstream is worth waiting for.
package enum UpstreamCircuit: String, Hashable, Sendable, CaseIterable {
    /// Yes.
    case closed
    /// No, after several failures in a row: pushes are given back at once until the next attempt to connect is due.
    case open
    /// An attempt to connect is due or under way; a few pushes wait for it.
    case halfOpen = "half_open"
}

/// A pause: APNs refused pushes for a reason that would meet others too, so they are held back. One push at a time is
/// let through as a probe; the first that passes ends the pause.
package struct UpstreamPause: Hashable, Sendable {
    /// What is held back.
    package enum Part: Hashable, Sendable {
        /// Every push.
        case everything
        /// The pushes with this `apns-topic`.
        case topic(String)
        /// The pushes of this app to this environment whose device tokens APNs has accepted before.
        case route(PushRoute)
        /// Those whose device tokens it has never accepted.
        case suspects(PushRoute)
    }

    /// What is held back.
    package var part: Part
    /// Why: the service's reason.
    package var reason: Reason
    /// Since when.
    package var since: Timestamp
    /// When the next probe may go; in the past: with the next push, or one is on its way.
    package var nextProbe: Timestamp

    /// Describes a pause.
    package init(part: Part, reason: Reason, since: Timestamp, nextProbe: Timestamp) {
        self.part = part
        self.reason = reason
        self.since = since
        self.nextProbe = nextProbe
    }
}
