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

/// Service accounts, their keys, and the access tokens that they were given.
package protocol ServiceAccountStore: Sendable {
    /// Keeps a new account with its first key; `false`, and nothing is kept, when the name is taken. Key ids are unique.
    /// This and every other change leaves an audit entry of `credential`.
    func insert(
        _ account: ServiceAccount, with key: ServiceAccountKey, by credential: CredentialUse
    ) async throws(StoreError) -> Bool

    /// Keeps another key of an account; `false` if there is no such account. Key ids are unique.
    func insert(_ key: ServiceAccountKey, by credential: CredentialUse) async throws(StoreError) -> Bool

    /// A key with its account, also when one of them does not work any more. Cheap: asked for each request, and changes
    /// by other processes are seen at once.
    func serviceAccountKey(_ id: String) async throws(StoreError) -> ServiceAccountIdentity?

    /// All keys of a project's accounts, or of all accounts: the oldest account first, then the oldest key. Each account
    /// has a key.
    func serviceAccountKeys(of project: ProjectID?) async throws(StoreError) -> [ServiceAccountIdentity]

    /// Revokes a key; `false` if there is none. A second time keeps the first time.
    func revokeServiceAccountKey(
        _ id: String, at time: Timestamp, by credential: CredentialUse
    ) async throws(StoreError) -> Bool

    /// Disables an account; `false` if there is none. A second time keeps the first time.
    func disable(
        _ account: ServiceAccountEmail, at time: Timestamp, by credential: CredentialUse
    ) async throws(StoreError) -> Bool

    /// Enables a disabled account again; `false` if there is none.
    func enable(
        _ account: ServiceAccountEmail, at time: Timestamp, by credential: CredentialUse
    ) async throws(StoreError) -> Bool

    /// Deletes an account with its keys and access tokens; `false` if there is none.
    func delete(
        _ account: ServiceAccountEmail, at time: Timestamp, by credential: CredentialUse
    ) async throws(StoreError) -> Bool

    /// Keeps an access token; `false` when its key is gone. Digests are unique.
    func insert(_ token: AccessTokenRecord) async throws(StoreError) -> Bool

    /// An access token with whose it is, also one that ended. As cheap as ``serviceAccountKey(_:)``.
    func accessToken(
        _ digest: [UInt8]
    ) async throws(StoreError) -> (token: AccessTokenRecord, identity: ServiceAccountIdentity)?

    /// Forgets at most `limit` access tokens that ended before `time`; says how many.
    func forgetAccessTokens(expiredBefore time: Timestamp, limit: Int) async throws(StoreError) -> Int
}
