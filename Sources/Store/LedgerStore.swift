package import PushModel

/// What an operator sees of one message. At every instant
/// `recipients == accepted + rejected + expired + cancelled + inFlight`.
package struct DeliveryReport: Sendable {
    /// The message.
    package var message: MessageSummary
    /// Where it stands.
    package var state: MessageState
    /// When its last delivery ended.
    package var completedAt: Timestamp?
    /// Deliveries claimed so far.
    package var recipients: Int
    /// Registrations that the fan-out came by so far and did not claim; beside the recipients, not of them.
    package var passedOver: PassedOver
    /// Of the recipients, by how they ended.
    package var ended: [LedgerOutcome: Int]
    /// Of the recipients, not ended.
    package var inFlight: Int
    /// Rejected deliveries by reason.
    package var rejectedByReason: [String: Int]
    /// Milliseconds from accept to APNs' answer of accepted deliveries; `nil` while there are none.
    package var latency: LatencyPercentiles?
    /// What devices reported, by kind; kinds that none did are left out.
    package var receipts: [ReceiptKind: Int]

    /// Puts a report together.
    package init(
        message: MessageSummary, state: MessageState, completedAt: Timestamp?, recipients: Int,
        passedOver: PassedOver = PassedOver(), ended: [LedgerOutcome: Int], inFlight: Int,
        rejectedByReason: [String: Int], latency: LatencyPercentiles?, receipts: [ReceiptKind: Int] = [:]
    ) {
        self.receipts = receipts
        self.passedOver = passedOver
        self.message = message
        self.state = state
        self.completedAt = completedAt
        self.recipients = recipients
        self.ended = ended
        self.inFlight = inFlight
        self.rejectedByReason = rejectedByReason
        self.latency = latency
    }
}

/// Registrations that a fan-out passed by, by cause: each counts once, by the first cause that holds in this order.
/// A device that got the message under another registration is in none.
package struct PassedOver: Hashable, Sendable {
    /// Ended, or purged since.
    package var ended: Int
    /// In quarantine.
    package var quarantined: Int
    /// Not refreshed for so long that the project skips them.
    package var stale: Int

    /// Puts counts together.
    package init(ended: Int = 0, quarantined: Int = 0, stale: Int = 0) {
        self.ended = ended
        self.quarantined = quarantined
        self.stale = stale
    }
}

/// What reports show of a message: everything but its content.
package struct MessageSummary: Sendable {
    /// Its id.
    package var id: MessageID
    /// The project that sent it.
    package var project: ProjectID
    /// To whom.
    package var recipient: Message.Recipient
    /// When it was accepted.
    package var acceptedAt: Timestamp
    /// After this no attempt is started.
    package var expiresAt: Timestamp
    /// What was decided about it at accept.
    package var facts: MessageFacts
    /// How it is to be delivered.
    package var options: DeliveryOptions

    /// Puts a summary together.
    package init(
        id: MessageID, project: ProjectID, recipient: Message.Recipient, acceptedAt: Timestamp, expiresAt: Timestamp,
        facts: MessageFacts, options: DeliveryOptions = DeliveryOptions()
    ) {
        self.id = id
        self.project = project
        self.recipient = recipient
        self.acceptedAt = acceptedAt
        self.expiresAt = expiresAt
        self.facts = facts
        self.options = options
    }
}

/// Where a message stands.
package enum MessageState: String, Hashable, Sendable, CaseIterable {
    /// Deliveries are open.
    case active = "ACTIVE"
    /// Held by an operator.
    case paused = "PAUSED"
    /// Every delivery ended.
    case complete = "COMPLETE"
    /// Ended by an operator.
    case cancelled = "CANCELLED"
}

/// Percentiles of latency in milliseconds, within 4 %.
package struct LatencyPercentiles: Hashable, Sendable {
    /// Half were as fast or faster.
    package var p50: Int64
    /// 90 of 100 were as fast or faster.
    package var p90: Int64
    /// 99 of 100 were as fast or faster.
    package var p99: Int64

    /// Puts percentiles together.
    package init(p50: Int64, p90: Int64, p99: Int64) {
        self.p50 = p50
        self.p90 = p90
        self.p99 = p99
    }
}

/// One delivery as reports show it.
package struct DeliveryRecord: Sendable {
    /// The registration's FID.
    package var registration: RegistrationID
    /// Its app.
    package var app: AppID
    /// How it ended; `nil`: in flight.
    package var outcome: LedgerOutcome?
    /// Reason or last cause.
    package var reason: String?
    /// Attempts so far.
    package var history: AttemptHistory
    /// When it ended.
    package var endedAt: Timestamp?
    /// From accept to the end.
    package var latencyMilliseconds: Int64?
    /// The apns-id that was or will be sent.
    package var apnsID: APNSID?
    /// When the device says what it reported; empty in exports, which have rows for it.
    package var receipts: [ReceiptKind: Timestamp]

    /// Puts a record together.
    package init(
        registration: RegistrationID, app: AppID, outcome: LedgerOutcome?, reason: String?, history: AttemptHistory,
        endedAt: Timestamp?, latencyMilliseconds: Int64?, apnsID: APNSID?, receipts: [ReceiptKind: Timestamp] = [:]
    ) {
        self.receipts = receipts
        self.registration = registration
        self.app = app
        self.outcome = outcome
        self.reason = reason
        self.history = history
        self.endedAt = endedAt
        self.latencyMilliseconds = latencyMilliseconds
        self.apnsID = apnsID
    }
}

/// One ledger entry, or one receipt, with what lists of many messages show of its message.
package struct ExportRow: Sendable {
    /// The delivery; of a receipt only registration, app and apns-id.
    package var delivery: DeliveryRecord
    /// The message.
    package var message: MessageID
    /// Its topic.
    package var topic: Topic?
    /// What was decided about it at accept.
    package var facts: MessageFacts
    /// A number for the fan-out (`bulk_id`): positive, the same for all deliveries of a topic message; `nil` for a
    /// single send.
    package var bulkID: Int64?
    /// Continues the list after this row.
    package var cursor: String
    /// What the device reported; `nil`: the row says how the delivery ended.
    package var receipt: Receipt?

    /// Puts a row together.
    package init(
        delivery: DeliveryRecord, message: MessageID, topic: Topic?, facts: MessageFacts, bulkID: Int64?,
        cursor: String, receipt: Receipt? = nil
    ) {
        self.receipt = receipt
        self.delivery = delivery
        self.message = message
        self.topic = topic
        self.facts = facts
        self.bulkID = bulkID
        self.cursor = cursor
    }
}

/// A page of results and where the next one begins.
package struct ResultPage<Element: Sendable>: Sendable {
    /// The results.
    package var elements: [Element]
    /// The cursor for the next page; `nil` at the end.
    package var nextCursor: String?

    /// Puts a page together.
    package init(elements: [Element], nextCursor: String?) {
        self.elements = elements
        self.nextCursor = nextCursor
    }
}

/// What waits in one lane for one app.
package struct BacklogShare: Hashable, Sendable {
    /// The lane.
    package var lane: Lane
    /// The app; `nil`: recipients of broadcasts, whose apps are known when they have been claimed and settled.
    package var app: AppID?
    /// Deliveries that wait for an attempt, and recipients that running fan-outs have still to claim, by the estimate of
    /// accept.
    package var waiting = 0
    /// Deliveries that a worker has claimed.
    package var inFlight = 0
    /// The same as ``waiting`` of messages that are paused.
    package var paused = 0

    /// An empty share.
    package init(lane: Lane, app: AppID?) {
        self.lane = lane
        self.app = app
    }
}

/// The record of every delivery. Cursors are opaque to callers; a wrong one throws `.badCursor`.
package protocol LedgerStore: Sendable {
    /// What waits of a project by lane and app, read in one snapshot; shares without anything are left out. Deliveries of
    /// cancelled messages are none of it.
    func backlog(of project: ProjectID) async throws(StoreError) -> [BacklogShare]

    /// One message's report, read in one snapshot.
    func report(_ id: MessageID, in project: ProjectID) async throws(StoreError) -> DeliveryReport?

    /// Reports of a project's messages, the newest first; `state` keeps those that are in it.
    func reports(
        in project: ProjectID, state: MessageState?, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<DeliveryReport>

    /// The deliveries of a message; `outcome` keeps those that ended so. They come in the order of recording, so that
    /// those that end while the list is read come later in it. When `outcome` is `nil`, deliveries in flight are listed
    /// after the ended ones, with no outcome: first those that have a row of their own (single ones and retries), then
    /// those that are claimed as part of a page.
    func deliveries(
        of id: MessageID, in project: ProjectID, outcome: LedgerOutcome?, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<DeliveryRecord>

    /// The deliveries to one registration that ended, those recorded last first: why a device got something or not.
    ///
    /// One call looks at a bounded part of the ledger: a page may have fewer than `limit` rows, or none, and go on. A
    /// registration that was purged, or is of another project, has none.
    func deliveries(
        to registration: RegistrationID, in project: ProjectID, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<ExportRow>

    /// Ledger rows of a project that were recorded in `start ..< end`, in that order; then the receipts that were.
    ///
    /// A row's time of recording is not the time when its delivery ended: the settlement is committed later than APNs
    /// answers. It is the newest end in its batch, or a later time that was given to a row or to an export before, and
    /// so never goes back. An export ends at `now` at the latest, and what is recorded after it is never put before its
    /// end: windows back to back (`a ..< b`, `b ..< c`) hold every row once, whenever they are read.
    ///
    /// - Parameter now: the present of the caller, the same for all pages of one export.
    func export(
        project: ProjectID, from start: Timestamp, to end: Timestamp, at now: Timestamp, after cursor: String?,
        limit: Int
    ) async throws(StoreError) -> ResultPage<ExportRow>

    /// What became of the deliveries to an app's registrations, by the day when their messages were accepted and by
    /// label: the newest day first, in one snapshot. Deliveries of a fan-out are in it when they are claimed.
    func deliveryDays(
        of app: AppID, in project: ProjectID, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<DeliveryDay>
}

extension LedgerStore {
    /// Reports of a project's messages, the newest first, whatever their state.
    package func reports(
        in project: ProjectID, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<DeliveryReport> {
        try await reports(in: project, state: nil, after: cursor, limit: limit)
    }
}
