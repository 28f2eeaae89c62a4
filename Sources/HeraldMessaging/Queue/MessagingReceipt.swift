import Foundation

/// What the app says of a message.
struct MessagingReceipt: Hashable, Sendable, Codable {
    /// What happened to it.
    enum Kind: String, Hashable, Sendable, Codable {
        case received = "RECEIVED"
        case opened = "OPENED"
        case impression = "IMPRESSION"
    }

    /// The message's id, `gcm.message_id`.
    let message: String
    let kind: Kind
    /// By the device's clock.
    let time: Date

    /// Whether both say the same: the first time counts.
    func says(_ other: MessagingReceipt) -> Bool { message == other.message && kind == other.kind }

    /// A name for a file, which no other message has: ids may have characters that names of files have not.
    var fileName: String { "\(kind.rawValue)-\(FileName.of(message).prefix(200))" }
}
