import PushModel

/// The values of the metric label `reason` of deliveries that ended.
struct ReasonLabels: Sendable {
    /// What is decided without an answer has our own reasons, or the cause of an earlier attempt.
    private static let own: Set<String> = Set(
        [
            EndReason.expired, EndReason.cancelled, EndReason.invalidMessage, EndReason.messageMissing,
            EndReason.platformNotServed,
            DeliveryEnd.unregisteredEarlier,
        ]
            + (TransportCause.known + [.messageUnreadable]).map(\.rawValue))

    /// The services' reasons.
    let catalog: RefusalCatalog

    /// Our own reasons stand for themselves, a service's have the label of its table: a small set whatever a peer says.
    func label(of reason: String?) -> String {
        guard let reason else { return "" }
        return Self.own.contains(reason) ? reason : catalog.label(of: reason)
    }
}
