package import PushModel

/// What is kept of a person.
package protocol UserStore: Sendable {
    /// Erases a person: ends the registrations of a user, removes what messages said that went to the user or to these
    /// registrations alone, the name wherever it stands, the audits of the registrations, their receipts and referrals.
    /// What the ledger counts stays, as numbers.
    ///
    /// In steps of bounded size, found by reading the project's messages. A failure leaves what was erased before it, and
    /// the next call finds the rest. A message of which a delivery is open ends without an attempt, since its registration
    /// has ended.
    func erase(
        _ user: UserID, in project: ProjectID, at now: Timestamp
    ) async throws(StoreError) -> ErasedUser
}

/// What was erased of a person.
package struct ErasedUser: Hashable, Sendable {
    /// Registrations that ended, now or before, and have no user any more.
    package var registrations = 0
    /// Messages that say nothing any more.
    package var messages = 0
    /// Receipts of the registrations.
    package var receipts = 0
    /// Entries of the audit of registrations and of the audit log.
    package var auditEntries = 0
    /// Whether no file of the store holds a copy any more; otherwise unused parts of pages may, until the store is rewritten.
    package var isRewritten = false

    /// Nothing yet.
    package init() {}
}
