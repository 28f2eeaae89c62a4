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
    package var refusedBy: PushEnvironment?

    /// No attempt yet.
    package init(
        attempts: Int = 0, unknownAttempts: Int = 0, interruptions: Int = 0, lastCause: String? = nil,
        probingSince: Timestamp? = nil, refusedBy: PushEnvironment? = nil
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

/// What claiming from a shard brought.
package struct FanOutClaim: Sendable {
    /// The claimed page; `nil`: the range that was read has no recipient left.
    package var page: FanOutPage?
    /// Whether the shard has nothing more to claim (at its end, paused, cancelled, or gone).
    package var isDone: Bool
    /// Whether another worker claimed the page that was read, so that there is none.
    package var isOvertaken: Bool

    /// Puts a claim together.
    package init(page: FanOutPage?, isDone: Bool, isOvertaken: Bool = false) {
        self.page = page
        self.isDone = isDone
        self.isOvertaken = isOvertaken
    }
}
