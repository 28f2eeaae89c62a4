package import PushModel

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
