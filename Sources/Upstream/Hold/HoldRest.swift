import PushModel

/// How long something is held.
struct HoldRest: Equatable {
    /// Nothing is wanted before, by the upstream's uptime.
    var until: Duration
    /// A try is under way: its end is a change.
    var isTrying = false
    /// How many pushes are wanted to try; `nil`: it needs no try, everything goes then.
    var limit: Int?
    /// Whether interactive pushes are wanted all the same.
    var isBulkOnly = false
    /// Whether the credential is refused.
    var isOfCredential = false

    /// An upstream whose circuit is half-open wants so many pushes: one would do for the dial, but may be one that is
    /// refused for its own sake or takes the other pool.
    static let circuitLimit = 8
    /// What a crowded upstream gets when nothing was heard of it for a while.
    static let crowdLimit = 8

    /// What a crowd of bulk pushes asks for: nothing more, until it is told that it is over.
    static let crowd = HoldRest(until: .zero, isTrying: true, limit: crowdLimit, isBulkOnly: true)

    /// How long pushes wait while a try is under way.
    static let answerTime: Duration = .seconds(5)

    /// What holds of both.
    func joined(with other: HoldRest) -> HoldRest {
        HoldRest(
            until: max(until, other.until), isTrying: isTrying || other.isTrying,
            limit: [limit, other.limit].compactMap { $0 }.min(),
            isOfCredential: isOfCredential || other.isOfCredential)
    }

    /// As others see it at `now`; `nil`: it is over.
    func route(at now: Duration) -> HeldRoute? {
        let left = max(.zero, until - now, isTrying ? Self.answerTime : .zero)
        if limit == nil, left == .zero { return nil }
        return HeldRoute(
            retryAfter: left, limit: limit ?? .max, isBulkOnly: isBulkOnly, isOfCredential: isOfCredential)
    }
}
