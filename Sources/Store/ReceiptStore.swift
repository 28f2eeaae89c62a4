package import PushModel

/// What a device reports of a message.
package enum ReceiptKind: String, Hashable, Sendable, CaseIterable {
    /// It came in.
    case received
    /// The user opened it.
    case opened
    /// The user saw it.
    case impression
}

/// One thing that a device reports of one message.
package struct Receipt: Hashable, Sendable {
    /// The message.
    package var message: MessageID
    /// What happened.
    package var kind: ReceiptKind
    /// When, by the device's clock.
    package var time: Timestamp

    /// Puts a receipt together.
    package init(message: MessageID, kind: ReceiptKind, time: Timestamp) {
        self.message = message
        self.kind = kind
        self.time = time
    }
}

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
