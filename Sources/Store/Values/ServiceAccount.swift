package import PushModel

/// An account that backends use through an Admin SDK: it proves itself with the signature of one of its keys.
package struct ServiceAccount: Hashable, Sendable {
    /// Its name, which holds its project.
    package var email: ServiceAccountEmail
    /// What it may do.
    package var role: Role
    /// When it was made.
    package var createdAt: Timestamp
    /// Since when nothing of it works.
    package var disabledAt: Timestamp?

    /// Puts an account together.
    package init(email: ServiceAccountEmail, role: Role, createdAt: Timestamp, disabledAt: Timestamp? = nil) {
        self.email = email
        self.role = role
        self.createdAt = createdAt
        self.disabledAt = disabledAt
    }
}

/// The public half of a service account's key: the private one is only in the file that its holder was given.
package struct ServiceAccountKey: Hashable, Sendable {
    /// Its public id, the `kid` of what it signs.
    package var id: String
    /// Whose it is.
    package var account: ServiceAccountEmail
    /// The RSA key, a SubjectPublicKeyInfo in DER.
    package var publicKey: [UInt8]
    /// When it was made.
    package var createdAt: Timestamp
    /// When it was revoked.
    package var revokedAt: Timestamp?
    /// `token_uri` of its credential, the audience of assertions that it signs; `nil`: it is the gateway's own address.
    package var tokenURI: String?

    /// Puts a key together.
    package init(
        id: String, account: ServiceAccountEmail, publicKey: [UInt8], createdAt: Timestamp, revokedAt: Timestamp? = nil,
        tokenURI: String? = nil
    ) {
        self.tokenURI = tokenURI
        self.id = id
        self.account = account
        self.publicKey = publicKey
        self.createdAt = createdAt
        self.revokedAt = revokedAt
    }
}

/// A key with its account.
package struct ServiceAccountIdentity: Hashable, Sendable {
    /// The account.
    package var account: ServiceAccount
    /// The key.
    package var key: ServiceAccountKey

    /// Puts the two together.
    package init(account: ServiceAccount, key: ServiceAccountKey) {
        self.account = account
        self.key = key
    }

    /// Whether what the key signs counts: it is not revoked, and the account not disabled.
    package var isUsable: Bool { key.revokedAt == nil && account.disabledAt == nil }
}

/// An access token as stored: of the secret only its SHA-256.
package struct AccessTokenRecord: Hashable, Sendable {
    /// SHA-256 of the whole token, 32 bytes.
    package var digest: [UInt8]
    /// The key it was given for; it ends with the key.
    package var keyID: String
    /// When it ends.
    package var expiresAt: Timestamp

    /// Puts a record together.
    package init(digest: [UInt8], keyID: String, expiresAt: Timestamp) {
        self.digest = digest
        self.keyID = keyID
        self.expiresAt = expiresAt
    }
}
