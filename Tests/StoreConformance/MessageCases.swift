import PushModel
import Store
import Testing

extension ConformanceCase {
    static let messages: [ConformanceCase] = [
        ConformanceCase("a message is read as it was accepted") { scene in
            let made = try await scene.register(1)
            let message = try await scene.send(to: made)
            let found = try #require(try await scene.store.message(message.id, in: scene.project))
            #expect(found.id == message.id && found.recipient == message.recipient)
            #expect(found.body.bytes == message.body.bytes)
            #expect(found.acceptedAt == message.acceptedAt && found.expiresAt == message.expiresAt)
            #expect(found.lane == .interactive)
            #expect(try await scene.store.message(message.id, in: ProjectID(rawValue: "other")!) == nil)
        },
        ConformanceCase("the facts of a message stand in its report") { scene in
            let message = try await scene.send(to: try await scene.register(1))
            let facts = try await scene.report(message).message.facts
            #expect(
                facts
                    == MessageFacts(
                        label: AnalyticsLabel(rawValue: "spring"), isDisplayed: true, collapseKey: "news", priority: 10,
                        timeToLiveSeconds: 3600))
        },
        ConformanceCase("a topic without subscribers is complete at once") { scene in
            let message = try await scene.broadcast(Scene.topic("empty"), at: 1000)
            let report = try await scene.report(message)
            #expect(message.recipient == .topic(Scene.topic("empty")) && message.audience == 0)
            #expect(report.state == .complete && report.completedAt == Timestamp(milliseconds: 1000))
            #expect(report.recipients == 0 && report.inFlight == 0 && report.latency == nil)
            #expect(scene.store.load.total.messages == 0)
            #expect(try await scene.claimPage() == nil)
        },
        ConformanceCase("a single send counts one recipient in flight from the start") { scene in
            let report = try await scene.report(try await scene.send(to: try await scene.register(1)))
            #expect(report.state == .active && report.recipients == 1 && report.inFlight == 1)
        },
        ConformanceCase("active messages are counted until they are complete") { scene in
            _ = try await scene.send(to: try await scene.register(1))
            _ = try await scene.audience(1, of: Scene.topic("news"), from: 2)
            _ = try await scene.broadcast(Scene.topic("news"))
            #expect(scene.store.load.total.messages == 2)
            try await scene.settle(try await scene.claimDue(.interactive).map { $0.ended() })
            #expect(scene.store.load.total.messages == 1)
            let page = try #require(try await scene.claimPage())
            try await scene.settle(page.deliveries.map { $0.ended() })
            #expect(scene.store.load.total.messages == 0)
        },
        ConformanceCase("messages accepted at the same time each get their own answer") { scene in
            let made = try await scene.register(1)
            let ids = 40
            let messages = try (0..<200).map { number in
                try scene.newMessage(
                    .registration(made.key), at: 1000, number: UInt64(number % ids))
            }
            let answers = await withTaskGroup(of: Bool.self) { [store = scene.store] group in
                for message in messages {
                    group.addTask {
                        do throws(StoreError) {
                            return try await store.accept(message).id == message.id
                        } catch {
                            #expect(error.code == .failed)
                            return false
                        }
                    }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(answers == ids)
            #expect(scene.store.load.total.messages == ids)
            #expect(try await scene.claimDue(.interactive).count == ids)
        },
    ]
}
