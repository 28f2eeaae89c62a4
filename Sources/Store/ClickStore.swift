package import PushModel

/// Clicks that wait for an app to be opened for the first time, and the installs that were given a link.
package protocol ClickStore: Sendable {
    /// 32 random bytes that are made with the store: the key of digests of addresses and install ids.
    func digestKey() async throws(StoreError) -> [UInt8]

    /// Keeps clicks; one that is there and not used up takes the new traits.
    func add(_ clicks: [LinkClick]) async throws(StoreError)

    /// A click that is not used up and not expired at `time`.
    func click(_ id: ClickID, at time: Timestamp) async throws(StoreError) -> LinkClick?

    /// Clicks since a time that are not used up, the oldest first: at most `limit` behind `last`.
    func openClicks(
        since time: Timestamp, after last: LinkClick?, limit: Int
    ) async throws(StoreError) -> [LinkClick]

    /// Gives a link to an install, once for each click and each install, in one transaction with the steps of the
    /// invitation that the link may be. A click that is not in the store yet is kept as used up.
    func attribute(_ attribution: NewAttribution) async throws(StoreError) -> AttributionResult

    /// Forgets clicks that expired before a time: at most `limit`; says how many.
    func forgetClicks(expiredBefore time: Timestamp, limit: Int) async throws(StoreError) -> Int

    /// Forgets installs that were given a link before a time: at most `limit`; says how many.
    func forgetAttributedInstalls(before time: Timestamp, limit: Int) async throws(StoreError) -> Int
}
