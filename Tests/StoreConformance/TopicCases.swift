import PushModel
import Store
import Testing

extension ConformanceCase {
    static let topicLists: [ConformanceCase] = [
        ConformanceCase("topics of a project are listed with their counts, by prefix and page by page") { scene in
            let made = try await scene.audience(2, of: Scene.topic("news"))
            for name in ["news-uk", "news.fr", "News", "newt", "weather", "new", "news%25", "news~"] {
                _ = try await scene.store.subscribe(
                    [made[0].key], to: Scene.topic(name), at: Timestamp(milliseconds: 1))
            }
            let names = ["News", "new", "news", "news%25", "news-uk", "news.fr", "news~", "newt", "weather"]
            for size in [1, 2, 4, 100] {
                for prefix in ["", "n", "news", "news~", "newz", "w"] {
                    var listed: [String] = []
                    var last: Topic?
                    repeat {
                        let page = try await scene.store.topics(
                            in: scene.project, beginningWith: prefix, after: last, limit: size)
                        listed += page.map(\.topic.rawValue)
                        last = page.last?.topic
                    } while last != nil
                    #expect(listed == names.filter { $0.hasPrefix(prefix) }, "\(size) \(prefix)")
                }
            }
            #expect(
                try await scene.store.topic(Scene.topic("news"), in: scene.project)
                    == TopicSummary(topic: Scene.topic("news"), subscribers: 2))
            let other = ProjectID(rawValue: "other")!
            #expect(try await scene.store.topics(in: other, beginningWith: "", after: nil, limit: 10).isEmpty)
            #expect(try await scene.store.topic(Scene.topic("news"), in: other) == nil)
            #expect(try await scene.store.topic(Scene.topic("newss"), in: scene.project) == nil)
        },
        ConformanceCase("a topic stays in the list when its last subscriber goes") { scene in
            let made = try await scene.audience(1, of: Scene.topic("news"))
            _ = try await scene.store.unsubscribe([made[0].key], from: Scene.topic("news"))
            let listed = try await scene.store.topics(in: scene.project, beginningWith: "", after: nil, limit: 10)
            #expect(listed == [TopicSummary(topic: Scene.topic("news"), subscribers: 0)])
        },
        ConformanceCase("a topic that is empty for long is purged, one with a message or a subscriber is not") {
            scene in
            let made = try await scene.audience(1, of: Scene.topic("kept"))
            let names = ["empty", "sent", "again"]
            for name in names {
                _ = try await scene.store.subscribe(
                    [made[0].key], to: Scene.topic(name), at: Timestamp(milliseconds: 1))
                _ = try await scene.store.unsubscribe([made[0].key], from: Scene.topic(name))
            }
            _ = try await scene.broadcast(Scene.topic("sent"))
            let store = scene.store
            func purge(emptySince time: Int64, at now: Int64, limit: Int = 10) async throws -> Int {
                try await store.purgeTopics(
                    emptySince: Timestamp(milliseconds: time), at: Timestamp(milliseconds: now), limit: limit)
            }
            #expect(try await purge(emptySince: 2000, at: 1000, limit: 1) == 1)
            let again = Scene.topic("again")
            _ = try await scene.store.subscribe([made[0].key], to: Scene.topic("empty"), at: Timestamp(milliseconds: 1))
            _ = try await scene.store.subscribe([made[0].key], to: again, at: Timestamp(milliseconds: 1))
            _ = try await scene.store.unsubscribe([made[0].key], from: Scene.topic("empty"))
            _ = try await scene.store.unsubscribe([made[0].key], from: again)
            #expect(try await purge(emptySince: 1500, at: 1500) == 0)
            _ = try await scene.store.subscribe([made[0].key], to: again, at: Timestamp(milliseconds: 1))
            #expect(try await purge(emptySince: 1500, at: 1600) == 0)
            #expect(try await purge(emptySince: 1501, at: 1700) == 1)
            let listed = try await scene.store.topics(in: scene.project, beginningWith: "", after: nil, limit: 10)
            #expect(listed.map(\.topic.rawValue) == ["again", "kept", "sent"])
        },
        ConformanceCase("a topic that is not there is made while the project has fewer than the limit") { scene in
            let made = try await scene.audience(1, of: Scene.topic("news"))
            let store = scene.store
            func subscribe(_ name: String, _ limit: Int?) async throws -> SubscribeResult? {
                let results = try await store.subscribe(
                    [made[0].key], to: Scene.topic(name), at: Timestamp(milliseconds: 1), topicLimit: limit)
                return results.first
            }
            #expect(try await subscribe("a", 0) == .noNewTopic)
            #expect(try await subscribe("a", 1) == .noNewTopic)
            let first = Subscription(topic: Scene.topic("a"), createdAt: Timestamp(milliseconds: 1))
            #expect(try await subscribe("a", 2) == .created(first))
            #expect(try await subscribe("b", 2) == .noNewTopic)
            #expect(try await subscribe("a", 0) == .existed(first))
            _ = try await scene.store.unsubscribe([made[0].key], from: first.topic)
            #expect(try await subscribe("a", 0) == .created(first), "the topic is there")
            #expect(try await scene.store.topic(Scene.topic("b"), in: scene.project) == nil)
            _ = try await scene.store.unsubscribe([made[0].key], from: first.topic)
            let times = [1, 2].map { Timestamp(milliseconds: $0) }
            #expect(try await scene.store.purgeTopics(emptySince: times[1], at: times[0], limit: 9) == 1)
            let second = Subscription(topic: Scene.topic("b"), createdAt: Timestamp(milliseconds: 1))
            #expect(try await subscribe("b", 2) == .created(second), "a purged topic counts no more")
            #expect(try await subscribe("c", nil) != .noNewTopic)
        },
        ConformanceCase("subscribers of a topic come in the order of their keys, page by page") { scene in
            let topic = Scene.topic("news")
            let made = try await scene.audience(5, of: topic)
            _ = try await scene.audience(2, of: Scene.topic("other"), from: 10)
            try await scene.store.end(made[3].key, RegistrationEnd(time: Timestamp(milliseconds: 9), cause: .deleted))
            var listed: [RegistrationID] = []
            var cursor: String?
            repeat {
                let page = try #require(
                    try await scene.store.subscribers(of: topic, in: scene.project, after: cursor, limit: 2))
                #expect(page.elements.allSatisfy { $0.subscribedAt == Timestamp(milliseconds: 0) })
                #expect(page.elements.allSatisfy { $0.registration.app == scene.app })
                listed += page.elements.map(\.registration.id)
                cursor = page.nextCursor
            } while cursor != nil
            #expect(listed == [0, 1, 2, 4].map { made[$0].id })
            let other = ProjectID(rawValue: "other")!
            #expect(try await scene.store.subscribers(of: topic, in: other, after: nil, limit: 2) == nil)
            try await expectStoreError(.badCursor) { [store = scene.store, project = scene.project] in
                _ = try await store.subscribers(of: topic, in: project, after: "g1", limit: 2)
            }
        },
    ]
}
