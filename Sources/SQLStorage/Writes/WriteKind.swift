import Store

/// What a write is for. Each kind has places of its own in the queue of writes, so that no flood of one keeps the others
/// out: a gateway whose senders outrun its disk still claims, settles, keeps its lease and answers for its health.
enum WriteKind: String, Hashable, Sendable, CaseIterable {
    // In the order in which a group of writes is filled.

    /// Results of deliveries, and deliveries that the store itself ends.
    case settlement
    /// Beginning, renewal and end of a worker.
    case lease
    /// The write of ``SQLStore/state()``.
    case probe
    /// Pages and due deliveries that a worker takes.
    case claim
    /// Messages that senders hand in.
    case accept
    /// Everything else: registrations, subscriptions, keys, control of messages, housekeeping.
    case change

    /// The most writes of the kind that may wait. Settlements, claims and leases come from a few tasks of the gateway
    /// itself; their limits are far above what these ask for at a time.
    var limit: Int {
        switch self {
        case .settlement, .claim: 1000
        case .lease, .probe: 100
        case .accept, .change: 10_000
        }
    }
}
