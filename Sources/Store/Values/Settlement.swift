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

        /// The entry of an end that was not accepted. Here and below: nearly every push of a broadcast is accepted, and
        /// those who look for the others are not to copy the entry of each.
        package var failure: LedgerEntry? {
            // By pattern: the operator would compare the names of the cases.
            switch self {
            case .ended(let entry):
                if case .accepted = entry.outcome { nil } else { entry }
            case .retry: nil
            }
        }

        /// When it ended.
        package var endTime: Timestamp? {
            guard case .ended(let entry) = self else { return nil }
            return entry.time
        }

        /// What an end taught about the device token.
        package var verdict: DeviceTokenVerdict? {
            guard case .ended(let entry) = self else { return nil }
            return entry.verdict
        }
    }

    /// Puts a settlement together.
    package init(delivery: ClaimedDelivery, result: Result) {
        self.delivery = delivery
        self.result = result
    }
}

/// How many deliveries the store ended by itself in one way: those of cancelled messages, of messages whose time ran out
/// unclaimed, and to registrations that are gone.
package struct StoreEnds: Hashable, Sendable {
    /// Of which project.
    package var project: ProjectID
    /// How they ended.
    package var outcome: LedgerOutcome
    /// Why, as in the ledger.
    package var reason: String
    /// How many.
    package var count: Int

    /// Puts it together.
    package init(project: ProjectID, outcome: LedgerOutcome, reason: String, count: Int) {
        self.project = project
        self.outcome = outcome
        self.reason = reason
        self.count = count
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
