package import Store

extension SQLStore {
    /// Takes over what other processes committed: load, events and changes of registrations, as after a commit of its
    /// own. It waits for its turn among the writes, so that nothing older comes after something newer.
    ///
    /// - Parameter change: what readers are told beside that.
    package func noteOtherCommits(_ change: StoreChange) async throws(StoreError) {
        try await writeShared(.change, rows: 1, telling: change) { _ in }
    }
}
