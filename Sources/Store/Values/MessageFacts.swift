package import PushModel

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

/// What an operator does to a message.
package enum MessageControl: String, Hashable, Sendable, CaseIterable {
    /// Nothing of it is claimed until it is resumed.
    case pause
    /// Ends a pause.
    case resume
    /// Nothing of it is claimed any more; what was not claimed ends as cancelled.
    case cancel
}

/// What reports and exports show of a message beside its target: decided once, at accept.
package struct MessageFacts: Hashable, Sendable {
    /// The sender's label.
    package var label: AnalyticsLabel?
    /// Whether a device shows something (DISPLAY_NOTIFICATION) or only wakes (DATA_MESSAGE).
    package var isDisplayed: Bool
    /// What replaces what on the device: `apns-collapse-id`, `collapse_key` or `Topic`.
    package var collapseKey: String?
    /// The priority as `apns-priority` has it.
    package var priority: Int
    /// Seconds from accept to expiry, as sent.
    package var timeToLiveSeconds: Int64
    /// The credential that sent it; `nil`: it was accepted before that was kept.
    package var credential: CredentialUse?

    /// Puts the facts together.
    package init(
        label: AnalyticsLabel?, isDisplayed: Bool, collapseKey: String?, priority: Int, timeToLiveSeconds: Int64,
        credential: CredentialUse? = nil
    ) {
        self.credential = credential
        self.label = label
        self.isDisplayed = isDisplayed
        self.collapseKey = collapseKey
        self.priority = priority
        self.timeToLiveSeconds = timeToLiveSeconds
    }
}

/// What of a message is not the same on each platform that it may reach.
package struct PlatformFacts: Hashable, Sendable {
    /// ``MessageFacts/collapseKey`` there.
    package var collapseKey: String?
    /// ``MessageFacts/priority`` there.
    package var priority: Int
    /// ``MessageFacts/timeToLiveSeconds`` there.
    package var timeToLiveSeconds: Int64
    /// When deliveries that are still open there end as expired.
    package var expiresAt: Timestamp

    /// Puts the facts together.
    package init(collapseKey: String?, priority: Int, timeToLiveSeconds: Int64, expiresAt: Timestamp) {
        self.collapseKey = collapseKey
        self.priority = priority
        self.timeToLiveSeconds = timeToLiveSeconds
        self.expiresAt = expiresAt
    }
}
