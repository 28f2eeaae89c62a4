package import PushModel

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
