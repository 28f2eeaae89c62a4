/// What a message says, checked when it was accepted. Store and delivery hand it on without knowing its form: they ask for
/// what stands here, and a ``PushComposer`` reads the rest.
package protocol MessageContent: Sendable {
    /// What the store keeps, and ``PushComposer/content(stored:)`` reads again.
    var bytes: [UInt8] { get }
    /// The sender's label for reports.
    var label: AnalyticsLabel? { get }
    /// Whether a device shows something: an alert, a badge or a sound.
    var isDisplayed: Bool { get }
    /// The sender's own id of the push; `nil`: derived from message and registration.
    var pushID: PushID? { get }
    /// The token of a Live Activity, to which the push goes instead of the device's.
    var activityToken: DeviceToken? { get }

    /// The time to live that the sender asked for on a platform, counted from `time`. No platform has another's.
    func timeToLive(acceptedAt time: Timestamp, on platform: Platform) -> TimeToLive
}

/// The content of an accepted message: as it was decoded at accept, or as the store has it.
package enum MessageBody: Sendable {
    /// Decoded at accept.
    case decoded(any MessageContent)
    /// Read from the store: ``MessageContent/bytes``.
    case stored([UInt8])

    /// What is kept of a message that was erased before its end: it can be read, and says nothing.
    package static let erased = "{ }"

    /// Whether retention or an erasure took what it said: nothing that is accepted is empty.
    package var isRemoved: Bool { bytes.isEmpty || bytes.elementsEqual(Self.erased.utf8) }

    /// What the store keeps.
    package var bytes: [UInt8] {
        switch self {
        case .decoded(let content): content.bytes
        case .stored(let bytes): bytes
        }
    }
}

/// The stored bytes are no content: the row is damaged.
package struct UnreadableContent: Error, Hashable, Sendable {
    /// Says so.
    package init() {}
}
