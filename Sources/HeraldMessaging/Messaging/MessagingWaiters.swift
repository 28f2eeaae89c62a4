import Foundation

/// Calls that wait for an answer, by what they wait for.
struct MessagingWaiters: Sendable {
    /// What a call waits for.
    enum Subject: Hashable, Sendable {
        case registration
        case topic(String, isSubscription: Bool)
        case user(UserChange)
        case deletion
        /// That nothing is under way.
        case pause
    }

    typealias Outcome = @Sendable (MessagingError?) -> Void

    private var calls: [Subject: [Outcome]] = [:]

    /// Has a call wait.
    mutating func add(_ subject: Subject, _ outcome: @escaping Outcome) {
        calls[subject, default: []].append(outcome)
    }

    /// Takes out those who wait for something.
    mutating func take(_ subject: Subject) -> [Outcome] { calls.removeValue(forKey: subject) ?? [] }
}

/// A call that waits, until it is answered or its task cancelled.
final class WaitingCall: Sendable {
    private enum State: Sendable {
        /// Nothing yet. Next: waiting, ended.
        case begun
        /// Next: ended.
        case waiting(CheckedContinuation<MessagingError?, Never>)
        case ended(MessagingError?)
    }

    private let state = Locked(State.begun)

    /// Ends it; what comes later counts no more.
    func end(_ error: MessagingError?) {
        let continuation = state.withLock { state -> CheckedContinuation<MessagingError?, Never>? in
            switch state {
            case .begun:
                state = .ended(error)
                return nil
            case .waiting(let continuation):
                state = .ended(error)
                return continuation
            case .ended: return nil
            }
        }
        continuation?.resume(returning: error)
    }

    /// Waits for the end.
    func outcome() async throws(MessagingError) {
        let error = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ended = state.withLock { state -> MessagingError?? in
                    guard case .ended(let error) = state else {
                        state = .waiting(continuation)
                        return nil
                    }
                    return .some(error)
                }
                if let ended { continuation.resume(returning: ended) }
            }
        } onCancel: {
            end(MessagingError(.unknown, "The task was cancelled.", underlying: CancellationError()))
        }
        if let error { throw error }
    }
}
