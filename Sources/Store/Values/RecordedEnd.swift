/// How the only delivery of a message ended, as the ledger has it.
package struct RecordedEnd: Hashable, Sendable {
    /// The outcome.
    package var outcome: LedgerOutcome
    /// The push service's reason, or ours; `nil` for accepted ones.
    package var reason: String?

    /// Describes an end.
    package init(outcome: LedgerOutcome, reason: String?) {
        self.outcome = outcome
        self.reason = reason
    }
}
