package import PushModel

/// What devices report. A receipt is kept as long as the ledger entry of its delivery; lists and exports of the ledger
/// show it.
package protocol ReceiptStore: Sendable {
    /// Keeps receipts of one registration. Of each message and kind the first counts. A time before the accept of its
    /// message, or after `time`, becomes the nearer of the two: clocks of devices are wrong.
    ///
    /// - Returns: in the order of `receipts`, whether the message went, or is going, to the registration. Others are not
    ///   kept.
    func keep(
        _ receipts: [Receipt], of registration: RegistrationKey, in project: ProjectID, at time: Timestamp
    ) async throws(StoreError) -> [Bool]
}
