/// The projects of gateways that share a store: a row of versions, of which all gateways take the newest.
package protocol ProjectStore: Sendable {
    /// The newest version; `nil`: none was stored yet.
    func storedProjects() async throws(StoreError) -> StoredProjects?

    /// A version that is kept; `nil`: there is none with this number.
    func storedProjects(version: Int64) async throws(StoreError) -> StoredProjects?

    /// The versions that are kept, newest first.
    func projectVersions() async throws(StoreError) -> [ProjectVersion]

    /// Stores a version, whole or not at all, and tells other gateways. The audit log gets what changed in the same commit.
    ///
    /// - Returns: its number; `nil`: another one was stored since ``NewProjectVersion/base``, or that one sealed anew, and
    ///   this one was not stored.
    func store(_ version: NewProjectVersion) async throws(StoreError) -> Int64?

    /// Replaces what is sealed of the versions that are kept, and tells other gateways; what they say stays. The audit log
    /// gets an entry for each project of the newest.
    ///
    /// - Parameters:
    ///   - all: the versions that are kept, as ``projectVersions()`` gave them.
    ///   - versions: those of them that stay, with their new seals and checks; others are removed.
    /// - Returns: `false`: another one was stored since, or one sealed anew, and nothing was replaced or removed.
    func replaceSeals(
        of all: [ProjectVersion], with versions: [StoredProjects], by credential: CredentialUse
    ) async throws(StoreError) -> Bool

    /// Notes what a gateway says of the stored projects, for ``NodeStore/nodes()``.
    func note(_ standing: ProjectStanding, ofNode number: Int64) async throws(StoreError)
}
