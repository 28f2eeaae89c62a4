import PushModel

/// The value of the metric label `reason` of a delivery that ended.
enum ReasonLabel {
    /// What is decided without an answer has our own reasons, or the cause of an earlier attempt.
    private static let own: Set<String> = Set(
        [
            EndReason.expired, EndReason.invalidMessage, EndReason.messageMissing, EndReason.platformNotServed,
            DeliveryEnd.unregisteredEarlier,
        ]
            + (TransportCause.known + [.messageUnreadable]).map(\.rawValue))

    /// Our own reasons stand for themselves, Apple's have the label of their table: a small set whatever a peer says.
    static func of(_ reason: String?) -> String {
        guard let reason else { return "" }
        return own.contains(reason) ? reason : APNSReason(rawValue: reason).metricLabel
    }
}
