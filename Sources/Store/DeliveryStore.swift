public import PushModel

/// A delivery that a worker has taken on.
public struct ClaimedDelivery: Sendable {
    /// The message; load it with ``MessageStore/message(_:in:)`` (workers keep it while they need it).
    public var message: MessageID
    /// The message's project.
    public var project: ProjectID
    /// When the message was accepted.
    public var acceptedAt: Timestamp
    /// When the message expires: known also when its content can't be read.
    public var expiresAt: Timestamp
    /// The registration as it is now.
    public var registration: Registration
    /// The fan-out page it belongs to; `nil` for single sends and retries.
    public var page: FanOutPage.ID?
    /// What earlier attempts gave.
    public var history: AttemptHistory

    /// Puts a claim together.
    public init(
        message: MessageID, project: ProjectID, acceptedAt: Timestamp, expiresAt: Timestamp,
        registration: Registration, page: FanOutPage.ID?, history: AttemptHistory
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
public struct AttemptHistory: Hashable, Sendable {
    /// Attempts that ended.
    public var attempts: Int
    /// Those of them that ended `unknown`.
    public var unknownAttempts: Int
    /// Reason or cause of the last one; the reason of an expired delivery.
    public var lastCause: String?
    /// When the registration's environment refused the device token: attempts go to the other one since then, unless
    /// the registration was refreshed meanwhile.
    public var probingSince: Timestamp?
    /// Which environment that was; set together with ``probingSince``. When the registration is of another one by now,
    /// there is nothing to probe.
    public var refusedBy: APNSEnvironment?

    /// No attempt yet.
    public init(
        attempts: Int = 0, unknownAttempts: Int = 0, lastCause: String? = nil, probingSince: Timestamp? = nil,
        refusedBy: APNSEnvironment? = nil
    ) {
        self.attempts = attempts
        self.unknownAttempts = unknownAttempts
        self.lastCause = lastCause
        self.probingSince = probingSince
        self.refusedBy = refusedBy
    }

    /// What is known of deliveries that were in the hands of runs that ended: each may have sent them.
    public init(interruptions: Int) {
        self.init(
            attempts: interruptions, unknownAttempts: interruptions,
            lastCause: interruptions > 0 ? TransportCause.interrupted.rawValue : nil)
    }
}

/// A claimed range of a topic's subscriptions.
public struct FanOutPage: Sendable {
    /// Names a claimed page.
    public struct ID: Hashable, Sendable {
        /// The page's number in the store.
        public let rawValue: Int64

        /// Takes the number.
        public init(rawValue: Int64) {
            self.rawValue = rawValue
        }
    }

    /// Its id.
    public var id: ID
    /// The message.
    public var message: MessageID
    /// The deliveries that are still to be made, in the order of registration keys.
    public var deliveries: [ClaimedDelivery]

    /// Puts a page together.
    public init(id: ID, message: MessageID, deliveries: [ClaimedDelivery]) {
        self.id = id
        self.message = message
        self.deliveries = deliveries
    }
}

/// What is to be recorded about a claimed delivery.
public struct Settlement: Sendable {
    /// Which delivery.
    public var delivery: ClaimedDelivery
    /// What happened.
    public var result: Result

    /// What happened.
    public enum Result: Sendable {
        /// It ended: one ledger row.
        case ended(LedgerEntry)
        /// It is tried again.
        case retry(AttemptHistory, notBefore: Timestamp)
    }

    /// Puts a settlement together.
    public init(delivery: ClaimedDelivery, result: Result) {
        self.delivery = delivery
        self.result = result
    }
}

/// How a delivery ended.
public struct LedgerEntry: Hashable, Sendable {
    /// The outcome.
    public var outcome: LedgerOutcome
    /// Apple's reason, or the last cause of an expired delivery; `nil` for accepted ones.
    public var reason: String?
    /// What the delivery taught about the registration's device token; `nil`: nothing that is not known. The store
    /// notes it in the same step, unless the registration has another device token by now.
    public var verdict: DeviceTokenVerdict?
    /// Attempts made and unknown among them.
    public var history: AttemptHistory
    /// When it ended.
    public var time: Timestamp
    /// From accept to the end, milliseconds.
    public var latencyMilliseconds: Int64
    /// The `apns-id` that was sent.
    public var apnsID: APNSID

    /// Puts an entry together.
    public init(
        outcome: LedgerOutcome, reason: String?, verdict: DeviceTokenVerdict?, history: AttemptHistory,
        time: Timestamp, latencyMilliseconds: Int64, apnsID: APNSID
    ) {
        self.outcome = outcome
        self.reason = reason
        self.verdict = verdict
        self.history = history
        self.time = time
        self.latencyMilliseconds = latencyMilliseconds
        self.apnsID = apnsID
    }
}

/// What APNs' answer says about the device token of a registration.
public enum DeviceTokenVerdict: Hashable, Sendable {
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
public enum LedgerOutcome: String, Hashable, Sendable, CaseIterable {
    /// APNs took it.
    case accepted
    /// APNs refused it for good.
    case rejected
    /// Its time ran out.
    case expired
    /// Its message was cancelled.
    case cancelled
}

/// The work that accepted messages make, and its results.
///
/// A claim is held by this process: it ends with ``settle(_:)``, or with ``rescue()`` in the next run. Between the
/// two, the claimed deliveries count as in flight.
public protocol DeliveryStore: Sendable {
    /// Gives back everything that an earlier run had claimed and not settled. Called once, before any claim.
    ///
    /// Each of them may have been sent without its answer being recorded: it counts as one more attempt, an unknown one,
    /// with ``TransportCause/interrupted`` as its last cause.
    ///
    /// - Returns: how many deliveries were given back.
    func rescue() async throws(StoreError) -> Int

    /// Claims the next page of the fan-out that was served longest ago; `nil` when every fan-out is claimed to its end.
    /// Pages that ``rescue()`` gave back come first, without the deliveries that were settled before the crash.
    func claimPage(limit: Int, at time: Timestamp) async throws(StoreError) -> FanOutPage?

    /// Claims up to `limit` single deliveries and retries of a lane that are due at `time`, the longest due first.
    func claimDue(_ lane: Lane, limit: Int, at time: Timestamp) async throws(StoreError) -> [ClaimedDelivery]

    /// When the next delivery of a lane falls due that is not due at `time`; `nil` when none waits.
    func nextDue(_ lane: Lane, after time: Timestamp) async throws(StoreError) -> Timestamp?

    /// Records results in one transaction: ledger rows, retries, what was learned about registrations, page progress,
    /// completed messages.
    ///
    /// - Returns: messages that are complete with this step.
    func settle(_ settlements: [Settlement]) async throws(StoreError) -> [MessageID]

    /// How much is waiting, by lane (for gauges): deliveries in flight or waiting for an attempt, and what running
    /// fan-outs have still to claim by the estimate of accept.
    func backlog() async throws(StoreError) -> [Lane: Int]
}
