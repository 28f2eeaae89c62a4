package import PushModel

/// A registration's subscription to a topic.
package struct Subscription: Hashable, Sendable {
    /// The topic.
    package var topic: Topic
    /// Since when.
    package var createdAt: Timestamp

    /// Puts a subscription together.
    package init(topic: Topic, createdAt: Timestamp) {
        self.topic = topic
        self.createdAt = createdAt
    }
}

/// A topic with its audience.
package struct TopicSummary: Hashable, Sendable {
    /// The topic.
    package var topic: Topic
    /// Active registrations that are subscribed.
    package var subscribers: Int

    /// Puts a summary together.
    package init(topic: Topic, subscribers: Int) {
        self.topic = topic
        self.subscribers = subscribers
    }
}

/// A registration that is subscribed to a topic.
package struct Subscriber: Sendable {
    /// The registration.
    package var registration: Registration
    /// Since when.
    package var subscribedAt: Timestamp

    /// Puts a subscriber together.
    package init(registration: Registration, subscribedAt: Timestamp) {
        self.registration = registration
        self.subscribedAt = subscribedAt
    }
}

/// What became of one subscription.
package enum SubscribeResult: Hashable, Sendable {
    /// It is new.
    case created(Subscription)
    /// It was there.
    case existed(Subscription)
    /// The registration has 2000 topics (FCM's limit).
    case tooManyTopics
    /// There is no such topic, and the project has as many as the caller may make.
    case noNewTopic
    /// The registration is not active.
    case notActive
}
