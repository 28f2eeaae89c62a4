package import PushModel

/// What is kept of a person.
package protocol UserStore: Sendable {
    /// Erases a person: ends the registrations of a user and removes their addresses and topics, what messages said that
    /// went to the user or to these registrations alone, where the short links of these messages lead, the name wherever
    /// it stands, device groups without members that they were in, their receipts and referrals. What the ledger counts
    /// stays, as numbers. Entries of the audits stay, with a stand-in for the name.
    ///
    /// In steps of bounded size, found by reading the project's messages. A failure leaves what was erased before it, and
    /// the next call finds the rest. A message of which a delivery is open ends without an attempt: its registration has
    /// ended and does not become active again, whatever its installation does.
    ///
    /// - Parameter standIn: what the audits call the person from now on.
    func erase(
        _ user: UserID, in project: ProjectID, standIn: UserID, at now: Timestamp
    ) async throws(StoreError) -> ErasedUser
}

/// What was erased of a person.
package struct ErasedUser: Hashable, Sendable {
    /// Registrations that ended, now or before, and have no user any more.
    package var registrations = 0
    /// Messages that say nothing any more.
    package var messages = 0
    /// Short links of these messages that lead nowhere any more.
    package var links = 0
    /// Receipts of the registrations.
    package var receipts = 0
    /// Device groups that had no other member left.
    package var deviceGroups = 0
    /// Entries of the audit of registrations and of the audit log that say nothing of the person any more.
    package var auditEntries = 0
    /// Why files of the store may still hold copies; `nil`: none does.
    package var obstacle: CleaningObstacle?

    /// Nothing yet.
    package init() {}
}
