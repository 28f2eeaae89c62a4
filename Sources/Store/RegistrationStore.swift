package import PushModel

/// The registry of app installs.
package protocol RegistrationStore: Sendable {
    /// Registers an install. (project, app, address) is unique among active registrations: the same again
    /// refreshes the same one, which ends its quarantine, and keeps its id and token; `isNew` tells which it was.
    ///
    /// A device whose registration has a user and that now says another, or none, gets a new registration with an id
    /// and a token of its own in the same step, and the old one ends as `replaced` with its subscriptions: what was
    /// meant for the one before is never sent to the one after. What an installation has is refreshed only for who may,
    /// see ``RegistrationRequest/refreshesBound``.
    func register(
        _ request: RegistrationRequest, at time: Timestamp
    ) async throws(StoreError) -> (registration: Registration, isNew: Bool)

    /// Makes the registration of an address that only a sender has named, and that its push service has just accepted: it
    /// is proven, and its token is the one that the sender named, with the FID in front of it, as far as the project has no
    /// registration with these. If the app has an active registration with that address, it is that one, which stays as it
    /// is. A new one leaves an audit entry.
    ///
    /// - Parameter token: what the sender calls it.
    func adopt(
        _ request: RegistrationRequest, as token: RegistrationToken, at time: Timestamp
    ) async throws(StoreError) -> Registration

    /// The registration with this FID, also an ended one.
    func registration(_ id: RegistrationID, in project: ProjectID) async throws(StoreError) -> Registration?

    /// The registration with this token, also an ended one.
    func registration(
        token: RegistrationToken, in project: ProjectID
    ) async throws(StoreError) -> Registration?

    /// The registration that a message names, also an ended one: what it is, where it is and whether it is active is true
    /// now, but for what another process changed in the last second; its times may be older.
    func addressee(
        _ reference: RegistrationReference, in project: ProjectID
    ) async throws(StoreError) -> Registration?

    /// The registrations of these names, in their order, also ended ones: many lookups in one call.
    func registrations(
        named names: [RegistrationReference], in project: ProjectID
    ) async throws(StoreError) -> [Registration?]

    /// The project of the registration with each of these tokens, whichever project it is, in their order, also of ended
    /// registrations; `nil`: there is none.
    func projects(of tokens: [RegistrationToken]) async throws(StoreError) -> [ProjectID?]

    /// The active registration of an app that holds an address; its environment does not matter, nor a browser's keys.
    func registration(
        holding address: Address, of app: AppID, in project: ProjectID
    ) async throws(StoreError) -> Registration?

    /// Changes an active registration and refreshes it, which ends its quarantine. If another active registration of the
    /// app holds the new address, that one ends in the same step: as `superseded` if it belongs to an installation,
    /// otherwise as `replaced`. With another user than it has, the registration itself ends as `replaced`, and a new one
    /// takes its place as with ``register(_:at:)``.
    ///
    /// - Returns: the registration as it is now, or the new one; `nil` if it is not active.
    func change(
        _ key: RegistrationKey, _ change: RegistrationChange, at time: Timestamp
    ) async throws(StoreError) -> Registration?

    /// Up to `limit` active registrations of a user, in the order of their keys; quarantined and stale ones are among
    /// them.
    func registrations(
        of user: UserID, in project: ProjectID, limit: Int
    ) async throws(StoreError) -> [Registration]

    /// A page of a project's registrations in the order of their keys. A page of a filter that few meet may be
    /// shorter than `limit`, or empty, and still have a next one: only so many are looked at for each.
    ///
    /// - Throws: `.badCursor` for a cursor that no page had.
    func registrations(
        in project: ProjectID, _ filter: RegistrationFilter, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<Registration>

    /// The changes of user and device token in which a registration was the one before or after, the newest first; up to
    /// `limit`. They
    /// are kept longer than the registrations.
    func audit(
        of id: RegistrationID, in project: ProjectID, limit: Int
    ) async throws(StoreError) -> [RegistrationAudit]

    /// Removes up to `limit` registrations that ended before a time and that nothing waits for any more, but for what
    /// reports need of them, and entries of the audit that are older than a year before that time.
    ///
    /// - Returns: registrations removed; fewer than `limit`: that was all.
    func purge(endedBefore time: Timestamp, limit: Int) async throws(StoreError) -> Int

    /// Lifts the quarantines of an app's registrations that began at `time` or later; those of an app with the same id on
    /// another platform stay.
    ///
    /// - Returns: how many.
    func liftQuarantine(
        of app: AppKey, in project: ProjectID, since time: Timestamp
    ) async throws(StoreError) -> Int

    /// Ends a project's registrations whose quarantine began before `time`, as `deleted`: nothing else removes what is in
    /// quarantine. In steps of bounded size; a failure leaves those that were ended before it.
    ///
    /// - Parameter isDryRun: they are counted and stay.
    /// - Returns: how many.
    func prune(
        quarantinedBefore time: Timestamp, in project: ProjectID, isDryRun: Bool, at now: Timestamp
    ) async throws(StoreError) -> Int

    /// Ends a registration and its subscriptions, which are kept aside for `superseded`. Ended ones stay as they are.
    func end(_ key: RegistrationKey, _ end: RegistrationEnd) async throws(StoreError)
}

/// Which registrations of a project are listed.
package enum RegistrationFilter: Hashable, Sendable {
    /// All that have not ended.
    case active
    /// Those that fan-outs pass by because APNs refused the device token.
    case quarantined
    /// Active ones that were last refreshed before this time.
    case stale(before: Timestamp)
    /// Active ones of a user.
    case user(UserID)
}
