package import PushModel

/// Who gets the messages of which topic.
package protocol SubscriptionStore: Sendable {
    /// Subscribes registrations to a topic in one step; the results are in the order of `keys`.
    ///
    /// - Parameter topicLimit: a topic that is not there is made only while the project has fewer; `nil`: always.
    func subscribe(
        _ keys: [RegistrationKey], to topic: Topic, at time: Timestamp, topicLimit: Int?
    ) async throws(StoreError) -> [SubscribeResult]

    /// Ends subscriptions in one step, in order: whether each was there.
    func unsubscribe(
        _ keys: [RegistrationKey], from topic: Topic, at time: Timestamp
    ) async throws(StoreError) -> [Bool]

    /// One subscription.
    func subscription(of key: RegistrationKey, to topic: Topic) async throws(StoreError) -> Subscription?

    /// Up to `limit` subscriptions of a registration in the order of the topics' bytes, after `topic`.
    func subscriptions(
        of key: RegistrationKey, after topic: Topic?, limit: Int
    ) async throws(StoreError) -> [Subscription]

    /// Up to `limit` topics of a project whose names begin with `prefix`, in the order of their bytes, after `topic`.
    /// A topic that was subscribed or sent to once stays without subscribers until it is purged.
    func topics(
        in project: ProjectID, beginningWith prefix: String, after topic: Topic?, limit: Int
    ) async throws(StoreError) -> [TopicSummary]

    /// One topic; `nil`: it never had a subscriber or a message.
    func topic(_ topic: Topic, in project: ProjectID) async throws(StoreError) -> TopicSummary?

    /// How many joined and left a topic on the days from `day` on, in their order; days without either are left out. `nil`:
    /// there is no such topic.
    func growth(of topic: Topic, in project: ProjectID, since day: Int64) async throws(StoreError) -> [TopicDay]?

    /// Forgets what topics gained and lost on days before `day`: at most `limit`; says how many.
    func forgetTopicDays(before day: Int64, limit: Int) async throws(StoreError) -> Int

    /// Removes up to `limit` topics that have had no subscriber since before `time` and that no message is of. Since when a
    /// topic is empty counts from the first call that finds it so, at `now`.
    ///
    /// - Returns: how many; fewer than `limit`: that was all.
    func purgeTopics(emptySince time: Timestamp, at now: Timestamp, limit: Int) async throws(StoreError) -> Int

    /// A page of a topic's subscribers in the order of their keys; `nil`: there is no such topic.
    ///
    /// - Throws: `.badCursor` for a cursor that no page had.
    func subscribers(
        of topic: Topic, in project: ProjectID, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<Subscriber>?
}

extension SubscriptionStore {
    /// Subscribes registrations to a topic, which is made if it is not there.
    package func subscribe(
        _ keys: [RegistrationKey], to topic: Topic, at time: Timestamp
    ) async throws(StoreError) -> [SubscribeResult] {
        try await subscribe(keys, to: topic, at: time, topicLimit: nil)
    }
}
