package import PushModel

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
