public import PushModel

/// An account that backends use through an Admin SDK: it proves itself with the signature of one of its keys.
public struct ServiceAccount: Hashable, Sendable {
    /// Its name, which holds its project.
    public var email: ServiceAccountEmail
    /// What it may do.
    public var role: Role
    /// When it was made.
    public var createdAt: Timestamp
    /// Since when nothing of it works.
    public var disabledAt: Timestamp?

    /// Puts an account together.
    public init(email: ServiceAccountEmail, role: Role, createdAt: Timestamp, disabledAt: Timestamp? = nil) {
        self.email = email
        self.role = role
        self.createdAt = createdAt
        self.disabledAt = disabledAt
    }
}

/// The public half of a service account's key: the private one is only in the file that its holder was given.
public struct ServiceAccountKey: Hashable, Sendable {
    /// Its public id, the `kid` of what it signs.
    public var id: String
    /// Whose it is.
    public var account: ServiceAccountEmail
    /// The RSA key, a SubjectPublicKeyInfo in DER.
    public var publicKey: [UInt8]
    /// When it was made.
    public var createdAt: Timestamp
    /// When it was revoked.
    public var revokedAt: Timestamp?
    /// `token_uri` of its credential, the audience of assertions that it signs; `nil`: it is the gateway's own address.
    public var tokenURI: String?

    /// Puts a key together.
    public init(
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
public struct ServiceAccountIdentity: Hashable, Sendable {
    /// The account.
    public var account: ServiceAccount
    /// The key.
    public var key: ServiceAccountKey

    /// Puts the two together.
    public init(account: ServiceAccount, key: ServiceAccountKey) {
        self.account = account
        self.key = key
    }

    /// Whether what the key signs counts: it is not revoked, and the account not disabled.
    public var isUsable: Bool { key.revokedAt == nil && account.disabledAt == nil }
}

/// An access token as stored: of the secret only its SHA-256.
public struct AccessTokenRecord: Hashable, Sendable {
    /// SHA-256 of the whole token, 32 bytes.
    public var digest: [UInt8]
    /// The key it was given for; it ends with the key.
    public var keyID: String
    /// When it ends.
    public var expiresAt: Timestamp

    /// Puts a record together.
    public init(digest: [UInt8], keyID: String, expiresAt: Timestamp) {
        self.digest = digest
        self.keyID = keyID
        self.expiresAt = expiresAt
    }
}

/// Service accounts, their keys, and the access tokens that they were given.
public protocol ServiceAccountStore: Sendable {
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
