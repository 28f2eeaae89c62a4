import Foundation

extension Messaging {
    /// Joins a topic, as soon as the app is registered and the gateway can be reached. What comes of it is
    /// ``lastError``'s to say.
    ///
    /// - Parameter topic: a name of `[a-zA-Z0-9-_.~%]{1,900}`, also after `/topics/`.
    public func subscribe(toTopic topic: String) { change(topic, isSubscription: true) }

    /// Joins a topic, and waits for the gateway's answer, also over a time without a network.
    public func subscribe(toTopic topic: String) async throws(MessagingError) {
        try await waitForChange(topic, isSubscription: true)
    }

    /// The same, with a completion on the main actor.
    public func subscribe(
        toTopic topic: String, completion: (@MainActor @Sendable ((any Error)?) -> Void)?
    ) {
        complete(completion ?? { _ in }) { messaging throws(MessagingError) in
            try await messaging.waitForChange(topic, isSubscription: true)
        }
    }

    /// Leaves a topic, as soon as the gateway can be reached.
    public func unsubscribe(fromTopic topic: String) { change(topic, isSubscription: false) }

    /// Leaves a topic, and waits for the gateway's answer, also over a time without a network.
    public func unsubscribe(fromTopic topic: String) async throws(MessagingError) {
        try await waitForChange(topic, isSubscription: false)
    }

    /// The same, with a completion on the main actor.
    public func unsubscribe(
        fromTopic topic: String, completion: (@MainActor @Sendable ((any Error)?) -> Void)?
    ) {
        complete(completion ?? { _ in }) { messaging throws(MessagingError) in
            try await messaging.waitForChange(topic, isSubscription: false)
        }
    }

    private func change(_ topic: String, isSubscription: Bool) {
        guard let name = TopicChange.name(of: topic) else {
            return state.withLock { $0.lastError = .invalidTopic }
        }
        change { $0.change(topic: name, isSubscription: isSubscription) }
    }

    private func waitForChange(_ topic: String, isSubscription: Bool) async throws(MessagingError) {
        guard let name = TopicChange.name(of: topic) else { throw .invalidTopic }
        try await wait(for: .topic(name, isSubscription: isSubscription)) {
            $0.change(topic: name, isSubscription: isSubscription)
        }
    }
}
