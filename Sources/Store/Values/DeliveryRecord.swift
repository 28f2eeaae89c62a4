package import PushModel

/// One delivery as reports show it.
package struct DeliveryRecord: Sendable {
    /// The registration's FID.
    package var registration: RegistrationID
    /// Its app.
    package var app: AppKey
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
    package var pushID: PushID?
    /// What the push service said of an accepted push, as ``Acceptance/text``.
    package var upstreamID: String?
    /// When the device says what it reported; empty in exports, which have rows for it.
    package var receipts: [ReceiptKind: Timestamp]

    /// Puts a record together.
    package init(
        registration: RegistrationID, app: AppKey, outcome: LedgerOutcome?, reason: String?, history: AttemptHistory,
        endedAt: Timestamp?, latencyMilliseconds: Int64?, pushID: PushID?, upstreamID: String? = nil,
        receipts: [ReceiptKind: Timestamp] = [:]
    ) {
        self.upstreamID = upstreamID
        self.receipts = receipts
        self.registration = registration
        self.app = app
        self.outcome = outcome
        self.reason = reason
        self.history = history
        self.endedAt = endedAt
        self.latencyMilliseconds = latencyMilliseconds
        self.pushID = pushID
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
    /// What was decided about it at accept, as it is on the delivery's platform.
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
