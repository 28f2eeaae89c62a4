package import PushModel

/// The gateways that share a store, each a node of it.
package protocol NodeStore: Sendable {
    /// Enters a gateway that begins.
    ///
    /// - Parameters:
    ///   - name: host and process.
    ///   - version: the program's.
    ///   - address: under which it is asked; `nil`: not known yet.
    /// - Returns: its number.
    func enter(_ name: String, version: String, address: String?) async throws(StoreError) -> Int64

    /// Says that a node lives.
    ///
    /// - Parameter isLeaving: whether it was told to stop. Then it does not count, and others look for what it hands over with
    ///   each call, and when it leaves.
    /// - Throws: ``StoreError`` `.fenced` when others have forgotten it: it has to be entered anew.
    func beat(_ number: Int64, address: String?, isLeaving: Bool) async throws(StoreError) -> NodeStanding

    /// Removes a node that ends.
    func leave(_ number: Int64) async throws(StoreError)

    /// The nodes of now and of the last day, in the order of their numbers.
    func nodes() async throws(StoreError) -> [StoreNode]

    /// Tells other nodes when this one has committed something, and hears them, until the task is cancelled.
    func tellOthers() async

    /// Waits until another node says that it has committed something, for no longer than `limit`.
    func otherCommit(atMost limit: Duration) async

    /// Takes over what other nodes committed since the last call: the store's readers are told of it.
    ///
    /// - Returns: what lanes may have to do, and whether nodes or stored projects changed.
    func catchUp() async throws(StoreError) -> StoreChange

    /// How the only deliveries of some messages ended, whichever node recorded it; those that have not ended are left out. One
    /// read for all of them.
    func ends(of messages: [MessageID]) async throws(StoreError) -> [MessageID: RecordedEnd]

    /// The provider token that nodes left for each other; `nil`: none did.
    func providerToken(of key: ProviderKeyName) async throws(StoreError) -> SealedProviderToken?

    /// Leaves a provider token for other nodes, unless another than `former` is there by now.
    ///
    /// - Parameter former: what was found there; `nil`: nothing.
    /// - Returns: the one that is there now.
    func keep(
        _ token: SealedProviderToken, of key: ProviderKeyName, replacing former: SealedProviderToken?
    ) async throws(StoreError) -> SealedProviderToken

    /// The time by the store's clock, by which all nodes count.
    func time() async throws(StoreError) -> Timestamp
}

extension NodeStore {
    /// Says that a node lives that goes on.
    package func beat(_ number: Int64, address: String?) async throws(StoreError) -> NodeStanding {
        try await beat(number, address: address, isLeaving: false)
    }
}
