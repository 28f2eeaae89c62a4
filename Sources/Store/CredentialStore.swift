package import PushModel

/// What an API key may do.
package enum Role: String, Hashable, Sendable, CaseIterable {
    /// Everything in its project.
    case admin
    /// Send, and read reports.
    case sender
    /// Register, and change, subscribe or end a registration whose token it presents.
    case client
}

/// An API key as stored: of the secret only its SHA-256.
package struct APIKeyRecord: Hashable, Sendable {
    /// Its public id.
    package var id: String
    /// The project it works on.
    package var project: ProjectID
    /// What it may do.
    package var role: Role
    /// SHA-256 of the whole key, 32 bytes.
    package var digest: [UInt8]
    /// When it was made.
    package var createdAt: Timestamp
    /// When it was revoked.
    package var revokedAt: Timestamp?
    /// What its holder calls it: 1 to ``nameLimit`` characters, none of them a control character.
    package var name: String?
    /// From when on it is refused; `nil`: it works until it is revoked.
    package var expiresAt: Timestamp?
    /// When it was used last, to about a minute; `nil`: it was not used since that is noted.
    package var lastUsedAt: Timestamp?

    /// The most characters of a name.
    package static let nameLimit = 100

    /// Whether a key may have this name.
    package static func isName(_ text: String) -> Bool {
        (1...nameLimit).contains(text.count)
            && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    /// Puts a record together.
    package init(
        id: String, project: ProjectID, role: Role, digest: [UInt8], createdAt: Timestamp, revokedAt: Timestamp?,
        name: String? = nil, expiresAt: Timestamp? = nil, lastUsedAt: Timestamp? = nil
    ) {
        self.name = name
        self.expiresAt = expiresAt
        self.lastUsedAt = lastUsedAt
        self.id = id
        self.project = project
        self.role = role
        self.digest = digest
        self.createdAt = createdAt
        self.revokedAt = revokedAt
    }
}

/// API keys.
package protocol CredentialStore: Sendable {
    /// Keeps a new key, with an audit entry of who made it; ids are unique.
    func insert(_ key: APIKeyRecord, by credential: CredentialUse) async throws(StoreError)

    /// One key, also a revoked one. Cheap: asked for each request, and changes by other processes are seen at once.
    func apiKey(_ id: String) async throws(StoreError) -> APIKeyRecord?

    /// All keys of a project, or of all projects, the oldest first.
    func apiKeys(of project: ProjectID?) async throws(StoreError) -> [APIKeyRecord]

    /// Revokes a key, with an audit entry; `false` if there is none. A second time keeps the first time.
    func revoke(_ id: String, at time: Timestamp, by credential: CredentialUse) async throws(StoreError) -> Bool

    /// Notes when keys were used last; a time never goes back. Not durable: a crash may lose the last minute.
    func noteUse(of keys: [String: Timestamp]) async throws(StoreError)
}
