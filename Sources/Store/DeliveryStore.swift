package import PushModel

/// A delivery that a worker has taken on.
package struct ClaimedDelivery: Sendable {
    /// The message; load it with ``MessageStore/message(_:in:)`` (workers keep it while they need it).
    package var message: MessageID
    /// The message's project.
    package var project: ProjectID
    /// When the message was accepted.
    package var acceptedAt: Timestamp
    /// When the message expires: known also when its content can't be read.
    package var expiresAt: Timestamp
    /// The registration as it is now.
    package var registration: DeliveryRegistration
    /// The fan-out page it belongs to; `nil` for single sends and retries.
    package var page: FanOutPage.ID?
    /// What earlier attempts gave.
    package var history: AttemptHistory

    /// Puts a claim together.
    package init(
        message: MessageID, project: ProjectID, acceptedAt: Timestamp, expiresAt: Timestamp,
        registration: DeliveryRegistration, page: FanOutPage.ID?, history: AttemptHistory
    ) {
        self.message = message
        self.project = project
        self.acceptedAt = acceptedAt
        self.expiresAt = expiresAt
        self.registration = registration
        self.page = page
        self.history = history
    }
}

/// What the attempts of a delivery gave so far.
package struct AttemptHistory: Hashable, Sendable {
    /// Attempts that ended.
    package var attempts: Int
    /// Those of them that ended `unknown`.
    package var unknownAttempts: Int
    /// Those of the unknown ones that the gateway itself cut off: it ended, or lost its lease. They say nothing of the
    /// upstream, so no pause grows by them. The ledger counts them with the others and does not keep this figure.
    package var interruptions: Int
    /// Reason or cause of the last one; the reason of an expired delivery.
    package var lastCause: String?
    /// When the registration's environment refused the device token: attempts go to the other one since then, unless
    /// the registration was refreshed meanwhile.
    package var probingSince: Timestamp?
    /// Which environment that was; set together with ``probingSince``. When the registration is of another one by now,
    /// there is nothing to probe.
    package var refusedBy: APNSEnvironment?

    /// No attempt yet.
    package init(
        attempts: Int = 0, unknownAttempts: Int = 0, interruptions: Int = 0, lastCause: String? = nil,
        probingSince: Timestamp? = nil, refusedBy: APNSEnvironment? = nil
    ) {
        self.attempts = attempts
        self.unknownAttempts = unknownAttempts
        self.interruptions = interruptions
        self.lastCause = lastCause
        self.probingSince = probingSince
        self.refusedBy = refusedBy
    }

    /// What is known of deliveries that were in the hands of runs that ended: each may have sent them.
    package init(interruptions: Int) {
        self.init(
            attempts: interruptions, unknownAttempts: interruptions, interruptions: interruptions,
            lastCause: interruptions > 0 ? TransportCause.interrupted.rawValue : nil)
    }
}

/// Who claims: one run of one runner. Numbers are never used twice, so that one that lost its lease is told from the
/// one that took over.
package struct WorkerID: Hashable, Sendable {
    /// The number in the store.
    package let rawValue: Int64

    /// Takes the number.
    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }
}

/// A part of a broadcast that has recipients left to claim.
package struct OpenFanOut: Hashable, Sendable {
    /// The most shards of one message that are offered at a time.
    package static let shardsPerMessage = 3
    /// The most paced messages of one project that are offered at a time.
    package static let pacedLimit = 256

    /// Names a shard.
    package struct ID: Hashable, Sendable {
        /// The message's number in the store: ascends with accept.
        package let message: Int64
        /// The shard of it.
        package let shard: Int64

        /// Names a shard.
        package init(message: Int64, shard: Int64) {
            self.message = message
            self.shard = shard
        }
    }

    /// Its id.
    package var id: ID
    /// The message.
    package var message: MessageID
    /// The project.
    package var project: ProjectID
    /// The message's ``PushModel/DeliveryOptions/rate``.
    package var rate: Int?
    /// The message's ``PushModel/DeliveryOptions/finishBy``.
    package var finishBy: Timestamp?
    /// Recipients of the whole message that are still to be claimed, by the estimate of accept.
    package var remaining: Int
    /// The one route it is for: whom another shard came by while that route was held; `nil`: all others.
    package var route: PushRoute?

    /// Whether its message has a pace of its own.
    package var isPaced: Bool { rate != nil || finishBy != nil }

    /// Puts it together.
    package init(
        id: ID, message: MessageID, project: ProjectID, rate: Int?, finishBy: Timestamp?, remaining: Int,
        route: PushRoute?
    ) {
        self.id = id
        self.message = message
        self.project = project
        self.rate = rate
        self.finishBy = finishBy
        self.remaining = remaining
        self.route = route
    }
}

/// What claiming from a shard brought.
package struct FanOutClaim: Sendable {
    /// The claimed page; `nil`: nobody was left in the range that was read.
    package var page: FanOutPage?
    /// Whether the shard has nothing more to claim (at its end, paused, cancelled, or gone).
    package var isDone: Bool

    /// Puts a claim together.
    package init(page: FanOutPage?, isDone: Bool) {
        self.page = page
        self.isDone = isDone
    }
}

/// The routes that have single deliveries or retries due.
package struct DueRoutes: Hashable, Sendable {
    /// Routes with at least one delivery that is due.
    package var routes: [PushRoute]
    /// When the next delivery of the lane falls due that is not due now; `nil`: none waits.
    package var next: Timestamp?

    /// Puts it together.
    package init(routes: [PushRoute] = [], next: Timestamp? = nil) {
        self.routes = routes
        self.next = next
    }
}

/// Recipients of a fan-out that were claimed together.
package struct FanOutPage: Sendable {
    /// Names a claimed page.
    package struct ID: Hashable, Sendable {
        /// The page's number in the store.
        package let rawValue: Int64

        /// Takes the number.
        package init(rawValue: Int64) {
            self.rawValue = rawValue
        }
    }

    /// Its id.
    package var id: ID
    /// The message.
    package var message: MessageID
    /// The deliveries that are still to be made, in the order of registration keys.
    package var deliveries: [ClaimedDelivery]

    /// Puts a page together.
    package init(id: ID, message: MessageID, deliveries: [ClaimedDelivery]) {
        self.id = id
        self.message = message
        self.deliveries = deliveries
    }
}

/// What is to be recorded about a claimed delivery.
package struct Settlement: Sendable {
    /// Which delivery.
    package var delivery: ClaimedDelivery
    /// What happened.
    package var result: Result

    /// What happened.
    package enum Result: Sendable {
        /// It ended: one ledger row.
        case ended(LedgerEntry)
        /// It is tried again.
        case retry(AttemptHistory, notBefore: Timestamp)
    }

    /// Puts a settlement together.
    package init(delivery: ClaimedDelivery, result: Result) {
        self.delivery = delivery
        self.result = result
    }
}

/// How a delivery ended.
package struct LedgerEntry: Hashable, Sendable {
    /// The outcome.
    package var outcome: LedgerOutcome
    /// Apple's reason, or the last cause of an expired delivery; `nil` for accepted ones.
    package var reason: String?
    /// What the delivery taught about the registration's device token; `nil`: nothing that is not known. The store
    /// notes it in the same step, unless the registration has another device token by now.
    package var verdict: DeviceTokenVerdict?
    /// Whether the delivery ended because its device token was refused. When the registration has another one by now, the
    /// store makes a retry of it, see ``SettleResult/readdressed``.
    package var refusesDeviceToken: Bool
    /// Attempts made and unknown among them.
    package var history: AttemptHistory
    /// When it ended.
    package var time: Timestamp
    /// From accept to the end, milliseconds.
    package var latencyMilliseconds: Int64
    /// The `apns-id` that was sent.
    package var apnsID: APNSID

    /// Puts an entry together.
    package init(
        outcome: LedgerOutcome, reason: String?, verdict: DeviceTokenVerdict?, refusesDeviceToken: Bool = false,
        history: AttemptHistory, time: Timestamp, latencyMilliseconds: Int64, apnsID: APNSID
    ) {
        self.outcome = outcome
        self.reason = reason
        self.verdict = verdict
        self.refusesDeviceToken = refusesDeviceToken
        self.history = history
        self.time = time
        self.latencyMilliseconds = latencyMilliseconds
        self.apnsID = apnsID
    }
}

/// What APNs' answer says about the device token of a registration.
package enum DeviceTokenVerdict: Hashable, Sendable {
    /// APNs accepted it in this environment, which it did not before: it is proven from now on, the registration is of
    /// this environment, and its quarantine is over.
    case proven(in: APNSEnvironment)
    /// APNs refused it everywhere although it had accepted it before: it is a suspect again.
    case doubtful
    /// APNs refused it everywhere for this reason and never accepted it: the registration is quarantined, unless it was
    /// refreshed meanwhile.
    case refused(APNSReason)
    /// APNs saw it dead at this time (410): the registration ends unless it was registered or refreshed after that.
    case dead(since: Timestamp)
}

/// The four ends of a delivery.
package enum LedgerOutcome: String, Hashable, Sendable, CaseIterable {
    /// APNs took it.
    case accepted
    /// APNs refused it for good.
    case rejected
    /// Its time ran out.
    case expired
    /// Its message was cancelled.
    case cancelled
}

/// What a step of settlements did.
package struct SettleResult: Equatable, Sendable {
    /// Messages that are complete with it.
    package var complete: [MessageID]
    /// The message of each settlement that changed nothing: the worker has not claimed the delivery.
    package var refused: [MessageID]
    /// The places, in what was given, of ends that became a retry which is due at once: the device token that was refused
    /// is not the registration's any more, so the push goes to the new one.
    package var readdressed: [Int]

    /// What became of the messages.
    package init(complete: [MessageID] = [], refused: [MessageID] = [], readdressed: [Int] = []) {
        self.complete = complete
        self.refused = refused
        self.readdressed = readdressed
    }
}

/// The work that accepted messages make, and its results.
///
/// A claim belongs to a worker: it ends with ``settle(_:by:)``, or with ``takeOver(at:)`` after the worker's lease ran
/// out. Between the two, the claimed deliveries count as in flight. A worker whose lease was taken over gets
/// ``StoreError/Code-swift.enum/fenced`` for whatever it asks: it drops what it has and enrols anew.
package protocol DeliveryStore: Sendable {
    /// Makes a new worker.
    ///
    /// - Parameter name: for operators: host and process.
    func enroll(_ name: String, until lease: Timestamp) async throws(StoreError) -> WorkerID

    /// Extends a worker's lease.
    func renew(_ worker: WorkerID, until lease: Timestamp) async throws(StoreError)

    /// Ends workers whose lease ran out before `time`, and gives back what they had claimed and not settled. A store
    /// that only one process can open ends all workers of earlier processes, whatever their lease.
    ///
    /// Each of these deliveries may have been sent without its answer being recorded: it counts as one more attempt, an
    /// unknown one and an interruption, with ``TransportCause/interrupted`` as its last cause. All of them are due at
    /// `time` at the latest.
    ///
    /// - Returns: how many deliveries were given back.
    func takeOver(at time: Timestamp) async throws(StoreError) -> Int

    /// Shards with recipients left to claim whose messages are active, by project, the oldest messages first. Pages
    /// that ``takeOver(at:)`` gave back count as part of their shard.
    ///
    /// No message hides the ones after it: of each there are at most ``OpenFanOut/shardsPerMessage`` shards; paced
    /// messages are not counted against `limit`; and of the shards for a route that is held there is only the oldest,
    /// to try the route with.
    ///
    /// - Parameters:
    ///   - limit: the most messages of each project that are not paced; there are at most ``OpenFanOut/pacedLimit`` paced
    ///     ones beside them.
    ///   - held: routes that nothing is to be taken for.
    func openFanOuts(limitPerProject limit: Int, held: Set<PushRoute>) async throws(StoreError) -> [OpenFanOut]

    /// Claims the next page of a shard; pages that were given back come first, with the recipients that they had.
    ///
    /// - Parameters:
    ///   - held: routes of the project that nothing is to be taken for. Recipients of these are not claimed: those that
    ///     are come by are set aside for a shard of that route, see ``OpenFanOut/route``.
    ///   - limit: the most recipients.
    func claimPage(
        of fanOut: OpenFanOut.ID, limit: Int, held: Set<PushRoute>, by worker: WorkerID, at time: Timestamp
    ) async throws(StoreError) -> FanOutClaim

    /// The routes of a lane that have deliveries due at `time`; messages that are paused have none.
    func dueRoutes(_ lane: Lane, at time: Timestamp) async throws(StoreError) -> DueRoutes

    /// Claims up to `limit` single deliveries and retries of a lane and route that are due at `time`, the longest due
    /// first.
    func claimDue(
        _ lane: Lane, _ route: PushRoute, limit: Int, by worker: WorkerID, at time: Timestamp
    ) async throws(StoreError) -> [ClaimedDelivery]

    /// Claims the same of certain messages, to one registration each, and of no others: what of them is not due, or not
    /// of this lane and route, is left out.
    func claimDue(
        _ lane: Lane, _ route: PushRoute, of messages: [MessageID], by worker: WorkerID, at time: Timestamp
    ) async throws(StoreError) -> [ClaimedDelivery]

    /// Records results in one transaction: ledger entries, retries, what was learned about registrations, page
    /// progress, completed messages. A retry of a cancelled message ends as cancelled. An end by a device token that the
    /// registration does not have any more is a retry, while the message lives.
    ///
    /// - Returns: messages that are complete with this step, those whose settlements changed nothing, and what goes to
    ///   another device token.
    func settle(_ settlements: [Settlement], by worker: WorkerID) async throws(StoreError) -> SettleResult

    /// Makes deliveries due at `time` that wait for a moment after `limit`, at most `count` of them: no back-off is so
    /// long, so the clock that made them wait was wrong.
    ///
    /// - Returns: how many; fewer than `count`: no other waits so long.
    func bringForward(waitingBeyond limit: Timestamp, to time: Timestamp, count: Int) async throws(StoreError) -> Int

    /// Ends the pauses of messages whose time has run out, at most `limit`: what they have open ends as expired, like that
    /// of any other message.
    ///
    /// - Returns: how many pauses ended; fewer than `limit`: no other is to end.
    func endExpiredPauses(limit: Int, at time: Timestamp) async throws(StoreError) -> Int

    /// Sets times in the store back to `now` that are hours ahead of it: a clock that was wrong gave them. They are those by
    /// which exports and the ends of registrations go.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    func clampTimes(to now: Timestamp) async throws(StoreError) -> Bool

    /// Books what cancelled messages have left as cancelled, at most `limit` deliveries in one step.
    ///
    /// - Returns: how many were booked; fewer than `limit`: nothing is left.
    func bookCancelled(limit: Int, at time: Timestamp) async throws(StoreError) -> Int

    /// How much is waiting, by lane (for gauges): deliveries in flight or waiting for an attempt, and what running
    /// fan-outs have still to claim by the estimate of accept.
    func backlog() async throws(StoreError) -> [Lane: Int]
}

extension DeliveryStore {
    /// ``openFanOuts(limitPerProject:held:)`` while no route is held.
    package func openFanOuts(limitPerProject limit: Int) async throws(StoreError) -> [OpenFanOut] {
        try await openFanOuts(limitPerProject: limit, held: [])
    }
}
