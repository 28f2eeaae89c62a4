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
    /// The same by platform; platforms without a registration that the message came by are left out.
    package var platforms: [Platform: PlatformReport]
    /// Rejected deliveries by reason.
    package var rejectedByReason: [String: Int]
    /// Milliseconds from accept to APNs' answer of accepted deliveries; `nil` while there are none.
    package var latency: LatencyPercentiles?
    /// The latencies that ``latency`` sums up.
    package var latencies = LatencyHistogram()
    /// What devices reported, by kind; kinds that none did are left out.
    package var receipts: [ReceiptKind: Int]

    /// Puts a report together.
    package init(
        message: MessageSummary, state: MessageState, completedAt: Timestamp?, recipients: Int,
        passedOver: PassedOver = PassedOver(), ended: [LedgerOutcome: Int], inFlight: Int,
        platforms: [Platform: PlatformReport] = [:],
        rejectedByReason: [String: Int], latency: LatencyPercentiles?, receipts: [ReceiptKind: Int] = [:]
    ) {
        self.platforms = platforms
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

/// A message's figures on one platform. At every instant `recipients` is the sum of what ended and what is in flight, and
/// over all platforms each figure is together that of the message.
package struct PlatformReport: Hashable, Sendable {
    /// Deliveries claimed so far.
    package var recipients: Int
    /// Registrations that the fan-out came by so far and did not claim.
    package var passedOver: Int
    /// Of the recipients, by how they ended.
    package var ended: [LedgerOutcome: Int]
    /// Of the recipients, not ended.
    package var inFlight: Int

    /// Puts figures together.
    package init(
        recipients: Int = 0, passedOver: Int = 0, ended: [LedgerOutcome: Int] = [:], inFlight: Int = 0
    ) {
        self.recipients = recipients
        self.passedOver = passedOver
        self.ended = ended
        self.inFlight = inFlight
    }

    /// Registrations that the message came by so far: what is counted of its audience.
    package var audience: Int { recipients + passedOver }
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
    /// To whom; of named registrations how many.
    package var recipient: Recipient<RegistrationID, Int>
    /// How many registrations were meant at accept: an estimate for a topic or a condition.
    package var audience: Int
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
        id: MessageID, project: ProjectID, recipient: Recipient<RegistrationID, Int>, audience: Int,
        acceptedAt: Timestamp, expiresAt: Timestamp, facts: MessageFacts, options: DeliveryOptions = DeliveryOptions()
    ) {
        self.id = id
        self.project = project
        self.recipient = recipient
        self.audience = audience
        self.acceptedAt = acceptedAt
        self.expiresAt = expiresAt
        self.facts = facts
        self.options = options
    }
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
