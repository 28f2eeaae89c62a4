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
