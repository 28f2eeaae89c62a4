public import PushModel
public import Store

/// An API key as its holder sees it: `hk_<id>_<secret>`. Shown once, never stored.
public struct APIKey: Sendable {
    /// The key's text.
    public let text: String
    /// What the store keeps of it.
    public let record: APIKeyRecord

    /// Makes a new key from the system's random source.
    public init(project: ProjectID, role: Role, at time: Timestamp) {
        fatalError("pending")
    }
}
