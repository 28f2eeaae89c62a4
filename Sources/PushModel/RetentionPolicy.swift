/// How long a project's messages are kept after they ended, and what belongs to them.
package struct RetentionPolicy: Hashable, Sendable {
    /// Days from a message's end to its removal with its part of the ledger, at least 1.
    package var ledgerDays: Int
    /// Days from a message's end to the removal of its payload, at most ``ledgerDays``.
    package var payloadDays: Int
    /// Hours for which an idempotency key counts, at most those of ``ledgerDays``.
    package var idempotencyHours: Int
    /// Days for which a receipt is kept, at most ``ledgerDays``.
    package var receiptsDays: Int

    /// Puts a policy together; nothing outlives the ledger.
    package init(
        ledgerDays: Int = 90, payloadDays: Int = 30, idempotencyHours: Int = 24, receiptsDays: Int = 90
    ) {
        self.ledgerDays = max(1, ledgerDays)
        self.payloadDays = min(payloadDays, self.ledgerDays)
        self.idempotencyHours = min(idempotencyHours, 24 * self.ledgerDays)
        self.receiptsDays = min(receiptsDays, self.ledgerDays)
    }

    /// From a message's end to its removal.
    package var ledger: Duration { .seconds(86_400 * ledgerDays) }
    /// From a message's end to the removal of its payload.
    package var payloads: Duration { .seconds(86_400 * payloadDays) }
    /// From a request to the end of its idempotency key.
    package var idempotencyKeys: Duration { .seconds(3600 * idempotencyHours) }
    /// From the recording of a receipt to its removal.
    package var receipts: Duration { .seconds(86_400 * receiptsDays) }
}
