package import PushModel

/// App installs and their tokens.
package protocol InstallationStore: Sendable {
    /// Keeps a new installation. A FID that an installation or a registration of any project has is given to no other: a FID
    /// is no secret, and who names it has not shown that it is theirs. Another one is made up then.
    ///
    /// - Returns: the FID that it has.
    func install(_ new: NewInstallation, at time: Timestamp) async throws(StoreError) -> RegistrationID

    /// The installation with this FID.
    func installation(_ id: RegistrationID, in project: ProjectID) async throws(StoreError) -> Installation?

    /// The installation that was given an auth token with this digest, if it is valid at `time`.
    func installation(
        withToken digest: [UInt8], in project: ProjectID, at time: Timestamp
    ) async throws(StoreError) -> Installation?

    /// Gives an installation one more auth token. Those that it has stay valid, up to four of them, the newest.
    ///
    /// - Returns: whether there is such an installation.
    func addToken(
        _ token: InstallationToken, to id: RegistrationID, in project: ProjectID, at time: Timestamp
    ) async throws(StoreError) -> Bool

    /// Removes an installation with its tokens and ends its registration as `deleted`.
    func uninstall(_ id: RegistrationID, in project: ProjectID, at time: Timestamp) async throws(StoreError)

    /// Registers an installation: as ``RegistrationStore/register(_:at:)``, but the registration has the installation's
    /// FID. One that ended becomes active again, with a new token, if its app and its user are the same; if it was
    /// superseded not longer ago than ``RegistrationEnd/supersededLifetime``, with its user and its topics, unless the
    /// request says another user. With another user, what takes its place has a FID of its own.
    ///
    /// A registration of another installation that held the device token ends as `superseded` and leaves nothing. One
    /// without an installation, as an import makes it, ends as `replaced` and leaves its topics, unless the request says
    /// another user than it had, and what is known of the device token; never its user.
    func register(
        _ request: RegistrationRequest, for id: RegistrationID, at time: Timestamp
    ) async throws(StoreError) -> InstallationRegistration

    /// The registration with this key, also an ended one; `nil`: it was purged.
    func registration(_ key: RegistrationKey) async throws(StoreError) -> Registration?

    /// Forgets up to `limit` auth tokens that expired before a time.
    ///
    /// - Returns: how many; fewer than `limit`: that was all.
    func forgetInstallationTokens(before time: Timestamp, limit: Int) async throws(StoreError) -> Int

    /// Forgets up to `limit` installations that got no auth token since a time. Their registrations stay.
    ///
    /// - Returns: how many; fewer than `limit`: that was all.
    func forgetInstallations(unusedSince time: Timestamp, limit: Int) async throws(StoreError) -> Int
}
