package import PushModel

/// An app install that proves itself by tokens of its own (Firebase Installations, fcm.md §7.1).
package struct Installation: Hashable, Sendable {
    /// Its FID.
    package var id: RegistrationID
    /// The project it belongs to.
    package var project: ProjectID
    /// SHA-256 of its refresh token, 32 bytes.
    package var refreshDigest: [UInt8]
    /// The registration that it made last, also one that ended; `nil`: none yet.
    package var registration: RegistrationKey?

    /// Puts an installation together.
    package init(
        id: RegistrationID, project: ProjectID, refreshDigest: [UInt8], registration: RegistrationKey?
    ) {
        self.id = id
        self.project = project
        self.refreshDigest = refreshDigest
        self.registration = registration
    }
}

/// What an app says when it is installed.
package struct NewInstallation: Sendable {
    /// The project.
    package var project: ProjectID
    /// The FID that the device chose; `nil`: it chose none.
    package var id: RegistrationID?
    /// The Firebase app id, such as `1:123456789012:ios:0123456789abcdef`.
    package var app: String
    /// The SDK's version, such as `i:12.0.0`.
    package var sdkVersion: String?
    /// SHA-256 of the refresh token that it gets, 32 bytes.
    package var refreshDigest: [UInt8]
    /// The auth token that it gets.
    package var token: InstallationToken

    /// Puts a new installation together.
    package init(
        project: ProjectID, id: RegistrationID?, app: String, sdkVersion: String?, refreshDigest: [UInt8],
        token: InstallationToken
    ) {
        self.project = project
        self.id = id
        self.app = app
        self.sdkVersion = sdkVersion
        self.refreshDigest = refreshDigest
        self.token = token
    }
}

/// An auth token of an installation as stored: of the token only its SHA-256.
package struct InstallationToken: Hashable, Sendable {
    /// SHA-256 of the token, 32 bytes.
    package var digest: [UInt8]
    /// From then on it is not valid any more.
    package var expiresAt: Timestamp

    /// Puts a token together.
    package init(digest: [UInt8], expiresAt: Timestamp) {
        self.digest = digest
        self.expiresAt = expiresAt
    }
}

/// What became of the registration of an installation.
package enum InstallationRegistration: Hashable, Sendable {
    /// It is registered.
    case registered(Registration)
    /// Its registration is of another app.
    case otherApp
    /// There is no such installation.
    case unknown
}

/// App installs and their tokens.
package protocol InstallationStore: Sendable {
    /// Keeps a new installation. A FID that an installation or a registration of any project has gets nobody else: a FID
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

    /// How the browser of an active registration of a web app is reached.
    func webSubscription(of key: RegistrationKey) async throws(StoreError) -> WebSubscription?

    /// Forgets up to `limit` auth tokens that expired before a time.
    ///
    /// - Returns: how many; fewer than `limit`: that was all.
    func forgetInstallationTokens(before time: Timestamp, limit: Int) async throws(StoreError) -> Int

    /// Forgets up to `limit` installations that got no auth token since a time. Their registrations stay.
    ///
    /// - Returns: how many; fewer than `limit`: that was all.
    func forgetInstallations(unusedSince time: Timestamp, limit: Int) async throws(StoreError) -> Int
}
