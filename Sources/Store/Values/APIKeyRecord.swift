package import PushModel

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

    /// Whether a key may have this name. What turns the direction of writing would make a list say something else.
    package static func isName(_ text: String) -> Bool {
        (1...nameLimit).contains(text.count)
            && text.unicodeScalars.allSatisfy {
                $0.properties.generalCategory != .control && !$0.properties.isBidiControl
            }
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
