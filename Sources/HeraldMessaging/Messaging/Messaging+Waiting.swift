import Foundation

extension Messaging {
    /// Has an event happen and waits for what comes of it, also over a time without a network. A task that is cancelled waits
    /// no longer; what it asked for stays.
    func wait(
        for subject: MessagingWaiters.Subject, _ event: @escaping @Sendable (inout RegistrationState) -> Void
    ) async throws(MessagingError) {
        guard options != nil else { throw .notConfigured }
        let call = WaitingCall()
        state.withLock { $0.waiters.add(subject) { call.end($0) } }
        change(event)
        try await call.outcome()
    }

    /// Runs an asynchronous call and hands its end to a completion on the main actor.
    func complete(
        _ completion: @escaping @MainActor @Sendable ((any Error)?) -> Void,
        _ call: @escaping @Sendable (Messaging) async throws(MessagingError) -> Void
    ) {
        Task {
            do throws(MessagingError) {
                try await call(self)
                await completion(nil)
            } catch {
                await completion(error)
            }
        }
    }

    /// The system ends an app that takes more than half a minute of background time.
    private static let flushLimit: TimeInterval = 20

    /// Sends what waits, and returns when there is nothing more to send, when the gateway can't be reached, or after 20
    /// seconds; what is under way then goes on while the app runs. For background time that the system grants: the end of it
    /// is the time to call its completion.
    public func flush() async {
        guard options != nil else { return }
        let call = WaitingCall()
        state.withLock { $0.waiters.add(.pause) { call.end($0) } }
        let limit = Task { [clock] in
            do {
                try await clock.sleep(Self.flushLimit)
                call.end(nil)
            } catch {
                // Cancelled: it has ended before.
            }
        }
        defer { limit.cancel() }
        change { $0.retryNow() }
        do throws(MessagingError) {
            try await call.outcome()
        } catch {
            // Cancelled: the time is over, and what is left stays queued.
            return
        }
    }
}
