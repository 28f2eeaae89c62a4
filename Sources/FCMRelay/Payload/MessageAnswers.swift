import PushModel
import Synchronization

/// What Google says of one message: after three equal refusals of the message itself, while none of its pushes was accepted, the
/// rest of a broadcast would be refused too, and each would count against the quota (fcm-relay.md §4). Only tokens that Google
/// has accepted before say so: anybody with a client key can register others. Safe to share.
final class MessageAnswers: Sendable {
    /// So many equal refusals stop the message.
    static let limit = 3

    private let isAccepted = Atomic(false)
    private let refusals = Mutex<[Refusal: Int]>([:])

    /// Google answered one of its pushes.
    func note(_ outcome: Outcome, isProven: Bool) {
        switch outcome {
        case .accepted:
            if !isAccepted.load(ordering: .relaxed) { isAccepted.store(true, ordering: .relaxed) }
        case .rejected(let refusal)
        where isProven && (refusal.scope == .push(.payload) || refusal.scope == .push(.payloadSize)):
            refusals.withLock { $0[refusal, default: 0] += 1 }
        case .rejected, .throttled, .notSent, .unknown: break
        }
    }

    /// Why its other pushes are not sent; `nil`: they are.
    var refusal: Refusal? {
        if isAccepted.load(ordering: .relaxed) { return nil }
        return refusals.withLock { $0.first { $0.value >= Self.limit }?.key }
    }
}
