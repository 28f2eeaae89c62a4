import PushModel
import Store
import Testing

extension ConformanceCase {
    static let deliveries: [ConformanceCase] = [
        ConformanceCase("pages give every subscriber of accept time once, in the order of keys") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(25, of: topic)
            let message = try await scene.broadcast(topic)
            let late = try await scene.register(90, at: 1500)
            _ = try await scene.store.subscribe([late.key], to: topic, at: Timestamp(milliseconds: 1500))
            var claimed: [RegistrationKey] = []
            var sizes: [Int] = []
            while let page = try await scene.claimPage(10) {
                #expect(page.message == message.id && page.deliveries.allSatisfy { $0.page == page.id })
                claimed += page.deliveries.map(\.registration.key)
                sizes.append(page.deliveries.count)
                #expect(try await scene.report(message).recipients == claimed.count)
            }
            #expect(claimed == audience.map(\.key))
            #expect(sizes == [10, 10, 5])
        },
        ConformanceCase("a clock that is set back loses no subscriber and adds none") { scene in
            let topic = Scene.topic("news")
            let early = try await scene.register(1)
            let late = try await scene.register(2)
            let last = try await scene.register(3)
            let store = scene.store
            _ = try await store.subscribe([early.key, last.key], to: topic, at: Timestamp(milliseconds: 9000))
            _ = try await scene.broadcast(topic, at: 1000)
            _ = try await store.subscribe([late.key], to: topic, at: Timestamp(milliseconds: 500))
            let page = try #require(try await scene.claimPage())
            #expect(page.deliveries.map(\.registration.key) == [early.key, last.key])
        },
        ConformanceCase("who subscribed again after accept, unsubscribed or ended gets nothing") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(4, of: topic)
            let message = try await scene.broadcast(topic, at: 1000)
            _ = try await scene.store.unsubscribe([audience[0].key, audience[1].key], from: topic)
            _ = try await scene.store.subscribe([audience[0].key], to: topic, at: Timestamp(milliseconds: 1001))
            try await scene.store.end(
                audience[2].key, RegistrationEnd(time: Timestamp(milliseconds: 1002), cause: .deleted))
            let page = try #require(try await scene.claimPage())
            #expect(page.deliveries.map(\.registration.key) == [audience[3].key])
            #expect(try await scene.settle(page.deliveries.map { $0.ended() }) == [message.id])
            #expect(try await scene.report(message).recipients == 1)
        },
        ConformanceCase("a fan-out whose audience went away completes when it is claimed") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(2, of: topic)
            let message = try await scene.broadcast(topic)
            _ = try await scene.store.unsubscribe(audience.map(\.key), from: topic)
            #expect(try await scene.claimPage(at: 2000) == nil)
            let report = try await scene.report(message)
            #expect(report.state == .complete && report.completedAt == Timestamp(milliseconds: 2000))
            #expect(report.recipients == 0)
        },
        ConformanceCase("fan-outs are served in turn, and a new one waits for its turn") { scene in
            let topics = ["a", "b", "c"].map { Scene.topic($0) }
            for (index, topic) in topics.enumerated() {
                _ = try await scene.audience(6, of: topic, from: index * 10)
            }
            let first = try await scene.broadcast(topics[0])
            let second = try await scene.broadcast(topics[1])
            var order: [MessageID] = []
            for _ in 0..<3 { order.append(try #require(try await scene.claimPage(2)).message) }
            let third = try await scene.broadcast(topics[2])
            while let page = try await scene.claimPage(2) { order.append(page.message) }
            let names = [first.id: "1", second.id: "2", third.id: "3"]
            let text = order.compactMap { names[$0] }.joined()
            #expect(text.filter { $0 == "1" }.count == 3 && text.filter { $0 == "3" }.count == 3)
            // The new fan-out is served before any other is served twice more.
            let after = text.dropFirst(3)
            let wait = after.firstIndex(of: "3").map { after.distance(from: after.startIndex, to: $0) }
            #expect((wait ?? 9) <= 2, "\(text)")
        },
        ConformanceCase("due deliveries come the longest due first, lane by lane") { scene in
            let made = try await scene.register(1)
            let later = try await scene.send(to: made, at: 1500)
            let earlier = try await scene.send(to: made, at: 1000)
            #expect(try await scene.claimDue(.bulk).isEmpty)
            #expect(try await scene.claimDue(.interactive, at: 999).isEmpty)
            #expect(
                try await scene.store.nextDue(.interactive, after: Timestamp(milliseconds: 1000)) == later.acceptedAt)
            let due = try await scene.claimDue(.interactive, at: 1500)
            #expect(due.map(\.message) == [earlier.id, later.id])
            #expect(due.allSatisfy { $0.page == nil && $0.registration == made && $0.project == scene.project })
            #expect(try await scene.claimDue(.interactive, at: 1500).isEmpty)
            #expect(try await scene.store.nextDue(.interactive, after: Timestamp(milliseconds: 0)) == nil)
        },
        ConformanceCase("a claim of due deliveries sees the registration as it is now") { scene in
            let made = try await scene.register(1)
            let gone = try await scene.register(2)
            _ = try await scene.send(to: made)
            _ = try await scene.send(to: gone)
            _ = try await scene.store.change(
                made.key, RegistrationChange(deviceToken: Scene.deviceToken(7)), at: Timestamp(milliseconds: 1100))
            try await scene.store.end(
                gone.key, RegistrationEnd(time: Timestamp(milliseconds: 1200), cause: .deleted))
            let due = try await scene.claimDue(.interactive)
            #expect(due.map(\.registration.deviceToken) == [Scene.deviceToken(7), Scene.deviceToken(2)])
            #expect(due.map(\.registration.isActive) == [true, false])
        },
        ConformanceCase("the backlog counts what is open and what is still to be claimed") { scene in
            let topic = Scene.topic("news")
            _ = try await scene.audience(5, of: topic)
            _ = try await scene.send(to: try await scene.register(9))
            _ = try await scene.broadcast(topic)
            #expect(try await scene.store.backlog() == [.interactive: 1, .bulk: 5])
            let page = try #require(try await scene.claimPage(2))
            #expect(try await scene.store.backlog() == [.interactive: 1, .bulk: 5])
            try await scene.settle([page.deliveries[0].ended(), page.deliveries[1].retried(at: 9000)])
            #expect(try await scene.store.backlog() == [.interactive: 1, .bulk: 4])
        },
    ]
}
