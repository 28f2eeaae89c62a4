import PushModel
import Store
import Testing

extension ConformanceCase {
    private static let day: Int64 = 86_400_000

    static let topicDays: [ConformanceCase] = [
        ConformanceCase("who joins and leaves a topic is counted by day, over the whole topic") { scene in
            let topic = Scene.topic("news")
            let store = scene.store
            func at(_ days: Int64) -> Timestamp { Timestamp(milliseconds: days * day + 5) }
            var made: [Registration] = []
            for number in 1...6 {
                made.append(try await store.register(scene.request(number), at: at(9)).registration)
            }
            func growth(since day: Int64 = 0) async throws -> [TopicDay]? {
                try await store.growth(of: topic, in: scene.project, since: day)
            }
            #expect(try await growth() == nil)
            _ = try await store.subscribe(made.prefix(4).map(\.key), to: topic, at: at(10))
            // Two are there already.
            _ = try await store.subscribe(made.suffix(4).map(\.key), to: topic, at: at(10))
            _ = try await store.subscribe([made[0].key], to: Scene.topic("other"), at: at(10))
            #expect(try await store.unsubscribe([made[0].key, made[1].key], from: topic, at: at(10)) == [true, true])
            #expect(try await store.unsubscribe([made[0].key], from: topic, at: at(11)) == [false])
            #expect(try await growth() == [TopicDay(day: 10, joined: 6, left: 2)])
            // The end of a registration is the end of its subscriptions.
            try await store.end(made[2].key, RegistrationEnd(time: at(12), cause: .deleted))
            _ = try await store.subscribe([made[0].key], to: topic, at: at(13))
            let days = [
                TopicDay(day: 10, joined: 6, left: 2), TopicDay(day: 12, joined: 0, left: 1),
                TopicDay(day: 13, joined: 1, left: 0),
            ]
            #expect(try await growth() == days)
            #expect(try await growth(since: 12) == Array(days.dropFirst()))
            let members = try await store.topic(topic, in: scene.project)?.subscribers
            #expect(members == days.reduce(0) { $0 + $1.joined - $1.left })
            #expect(try await store.growth(of: topic, in: ProjectID(rawValue: "other")!, since: 0) == nil)
        },
        ConformanceCase("days of topics go when they are old, and with their topic") { scene in
            let store = scene.store
            let made = try await store.register(scene.request(1), at: Timestamp(milliseconds: 1)).registration
            for (name, time) in [("a", 1), ("b", 1), ("a", 3)] as [(String, Int64)] {
                let time = Timestamp(milliseconds: time * day)
                _ = try await store.subscribe([made.key], to: Scene.topic(name), at: time)
                _ = try await store.unsubscribe([made.key], from: Scene.topic(name), at: time)
            }
            func days(_ name: String) async throws -> [Int64]? {
                try await store.growth(of: Scene.topic(name), in: scene.project, since: 0)?.map(\.day)
            }
            #expect(try await days("a") == [1, 3])
            #expect(try await store.forgetTopicDays(before: 3, limit: 1) == 1)
            #expect(try await store.forgetTopicDays(before: 3, limit: 5) == 1)
            #expect(try await store.forgetTopicDays(before: 3, limit: 5) == 0)
            #expect(try await days("a") == [3])
            #expect(try await days("b") == [])
            let end = Timestamp(milliseconds: 9 * day)
            #expect(try await store.purgeTopics(emptySince: end + .seconds(1), at: end, limit: 5) == 2)
            #expect(try await store.forgetTopicDays(before: 100, limit: 5) == 0)
        },
    ]
}

extension SubscriptionStore {
    /// Ends subscriptions on the first day of all.
    func unsubscribe(_ keys: [RegistrationKey], from topic: Topic) async throws(StoreError) -> [Bool] {
        try await unsubscribe(keys, from: topic, at: Timestamp(milliseconds: 1))
    }
}
