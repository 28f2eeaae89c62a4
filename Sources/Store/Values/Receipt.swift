package import PushModel

/// What a device reports of a message.
package enum ReceiptKind: String, Hashable, Sendable, CaseIterable {
    /// It came in.
    case received
    /// The user opened it.
    case opened
    /// The user saw it.
    case impression
    /// The user swiped it away.
    case dismissed
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
