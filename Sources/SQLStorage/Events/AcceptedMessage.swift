import PushModel

/// A message with recipients that a transaction accepted.
struct AcceptedMessage {
    let number: Int64
    let project: ProjectID
    let time: Timestamp
    /// What counts against the limits.
    let bytes: Int
}
