import PushModel

/// When an upstream was used last with success, and what went wrong last, for operators. A value without a clock.
struct UpstreamUse: Hashable {
    /// The last answer that shows that endpoint and credential work.
    private(set) var lastWorked: Timestamp?
    /// The last one that shows that something is wrong with them.
    private(set) var lastTrouble: UpstreamTrouble?

    /// Takes note of what a batch of answers says.
    ///
    /// - Parameter refused: the reason of one that was refused because of its credential or topic.
    mutating func note(_ signs: [UpstreamSign], refused: Reason?, at now: Timestamp) {
        var reason = refused?.rawValue
        for sign in signs {
            switch sign {
            case .nothing: break
            case .working: lastWorked = now
            case .problem(let problem): reason = reason ?? problem.name
            }
        }
        if let reason { lastTrouble = UpstreamTrouble(reason: reason, time: now) }
    }
}
